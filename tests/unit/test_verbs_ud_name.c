/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of datagram queue pairs: what is on the wire, and every field that can be wrong. */
#include "unit.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/dgram/ud_name.h"

/* 10.0.0.5, queue pairs 0x123456 and 0xabcdef. */
static const uint8_t good[32] = {
	0, 0,	 0,    0,    0,	   0,	 0,    0,    0,	   0,	 0xff, 0xff, 10, 0,    0,    5,
	0, 0x12, 0x34, 0x56, 0x70, 0x01, 0x02, 0x03, 0x00, 0x07, 0xff, 0xff, 3,	 0xab, 0xcd, 0xef,
};

static void test_fields(void **state)
{
	struct vrb_ud_name name;
	struct vrb_dest dest;
	const char *why;

	(void)state;
	assert_int_equal(vrb_ud_name_in(FI_ADDR_IB_UD, good, &dest, &why), 0);
	assert_null(dest.ah);
	assert_int_equal(dest.qpn, 0x123456);
	assert_int_equal(dest.qkey, 0x70010203);
	assert_memory_equal(dest.gid.raw, good, 16);
	assert_int_equal(dest.lid, 7);
	assert_int_equal(dest.pkey, 0xffff);
	assert_int_equal(dest.sl, 3);
	assert_memory_equal(dest.qpn2, good + 29, 3);
	vrb_ud_name_out(&dest, &name);
	assert_memory_equal(&name, good, sizeof(good));
	assert_int_equal(sizeof(dest), 40);
}

static void test_any_alignment(void **state)
{
	uint8_t room[33];
	struct vrb_dest dest;
	const char *why;

	(void)state;
	memcpy(room + 1, good, sizeof(good));
	assert_int_equal(vrb_ud_name_in(FI_ADDR_IB_UD, room + 1, &dest, &why), 0);
}

struct change {
	size_t at, len;
	uint8_t bytes[16];
};

static const struct change changes[] = {
	{ 0, 16, { 0 } },	   /* no GID */
	{ 0, 2, { 0xff, 0x0e } },  /* an IPv6 group */
	{ 12, 1, { 224 } },	   /* an IPv4 group */
	{ 12, 1, { 239 } },	   /* the last of them */
	{ 16, 1, { 1 } },	   /* 25 bits */
	{ 16, 4, { 0, 0, 0, 0 } }, /* queue pairs of management */
	{ 16, 4, { 0, 0, 0, 1 } }, { 16, 4, { 0, 0xff, 0xff, 0xff } }, /* that of groups */
	{ 20, 1, { 0x80 } },					       /* a privileged Q_Key */
	{ 24, 2, { 0xc0, 0x00 } },				       /* a multicast LID */
	{ 26, 2, { 0x80, 0x00 } },				       /* no partition */
	{ 28, 1, { 16 } },					       /* no such service level */
};

static void test_wrong(void **state)
{
	uint8_t name[32];
	struct vrb_dest dest;
	const char *why;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		memcpy(name, good, sizeof(name));
		memcpy(name + changes[i].at, changes[i].bytes, changes[i].len);
		why = NULL;
		assert_int_equal(vrb_ud_name_in(FI_ADDR_IB_UD, name, &dest, &why), -FI_EINVAL);
		assert_non_null(why);
	}
}

/* The first queue pairs of an adapter are as good as others, and fi_getinfo has no whole name. */
static void test_adapter(void **state)
{
	uint8_t name[32];
	struct vrb_dest dest = { .qpn = 1 };
	const char *why;

	(void)state;
	memcpy(name, good, sizeof(name));
	memset(name + 16, 0, 4);
	assert_int_equal(vrb_ud_name_in(FI_ADDR_EFA, name, &dest, &why), 0);
	assert_int_equal(dest.qpn, 0);
	assert_false(vrb_dest_is_late(&dest));
	name[19] = 1;
	assert_int_equal(vrb_ud_name_in(FI_ADDR_EFA, name, &dest, &why), 0);
	memset(name + 16, 0, 8);
	assert_int_equal(vrb_ud_name_in(FI_ADDR_EFA, name, &dest, &why), -FI_EINVAL);
	assert_non_null(strstr(why, "Q_Key is zero"));
}

static void test_text(void **state)
{
	char buf[VRB_UD_NAME_STRLEN], small[8];

	(void)state;
	assert_string_equal(
		vrb_ud_name_str(FI_ADDR_IB_UD, good, buf, sizeof(buf)),
		"fi_addr_ib_ud://[::ffff:10.0.0.5]/lid 7/pkey 0xffff/sl 3/qpn 0x123456/qkey 0x70010203");
	assert_string_equal(vrb_ud_name_str(FI_ADDR_EFA, good, buf, sizeof(buf)),
			    "fi_addr_efa://[::ffff:10.0.0.5]:1193046:1879114243");
	assert_string_equal(vrb_ud_name_str(FI_ADDR_IB_UD, good, small, sizeof(small)), "fi_addr");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields), cmocka_unit_test(test_any_alignment),
		cmocka_unit_test(test_wrong),  cmocka_unit_test(test_adapter),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
