/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sizes at which data transfers are tested, and vectors with gaps between their parts. */
#ifndef SIZES_H
#define SIZES_H

#include "steps.h"

#define SIZES_MAX 16
#define PARTS_MAX 4
#define PART_GAP  64
/* Room for the largest size, laid out in parts. */
#define SIZES_BUF ((8 << 20) + PARTS_MAX * PART_GAP)

/*
 * 0, 1, around the inject size and the MTU, 64 KiB, 1 MiB and max_msg_size, if they fit the end's
 * buf. Returns how many. limit is the largest that is wanted.
 */
size_t sizes_of(const struct end *end, size_t limit, size_t sizes[SIZES_MAX]);

/* Lays len bytes out at base, in count parts of different lengths. */
void parts_lay(uint8_t *base, size_t len, struct iovec *iov, void **desc, size_t count, void *md);
void parts_fill(const struct iovec *iov, size_t count, unsigned int seed);
void parts_check(const struct iovec *iov, size_t count, unsigned int seed);

#endif
