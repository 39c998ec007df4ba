/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Invalid addresses, sizes, flags, indices and attributes: each gives its error and does no harm.
 * An address vector closes after the endpoints that are bound to it, a domain after its address
 * vectors.
 */
#include <string.h>
#include "steps.h"

static const struct setup setup = { .type = FI_EP_DGRAM, .buf_size = 65536 };

static void bad_attributes(struct end *end)
{
	struct fi_av_attr attr = { .name = "shared" };
	struct fid_av *av = NULL;

	RETURNS(fi_av_open(end->domain, NULL, &av, NULL), -FI_EINVAL);
	RETURNS(fi_av_open(end->domain, &attr, &av, NULL), -FI_ENOSYS);
	attr = (struct fi_av_attr){ .flags = FI_READ };
	RETURNS(fi_av_open(end->domain, &attr, &av, NULL), -FI_EINVAL);
	attr = (struct fi_av_attr){ .flags = FI_MORE };
	RETURNS(fi_av_open(end->domain, &attr, &av, NULL), -FI_EBADFLAGS);
	attr = (struct fi_av_attr){ .type = 99 };
	RETURNS(fi_av_open(end->domain, &attr, &av, NULL), -FI_EINVAL);
	attr = (struct fi_av_attr){ .rx_ctx_bits = 4 };
	RETURNS(fi_av_open(end->domain, &attr, &av, NULL), -FI_EINVAL);
	attr = (struct fi_av_attr){ .count = 1 };
	RETURNS(fi_av_open(end->domain, &attr, NULL, NULL), -FI_EINVAL);
	CHECK(!av);
}

/*
 * Each byte of a valid name is replaced by other values; the name is accepted or refused, and
 * nothing else happens.
 */
static void damaged_names(struct end *end, const struct name *name)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xe0, 0xff };
	struct name bad;
	fi_addr_t addr;
	size_t i, v;
	int err;

	for (i = 0; i < name->len; i++) {
		for (v = 0; v < ARRAY_SIZE(values); v++) {
			bad = *name;
			bad.bytes[i] = values[v];
			addr = 0;
			if (fi_av_insert(end->av, bad.bytes, 1, &addr, FI_SYNC_ERR, &err) == 1) {
				EQUAL(err, 0);
				OK(fi_av_remove(end->av, &addr, 1, 0));
			} else {
				EQUAL(err, FI_EINVAL);
				CHECK(addr == FI_ADDR_NOTAVAIL);
			}
		}
	}
	memset(bad.bytes, 0, sizeof(bad.bytes));
	EQUAL(fi_av_insert(end->av, bad.bytes, 1, &addr, 0, NULL), 0);
	CHECK(addr == FI_ADDR_NOTAVAIL);
}

static void bad_insertions(struct end *end, const struct name *name)
{
	fi_addr_t addr;

	RETURNS(fi_av_insert(end->av, NULL, 1, &addr, 0, NULL), -FI_EINVAL);
	RETURNS(fi_av_insert(end->av, name->bytes, 1, &addr, FI_SEND, NULL), -FI_EBADFLAGS);
	RETURNS(fi_av_insert(end->av, name->bytes, 1, &addr, FI_SYNC_ERR, NULL), -FI_EINVAL);
	RETURNS(fi_av_insert(end->av, name->bytes, 1, NULL, FI_AV_USER_ID, NULL), -FI_EINVAL);
	RETURNS(fi_av_insert(end->av, name->bytes, SIZE_MAX, NULL, 0, NULL), -FI_EINVAL);
	EQUAL(fi_av_insert(end->av, NULL, 0, NULL, 0, NULL), 0);
}

static void bad_indices(struct end *end, const struct name *name)
{
	static const fi_addr_t wrong[] = {
		1, 4095, 4096, 1u << 31, 1ULL << 32, 1ULL << 62, 1ULL << 63, FI_ADDR_NOTAVAIL,
	};
	uint8_t bytes[64];
	fi_addr_t addr;
	size_t i, len;

	EQUAL(fi_av_insert(end->av, name->bytes, 1, &addr, 0, NULL), 1);
	EQUAL(addr, 0);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		addr = wrong[i];
		len = sizeof(bytes);
		RETURNS(fi_av_lookup(end->av, addr, bytes, &len), -FI_EINVAL);
		RETURNS(fi_av_remove(end->av, &addr, 1, 0), -FI_EINVAL);
		RETURNS(fi_av_set_user_id(end->av, addr, 1, 0), -FI_EINVAL);
		RETURNS(fi_send(end->ep, end->buf, 1, end->desc, addr, NULL), -FI_EINVAL);
		RETURNS(fi_inject(end->ep, end->buf, 1, addr), -FI_EINVAL);
	}
	addr = 0;
	RETURNS(fi_av_lookup(end->av, 0, bytes, NULL), -FI_EINVAL);
	RETURNS(fi_av_lookup(end->av, 0, NULL, &len), -FI_EINVAL);
	RETURNS(fi_av_remove(end->av, &addr, 1, FI_MORE), -FI_EBADFLAGS);
	RETURNS(fi_av_remove(end->av, NULL, 1, 0), -FI_EINVAL);
	RETURNS(fi_av_set_user_id(end->av, 0, 1, FI_MORE), -FI_EBADFLAGS);
	OK(fi_av_remove(end->av, &addr, 1, 0));
}

static void bad_binds(struct end *end)
{
	RETURNS(fi_av_bind(end->av, &end->cq->fid, 0), -FI_EINVAL);
	RETURNS(fi_av_bind(end->av, &end->eq->fid, FI_SEND), -FI_EBADFLAGS);
	OK(fi_av_bind(end->av, &end->eq->fid, 0));
	RETURNS(fi_av_bind(end->av, &end->eq->fid, 0), -FI_EBUSY);
}

static void test(void)
{
	struct end end = { .name = "end", .setup = &setup };
	struct name name;

	end_open(&end, own_info(&setup));
	end.ep = end_ep(&end, end.info);
	end_name(&end, &name);
	bad_attributes(&end);
	damaged_names(&end, &name);
	bad_insertions(&end, &name);
	bad_indices(&end, &name);
	bad_binds(&end);
	RETURNS(fi_close(&end.av->fid), -FI_EBUSY);
	OK(fi_close(&end.ep->fid));
	end.ep = NULL;
	RETURNS(fi_close(&end.domain->fid), -FI_EBUSY);
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
