/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A context sends to an endpoint that does not know it yet. Once its scalable endpoint is in the
 * address vector, a receive that names it gets the message, and its source is known.
 */
#include <string.h>
#include "sep.h"

enum { FROM = 2, TO = 1, TAG = 9 };

static void forget(struct sep_side *side)
{
	OK(fi_av_remove(side->av, &side->peer, 1, 0));
}

static void know(struct sep_side *side, struct sep_side *peer)
{
	char name[128];
	size_t len = sizeof(name);

	OK(fi_getname(&peer->sep->fid, name, &len));
	RETURNS(fi_av_insert(side->av, name, 1, &side->peer, 0, NULL), 1);
}

static void exchange(struct sep_pair *pair, uint64_t word)
{
	struct sep_side *peer = &pair->side[1];
	uint64_t in = 0;
	fi_addr_t source;

	OK(fi_trecv(peer->rx[TO], &in, sizeof(in), NULL, peer->peer, TAG, 0, &in));
	sep_wait(pair, 1, TO, &source);
	EQUAL(source, peer->peer);
	EQUAL(in, word);
}

static void test(void)
{
	struct sep_pair pair;
	uint64_t out = 5;
	fi_addr_t source;

	sep_open(&pair, FI_THREAD_SAFE);
	forget(&pair.side[1]);
	OK(fi_tsend(pair.side[0].tx[FROM], &out, sizeof(out), NULL, sep_addr(&pair, 0, TO), TAG,
		    &out));
	sep_wait(&pair, 0, FROM, &source);
	know(&pair.side[1], &pair.side[0]);
	exchange(&pair, out);
	/* The answer goes to that context, too. */
	OK(fi_trecv(pair.side[0].rx[FROM], &out, sizeof(out), NULL, pair.side[0].peer, TAG, 0,
		    &out));
	OK(fi_tsend(pair.side[1].tx[TO], &(uint64_t){ 6 }, sizeof(out), NULL,
		    sep_addr(&pair, 1, FROM), TAG, &pair));
	sep_wait(&pair, 0, FROM, &source);
	EQUAL(source, pair.side[0].peer);
	EQUAL(out, 6);
	sep_wait(&pair, 1, TO, &source);
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
