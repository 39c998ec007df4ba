/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sizes that fi_pingpong tests, and the text form of quantities. */
#ifndef PP_SIZE_H
#define PP_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pp_options.h"

#define PP_TEXT_LEN 24

/* Returns the index-th size that is not above limit; false after the last. */
bool pp_size_at(const struct pp_options *opts, size_t limit, unsigned int index, size_t *size);
size_t pp_size_max(const struct pp_options *opts, size_t limit);

/* Returns how many messages of a size are sent with --rate. */
unsigned int pp_size_count(const struct pp_options *opts, size_t size);

/* Units of 1024: 64, 1.5k, 1m. */
const char *pp_size_text(char text[PP_TEXT_LEN], uint64_t bytes);
/* Units of 1000: 999, 2k, 1m. */
const char *pp_count_text(char text[PP_TEXT_LEN], uint64_t count);

#endif
