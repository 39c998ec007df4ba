/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several threads sleep on one completion queue of reliable datagrams: simultaneous completions,
 * and fi_cq_signal, wake each of them, whichever thread took the device's event; with one endpoint
 * on the queue, and with two.
 */
#include "rdm.h"

#include "sleepers.h"

enum { ROUNDS = 12 };

static struct rdm_pair pair;

static void ask(struct fi_info *hints)
{
	hints->domain_attr->threading = FI_THREAD_SAFE;
}

static void wait_sent(void)
{
	struct fi_cq_tagged_entry entry;

	RETURNS(fi_cq_sread(pair.side[0].cq, &entry, 1, NULL, WAIT_MS), 1);
}

static void entries(unsigned int count)
{
	struct sleepers *sleepers;
	uint64_t word[SLEEPERS_MAX], sent[SLEEPERS_MAX] = { 0 };
	unsigned int i;

	for (i = 0; i < count; i++)
		OK(fi_trecv(pair.side[1].ep, &word[i], 8, NULL, FI_ADDR_UNSPEC, 7, 0, NULL));
	sleepers = sleepers_start(count, sleep_for_entry, pair.side[1].cq);
	for (i = 0; i < count; i++)
		OK(fi_tsend(pair.side[0].ep, &sent[i], 8, NULL, pair.side[0].peer, 7, NULL));
	sleepers_join(sleepers);
	for (i = 0; i < count; i++)
		wait_sent();
}

static void signals(unsigned int count)
{
	struct sleepers *sleepers = sleepers_start(count, sleep_for_signal, pair.side[1].cq);
	struct fi_cq_tagged_entry entry;

	OK(fi_cq_signal(pair.side[1].cq));
	sleepers_join(sleepers);
	RETURNS(fi_cq_sread(pair.side[1].cq, &entry, 1, NULL, 5), -FI_EAGAIN);
}

static struct fid_ep *open_another(void)
{
	struct rdm_side *side = &pair.side[1];
	struct fid_ep *ep;

	OK(fi_endpoint(pair.domain, pair.info, &ep, NULL));
	OK(fi_ep_bind(ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(ep, &side->av->fid, 0));
	OK(fi_enable(ep));
	return ep;
}

static void rounds(void)
{
	unsigned int i, count;

	for (i = 0; i < ROUNDS; i++) {
		count = 2 + i % (SLEEPERS_MAX - 1);
		entries(count);
		signals(count);
	}
}

static void test(void)
{
	struct rdm_change change = { .hints = ask, .wait = FI_WAIT_FD };
	struct fid_ep *ep;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	rounds();
	ep = open_another();
	rounds();
	OK(fi_close(&ep->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
