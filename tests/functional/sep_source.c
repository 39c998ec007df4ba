/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The source of a message is the peer's scalable endpoint whichever of its contexts sent it, also
 * when addresses have no bits for an index.
 */
#include "sep.h"

static struct sep_pair pair;

static void message(int tx)
{
	uint64_t out = 3, in = 0;
	fi_addr_t source;

	OK(fi_trecv(pair.side[1].rx[0], &in, sizeof(in), NULL, pair.side[1].peer, 1, 0, &in));
	OK(fi_tsend(pair.side[0].tx[tx], &out, sizeof(out), NULL, pair.side[0].peer, 1, &out));
	sep_wait(&pair, 1, 0, &source);
	EQUAL(source, pair.side[1].peer);
	EQUAL(in, out);
	sep_wait(&pair, 0, tx, &source);
}

static void renew_peer(void)
{
	struct sep_side *side = &pair.side[1];
	char name[128];
	size_t len = sizeof(name);

	OK(fi_getname(&pair.side[0].sep->fid, name, &len));
	OK(fi_av_remove(side->av, &side->peer, 1, 0));
	RETURNS(fi_av_insert(side->av, name, 1, &side->peer, 0, NULL), 1);
}

static void test(void)
{
	int tx;

	sep_open_bits(&pair, FI_THREAD_SAFE, FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE, 0);
	for (tx = 0; tx < SEP_MANY; tx++)
		message(tx);
	renew_peer();
	for (tx = SEP_MANY; tx--;)
		message(tx);
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
