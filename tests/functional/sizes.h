/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sizes at which data transfers are tested, and vectors with gaps between their entries. */
#ifndef SIZES_H
#define SIZES_H

#include "steps.h"

#define SIZES_MAX 16
#define PARTS_MAX 4
#define PART_GAP  64
/* Room for the largest size, divided into parts. */
#define SIZES_BUF ((8 << 20) + PARTS_MAX * PART_GAP)

/*
 * Returns the number of sizes: 0, 1, around the inject size and the MTU, 64 KiB, 1 MiB and
 * max_msg_size, if they fit in the end's buf and are at most limit.
 */
size_t sizes_of(const struct end *end, size_t limit, size_t sizes[SIZES_MAX]);

/* Divides len bytes at base into count parts of different lengths. */
void parts_lay(uint8_t *base, size_t len, struct iovec *iov, void **desc, size_t count, void *md);
void parts_fill(const struct iovec *iov, size_t count, unsigned int seed);
void parts_check(const struct iovec *iov, size_t count, unsigned int seed);

#endif
