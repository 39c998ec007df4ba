/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Floating-point types of 16 and 8 bits, which compilers may lack: conversion to float, which is
 * exact, and back, rounded to nearest, ties to even. Values that are too large become infinity, or
 * NaN in the OCP's E4M3, which has no infinities. A NaN keeps the part of its payload that fits.
 */
#ifndef OFI_MINIFLOAT_H
#define OFI_MINIFLOAT_H

#include <stdint.h>
#include <string.h>
#include "src/ds/compiler.h"

struct ofi_minifloat {
	unsigned int exponent, mantissa; /* numbers of bits */
	uint32_t max;			 /* encoding of the largest finite number */
};

static const struct ofi_minifloat ofi_float16 = { 5, 10, 0x7bff };
static const struct ofi_minifloat ofi_bfloat16 = { 8, 7, 0x7f7f };
static const struct ofi_minifloat ofi_float8_e4m3 = { 4, 3, 0x7e };
static const struct ofi_minifloat ofi_float8_e5m2 = { 5, 2, 0x7b };

OFI_INLINE float ofi_minifloat_of_bits(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

OFI_INLINE float ofi_minifloat_decode(const struct ofi_minifloat *type, uint32_t bits)
{
	unsigned int m = type->mantissa, bias = (1u << (type->exponent - 1)) - 1;
	uint32_t sign = bits >> (type->exponent + m) << 31;
	uint32_t rest = bits & ((1u << (type->exponent + m)) - 1);
	float least = ofi_minifloat_of_bits((128 - bias - m) << 23);

	if (rest > type->max)
		return ofi_minifloat_of_bits(sign | 0x7f800000 | rest << (23 - m));
	if (type->exponent == 8)
		return ofi_minifloat_of_bits(bits << 16);
	if (rest < 1u << m)
		return sign ? -(float)rest * least : (float)rest * least;
	return ofi_minifloat_of_bits(sign | ((rest << (23 - m)) + ((127 - bias) << 23)));
}

/* Drops the given number of bits and rounds to nearest, ties to even. */
OFI_INLINE uint32_t ofi_minifloat_round(uint32_t bits, unsigned int drop)
{
	return (bits + (1u << (drop - 1)) - 1 + (bits >> drop & 1)) >> drop;
}

OFI_INLINE uint32_t ofi_minifloat_encode(const struct ofi_minifloat *type, float f)
{
	unsigned int m = type->mantissa, bias = (1u << (type->exponent - 1)) - 1, exponent, drop;
	uint32_t bits, rest, sign, nan = (1u << (type->exponent + m)) - 1;

	memcpy(&bits, &f, sizeof(bits));
	sign = bits >> 31 << (type->exponent + m);
	bits &= 0x7fffffff;
	if (bits > 0x7f800000) {
		rest = bits >> (23 - m) & nan;
		return sign | (rest > type->max + 1 ? rest : nan);
	}
	exponent = bits >> 23;
	if (exponent > 127 - bias || type->exponent == 8) {
		rest = ofi_minifloat_round(bits - ((127 - bias) << 23), 23 - m);
		return sign | (rest > type->max ? type->max + 1 : rest);
	}
	drop = 23 - m + 128 - bias - exponent;
	return sign | (drop > 25 ? 0 : ofi_minifloat_round((bits & 0x7fffff) | 0x800000, drop));
}

#endif
