/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets whose receiver was not ready: a reliable device reports that it has not delivered them,
 * and they are sent again after a wait.
 */
#include <stdlib.h>
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"

#define READY_US 40 /* shortest wait */

/* The first wait is random, so that senders do not come back together. */
static uint64_t wait_new(const struct vrb_ud *all)
{
	const struct vrb_params *params = vrb_rc_domain(all->ep)->fabric->kind->sizes;

	if (params->timeout_interval)
		return (uint64_t)params->timeout_interval;
	return READY_US + (uint64_t)rand_r(&vrb_rc(all->ep)->conns.seed) % (2 * READY_US);
}

static uint64_t longest_wait(const struct vrb_ud *all)
{
	return (uint64_t)vrb_rc_domain(all->ep)->fabric->kind->sizes->max_timeout;
}

void vrb_ud_not_ready(struct vrb_ud *all, uint64_t index)
{
	struct vrb_ud_tx *tx = index < all->sq_head ? all->sq[index % VRB_UD_SQ] : NULL;
	struct vrb_ud_conn *ud;

	if (!tx || tx->done || tx->not_ready || !tx->ud)
		return;
	ud = tx->ud;
	if (TAILQ_EMPTY(&ud->not_ready)) {
		ud->ready_wait = ud->ready_wait ? 2 * ud->ready_wait : wait_new(all);
		if (ud->ready_wait > longest_wait(all))
			ud->ready_wait = longest_wait(all);
		ud->ready_at = all->now + ud->ready_wait;
	}
	tx->not_ready = true;
	TAILQ_INSERT_TAIL(&ud->not_ready, tx, link);
	vrb_ud_watch(ud);
}

/* These transmissions have never arrived, so they keep their numbers. */
void vrb_ud_send_not_ready(struct vrb_ud_conn *ud)
{
	struct vrb_ud_tx *tx;

	if (vrb_ud_of(ud)->now < ud->ready_at)
		return;
	while ((tx = TAILQ_FIRST(&ud->not_ready))) {
		TAILQ_REMOVE(&ud->not_ready, tx, link);
		tx->not_ready = false;
		vrb_ud_transmit(ud, tx);
	}
}
