/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics of reliable datagrams on floating point of 16 and 8 bits. */
#include "rdm.h"

#include <string.h>

enum { COUNT = 3, KEY = 7 };

/* 1, 2 and 3 of each format. */
static const struct {
	enum fi_datatype datatype;
	size_t size;
	uint16_t one, two, three;
} formats[] = {
	{ FI_FLOAT16, 2, 0x3c00, 0x4000, 0x4200 },
	{ FI_BFLOAT16, 2, 0x3f80, 0x4000, 0x4040 },
	{ FI_FLOAT8_E4M3, 1, 0x38, 0x40, 0x44 },
	{ FI_FLOAT8_E5M2, 1, 0x3c, 0x40, 0x42 },
};

static uint8_t target[COUNT * 2], operand[COUNT * 2], old[COUNT * 2], compare[COUNT * 2];

static void ask(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_ATOMIC;
}

static void set(uint8_t *array, size_t size, uint16_t value)
{
	size_t i;

	for (i = 0; i < COUNT; i++)
		memcpy(array + i * size, &value, size);
}

static void all_are(const uint8_t *array, size_t size, uint16_t value)
{
	uint8_t want[COUNT * 2];

	set(want, size, value);
	CHECK(!memcmp(array, want, COUNT * size));
}

static void one_format(struct rdm_pair *pair, size_t i)
{
	enum fi_datatype type = formats[i].datatype;
	struct rdm_side *side = &pair->side[0];
	size_t size = formats[i].size, count = 0;
	struct fi_atomic_attr attr;

	OK(fi_query_atomic(pair->domain, type, FI_SUM, &attr, 0));
	EQUAL(attr.size, size);
	RETURNS(fi_query_atomic(pair->domain, type, FI_BOR, &attr, 0), -FI_EOPNOTSUPP);
	OK(fi_fetch_atomicvalid(side->ep, type, FI_SUM, &count));
	CHECK(count >= COUNT);
	set(target, size, formats[i].one);
	set(operand, size, formats[i].two);
	OK(fi_fetch_atomic(side->ep, operand, COUNT, NULL, old, NULL, side->peer, 0, KEY, type,
			   FI_SUM, NULL));
	rdm_wait(pair, 0);
	all_are(old, size, formats[i].one);
	all_are(target, size, formats[i].three);
	set(compare, size, formats[i].three);
	OK(fi_compare_atomic(side->ep, operand, COUNT, NULL, compare, NULL, old, NULL, side->peer,
			     0, KEY, type, FI_CSWAP, NULL));
	rdm_wait(pair, 0);
	all_are(old, size, formats[i].three);
	all_are(target, size, formats[i].two);
}

static void test(void)
{
	const struct rdm_change change = { .hints = ask };
	struct rdm_pair pair;
	struct fid_mr *mr;
	size_t i;

	rdm_open_with(&pair, 0, &change);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
		     0, &mr, NULL));
	for (i = 0; i < ARRAY_SIZE(formats); i++)
		one_format(&pair, i);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
