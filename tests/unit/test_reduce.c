/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reductions and swaps of every data type, compared with arithmetic in 128 bits and in complex long
 * double.
 */
#include "unit.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/reduce.h"

#define ROUNDS 200
#define COUNT  9

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;
typedef long double _Complex number;

struct integer {
	enum fi_datatype type;
	size_t size;
	bool is_signed;
};

static const struct integer integers[] = {
	{ FI_INT8, 1, true },	   { FI_UINT8, 1, false },  { FI_INT16, 2, true },
	{ FI_UINT16, 2, false },   { FI_INT32, 4, true },   { FI_UINT32, 4, false },
	{ FI_INT64, 8, true },	   { FI_UINT64, 8, false }, { FI_INT128, 16, true },
	{ FI_UINT128, 16, false },
};

static const enum fi_datatype floats[] = { FI_FLOAT,	      FI_DOUBLE,
					   FI_LONG_DOUBLE,    FI_FLOAT_COMPLEX,
					   FI_DOUBLE_COMPLEX, FI_LONG_DOUBLE_COMPLEX };

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static uwide load(const struct integer *type, const void *at)
{
	unsigned bits = 128 - 8 * (unsigned)type->size;
	uwide value = 0;

	memcpy(&value, at, type->size);
	if (!bits)
		return value;
	value <<= bits;
	return type->is_signed ? (uwide)((wide)value >> bits) : value >> bits;
}

static bool less(const struct integer *type, uwide a, uwide b)
{
	return type->is_signed ? (wide)a < (wide)b : a < b;
}

static uwide expect(const struct integer *type, int op, uwide dst, uwide src, uwide cmp)
{
	switch (op) {
	case FI_MIN:
		return less(type, src, dst) ? src : dst;
	case FI_MAX:
		return less(type, dst, src) ? src : dst;
	case FI_SUM:
		return dst + src;
	case FI_DIFF:
		return dst - src;
	case FI_PROD:
		return dst * src;
	case FI_LOR:
		return dst || src;
	case FI_LAND:
		return dst && src;
	case FI_LXOR:
		return !dst != !src;
	case FI_BOR:
		return dst | src;
	case FI_BAND:
		return dst & src;
	case FI_BXOR:
		return dst ^ src;
	case FI_ATOMIC_READ:
		return dst;
	case FI_ATOMIC_WRITE:
		return src;
	case FI_CSWAP:
		return cmp == dst ? src : dst;
	case FI_CSWAP_NE:
		return cmp != dst ? src : dst;
	case FI_CSWAP_LE:
		return less(type, dst, cmp) ? dst : src;
	case FI_CSWAP_LT:
		return less(type, cmp, dst) ? src : dst;
	case FI_CSWAP_GE:
		return less(type, cmp, dst) ? dst : src;
	case FI_CSWAP_GT:
		return less(type, dst, cmp) ? src : dst;
	default:
		return (src & cmp) | (dst & ~cmp);
	}
}

static void fill(uint8_t *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)(rand() % 3 ? rand() : rand() % 2 ? 0 : 255);
}

static void apply(enum fi_datatype type, int op, void *dst, const void *src, const void *cmp)
{
	ofi_reduce_fn *reduce = ofi_reduce_find(type, op);
	ofi_swap_fn *swap = ofi_swap_find(type, op);

	assert_true(!reduce != !swap);
	if (reduce)
		reduce(dst, src, COUNT);
	else
		swap(dst, src, cmp, COUNT);
}

/* At odd addresses, so that the sanitizer sees an access that needs alignment. */
static void check_integer(const struct integer *type, int op)
{
	uint8_t dst[COUNT * 16 + 1], src[COUNT * 16 + 1], cmp[COUNT * 16 + 1], old[COUNT * 16 + 1];
	uwide want;
	size_t at;

	fill(dst, sizeof(dst));
	fill(src, sizeof(src));
	fill(cmp, sizeof(cmp));
	memcpy(src + 1, dst + 1, type->size);
	memcpy(cmp + 1, dst + 1, 2 * type->size);
	memcpy(old, dst, sizeof(dst));
	apply(type->type, op, dst + 1, src + 1, cmp + 1);
	for (int i = 0; i < COUNT; i++) {
		at = 1 + (size_t)i * type->size;
		want = expect(type, op, load(type, old + at), load(type, src + at),
			      load(type, cmp + at));
		assert_memory_equal(dst + at, &want, type->size);
	}
	at = 1 + COUNT * type->size;
	assert_memory_equal(dst + at, old + at, sizeof(dst) - at);
}

static void integers_wrap_around(void **state)
{
	(void)state;
	for (size_t t = 0; t < LENGTH(integers); t++) {
		assert_int_equal(ofi_datatype_size(integers[t].type), integers[t].size);
		for (int op = FI_MIN; op <= FI_DIFF; op++)
			for (int i = 0; i < ROUNDS; i++)
				check_integer(&integers[t], op);
	}
}

static bool is_complex(enum fi_datatype type)
{
	return type == FI_FLOAT_COMPLEX || type == FI_DOUBLE_COMPLEX ||
	       type == FI_LONG_DOUBLE_COMPLEX;
}

static number get(enum fi_datatype type, const void *array, int i)
{
	switch (type) {
	case FI_FLOAT:
		return ((const float *)array)[i];
	case FI_DOUBLE:
		return ((const double *)array)[i];
	case FI_LONG_DOUBLE:
		return ((const long double *)array)[i];
	case FI_FLOAT_COMPLEX:
		return ((const float _Complex *)array)[i];
	case FI_DOUBLE_COMPLEX:
		return ((const double _Complex *)array)[i];
	default:
		return ((const number *)array)[i];
	}
}

static void put(enum fi_datatype type, void *array, int i, number value)
{
	switch (type) {
	case FI_FLOAT:
		((float *)array)[i] = (float)__real__ value;
		break;
	case FI_DOUBLE:
		((double *)array)[i] = (double)__real__ value;
		break;
	case FI_LONG_DOUBLE:
		((long double *)array)[i] = __real__ value;
		break;
	case FI_FLOAT_COMPLEX:
		((float _Complex *)array)[i] = (float _Complex)value;
		break;
	case FI_DOUBLE_COMPLEX:
		((double _Complex *)array)[i] = (double _Complex)value;
		break;
	default:
		((number *)array)[i] = value;
		break;
	}
}

/* Small whole numbers: exact in every type. */
static number small(enum fi_datatype type)
{
	number value = rand() % 9 - 4;

	if (is_complex(type))
		__imag__ value = rand() % 5 - 2;
	return value;
}

static number expect_number(int op, number dst, number src, number cmp)
{
	long double d = __real__ dst, s = __real__ src, c = __real__ cmp;

	switch (op) {
	case FI_MIN:
		return s < d ? s : d;
	case FI_MAX:
		return s > d ? s : d;
	case FI_SUM:
		return dst + src;
	case FI_DIFF:
		return dst - src;
	case FI_PROD:
		return dst * src;
	case FI_LOR:
		return dst != 0 || src != 0;
	case FI_LAND:
		return dst != 0 && src != 0;
	case FI_LXOR:
		return (dst != 0) != (src != 0);
	case FI_ATOMIC_READ:
		return dst;
	case FI_ATOMIC_WRITE:
		return src;
	case FI_CSWAP:
		return cmp == dst ? src : dst;
	case FI_CSWAP_NE:
		return cmp == dst ? dst : src;
	case FI_CSWAP_LE:
		return c <= d ? s : d;
	case FI_CSWAP_LT:
		return c < d ? s : d;
	case FI_CSWAP_GE:
		return c >= d ? s : d;
	default:
		return c > d ? s : d;
	}
}

static void check_float(enum fi_datatype type, int op)
{
	number dst[COUNT], src[COUNT], cmp[COUNT], old[COUNT];

	for (int i = 0; i < COUNT; i++) {
		old[i] = small(type);
		put(type, dst, i, old[i]);
		put(type, src, i, small(type));
		put(type, cmp, i, rand() % 2 ? old[i] : small(type));
	}
	apply(type, op, dst, src, cmp);
	for (int i = 0; i < COUNT; i++)
		assert_true(get(type, dst, i) ==
			    expect_number(op, old[i], get(type, src, i), get(type, cmp, i)));
}

static bool on_floats(enum fi_datatype type, int op)
{
	switch (op) {
	case FI_BOR:
	case FI_BAND:
	case FI_BXOR:
	case FI_MSWAP:
		return false;
	case FI_MIN:
	case FI_MAX:
	case FI_CSWAP_LE:
	case FI_CSWAP_LT:
	case FI_CSWAP_GE:
	case FI_CSWAP_GT:
		return !is_complex(type);
	default:
		return true;
	}
}

static void floating_point(void **state)
{
	(void)state;
	for (size_t t = 0; t < LENGTH(floats); t++)
		for (int op = FI_MIN; op <= FI_DIFF; op++) {
			if (on_floats(floats[t], op)) {
				for (int i = 0; i < ROUNDS; i++)
					check_float(floats[t], op);
				continue;
			}
			assert_null(ofi_reduce_find(floats[t], op));
			assert_null(ofi_swap_find(floats[t], op));
		}
	assert_int_equal(ofi_datatype_size(FI_LONG_DOUBLE), sizeof(long double));
	assert_int_equal(ofi_datatype_size(FI_LONG_DOUBLE_COMPLEX), 2 * sizeof(long double));
}

static void what_is_not_defined(void **state)
{
	(void)state;
	assert_int_equal(ofi_datatype_size(FI_VOID), 0);
	assert_int_equal(ofi_datatype_size(FI_FLOAT8_E5M2 + 1), 0);
	assert_int_equal(ofi_datatype_size((enum fi_datatype) - 1), 0);
	assert_null(ofi_reduce_find(FI_VOID, FI_SUM));
	assert_null(ofi_reduce_find(FI_INT8, FI_NOOP));
	assert_null(ofi_reduce_find(FI_INT8, FI_DIFF + 1));
	assert_null(ofi_reduce_find(FI_INT8, FI_MSWAP));
	assert_null(ofi_reduce_find(FI_INT8, FI_CSWAP));
	assert_null(ofi_reduce_find(FI_INT8, (enum fi_op) - 1));
	assert_null(ofi_swap_find(FI_INT8, FI_SUM));
	assert_null(ofi_swap_find(FI_INT8, FI_DIFF));
	assert_null(ofi_swap_find((enum fi_datatype)99, FI_CSWAP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_wrap_around),
		cmocka_unit_test(floating_point),
		cmocka_unit_test(what_is_not_defined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
