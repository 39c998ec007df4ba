/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sizes and vectors. */
#include <stdlib.h>
#include <string.h>
#include "gpu.h"
#include "sizes.h"

size_t sizes_of(const struct end *end, size_t limit, size_t sizes[SIZES_MAX])
{
	size_t inject = end->info->tx_attr->inject_size, mtu = end->info->nic->link_attr->mtu;
	size_t max = end->info->ep_attr->max_msg_size;
	const size_t all[] = { 0,   1,	     inject - 1, inject,  inject + 1, mtu - 1,
			       mtu, mtu + 1, 64 << 10,	 1 << 20, max };
	size_t i, n = 0, room = end->setup->buf_size - PARTS_MAX * PART_GAP;

	CHECK(inject > 1 && mtu > 1);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i] <= limit && all[i] <= room && all[i] <= max)
			sizes[n++] = all[i];
	return n;
}

void parts_lay(uint8_t *base, size_t len, struct iovec *iov, void **desc, size_t count, void *md)
{
	size_t i, part, done = 0;

	for (i = 0; i < count; i++) {
		part = i == count - 1 ? len - done : (len - done) / (count - i + 1);
		iov[i].iov_base = base + done + i * PART_GAP;
		iov[i].iov_len = part;
		desc[i] = md;
		done += part;
	}
}

static size_t parts_len(const struct iovec *iov, size_t count)
{
	size_t i, len = 0;

	for (i = 0; i < count; i++)
		len += iov[i].iov_len;
	return len;
}

void parts_fill(const struct iovec *iov, size_t count, unsigned int seed)
{
	size_t i, done = 0, len = parts_len(iov, count);
	uint8_t *whole = malloc(len + 1);

	CHECK(whole);
	fill(whole, len, seed);
	for (i = 0; i < count; done += iov[i++].iov_len)
		mem_put(iov[i].iov_base, whole + done, iov[i].iov_len);
	free(whole);
}

void parts_check(const struct iovec *iov, size_t count, unsigned int seed)
{
	size_t i, done = 0, len = parts_len(iov, count);
	uint8_t *whole = malloc(len + 1);

	CHECK(whole);
	for (i = 0; i < count; done += iov[i++].iov_len)
		mem_get(whole + done, iov[i].iov_base, iov[i].iov_len);
	CHECK_FILLED(whole, len, seed);
	free(whole);
}
