/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_SOURCE: the sender's fi_addr, or the user's id, according to the current address vector:
 * whether or not it was sent to, and after it was removed, inserted twice or again, or renamed.
 */
#include "rdm.h"

#include <string.h>

static char buf[64];

static void with_source(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV | FI_AV_USER_ID;
}

static ssize_t read_from(struct rdm_pair *pair, int side, fi_addr_t *src)
{
	struct fi_cq_tagged_entry entry;

	fi_cq_read(pair->side[!side].cq, NULL, 0);
	return fi_cq_readfrom(pair->side[side].cq, &entry, 1, src);
}

/* The source that side 1, or the other side, gets for a message to it. */
static fi_addr_t source_at(struct rdm_pair *pair, int side)
{
	fi_addr_t src = 12345;
	uint64_t end = deadline();
	ssize_t ret;

	OK(fi_trecv(pair->side[side].ep, buf, sizeof(buf), NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tinject(pair->side[!side].ep, "x", 1, pair->side[!side].peer, 1));
	while ((ret = read_from(pair, side, &src)) == -FI_EAGAIN)
		pause_until(end, "a message");
	RETURNS(ret, 1);
	return src;
}

static fi_addr_t insert(struct rdm_pair *pair, const struct fid_ep *of, fi_addr_t id,
			uint64_t flags)
{
	fi_addr_t addr = id;
	char name[128];
	size_t len = sizeof(name);

	OK(fi_getname((fid_t)&of->fid, name, &len));
	RETURNS(fi_av_insert(pair->side[1].av, name, 1, &addr, flags, NULL), 1);
	return addr;
}

/* The index of a removed address belongs to another one. */
static void removed(struct rdm_pair *pair, bool sent_to)
{
	struct rdm_side *side = &pair->side[1];
	fi_addr_t old = side->peer, other;

	if (sent_to)
		source_at(pair, 0);
	CHECK(source_at(pair, 1) == old);
	OK(fi_av_remove(side->av, &old, 1, 0));
	CHECK(source_at(pair, 1) == FI_ADDR_NOTAVAIL);
	RETURNS(fi_tinject(side->ep, "x", 1, old, 1), -FI_EINVAL);
	other = insert(pair, side->ep, 0, 0); /* the endpoint itself */
	CHECK(other == old);
	CHECK(source_at(pair, 1) == FI_ADDR_NOTAVAIL);
	side->peer = insert(pair, pair->side[0].ep, 0, 0);
	CHECK(side->peer != old);
	CHECK(source_at(pair, 1) == side->peer);
	source_at(pair, 0);
	CHECK(source_at(pair, 1) == side->peer);
	OK(fi_av_remove(side->av, &other, 1, 0));
	CHECK(source_at(pair, 1) == side->peer);
}

/* For an address that was inserted several times, the first remaining index is reported. */
static void several(struct rdm_pair *pair)
{
	struct rdm_side *side = &pair->side[1];
	fi_addr_t addr[4] = { side->peer };
	int i;

	for (i = 1; i < 4; i++)
		addr[i] = insert(pair, pair->side[0].ep, 0, 0);
	CHECK(source_at(pair, 1) == addr[0]);
	OK(fi_av_remove(side->av, &addr[2], 1, 0));
	CHECK(source_at(pair, 1) == addr[0]);
	OK(fi_av_remove(side->av, &addr[0], 1, 0));
	CHECK(source_at(pair, 1) == addr[1]);
	OK(fi_av_remove(side->av, &addr[1], 1, 0));
	CHECK(source_at(pair, 1) == addr[3]);
	OK(fi_av_remove(side->av, &addr[3], 1, 0));
	CHECK(source_at(pair, 1) == FI_ADDR_NOTAVAIL);
	side->peer = insert(pair, pair->side[0].ep, 0, 0);
	CHECK(source_at(pair, 1) == side->peer);
}

static void renamed(struct rdm_pair *pair, bool sent_to)
{
	struct rdm_side *side = &pair->side[1];

	if (sent_to)
		source_at(pair, 0);
	OK(fi_av_set_user_id(side->av, side->peer, 1111, 0));
	CHECK(source_at(pair, 1) == 1111);
	source_at(pair, 0);
	CHECK(source_at(pair, 1) == 1111);
	OK(fi_av_set_user_id(side->av, side->peer, 2222, 0));
	CHECK(source_at(pair, 1) == 2222);
	OK(fi_av_remove(side->av, &side->peer, 1, 0));
	CHECK(source_at(pair, 1) == FI_ADDR_NOTAVAIL);
	side->peer = insert(pair, pair->side[0].ep, 3333, FI_AV_USER_ID);
	source_at(pair, 0);
	CHECK(source_at(pair, 1) == 3333);
}

static void with_errors(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_SOURCE_ERR;
}

/*
 * FI_SOURCE_ERR: a message of an unknown sender gives an error with the address, which may then be
 * inserted.
 */
static void unknown(void)
{
	const struct rdm_change change = { .hints = with_errors };
	struct fi_cq_err_entry error = { 0 };
	struct rdm_pair pair;
	struct rdm_side *side = &pair.side[1];
	fi_addr_t src;
	uint64_t end = deadline();
	ssize_t ret;

	rdm_open_with(&pair, 0, &change);
	CHECK(source_at(&pair, 1) == side->peer);
	OK(fi_av_remove(side->av, &side->peer, 1, 0));
	memset(buf, 0, sizeof(buf));
	OK(fi_trecv(side->ep, buf, sizeof(buf), NULL, FI_ADDR_UNSPEC, 7, 0, buf));
	OK(fi_tinject(pair.side[0].ep, "hello", 5, pair.side[0].peer, 7));
	while ((ret = read_from(&pair, 1, &src)) == -FI_EAGAIN)
		pause_until(end, "a message");
	RETURNS(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(side->cq, &error, 0), 1);
	EQUAL(error.err, FI_EADDRNOTAVAIL);
	CHECK(error.op_context == buf && !memcmp(buf, "hello", 5));
	EQUAL(error.len, 5);
	EQUAL(error.olen, 0);
	EQUAL(error.tag, 7);
	CHECK(error.flags & FI_TAGGED && error.flags & FI_RECV);
	CHECK(error.err_data && error.err_data_size >= 16);
	RETURNS(fi_av_insert(side->av, error.err_data, 1, &side->peer, 0, NULL), 1);
	CHECK(source_at(&pair, 1) == side->peer);
	rdm_close(&pair);
}

static void test(void)
{
	const struct rdm_change change = { .hints = with_source };
	struct rdm_pair pair;
	int sent_to;

	unknown();
	for (sent_to = 0; sent_to < 2; sent_to++) {
		rdm_open_with(&pair, 0, &change);
		removed(&pair, sent_to);
		several(&pair);
		rdm_close(&pair);
		rdm_open_with(&pair, 0, &change);
		renamed(&pair, sent_to);
		rdm_close(&pair);
	}
}

int main(void)
{
	return run_test(test);
}
