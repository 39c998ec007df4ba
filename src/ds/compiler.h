/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the compiler is told. Each use is there because an instruction count of tests/bench fails
 * without it; everything else is left to the compiler.
 */
#ifndef OFI_COMPILER_H
#define OFI_COMPILER_H

#define ofi_likely(x)	__builtin_expect(!!(x), 1)
#define ofi_unlikely(x) __builtin_expect(!!(x), 0)

/* A body that is specialized by its constant arguments in each caller. */
#define OFI_INLINE static inline __attribute__((always_inline))

/* A slow path that stays out of its caller, with its arguments in the registers they came in. */
#if __has_attribute(noipa)
#define OFI_OUTLINE __attribute__((noinline, noipa))
#else
#define OFI_OUTLINE __attribute__((noinline))
#endif

/* Makes the compiler forget what it knows of a variable, so that it does not keep copies of it. */
#define ofi_forget(variable) __asm__("" : "+r"(variable))

#endif
