/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The examples of the manual pages that need a device, each in a separate process. */
#include "tests/man/snippet.h"

#include "fixture.h"
#include "rdm.h"

static const struct example *example;

static void run_example(void)
{
	int ret = example->run();

	if (ret)
		FAIL("the example returned %d, %s", ret, fi_strerror(ret));
}

static void with_info(void *arg)
{
	(void)arg;
	hints = fi_allocinfo();
	CHECK(hints);
	hints->fabric_attr->prov_name = strdup("verbs");
	hints->domain_attr->name = strdup(need_env("WEFT_DEVICE"));
	run_example();
	fi_freeinfo(hints);
	fi_freeinfo(info);
}

static void ask_for_all(struct fi_info *wanted)
{
	wanted->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_COLLECTIVE | FI_MULTI_RECV |
		       FI_TRIGGER | FI_RMA_EVENT | FI_DIRECTED_RECV;
	wanted->domain_attr->progress = FI_PROGRESS_AUTO;
}

static void rdm_objects(struct rdm_pair *pair, struct fid_mr **peer_mr)
{
	info = pair->info;
	fabric = pair->fabric;
	domain = pair->domain;
	cq = pair->side[0].cq;
	av = pair->side[0].av;
	ep = pair->side[0].ep;
	peer = pair->side[0].peer;
	self = pair->side[0].self;
	peer_ep = pair->side[1].ep;
	peer_cq = pair->side[1].cq;
	OK(fi_mr_reg(domain, buf, len, FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0, 0, 0, &mr, NULL));
	OK(fi_mr_reg(domain, peer_buf, len, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, peer_mr,
		     NULL));
	desc = fi_mr_desc(mr);
	peer_desc = fi_mr_desc(*peer_mr);
	remote_addr = (uintptr_t)peer_buf;
	remote_key = fi_mr_key(*peer_mr);
}

/* The library makes progress, so that an example does not depend on its peer. */
static void with_rdm(void *arg)
{
	struct rdm_change change = { .hints = ask_for_all, .wait = FI_WAIT_UNSPEC };
	struct fid_mr *peer_mr;
	struct rdm_pair pair;

	(void)arg;
	buf = calloc(1, len);
	peer_buf = calloc(1, len);
	CHECK(buf && peer_buf);
	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	rdm_objects(&pair, &peer_mr);
	rdm_exchange(&pair, (uint8_t *)buf, (uint8_t *)peer_buf, 8, 1);
	memset(buf, 0, len);
	memset(peer_buf, 0, len);
	run_example();
	OK(fi_close(&mr->fid));
	OK(fi_close(&peer_mr->fid));
	OK(fi_close(&ep->fid));
	pair.side[0].ep = NULL;
	if (cntr)
		OK(fi_close(&cntr->fid));
	rdm_close(&pair);
	free(buf);
	free(peer_buf);
}

static void on_pair(struct pair *pair)
{
	struct end *own = &pair->client, *other = &pair->server;

	info = own->info;
	fabric = own->fabric;
	domain = own->domain;
	eq = own->eq;
	cq = own->cq;
	av = own->av;
	ep = own->ep;
	mr = own->mr;
	buf = (char *)own->buf;
	desc = own->desc;
	peer = own->to;
	peer_ep = other->ep;
	peer_cq = other->cq;
	peer_buf = (char *)other->buf;
	peer_desc = other->desc;
	remote_addr = own->peer.addr;
	remote_key = own->peer.key;
	run_example();
}

static int with_pair(enum fi_ep_type type)
{
	struct setup setup = {
		.type = type, .wait_obj = FI_WAIT_FD, .one_cq = true, .buf_size = SNIPPET_LEN
	};
	char *argv[] = { "", "-1" };

	return run_pair(ARRAY_SIZE(argv), argv, &setup, on_pair);
}

static int run_where(void)
{
	if (!strcmp(example->where, "getinfo"))
		return run_apart(example->page, with_info, NULL);
	if (!strcmp(example->where, "rdm"))
		return run_apart(example->page, with_rdm, NULL);
	if (!strcmp(example->where, "msg"))
		return with_pair(FI_EP_MSG);
	if (!strcmp(example->where, "dgram"))
		return with_pair(FI_EP_DGRAM);
	return 0;
}

/* With the name of a page only the examples of that page run. */
int main(int argc, char **argv)
{
	int failed = 0;

	need_env("WEFT_DEVICE");
	for (example = examples; example->page; example++) {
		if (argc > 1 && strcmp(argv[1], example->page))
			continue;
		if (run_where()) {
			printf("%s: its example failed\n", example->page);
			failed = 1;
		}
	}
	return failed;
}
