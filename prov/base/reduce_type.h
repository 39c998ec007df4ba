/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The loops for one data type; reduce.c includes this file once per type. It defines TYPE, where
 * any_TYPE is the type of an element at any address; A, the type of the computation, which is
 * unsigned for integers, because they wrap around; and KIND, unless that is INTEGER.
 */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b)  PASTE_(a, b)
#define FN(name)     PASTE(name, TYPE)
#define T	     PASTE(any, TYPE)
#ifndef KIND
#define KIND INTEGER
#endif
#if KIND == MINIFLOAT
#define LOAD(x)	 ofi_minifloat_decode(&PASTE(ofi, TYPE), x)
#define STORE(x) ((T)ofi_minifloat_encode(&PASTE(ofi, TYPE), (A)(x)))
#define VALUE(x) LOAD(x)
#else
#define LOAD(x)	 ((A)(x))
#define STORE(x) ((T)(x))
#define VALUE(x) (x)
#endif
/* An int, so that compilers do not question the bitwise operators below. */
#define TRUTH(x) ((int)(VALUE(x) != 0))

/* Defines the function of an operation, which stores `value` in each dst[i]. */
#define REDUCE(name, value)                                            \
	static void FN(name)(void *to, const void *from, size_t count) \
	{                                                              \
		const T *src = from;                                   \
		T *dst = to;                                           \
                                                                       \
		for (size_t i = 0; i < count; i++)                     \
			dst[i] = (value);                              \
	}

/* Defines a function in which `value` depends on a third operand cmp[i], too. */
#define SWAP(name, value)                                                                   \
	static void FN(name)(void *to, const void *from, const void *compare, size_t count) \
	{                                                                                   \
		const T *src = from, *cmp = compare;                                        \
		T *dst = to;                                                                \
                                                                                            \
		for (size_t i = 0; i < count; i++)                                          \
			dst[i] = (value);                                                   \
	}

REDUCE(sum, STORE(LOAD(dst[i]) + LOAD(src[i])))
REDUCE(diff, STORE(LOAD(dst[i]) - LOAD(src[i])))
REDUCE(prod, STORE(LOAD(dst[i]) * LOAD(src[i])))
REDUCE(lor, STORE(TRUTH(dst[i]) | TRUTH(src[i])))
REDUCE(land, STORE(TRUTH(dst[i]) & TRUTH(src[i])))
REDUCE(lxor, STORE(TRUTH(dst[i]) ^ TRUTH(src[i])))

static void FN(read)(void *to, const void *from, size_t count)
{
	(void)to;
	(void)from;
	(void)count;
}

static void FN(write)(void *to, const void *from, size_t count)
{
	memmove(to, from, count * sizeof(T));
}

SWAP(cswap, VALUE(cmp[i]) == VALUE(dst[i]) ? src[i] : dst[i])
SWAP(cswap_ne, VALUE(cmp[i]) != VALUE(dst[i]) ? src[i] : dst[i])

#if KIND != COMPLEX
REDUCE(min, VALUE(src[i]) < VALUE(dst[i]) ? src[i] : dst[i])
REDUCE(max, VALUE(src[i]) > VALUE(dst[i]) ? src[i] : dst[i])
SWAP(cswap_le, VALUE(cmp[i]) <= VALUE(dst[i]) ? src[i] : dst[i])
SWAP(cswap_lt, VALUE(cmp[i]) < VALUE(dst[i]) ? src[i] : dst[i])
SWAP(cswap_ge, VALUE(cmp[i]) >= VALUE(dst[i]) ? src[i] : dst[i])
SWAP(cswap_gt, VALUE(cmp[i]) > VALUE(dst[i]) ? src[i] : dst[i])
#endif

#if KIND == INTEGER
REDUCE(bor, (T)(dst[i] | src[i]))
REDUCE(band, (T)(dst[i] & src[i]))
REDUCE(bxor, (T)(dst[i] ^ src[i]))
SWAP(mswap, (T)((src[i] & cmp[i]) | (dst[i] & ~cmp[i])))
#endif

static ofi_reduce_fn *const FN(reduce)[FI_DIFF + 1] = {
#if KIND != COMPLEX
	[FI_MIN] = FN(min),	     [FI_MAX] = FN(max),
#endif
	[FI_SUM] = FN(sum),	     [FI_PROD] = FN(prod),
	[FI_LOR] = FN(lor),	     [FI_LAND] = FN(land),
	[FI_LXOR] = FN(lxor),
#if KIND == INTEGER
	[FI_BOR] = FN(bor),	     [FI_BAND] = FN(band),
	[FI_BXOR] = FN(bxor),
#endif
	[FI_ATOMIC_READ] = FN(read), [FI_ATOMIC_WRITE] = FN(write),
	[FI_DIFF] = FN(diff),
};

static ofi_swap_fn *const FN(swap)[FI_MSWAP - FI_CSWAP + 1] = {
	[FI_CSWAP - FI_CSWAP] = FN(cswap),	 [FI_CSWAP_NE - FI_CSWAP] = FN(cswap_ne),
#if KIND != COMPLEX
	[FI_CSWAP_LE - FI_CSWAP] = FN(cswap_le), [FI_CSWAP_LT - FI_CSWAP] = FN(cswap_lt),
	[FI_CSWAP_GE - FI_CSWAP] = FN(cswap_ge), [FI_CSWAP_GT - FI_CSWAP] = FN(cswap_gt),
#endif
#if KIND == INTEGER
	[FI_MSWAP - FI_CSWAP] = FN(mswap),
#endif
};

#undef REDUCE
#undef SWAP
#undef LOAD
#undef STORE
#undef VALUE
#undef TRUTH
#undef FN
#undef T
#undef PASTE
#undef PASTE_
#undef TYPE
#undef A
#undef KIND
