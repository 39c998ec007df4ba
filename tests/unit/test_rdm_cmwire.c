/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection messages of reliable-datagram endpoints: encoded and decoded, truncated, and with each
 * field wrong.
 */
#include "unit.h"
#include <string.h>

#include "prov/verbs/cm/cm_wire.h"
#include "prov/rdm/cmwire.h"
#include "prov/verbs/rdm/conn_int.h"

static uint8_t bytes[OFI_RDM_CMWIRE_LEN];
static struct ofi_rdm_cmwire out;

static enum ofi_rdm_wire_error parse(size_t len)
{
	return ofi_rdm_cmwire_parse(bytes, len, &out);
}

static struct ofi_rdm_cmwire request(void)
{
	return (struct ofi_rdm_cmwire){
		.kind = OFI_RDM_CMWIRE_REQUEST,
		.incarnation = 0x1122334455667788ULL,
		.expected = 5,
		.addr = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 },
		.port = 7471,
		.flags = OFI_RDM_CMWIRE_RMA_EVENTS,
		.eager = 16384,
		.serial = 0x01020304,
		.from_context = 63,
		.to_context = 1,
	};
}

static void build(void)
{
	struct ofi_rdm_cmwire cm = request();

	ofi_rdm_cmwire_build(bytes, &cm);
}

static void test_round_trip(void **state)
{
	struct ofi_rdm_cmwire in = request();

	(void)state;
	assert_true(OFI_RDM_CMWIRE_LEN <= VRB_CM_DATA_MAX);
	ofi_rdm_cmwire_build(bytes, &in);
	assert_int_equal(parse(sizeof(bytes)), OFI_RDM_WIRE_OK);
	in.version = OFI_RDM_WIRE_VERSION;
	in.version_min = OFI_RDM_WIRE_VERSION_MIN;
	assert_int_equal(out.kind, in.kind);
	assert_int_equal(out.reason, in.reason);
	assert_int_equal(out.incarnation, in.incarnation);
	assert_int_equal(out.expected, in.expected);
	assert_memory_equal(out.addr, in.addr, sizeof(in.addr));
	assert_int_equal(out.port, in.port);
	assert_int_equal(out.flags, in.flags);
	assert_int_equal(out.eager, in.eager);
	assert_int_equal(out.serial, in.serial);
	assert_int_equal(out.from_context, in.from_context);
	assert_int_equal(out.to_context, in.to_context);
	assert_int_equal(ofi_rdm_cmwire_common(&out), OFI_RDM_WIRE_VERSION);
}

static void test_cut(void **state)
{
	size_t len;

	(void)state;
	build();
	for (len = 0; len < sizeof(bytes); len++)
		assert_int_equal(parse(len), OFI_RDM_WIRE_E_SHORT);
	bytes[6] = OFI_RDM_CMWIRE_REJECT;
	bytes[7] = OFI_RDM_CMWIRE_BUSY;
	for (len = 0; len < 8; len++)
		assert_int_equal(parse(len), OFI_RDM_WIRE_E_SHORT);
	for (; len <= sizeof(bytes); len++) {
		assert_int_equal(parse(len), OFI_RDM_WIRE_OK);
		assert_int_equal(out.reason, OFI_RDM_CMWIRE_BUSY);
	}
}

static void test_wrong(void **state)
{
	static const struct {
		size_t at, len;
		uint8_t value;
		enum ofi_rdm_wire_error error;
	} wrong[] = {
		{ 0, 1, 0, OFI_RDM_WIRE_E_MAGIC },	{ 3, 1, 0, OFI_RDM_WIRE_E_MAGIC },
		{ 4, 1, 0, OFI_RDM_WIRE_E_VERSION },	{ 5, 1, 0, OFI_RDM_WIRE_E_VERSION },
		{ 5, 1, 2, OFI_RDM_WIRE_E_VERSION },	{ 4, 2, 2, OFI_RDM_WIRE_E_VERSION },
		{ 6, 1, 0, OFI_RDM_WIRE_E_KIND },	{ 6, 1, 5, OFI_RDM_WIRE_E_KIND },
		{ 6, 1, 3, OFI_RDM_WIRE_E_REASON },	{ 7, 1, 1, OFI_RDM_WIRE_E_REASON },
		{ 8, 8, 0, OFI_RDM_WIRE_E_SIZE },	{ 40, 2, 0, OFI_RDM_WIRE_E_SIZE },
		{ 43, 1, 0x80, OFI_RDM_WIRE_E_UNUSED }, { 44, 4, 0, OFI_RDM_WIRE_E_SIZE },
		{ 44, 4, 0xff, OFI_RDM_WIRE_E_SIZE },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		build();
		memset(bytes + wrong[i].at, wrong[i].value, wrong[i].len);
		assert_int_equal(parse(sizeof(bytes)), wrong[i].error);
	}
}

/* A later library that still speaks this version is understood. */
static void test_versions(void **state)
{
	unsigned int reason;

	(void)state;
	build();
	bytes[4] = 200;
	assert_int_equal(parse(sizeof(bytes)), OFI_RDM_WIRE_OK);
	assert_int_equal(ofi_rdm_cmwire_common(&out), OFI_RDM_WIRE_VERSION);
	bytes[5] = 199;
	assert_int_equal(parse(sizeof(bytes)), OFI_RDM_WIRE_E_VERSION);
	assert_int_equal(out.version_min, 199);
	assert_int_equal(ofi_rdm_cmwire_common(&out), 0);
	for (reason = 0; reason < OFI_RDM_CMWIRE_REASONS + 2; reason++)
		assert_non_null(ofi_rdm_cmwire_reason_text(reason));
}

/* Whether a request came from where it says is asked of the connection manager. */
static void test_source(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct ofi_rdm_cmwire cm = request();
	struct vrb_rc_ep rc = { .conns.scope = 7 };
	struct ofi_rdm_addr addr;

	(void)state;
	in.sin_addr.s_addr = htonl(0x0a000001);
	assert_true(vrb_rdm_conn_is_from(&cm, &(struct ofi_rdm_addr){ .in = in }));
	memcpy(&in6.sin6_addr, cm.addr, 16);
	assert_true(vrb_rdm_conn_is_from(&cm, &(struct ofi_rdm_addr){ .in6 = in6 }));
	in.sin_addr.s_addr = htonl(0x0a000002);
	assert_false(vrb_rdm_conn_is_from(&cm, &(struct ofi_rdm_addr){ .in = in }));
	in.sin_addr.s_addr = htonl(0x0a000001);
	in.sin_family = AF_UNSPEC;
	assert_false(vrb_rdm_conn_is_from(&cm, &(struct ofi_rdm_addr){ .in = in }));
	assert_true(vrb_rdm_conn_addr(&rc.rdm, &cm, &addr));
	assert_int_equal(addr.sa.sa_family, AF_INET);
	in6.sin6_addr.s6_addr[3] = 1;
	assert_false(vrb_rdm_conn_is_from(&cm, &(struct ofi_rdm_addr){ .in6 = in6 }));
	memset(cm.addr, 0, sizeof(cm.addr));
	cm.addr[0] = 0xfe;
	cm.addr[1] = 0x80;
	cm.addr[15] = 1;
	assert_true(vrb_rdm_conn_addr(&rc.rdm, &cm, &addr));
	assert_int_equal(addr.in6.sin6_scope_id, 7);
	cm.addr[1] = 0;
	assert_true(vrb_rdm_conn_addr(&rc.rdm, &cm, &addr));
	assert_int_equal(addr.in6.sin6_scope_id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_wrong),	   cmocka_unit_test(test_versions),
		cmocka_unit_test(test_source),
	};

	return cmocka_run_group_tests_name("rdm_cmwire", tests, NULL, NULL);
}
