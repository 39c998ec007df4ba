/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables of the functions of reduce_type.h, by data type and operation, and the lock of atomics.
 */
#include <pthread.h>
#include <stdint.h>
#include "minifloat.h"
#include "reduce.h"

#define INTEGER	  1
#define REAL	  2
#define COMPLEX	  3
#define MINIFLOAT 4 /* a format of minifloat.h, computed in float */

/* Elements in application buffers, which may have any alignment and any declared type. */
#define ELEMENT __attribute__((aligned(1), may_alias))

typedef int8_t ELEMENT any_int8;
typedef uint8_t ELEMENT any_uint8;
typedef int16_t ELEMENT any_int16;
typedef uint16_t ELEMENT any_uint16;
typedef int32_t ELEMENT any_int32;
typedef uint32_t ELEMENT any_uint32;
typedef int64_t ELEMENT any_int64;
typedef uint64_t ELEMENT any_uint64;
typedef uint16_t ELEMENT any_float16;
typedef uint16_t ELEMENT any_bfloat16;
typedef uint8_t ELEMENT any_float8_e4m3;
typedef uint8_t ELEMENT any_float8_e5m2;
typedef float ELEMENT any_float;
typedef double ELEMENT any_double;
typedef long double ELEMENT any_ldouble;
typedef float _Complex ELEMENT any_cfloat;
typedef double _Complex ELEMENT any_cdouble;
typedef long double _Complex ELEMENT any_cldouble;
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 ELEMENT any_int128;
__extension__ typedef unsigned __int128 ELEMENT any_uint128;
__extension__ typedef unsigned __int128 wide;
#endif

#define TYPE int8
#define A    unsigned int
#include "reduce_type.h"

#define TYPE uint8
#define A    unsigned int
#include "reduce_type.h"

#define TYPE int16
#define A    unsigned int
#include "reduce_type.h"

#define TYPE uint16
#define A    unsigned int
#include "reduce_type.h"

#define TYPE int32
#define A    uint32_t
#include "reduce_type.h"

#define TYPE uint32
#define A    uint32_t
#include "reduce_type.h"

#define TYPE int64
#define A    uint64_t
#include "reduce_type.h"

#define TYPE uint64
#define A    uint64_t
#include "reduce_type.h"

#define TYPE float
#define A    float
#define KIND REAL
#include "reduce_type.h"

#define TYPE double
#define A    double
#define KIND REAL
#include "reduce_type.h"

#define TYPE ldouble
#define A    long double
#define KIND REAL
#include "reduce_type.h"

#define TYPE cfloat
#define A    float _Complex
#define KIND COMPLEX
#include "reduce_type.h"

#define TYPE cdouble
#define A    double _Complex
#define KIND COMPLEX
#include "reduce_type.h"

#define TYPE cldouble
#define A    long double _Complex
#define KIND COMPLEX
#include "reduce_type.h"

#define TYPE float16
#define A    float
#define KIND MINIFLOAT
#include "reduce_type.h"

#define TYPE bfloat16
#define A    float
#define KIND MINIFLOAT
#include "reduce_type.h"

#define TYPE float8_e4m3
#define A    float
#define KIND MINIFLOAT
#include "reduce_type.h"

#define TYPE float8_e5m2
#define A    float
#define KIND MINIFLOAT
#include "reduce_type.h"

#ifdef __SIZEOF_INT128__
#define TYPE int128
#define A    wide
#include "reduce_type.h"

#define TYPE uint128
#define A    wide
#include "reduce_type.h"
#endif

struct type {
	size_t size;
	ofi_reduce_fn *const *reduce;
	ofi_swap_fn *const *swap;
};

#define ROW(type)                                              \
	{                                                      \
		sizeof(any_##type), reduce_##type, swap_##type \
	}

static const struct type types[] = {
	[FI_INT8] = ROW(int8),
	[FI_UINT8] = ROW(uint8),
	[FI_INT16] = ROW(int16),
	[FI_UINT16] = ROW(uint16),
	[FI_INT32] = ROW(int32),
	[FI_UINT32] = ROW(uint32),
	[FI_INT64] = ROW(int64),
	[FI_UINT64] = ROW(uint64),
	[FI_FLOAT] = ROW(float),
	[FI_DOUBLE] = ROW(double),
	[FI_LONG_DOUBLE] = ROW(ldouble),
	[FI_FLOAT_COMPLEX] = ROW(cfloat),
	[FI_DOUBLE_COMPLEX] = ROW(cdouble),
	[FI_LONG_DOUBLE_COMPLEX] = ROW(cldouble),
#ifdef __SIZEOF_INT128__
	[FI_INT128] = ROW(int128),
	[FI_UINT128] = ROW(uint128),
#endif
	[FI_FLOAT16] = ROW(float16),
	[FI_BFLOAT16] = ROW(bfloat16),
	[FI_FLOAT8_E4M3] = ROW(float8_e4m3),
	[FI_FLOAT8_E5M2] = ROW(float8_e5m2),
};

static const struct type *type_find(enum fi_datatype datatype)
{
	static const struct type none;
	size_t i = (size_t)datatype;

	return i < sizeof(types) / sizeof(types[0]) ? &types[i] : &none;
}

size_t ofi_datatype_size(enum fi_datatype datatype)
{
	return type_find(datatype)->size;
}

ofi_reduce_fn *ofi_reduce_find(enum fi_datatype datatype, enum fi_op op)
{
	const struct type *type = type_find(datatype);

	return type->size && (size_t)op <= FI_DIFF ? type->reduce[op] : NULL;
}

ofi_swap_fn *ofi_swap_find(enum fi_datatype datatype, enum fi_op op)
{
	const struct type *type = type_find(datatype);

	return type->size && (size_t)op >= FI_CSWAP && (size_t)op <= FI_MSWAP
		       ? type->swap[op - FI_CSWAP]
		       : NULL;
}

static pthread_mutex_t atomics = PTHREAD_MUTEX_INITIALIZER;

/* fork does not wait for the holder, who may be in a library for device memory. */
static void renew_atomics(void)
{
	pthread_mutex_init(&atomics, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, renew_atomics);
}

void ofi_atomics_lock(void)
{
	pthread_mutex_lock(&atomics);
}

void ofi_atomics_unlock(void)
{
	pthread_mutex_unlock(&atomics);
}
