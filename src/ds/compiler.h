/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hints to the compiler. Each use exists because an instruction count of tests/bench fails without
 * it; everything else is left to the compiler.
 */
#ifndef OFI_COMPILER_H
#define OFI_COMPILER_H

#define ofi_likely(x)	__builtin_expect(!!(x), 1)
#define ofi_unlikely(x) __builtin_expect(!!(x), 0)

/* A function body that is specialized for its constant arguments in each caller. */
#define OFI_INLINE static inline __attribute__((always_inline))

/* A slow path that stays out of its caller and takes its arguments in the same registers. */
#if __has_attribute(noipa)
#define OFI_OUTLINE __attribute__((noinline, noipa))
#else
#define OFI_OUTLINE __attribute__((noinline))
#endif

/* Makes the compiler forget what it knows about a variable, so that it keeps no copies of it. */
#define ofi_forget(variable) __asm__("" : "+r"(variable))

#endif
