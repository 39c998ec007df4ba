/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two scalable endpoints, the first of which opens without faults: their contexts open one by one;
 * an alias, messages between contexts, contexts that end before others.
 */
#include <string.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_tagged.h>
#include "ends.h"

enum { CONTEXTS = 2, BITS = 1 };

struct sep_script {
	struct ends ends;
	struct fid_ep *sep[2], *tx[2][CONTEXTS], *rx[2][CONTEXTS], *alias;
};

/* What failed can be tried again. */
static int enable(struct ends *s, struct fid_ep *context)
{
	int ret = fi_enable(context);

	return (ret && ends_step(s, "another fi_enable", fi_enable(context))) ||
	       ends_step(s, "fi_enable", ret);
}

static int open_tx(struct sep_script *p, int i, int n)
{
	struct ends *s = &p->ends;

	return ends_step(s, "fi_tx_context",
			 fi_tx_context(p->sep[i], n, NULL, &p->tx[i][n], NULL)) ||
	       ends_step(s, "fi_ep_bind", fi_ep_bind(p->tx[i][n], &s->cq[i]->fid, FI_TRANSMIT)) ||
	       enable(s, p->tx[i][n]);
}

static int open_rx(struct sep_script *p, int i, int n)
{
	struct ends *s = &p->ends;

	return ends_step(s, "fi_rx_context",
			 fi_rx_context(p->sep[i], n, NULL, &p->rx[i][n], NULL)) ||
	       ends_step(s, "fi_ep_bind", fi_ep_bind(p->rx[i][n], &s->cq[i]->fid, FI_RECV)) ||
	       enable(s, p->rx[i][n]);
}

static int open_side(struct sep_script *p, int i)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE, .rx_ctx_bits = BITS };
	struct ends *s = &p->ends;

	return ends_step(s, "fi_cq_open", fi_cq_open(s->domain, &cq, &s->cq[i], NULL)) ||
	       ends_step(s, "fi_av_open", fi_av_open(s->domain, &av, &s->av[i], NULL)) ||
	       ends_step(s, "fi_scalable_ep",
			 fi_scalable_ep(s->domain, s->info, &p->sep[i], NULL)) ||
	       ends_step(s, "fi_scalable_ep_bind",
			 fi_scalable_ep_bind(p->sep[i], &s->av[i]->fid, 0)) ||
	       open_tx(p, i, 1) || open_rx(p, i, 0) || open_rx(p, i, 1) || open_tx(p, i, 0);
}

static int introduce(struct sep_script *p, int i)
{
	struct ends *s = &p->ends;
	char name[64];
	size_t len = sizeof(name);
	int ret, err = FI_ENOMEM;

	if (ends_step(s, "fi_getname", fi_getname(&p->sep[!i]->fid, name, &len)))
		return -1;
	ret = fi_av_insert(s->av[i], name, 1, &s->to[i], FI_SYNC_ERR, &err);
	return ends_step(s, "fi_av_insert", ret == 1 ? 0 : ret < 0 ? ret : -err);
}

static int message(struct sep_script *p, struct fid_ep *tx, int rx)
{
	struct ends *s = &p->ends;

	return ends_step(s, "fi_trecv",
			 AGAIN(fi_trecv(p->rx[1][rx], s->in, ENDS_LEN, NULL, s->to[1], 1, 0,
					NULL))) ||
	       ends_step(s, "fi_tsend",
			 AGAIN(fi_tsend(tx, s->out, 8, NULL, fi_rx_addr(s->to[0], rx, BITS), 1,
					NULL))) ||
	       ends_complete(s, "waiting for a message", 1, 1);
}

static void end(struct sep_script *p, struct fid_ep **context)
{
	ends_close_one(&p->ends, *context);
	*context = NULL;
}

/* A transmit context of side 0 and a receive context of side 1 end and are opened again. */
static int again(struct sep_script *p)
{
	end(p, &p->tx[0][1]);
	end(p, &p->rx[1][1]);
	return open_tx(p, 0, 1) || open_rx(p, 1, 1);
}

static int transfer(struct sep_script *p)
{
	return message(p, p->tx[0][1], 0) || message(p, p->tx[0][0], 1) ||
	       ends_step(&p->ends, "fi_ep_alias",
			 fi_ep_alias(p->tx[0][0], &p->alias, FI_TRANSMIT)) ||
	       message(p, p->alias, 0) || again(p) || message(p, p->tx[0][1], 1);
}

static void close_contexts(struct sep_script *p)
{
	int i, n;

	end(p, &p->alias);
	for (i = 0; i < 2; i++) {
		for (n = 0; n < CONTEXTS; n++) {
			end(p, &p->tx[i][n]);
			end(p, &p->rx[i][n]);
		}
		end(p, &p->sep[i]);
	}
}

void script_sep(const char *addr, struct outcome *outcome)
{
	static struct sep_script p;
	struct ends *s = &p.ends;
	int ret;

	(void)addr;
	memset(outcome, 0, sizeof(*outcome));
	memset(&p, 0, sizeof(p));
	s->outcome = outcome;
	if (!ends_open_fabric(s, FI_TAGGED | FI_DIRECTED_RECV | FI_NAMED_RX_CTX | FI_RMA) &&
	    !ends_open_domain(s)) {
		s->info->ep_attr->tx_ctx_cnt = s->info->ep_attr->rx_ctx_cnt = CONTEXTS;
		ret = open_side(&p, 0);
		script_begins();
		(void)(ret || open_side(&p, 1) || introduce(&p, 0) || introduce(&p, 1) ||
		       transfer(&p));
	}
	close_contexts(&p);
	ends_close(s);
}
