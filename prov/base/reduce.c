/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of the functions of reduce_type.h, by data type and operation. */
#include <stdint.h>
#include <string.h>
#include "minifloat.h"
#include "reduce.h"

#define INTEGER 1
#define REAL	2
#define COMPLEX 3

/* Elements as they are in application buffers: at any address, with any declared type. */
#define ELEMENT __attribute__((aligned(1), may_alias))

typedef int8_t ELEMENT any_int8;
typedef uint8_t ELEMENT any_uint8;
typedef int16_t ELEMENT any_int16;
typedef uint16_t ELEMENT any_uint16;
typedef int32_t ELEMENT any_int32;
typedef uint32_t ELEMENT any_uint32;
typedef int64_t ELEMENT any_int64;
typedef uint64_t ELEMENT any_uint64;
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

#define T	 any_int8
#define A	 unsigned int
#define FN(name) name##_int8
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_uint8
#define A	 unsigned int
#define FN(name) name##_uint8
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_int16
#define A	 unsigned int
#define FN(name) name##_int16
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_uint16
#define A	 unsigned int
#define FN(name) name##_uint16
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_int32
#define A	 uint32_t
#define FN(name) name##_int32
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_uint32
#define A	 uint32_t
#define FN(name) name##_uint32
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_int64
#define A	 uint64_t
#define FN(name) name##_int64
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_uint64
#define A	 uint64_t
#define FN(name) name##_uint64
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_float
#define A	 float
#define FN(name) name##_float
#define KIND	 REAL
#include "reduce_type.h"

#define T	 any_double
#define A	 double
#define FN(name) name##_double
#define KIND	 REAL
#include "reduce_type.h"

#define T	 any_ldouble
#define A	 long double
#define FN(name) name##_ldouble
#define KIND	 REAL
#include "reduce_type.h"

#define T	 any_cfloat
#define A	 float _Complex
#define FN(name) name##_cfloat
#define KIND	 COMPLEX
#include "reduce_type.h"

#define T	 any_cdouble
#define A	 double _Complex
#define FN(name) name##_cdouble
#define KIND	 COMPLEX
#include "reduce_type.h"

#define T	 any_cldouble
#define A	 long double _Complex
#define FN(name) name##_cldouble
#define KIND	 COMPLEX
#include "reduce_type.h"

#define T	 any_uint16
#define A	 float
#define FN(name) name##_float16
#define KIND	 REAL
#define LOAD(x)	 ofi_minifloat_decode(&ofi_float16, x)
#define STORE(x) ((T)ofi_minifloat_encode(&ofi_float16, (A)(x)))
#include "reduce_type.h"

#define T	 any_uint16
#define A	 float
#define FN(name) name##_bfloat16
#define KIND	 REAL
#define LOAD(x)	 ofi_minifloat_decode(&ofi_bfloat16, x)
#define STORE(x) ((T)ofi_minifloat_encode(&ofi_bfloat16, (A)(x)))
#include "reduce_type.h"

#define T	 any_uint8
#define A	 float
#define FN(name) name##_float8_e4m3
#define KIND	 REAL
#define LOAD(x)	 ofi_minifloat_decode(&ofi_float8_e4m3, x)
#define STORE(x) ((T)ofi_minifloat_encode(&ofi_float8_e4m3, (A)(x)))
#include "reduce_type.h"

#define T	 any_uint8
#define A	 float
#define FN(name) name##_float8_e5m2
#define KIND	 REAL
#define LOAD(x)	 ofi_minifloat_decode(&ofi_float8_e5m2, x)
#define STORE(x) ((T)ofi_minifloat_encode(&ofi_float8_e5m2, (A)(x)))
#include "reduce_type.h"

#ifdef __SIZEOF_INT128__
#define T	 any_int128
#define A	 wide
#define FN(name) name##_int128
#define KIND	 INTEGER
#include "reduce_type.h"

#define T	 any_uint128
#define A	 wide
#define FN(name) name##_uint128
#define KIND	 INTEGER
#include "reduce_type.h"
#endif

struct type {
	size_t size;
	ofi_reduce_fn *const *reduce;
	ofi_swap_fn *const *swap;
};

static const struct type types[] = {
	[FI_INT8] = { sizeof(any_int8), reduce_int8, swap_int8 },
	[FI_UINT8] = { sizeof(any_uint8), reduce_uint8, swap_uint8 },
	[FI_INT16] = { sizeof(any_int16), reduce_int16, swap_int16 },
	[FI_UINT16] = { sizeof(any_uint16), reduce_uint16, swap_uint16 },
	[FI_INT32] = { sizeof(any_int32), reduce_int32, swap_int32 },
	[FI_UINT32] = { sizeof(any_uint32), reduce_uint32, swap_uint32 },
	[FI_INT64] = { sizeof(any_int64), reduce_int64, swap_int64 },
	[FI_UINT64] = { sizeof(any_uint64), reduce_uint64, swap_uint64 },
	[FI_FLOAT] = { sizeof(any_float), reduce_float, swap_float },
	[FI_DOUBLE] = { sizeof(any_double), reduce_double, swap_double },
	[FI_LONG_DOUBLE] = { sizeof(any_ldouble), reduce_ldouble, swap_ldouble },
	[FI_FLOAT_COMPLEX] = { sizeof(any_cfloat), reduce_cfloat, swap_cfloat },
	[FI_DOUBLE_COMPLEX] = { sizeof(any_cdouble), reduce_cdouble, swap_cdouble },
	[FI_LONG_DOUBLE_COMPLEX] = { sizeof(any_cldouble), reduce_cldouble, swap_cldouble },
#ifdef __SIZEOF_INT128__
	[FI_INT128] = { sizeof(any_int128), reduce_int128, swap_int128 },
	[FI_UINT128] = { sizeof(any_uint128), reduce_uint128, swap_uint128 },
#endif
	[FI_FLOAT16] = { sizeof(any_uint16), reduce_float16, swap_float16 },
	[FI_BFLOAT16] = { sizeof(any_uint16), reduce_bfloat16, swap_bfloat16 },
	[FI_FLOAT8_E4M3] = { sizeof(any_uint8), reduce_float8_e4m3, swap_float8_e4m3 },
	[FI_FLOAT8_E5M2] = { sizeof(any_uint8), reduce_float8_e5m2, swap_float8_e5m2 },
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
