/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Packets are encoded and decoded: their bytes, and each field wrong in turn. */
#include "unit.h"

#include "prov/rdm/wire.h"

enum { ROOM = 1024 };

static uint8_t bytes[ROOM];

static uint8_t good_list[OFI_RDM_WIRE_REGIONS * sizeof(struct ofi_rdm_wire_region)];

/* What messages and memory operations carry. */
static void good_transfer(enum ofi_rdm_wire_type type, struct ofi_rdm_wire_packet *p)
{
	switch (type) {
	case OFI_RDM_WIRE_SEG_FIRST:
		p->total = 1 << 20;
		/* fall through */
	case OFI_RDM_WIRE_EAGER:
		p->flags = OFI_RDM_WIRE_TAGGED | OFI_RDM_WIRE_DATA | OFI_RDM_WIRE_WANT_ACK;
		p->payload_len = 100;
		break;
	case OFI_RDM_WIRE_SEG_NEXT:
	case OFI_RDM_WIRE_SEG_ASKED:
		p->offset = 100;
		p->payload_len = 50;
		break;
	case OFI_RDM_WIRE_RMA_EVENT:
		p->flags = OFI_RDM_WIRE_DATA;
		p->total = 1000;
		p->count = 1;
		ofi_rdm_wire_put_region(good_list, 0,
					&(struct ofi_rdm_wire_region){ 0x1000, 1000, 7 });
		break;
	case OFI_RDM_WIRE_RTS:
		p->flags = OFI_RDM_WIRE_TAGGED;
		/* fall through */
	case OFI_RDM_WIRE_CTS:
		p->rid = type == OFI_RDM_WIRE_CTS ? 77 : 0;
		p->total = 3000;
		p->count = 2;
		ofi_rdm_wire_put_region(good_list, 0,
					&(struct ofi_rdm_wire_region){ 0x1000, 1000, 7 });
		ofi_rdm_wire_put_region(good_list, 1,
					&(struct ofi_rdm_wire_region){ 0x9000, 2000, 8 });
		break;
	default:
		break;
	}
}

/* What the answers and requests between them carry. */
static void good_control(enum ofi_rdm_wire_type type, struct ofi_rdm_wire_packet *p)
{
	switch (type) {
	case OFI_RDM_WIRE_FIN:
		p->flags = OFI_RDM_WIRE_WRITTEN;
		p->status = 61;
		break;
	case OFI_RDM_WIRE_ATOMIC_REQ:
		p->atomic = (struct ofi_rdm_wire_atomic){ OFI_RDM_WIRE_ATOMIC_COMPARE, 3, 9, 8, 5 };
		p->count = 1;
		ofi_rdm_wire_put_target(good_list, 0,
					&(struct ofi_rdm_wire_target){ 0x1000, 9, 5 });
		p->payload_len = 80;
		break;
	case OFI_RDM_WIRE_ATOMIC_RSP:
		p->payload_len = 40;
		break;
	case OFI_RDM_WIRE_KEY_REQ:
		p->key = 0x1122334455667788ULL;
		break;
	case OFI_RDM_WIRE_KEY_RSP:
		p->key = 0x11223344;
		p->addr = 0x7000;
		p->len = 500;
		break;
	default:
		break;
	}
}

/* One good packet per type; the length with the payload. */
static size_t good(enum ofi_rdm_wire_type type, struct ofi_rdm_wire_packet *p)
{
	size_t len;

	*p = (struct ofi_rdm_wire_packet){ .type = type, .id = 0x01020304 };
	good_transfer(type, p);
	good_control(type, p);
	p->tag = p->flags & OFI_RDM_WIRE_TAGGED ? 0x8877665544332211ULL : 0;
	p->data = p->flags & OFI_RDM_WIRE_DATA ? 0xaabbccdd : 0;
	p->list = good_list;
	len = ofi_rdm_wire_build(bytes, p);
	assert_true(len <= OFI_RDM_WIRE_HEADER_MAX);
	memset(bytes + len, 0x5a, p->payload_len);
	return len + p->payload_len;
}

static enum ofi_rdm_wire_error parse(size_t len)
{
	struct ofi_rdm_wire_packet p;

	return ofi_rdm_wire_parse(bytes, len, &p);
}

static void check_same(const struct ofi_rdm_wire_packet *a, const struct ofi_rdm_wire_packet *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->rid, b->rid);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->data, b->data);
	assert_int_equal(a->total, b->total);
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->key, b->key);
	assert_int_equal(a->addr, b->addr);
	assert_int_equal(a->len, b->len);
	assert_memory_equal(&a->atomic, &b->atomic, sizeof(a->atomic));
	assert_int_equal(a->payload_len, b->payload_len);
	if (a->count)
		assert_memory_equal(a->list, b->list,
				    a->count * sizeof(struct ofi_rdm_wire_region));
}

static void test_round_trip(void **state)
{
	struct ofi_rdm_wire_packet in, out;
	unsigned int type;
	size_t len;

	(void)state;
	for (type = 1; type < OFI_RDM_WIRE_TYPES; type++) {
		len = good(type, &in);
		assert_int_equal(ofi_rdm_wire_parse(bytes, len, &out), OFI_RDM_WIRE_OK);
		check_same(&in, &out);
		assert_true(out.payload + out.payload_len == bytes + len || !out.payload_len);
	}
}

/* What is on the wire does not change by accident. */
static void test_golden(void **state)
{
	static const uint8_t tsend[] = { 1,    1,    1,	   0,	 0,    0,    0,	   0,
					 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };
	static const uint8_t fin[] = { 1, 6, 8, 0, 4, 3, 2, 1, 61, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t send[] = { 1, 1, 0, 0, 0, 0, 0, 0 };
	struct ofi_rdm_wire_fast fast;
	struct ofi_rdm_wire_packet p;

	(void)state;
	assert_int_equal(ofi_rdm_wire_build_fast(&fast, false, 0), sizeof(send));
	assert_memory_equal(&fast, send, sizeof(send));
	assert_int_equal(ofi_rdm_wire_parse(send, sizeof(send), &p), OFI_RDM_WIRE_OK);
	assert_true(ofi_rdm_wire_is_fast(send, sizeof(send), false));
	assert_false(ofi_rdm_wire_is_fast(send, sizeof(send) - 1, false));
	assert_false(ofi_rdm_wire_is_fast(send, sizeof(send), true));
	assert_int_equal(ofi_rdm_wire_build_fast(&fast, true, 0x8877665544332211ULL),
			 sizeof(tsend));
	assert_memory_equal(&fast, tsend, sizeof(tsend));
	assert_int_equal(ofi_rdm_wire_parse(tsend, sizeof(tsend), &p), OFI_RDM_WIRE_OK);
	assert_int_equal(p.tag, 0x8877665544332211ULL);
	assert_true(ofi_rdm_wire_is_fast(tsend, sizeof(tsend), true));
	assert_int_equal(ofi_rdm_wire_fast_tag(tsend), p.tag);
	assert_false(ofi_rdm_wire_is_fast(tsend, sizeof(tsend) - 1, true));
	assert_false(ofi_rdm_wire_is_fast(tsend, sizeof(tsend), false));
	assert_int_equal(good(OFI_RDM_WIRE_FIN, &p), sizeof(fin));
	assert_memory_equal(bytes, fin, sizeof(fin));
	assert_false(ofi_rdm_wire_is_fast(fin, sizeof(fin), true));
}

/* A packet cut anywhere in its header is refused, one that is too long too. */
static void test_lengths(void **state)
{
	struct ofi_rdm_wire_packet p;
	unsigned int type;
	size_t len, n;

	(void)state;
	for (type = 1; type < OFI_RDM_WIRE_TYPES; type++) {
		len = good(type, &p);
		for (n = 0; n < len - p.payload_len; n++)
			assert_int_equal(parse(n), OFI_RDM_WIRE_E_SHORT);
		if (!p.payload_len)
			assert_int_equal(parse(len + 1), OFI_RDM_WIRE_E_LONG);
	}
	len = good(OFI_RDM_WIRE_SEG_FIRST, &p);
	assert_int_equal(parse(len - 100), OFI_RDM_WIRE_E_TOTAL);
	len = good(OFI_RDM_WIRE_SEG_NEXT, &p);
	assert_int_equal(parse(len - 50), OFI_RDM_WIRE_E_TOTAL);
	len = good(OFI_RDM_WIRE_ATOMIC_REQ, &p);
	assert_int_equal(parse(len - 1), OFI_RDM_WIRE_E_TOTAL);
	assert_int_equal(parse(len + 1), OFI_RDM_WIRE_E_TOTAL);
}

/* Of a collective operation: a tag, and nothing else that a message may have. */
static void test_collective(void **state)
{
	const uint8_t good_flags = OFI_RDM_WIRE_COLLECTIVE | OFI_RDM_WIRE_TAGGED;
	struct ofi_rdm_wire_packet p, out;
	unsigned int type, flags;
	size_t len;

	(void)state;
	for (type = 1; type < OFI_RDM_WIRE_TYPES; type++) {
		int message = type == OFI_RDM_WIRE_EAGER || type == OFI_RDM_WIRE_SEG_FIRST ||
			      type == OFI_RDM_WIRE_RTS;

		good(type, &p);
		p.flags = message ? good_flags : p.flags | OFI_RDM_WIRE_COLLECTIVE;
		p.data = 0;
		len = ofi_rdm_wire_build(bytes, &p) + p.payload_len;
		assert_int_equal(ofi_rdm_wire_parse(bytes, len, &out),
				 message ? OFI_RDM_WIRE_OK : OFI_RDM_WIRE_E_FLAGS);
		assert_false(ofi_rdm_wire_is_fast(bytes, len, true));
		assert_false(ofi_rdm_wire_is_fast(bytes, len, false));
		for (flags = 0; message && flags < 32; flags++) {
			bytes[2] = (uint8_t)(OFI_RDM_WIRE_COLLECTIVE | flags);
			if (bytes[2] != good_flags)
				assert_int_equal(parse(len), OFI_RDM_WIRE_E_FLAGS);
		}
	}
}

static void test_base(void **state)
{
	struct ofi_rdm_wire_packet p;
	unsigned int type, flag;
	size_t len;

	(void)state;
	for (type = 1; type < OFI_RDM_WIRE_TYPES; type++) {
		len = good(type, &p);
		bytes[0] = 0;
		assert_int_equal(parse(len), OFI_RDM_WIRE_E_VERSION);
		bytes[0] = OFI_RDM_WIRE_VERSION + 1;
		assert_int_equal(parse(len), OFI_RDM_WIRE_E_VERSION);
		bytes[0] = 1;
		for (flag = 16; flag < 256; flag <<= 1) {
			if ((flag == OFI_RDM_WIRE_COLLECTIVE && type == OFI_RDM_WIRE_RTS) ||
			    (flag == OFI_RDM_WIRE_PART && type == OFI_RDM_WIRE_ATOMIC_REQ))
				continue;
			bytes[2] = (uint8_t)(p.flags | flag);
			assert_int_equal(parse(len), OFI_RDM_WIRE_E_FLAGS);
		}
		bytes[2] = p.flags;
		bytes[1] = 0;
		assert_int_equal(parse(len), OFI_RDM_WIRE_E_TYPE);
		bytes[1] = OFI_RDM_WIRE_TYPES;
		assert_int_equal(parse(len), OFI_RDM_WIRE_E_TYPE);
		bytes[1] = (uint8_t)type;
		if (p.count)
			continue;
		bytes[3] = 1;
		assert_true(parse(len) != OFI_RDM_WIRE_OK);
	}
	len = good(OFI_RDM_WIRE_ACK, &p);
	bytes[2] = OFI_RDM_WIRE_TAGGED;
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_FLAGS);
}

static size_t regions(enum ofi_rdm_wire_type type, uint64_t total, unsigned int count,
		      const struct ofi_rdm_wire_region *region)
{
	uint8_t list[(OFI_RDM_WIRE_REGIONS + 1) * sizeof(struct ofi_rdm_wire_region)] = { 0 };
	struct ofi_rdm_wire_packet p = { .type = type, .total = total, .count = (uint8_t)count };
	unsigned int i;

	for (i = 0; i < count; i++)
		ofi_rdm_wire_put_region(list, i, &region[i]);
	p.list = list;
	return ofi_rdm_wire_build(bytes, &p);
}

static void test_regions(void **state)
{
	struct ofi_rdm_wire_region r[OFI_RDM_WIRE_REGIONS + 1], out;
	struct ofi_rdm_wire_packet p;
	unsigned int i;

	(void)state;
	for (i = 0; i <= OFI_RDM_WIRE_REGIONS; i++)
		r[i] = (struct ofi_rdm_wire_region){ .addr = 1 + i, .len = 10, .key = i };
	for (i = 1; i <= OFI_RDM_WIRE_REGIONS; i++)
		assert_int_equal(parse(regions(OFI_RDM_WIRE_RTS, 10 * i, i, r)), OFI_RDM_WIRE_OK);
	assert_int_equal(parse(regions(OFI_RDM_WIRE_RTS, 10 * i, i, r)), OFI_RDM_WIRE_E_COUNT);
	assert_int_equal(parse(regions(OFI_RDM_WIRE_RTS, 0, 0, r)), OFI_RDM_WIRE_E_COUNT);
	assert_int_equal(parse(regions(OFI_RDM_WIRE_CTS, 0, 0, r)), OFI_RDM_WIRE_OK);
	assert_int_equal(parse(regions(OFI_RDM_WIRE_CTS, 1, 0, r)), OFI_RDM_WIRE_E_TOTAL);
	assert_int_equal(parse(regions(OFI_RDM_WIRE_RTS, 19, 2, r)), OFI_RDM_WIRE_E_TOTAL);
	assert_int_equal(parse(regions(OFI_RDM_WIRE_RTS, 21, 2, r)), OFI_RDM_WIRE_E_TOTAL);
	ofi_rdm_wire_parse(bytes, regions(OFI_RDM_WIRE_RTS, 30, 3, r), &p);
	ofi_rdm_wire_get_region(p.list, 2, &out);
	assert_memory_equal(&out, &r[2], sizeof(out));
	r[1].len = 0;
	assert_int_equal(parse(regions(OFI_RDM_WIRE_RTS, 10, 2, r)), OFI_RDM_WIRE_E_REGION);
	r[1].len = UINT64_MAX;
	assert_int_equal(parse(regions(OFI_RDM_WIRE_RTS, 9, 2, r)), OFI_RDM_WIRE_E_REGION);
	r[1] = (struct ofi_rdm_wire_region){ .addr = 0, .len = UINT64_MAX };
	assert_int_equal(parse(regions(OFI_RDM_WIRE_RTS, 9, 2, r)), OFI_RDM_WIRE_E_TOTAL);
}

/* An answer about a key lists the buffers of the region, which fill its length. */
static void check_key_buffers(void)
{
	struct ofi_rdm_wire_region region;
	struct ofi_rdm_wire_packet p, got;
	size_t len;

	good(OFI_RDM_WIRE_KEY_RSP, &p);
	p.count = 2;
	ofi_rdm_wire_put_region(good_list, 0, &(struct ofi_rdm_wire_region){ 0x7000, 300, 5 });
	ofi_rdm_wire_put_region(good_list, 1, &(struct ofi_rdm_wire_region){ 0x9000, 200, 6 });
	len = ofi_rdm_wire_build(bytes, &p);
	assert_int_equal(ofi_rdm_wire_parse(bytes, len, &got), OFI_RDM_WIRE_OK);
	assert_int_equal(got.count, 2);
	ofi_rdm_wire_get_region(got.list, 1, &region);
	assert_int_equal(region.key, 6);
	assert_int_equal(parse(len - 1), OFI_RDM_WIRE_E_SHORT);
	p.len = 501;
	assert_int_equal(parse(ofi_rdm_wire_build(bytes, &p)), OFI_RDM_WIRE_E_TOTAL);
	p.len = 300;
	ofi_rdm_wire_put_region(good_list, 1, &(struct ofi_rdm_wire_region){ 0x9000, 0, 6 });
	assert_int_equal(parse(ofi_rdm_wire_build(bytes, &p)), OFI_RDM_WIRE_E_REGION);
}

static void test_meaning(void **state)
{
	struct ofi_rdm_wire_packet p;
	size_t len, i;

	(void)state;
	len = good(OFI_RDM_WIRE_SEG_FIRST, &p);
	memset(bytes + 8, 0, 8);
	bytes[8] = 100;
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_TOTAL);
	bytes[8] = 101;
	assert_int_equal(parse(len), OFI_RDM_WIRE_OK);
	len = good(OFI_RDM_WIRE_SEG_NEXT, &p);
	memset(bytes + 8, 0xff, 8);
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_OFFSET);
	memset(bytes + 8, 0, 8);
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_OFFSET);
	len = good(OFI_RDM_WIRE_SEG_ASKED, &p);
	memset(bytes + 8, 0xff, 8);
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_OFFSET);
	memset(bytes + 8, 0, 8);
	assert_int_equal(parse(len), OFI_RDM_WIRE_OK);
	len = good(OFI_RDM_WIRE_FIN, &p);
	bytes[12] = 1;
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_UNUSED);
	bytes[12] = 0;
	bytes[10] = 1;
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_STATUS);
	len = good(OFI_RDM_WIRE_CTS, &p);
	bytes[20] = 1;
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_UNUSED);
	len = good(OFI_RDM_WIRE_KEY_RSP, &p);
	memset(bytes + 16, 0xff, 16);
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_REGION);
	check_key_buffers();
	for (i = 0; i < OFI_RDM_WIRE_ERRORS + 2; i++)
		assert_non_null(ofi_rdm_wire_strerror((enum ofi_rdm_wire_error)i));
}

static void test_atomic(void **state)
{
	/* Kind, element size, number of elements (byte), of the first target (byte). */
	static const struct {
		size_t at;
		uint8_t value;
		enum ofi_rdm_wire_error error;
	} wrong[] = {
		{ 8, 0, OFI_RDM_WIRE_E_ATOMIC },   { 8, 5, OFI_RDM_WIRE_E_ATOMIC },
		{ 8, 1, OFI_RDM_WIRE_E_TOTAL },	   { 8, 3, OFI_RDM_WIRE_E_TOTAL },
		{ 11, 0, OFI_RDM_WIRE_E_ATOMIC },  { 11, 3, OFI_RDM_WIRE_E_ATOMIC },
		{ 11, 64, OFI_RDM_WIRE_E_ATOMIC }, { 11, 4, OFI_RDM_WIRE_E_TOTAL },
		{ 12, 0, OFI_RDM_WIRE_E_ATOMIC },  { 12, 6, OFI_RDM_WIRE_E_TOTAL },
		{ 15, 1, OFI_RDM_WIRE_E_TOTAL },   { 32, 0, OFI_RDM_WIRE_E_REGION },
		{ 32, 4, OFI_RDM_WIRE_E_TOTAL },   { 32, 6, OFI_RDM_WIRE_E_REGION },
		{ 39, 1, OFI_RDM_WIRE_E_REGION },  { 3, 0, OFI_RDM_WIRE_E_COUNT },
	};
	struct ofi_rdm_wire_packet p;
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		len = good(OFI_RDM_WIRE_ATOMIC_REQ, &p);
		bytes[wrong[i].at] = wrong[i].value;
		assert_int_equal(parse(len), wrong[i].error);
	}
	len = good(OFI_RDM_WIRE_ATOMIC_REQ, &p);
	memset(bytes + 16, 0xff, 8);
	assert_int_equal(parse(len), OFI_RDM_WIRE_E_REGION);
}

/*
 * No byte of a packet, whatever its value, makes the parser read beyond the packet, which the
 * sanitizers check.
 */
static void test_any_byte(void **state)
{
	struct ofi_rdm_wire_packet p, out;
	unsigned int type, value;
	size_t len, i, exact;
	uint8_t *copy;

	(void)state;
	for (type = 1; type < OFI_RDM_WIRE_TYPES; type++) {
		len = good(type, &p);
		exact = len - p.payload_len < 80 ? len : 80;
		copy = test_malloc(len);
		for (i = 0; i < exact; i++) {
			for (value = 0; value < 256; value++) {
				memcpy(copy, bytes, len);
				copy[i] = (uint8_t)value;
				if (ofi_rdm_wire_parse(copy, len, &out))
					continue;
				assert_true(out.payload >= copy &&
					    out.payload + out.payload_len == copy + len);
			}
		}
		test_free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_collective), cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_golden),	   cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_base),	   cmocka_unit_test(test_regions),
		cmocka_unit_test(test_meaning),	   cmocka_unit_test(test_atomic),
		cmocka_unit_test(test_any_byte),
	};

	return cmocka_run_group_tests_name("rdm_wire", tests, NULL, NULL);
}
