/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A typical application that compiles with the headers of 1.17 and with the current ones. */
#include "tests/abi/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include "tests/abi/bind.h"

enum { MR_BASIC = 1, ROUNDS = 100, LEN = 1000, TIMEOUT_MS = 10000 };

static const char port[] = "47613";

struct side {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_mr *mr;
	char buf[LEN];
};

struct app {
	uint32_t api;
	struct fi_info *info; /* of the client */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct side client, server;
};

static void check(const char *call, long ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", call, fi_strerror((int)-ret));
	exit(1);
}

static struct fi_info *find(uint32_t api, uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	check("fi_allocinfo", hints ? 0 : -FI_ENOMEM);
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_MSG;
	hints->fabric_attr->prov_name = strdup("verbs");
	if (FI_VERSION_LT(api, FI_VERSION(1, 5))) {
		hints->mode = FI_LOCAL_MR;
		hints->domain_attr->mr_mode = MR_BASIC;
	} else {
		hints->domain_attr->mr_mode =
			FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	}
	check("fi_getinfo", fi_getinfo(api, getenv("WEFT_ADDR"), port, flags, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void open_side(struct app *app, struct side *side, struct fi_info *info)
{
	struct fi_cq_attr attr = {
		.size = 64,
		.format = FI_CQ_FORMAT_MSG,
		.wait_obj = FI_WAIT_UNSPEC,
	};

	check("fi_cq_open", fi_cq_open(app->domain, &attr, &side->cq, NULL));
	check("fi_mr_reg",
	      fi_mr_reg(app->domain, side->buf, LEN, FI_SEND | FI_RECV, 0, 0, 0, &side->mr, NULL));
	check("fi_endpoint", fi_endpoint(app->domain, info, &side->ep, NULL));
	check("fi_ep_bind", fi_ep_bind(side->ep, &app->eq->fid, 0));
	check("fi_ep_bind", fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	check("fi_enable", fi_enable(side->ep));
}

static void close_fid(struct fid *fid)
{
	check("fi_close", fi_close(fid));
}

static void close_side(struct side *side)
{
	close_fid(&side->ep->fid);
	close_fid(&side->mr->fid);
	close_fid(&side->cq->fid);
}

/* The request's fi_info, when it is one. */
static struct fi_info *wait_event(struct app *app, uint32_t wanted)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;

	check("fi_eq_sread", fi_eq_sread(app->eq, &event, &entry, sizeof(entry), TIMEOUT_MS, 0));
	if (event != wanted) {
		fprintf(stderr, "event %u, expected %u\n", event, wanted);
		exit(1);
	}
	return entry.info;
}

static void connect_sides(struct app *app)
{
	struct fi_info *request;

	check("fi_listen", fi_listen(app->pep));
	open_side(app, &app->client, app->info);
	check("fi_connect", fi_connect(app->client.ep, app->info->dest_addr, NULL, 0));
	request = wait_event(app, FI_CONNREQ);
	open_side(app, &app->server, request);
	check("fi_accept", fi_accept(app->server.ep, NULL, 0));
	fi_freeinfo(request);
	wait_event(app, FI_CONNECTED);
	wait_event(app, FI_CONNECTED);
}

static void wait_flag(struct side *side, uint64_t flag)
{
	struct fi_cq_msg_entry entry;

	check("fi_cq_sread", fi_cq_sread(side->cq, &entry, 1, NULL, TIMEOUT_MS));
	if (!(entry.flags & flag)) {
		fprintf(stderr, "a completion with the flags %s\n",
			fi_tostr(&entry.flags, FI_TYPE_CQ_EVENT_FLAGS));
		exit(1);
	}
}

static void pass(struct side *from, struct side *to, int round)
{
	memset(from->buf, round + 1, LEN);
	memset(to->buf, 0, LEN);
	check("fi_recv", fi_recv(to->ep, to->buf, LEN, fi_mr_desc(to->mr), 0, to));
	check("fi_send", fi_send(from->ep, from->buf, LEN, fi_mr_desc(from->mr), 0, from));
	wait_flag(from, FI_SEND);
	wait_flag(to, FI_RECV);
	if (memcmp(from->buf, to->buf, LEN) != 0) {
		fprintf(stderr, "round %d: what arrives differs\n", round);
		exit(1);
	}
}

int app_run(uint32_t api)
{
	struct app app = { .api = api, .info = find(api, 0) };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_info *listener = find(api, FI_SOURCE);
	int round;

	check("fi_fabric", fi_fabric(app.info->fabric_attr, &app.fabric, NULL));
	check("fi_eq_open", fi_eq_open(app.fabric, &eq_attr, &app.eq, NULL));
	check("fi_domain", fi_domain(app.fabric, app.info, &app.domain, NULL));
	check("fi_passive_ep", fi_passive_ep(app.fabric, listener, &app.pep, NULL));
	check("fi_pep_bind", fi_pep_bind(app.pep, &app.eq->fid, 0));
	connect_sides(&app);
	for (round = 0; round < ROUNDS; round++) {
		pass(&app.client, &app.server, round);
		pass(&app.server, &app.client, round);
	}
	close_side(&app.client);
	close_side(&app.server);
	close_fid(&app.pep->fid);
	close_fid(&app.domain->fid);
	close_fid(&app.eq->fid);
	close_fid(&app.fabric->fid);
	fi_freeinfo(listener);
	fi_freeinfo(app.info);
	return 0;
}
