/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable datagrams under the names that other releases use for the provider, the protocol and the
 * parameters.
 */
#include "rdm.h"

#include "rdm_node.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The result of fi_getinfo for a provider name, which may be NULL. */
static struct fi_info *find(const char *name)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	CHECK(hints);
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->name = strdup(need_env("WEFT_DEVICE"));
	if (name)
		hints->fabric_attr->prov_name = strdup(name);
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

struct layer {
	const char *name, *full;
	uint32_t protocol;
};

static const struct layer layers[] = {
	{ "ofi_rxm", "verbs;ofi_rxm", FI_PROTO_RXM },
	{ "ofi_rxd", "verbs;ofi_rxd", FI_PROTO_RXD },
};

static void is_layered(const char *name, const struct layer *layer)
{
	struct fi_info *list = find(name), *info;

	for (info = list; info; info = info->next) {
		CHECK(!strcmp(info->fabric_attr->prov_name, layer->full));
		EQUAL(info->ep_attr->type, FI_EP_RDM);
		EQUAL(info->ep_attr->protocol, layer->protocol);
	}
	fi_freeinfo(list);
}

static void is_plain(const char *name)
{
	struct fi_info *list = find(name), *info;
	bool any = false;

	for (info = list; info; info = info->next) {
		CHECK(!strcmp(info->fabric_attr->prov_name, "verbs"));
		any |= info->ep_attr->type == FI_EP_RDM &&
		       info->ep_attr->protocol == FI_PROTO_IB_RDM;
	}
	CHECK(any);
	fi_freeinfo(list);
}

static void with_filter(const char *filter, const struct layer *layer)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		setenv("FI_PROVIDER", filter, 1);
		is_layered(NULL, layer);
		is_plain("verbs");
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

static const struct layer *asked;

static void ask(struct fi_info *hints)
{
	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = strdup(asked->full);
	hints->ep_attr->protocol = asked->protocol;
}

/* Returns how many queue pairs the peers needed. */
static unsigned int exchange(const struct layer *layer)
{
	struct rdm_change change = { .hints = ask, .wait = FI_WAIT_NONE };
	uint64_t out = 0x1234567890, in = 0;
	struct rdm_pair pair;
	unsigned int qps;

	asked = layer;
	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	qps = count_qps();
	EQUAL(pair.info->tx_attr->inject_size, 5000);
	OK(fi_trecv(pair.side[1].ep, &in, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &in));
	OK(fi_tsend(pair.side[0].ep, &out, 8, NULL, pair.side[0].peer, 1, &out));
	rdm_wait(&pair, 1);
	CHECK(in == out);
	rdm_wait(&pair, 0);
	qps = count_qps() - qps;
	rdm_close(&pair);
	return qps;
}

/* The library is not used before the variables that it reads once are set. */
static void test(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(layers); i++) {
		with_filter(layers[i].full, &layers[i]);
		with_filter(layers[i].name, &layers[i]);
	}
	unsetenv("FI_PROVIDER");
	setenv("FI_OFI_RXM_BUFFER_SIZE", "5000", 1);
	is_plain(NULL);
	is_plain("verbs");
	for (i = 0; i < ARRAY_SIZE(layers); i++) {
		is_layered(layers[i].full, &layers[i]);
		is_layered(layers[i].name, &layers[i]);
	}
	EQUAL(exchange(&layers[0]), !strcmp(rdm_transport(), "ud") ? 0 : 2);
	EQUAL(exchange(&layers[1]), 0);
}

int main(void)
{
	return run_test(test);
}
