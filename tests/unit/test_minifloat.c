/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Floating point of 16 and 8 bits: every number, and every border between two numbers. */
#include "unit.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "prov/base/minifloat.h"
#include "prov/base/reduce.h"

static const struct {
	const struct ofi_minifloat *type;
	enum fi_datatype datatype;
	float max, least;
	uint32_t one;
	bool infinite;
} formats[] = {
	{ &ofi_float16, FI_FLOAT16, 65504, 0x1p-24f, 0x3c00, true },
	{ &ofi_bfloat16, FI_BFLOAT16, 0x1.fep127f, 0x1p-133f, 0x3f80, true },
	{ &ofi_float8_e4m3, FI_FLOAT8_E4M3, 448, 0x1p-9f, 0x38, false },
	{ &ofi_float8_e5m2, FI_FLOAT8_E5M2, 57344, 0x1p-16f, 0x3c, true },
};

#define FORMATS	   (sizeof(formats) / sizeof(formats[0]))
#define EACH(i)	   for (i = 0; i < FORMATS; i++)
#define DECODE(x)  ofi_minifloat_decode(type, x)
#define ENCODE(x)  ofi_minifloat_encode(type, x)
#define BITS(type) (1 + (type)->exponent + (type)->mantissa)

/* By the definition of the format, in double. */
static double defined(const struct ofi_minifloat *type, uint32_t bits)
{
	int m = (int)type->mantissa, bias = (1 << (type->exponent - 1)) - 1;
	uint32_t rest = bits & ((1u << (BITS(type) - 1)) - 1);
	int e = (int)(rest >> m);
	double fraction = rest & ((1u << m) - 1), value;

	if (!e)
		value = ldexp(fraction, 1 - bias - m);
	else
		value = ldexp(fraction + (1 << m), e - bias - m);
	return bits == rest ? value : -value;
}

static void each_number_is_what_the_format_says(void **state)
{
	const struct ofi_minifloat *type;
	uint32_t bits, rest;
	size_t i;

	(void)state;
	EACH(i)
	{
		type = formats[i].type;
		for (bits = 0; bits < 1u << BITS(type); bits++) {
			rest = bits & ((1u << (BITS(type) - 1)) - 1);
			if (rest <= type->max)
				assert_true((double)DECODE(bits) == defined(type, bits));
			else if (rest == type->max + 1 && formats[i].infinite)
				assert_true(isinf(DECODE(bits)));
			else
				assert_true(isnan(DECODE(bits)));
			assert_int_equal(!!signbit(DECODE(bits)), bits != rest);
			assert_int_equal(ENCODE(DECODE(bits)), bits);
		}
		assert_true(DECODE(type->max) == formats[i].max);
		assert_true(DECODE(1) == formats[i].least);
		assert_true(DECODE(formats[i].one) == 1);
	}
}

static void check_border(const struct ofi_minifloat *type, uint32_t low, float middle,
			 uint32_t high)
{
	uint32_t sign = 1u << (BITS(type) - 1), even = low & 1 ? high : low;

	assert_int_equal(ENCODE(middle), even);
	assert_int_equal(ENCODE(-middle), sign | even);
	assert_int_equal(ENCODE(nextafterf(middle, 0)), low);
	assert_int_equal(ENCODE(nextafterf(middle, INFINITY)), high);
	assert_int_equal(ENCODE(-nextafterf(middle, INFINITY)), sign | high);
}

static void what_is_between_two_goes_to_the_nearer_and_ties_to_even(void **state)
{
	const struct ofi_minifloat *type;
	float ulp;
	uint32_t bits;
	size_t i;

	(void)state;
	EACH(i)
	{
		type = formats[i].type;
		for (bits = 0; bits < type->max; bits++)
			check_border(type, bits,
				     (DECODE(bits) + (DECODE(bits + 1) - DECODE(bits)) / 2),
				     bits + 1);
		ulp = DECODE(type->max) - DECODE(type->max - 1);
		check_border(type, type->max, DECODE(type->max) + ulp / 2, type->max + 1);
	}
}

/* Infinity, or the one NaN of a format that has none. */
static void what_is_too_large_is_not_finite(void **state)
{
	const struct ofi_minifloat *type;
	size_t i;

	(void)state;
	EACH(i)
	{
		type = formats[i].type;
		assert_int_equal(ENCODE(INFINITY), type->max + 1);
		assert_int_equal(ENCODE(-INFINITY), 1u << (BITS(type) - 1) | (type->max + 1));
		assert_int_equal(ENCODE(0x1.fffffep127f), type->max + 1);
		assert_int_equal(ENCODE(0x1p-149f), 0);
		assert_true(isnan(DECODE(ENCODE(NAN))));
		/* Of a payload that does not fit. */
		assert_true(isnan(DECODE(ENCODE(ofi_minifloat_of_bits(0x7f800001)))));
	}
}

static void put(void *array, enum fi_datatype datatype, size_t i, uint32_t bits)
{
	uint16_t wide = (uint16_t)bits;
	uint8_t byte = (uint8_t)bits;
	size_t size = ofi_datatype_size(datatype);

	memcpy((uint8_t *)array + i * size, size == 2 ? (void *)&wide : &byte, size);
}

static uint32_t get(const void *array, enum fi_datatype datatype, size_t i)
{
	size_t size = ofi_datatype_size(datatype);
	uint16_t value = 0;

	memcpy(&value, (const uint8_t *)array + i * size, size);
	return value;
}

static float reduced(size_t i, enum fi_op op, float left, float right)
{
	const struct ofi_minifloat *type = formats[i].type;
	enum fi_datatype datatype = formats[i].datatype;
	uint8_t dst[4], src[4];

	put(dst, datatype, 1, ENCODE(left));
	put(src, datatype, 1, ENCODE(right));
	put(dst, datatype, 0, formats[i].one);
	put(src, datatype, 0, formats[i].one);
	ofi_reduce_find(datatype, op)(dst, src, 2);
	return DECODE(get(dst, datatype, 1));
}

static void they_are_reduced(void **state)
{
	size_t i;

	(void)state;
	EACH(i)
	{
		assert_true(reduced(i, FI_SUM, 2, -3) == -1);
		assert_true(reduced(i, FI_DIFF, 2, -3) == 5);
		assert_true(reduced(i, FI_PROD, 2, -3) == -6);
		assert_true(reduced(i, FI_MIN, -2, -3) == -3);
		assert_true(reduced(i, FI_MAX, -2, -3) == -2);
		assert_true(reduced(i, FI_LAND, -2, 0) == 0);
		assert_true(reduced(i, FI_LOR, -2, 0) == 1);
		assert_true(reduced(i, FI_LOR, -0.0f, 0) == 0);
		assert_true(reduced(i, FI_LXOR, -2, 5) == 0);
		assert_true(reduced(i, FI_ATOMIC_READ, -2, 5) == -2);
		assert_true(reduced(i, FI_ATOMIC_WRITE, -2, 5) == 5);
		assert_false(isfinite(reduced(i, FI_SUM, formats[i].max, formats[i].max)));
		assert_null(ofi_reduce_find(formats[i].datatype, FI_BOR));
		assert_null(ofi_swap_find(formats[i].datatype, FI_MSWAP));
	}
}

static float swapped(size_t i, enum fi_op op, float old, float compare)
{
	const struct ofi_minifloat *type = formats[i].type;
	enum fi_datatype datatype = formats[i].datatype;
	uint8_t dst[4], src[4], than[4];

	put(dst, datatype, 0, ENCODE(old));
	put(src, datatype, 0, formats[i].one);
	put(than, datatype, 0, ENCODE(compare));
	ofi_swap_find(datatype, op)(dst, src, than, 1);
	return DECODE(get(dst, datatype, 0));
}

static void they_are_swapped(void **state)
{
	size_t i;

	(void)state;
	EACH(i)
	{
		assert_true(swapped(i, FI_CSWAP, -0.0f, 0) == 1); /* equal, with other bits */
		assert_true(swapped(i, FI_CSWAP, 2, 3) == 2);
		assert_true(isnan(swapped(i, FI_CSWAP, NAN, NAN)));
		assert_true(swapped(i, FI_CSWAP_NE, NAN, NAN) == 1);
		assert_true(swapped(i, FI_CSWAP_LT, -2, -3) == 1);
		assert_true(swapped(i, FI_CSWAP_GE, -2, -3) == -2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_is_what_the_format_says),
		cmocka_unit_test(what_is_between_two_goes_to_the_nearer_and_ties_to_even),
		cmocka_unit_test(what_is_too_large_is_not_finite),
		cmocka_unit_test(they_are_reduced),
		cmocka_unit_test(they_are_swapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
