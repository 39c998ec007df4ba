/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Listening: a port in use is reported, the backlog is set beforehand, names can be read and set,
 * and a listener can be replaced.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "steps.h"

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };

static int try_listen(struct end *end, struct fi_info *info)
{
	struct fid_pep *pep = NULL;
	int ret = fi_passive_ep(end->fabric, info, &pep, NULL);

	if (!ret)
		ret = fi_pep_bind(pep, &end->eq->fid, 0);
	if (!ret)
		ret = fi_listen(pep);
	if (pep)
		OK(fi_close(&pep->fid));
	return ret;
}

static void check_in_use(struct end *end, const char *node, const char *service)
{
	struct fi_info *info = info_for(&setup, node, service, FI_SOURCE);

	RETURNS(try_listen(end, info), -FI_EADDRINUSE);
	fi_freeinfo(info);
}

static void test_in_use(struct end *end)
{
	struct fi_info *info;
	struct place place;

	end_listen(end, local_addr(), &place);
	info = info_for(&setup, place.node, place.service, FI_SOURCE);
	check_in_use(end, place.node, place.service);
	check_in_use(end, NULL, place.service);
	OK(fi_close(&end->pep->fid));
	end->pep = NULL;
	OK(try_listen(end, info));
	fi_freeinfo(info);
}

static void test_backlog(struct end *end)
{
	int backlog = 7, negative = -1;
	struct fid_pep *pep;

	OK(fi_passive_ep(end->fabric, end->info, &pep, NULL));
	OK(fi_control(&pep->fid, FI_BACKLOG, &backlog));
	CHECK(fi_control(&pep->fid, FI_BACKLOG, NULL) < 0);
	CHECK(fi_control(&pep->fid, FI_BACKLOG, &negative) < 0);
	RETURNS(fi_listen(pep), -FI_ENOEQ);
	OK(fi_pep_bind(pep, &end->eq->fid, FI_CONNREQ));
	OK(fi_listen(pep));
	CHECK(fi_listen(pep) < 0);
	OK(fi_close(&pep->fid));
}

static void test_names(struct end *end)
{
	struct sockaddr_in in = { .sin_family = AF_INET }, out = { 0 };
	struct fid_pep *pep;
	size_t len = 1;

	EQUAL(inet_pton(AF_INET, local_addr(), &in.sin_addr), 1);
	OK(fi_passive_ep(end->fabric, end->info, &pep, NULL));
	OK(fi_pep_bind(pep, &end->eq->fid, 0));
	OK(fi_setname(&pep->fid, &in, sizeof(in)));
	CHECK(fi_setname(&pep->fid, NULL, sizeof(in)) < 0);
	CHECK(fi_setname(&pep->fid, &in, 3) < 0);
	OK(fi_listen(pep));
	RETURNS(fi_getname(&pep->fid, &out, &len), -FI_ETOOSMALL);
	EQUAL(len, sizeof(out));
	CHECK(fi_getname(&pep->fid, &out, NULL) < 0);
	OK(fi_getname(&pep->fid, &out, &len));
	EQUAL(out.sin_addr.s_addr, in.sin_addr.s_addr);
	CHECK(out.sin_port);
	OK(fi_setname(&pep->fid, &out, sizeof(out)));	   /* its own name */
	CHECK(fi_setname(&pep->fid, &in, sizeof(in)) < 0); /* it listens */
	OK(fi_close(&pep->fid));
}

/*
 * A listener without an address of its own is reached at each address of the host. A service
 * without a node is its port, with or without FI_SOURCE.
 */
static void test_wildcard(uint64_t flags)
{
	struct end server = { .setup = &setup, .sock = -1 }, client = server;
	struct place place;
	struct fi_info *info;

	end_open(&server, info_for(&setup, NULL, "7471", flags));
	end_listen(&server, NULL, &place);
	CHECK(!strcmp(place.node, "0.0.0.0") || !strcmp(place.node, "::"));
	CHECK(!strcmp(place.service, "7471"));
	check_in_use(&server, NULL, place.service);
	check_in_use(&server, local_addr(), place.service);
	strcpy(place.node, local_addr());
	end_aim(&client, &place);
	OK(fi_enable(client.ep));
	OK(fi_connect(client.ep, client.info->dest_addr, NULL, 0));
	info = end_request(&server, NULL, NULL);
	OK(fi_reject(server.pep, info->handle, NULL, 0));
	fi_freeinfo(info);
	end_close(&client);
	end_close(&server);
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	test_in_use(&end);
	test_backlog(&end);
	test_names(&end);
	end_close(&end);
	test_wildcard(FI_SOURCE);
	test_wildcard(0);
}

int main(void)
{
	return run_test(test);
}
