/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device is removed under a connection: the event queues get FI_ENODEV and one FI_SHUTDOWN for
 * each endpoint, each outstanding operation completes, posting is refused, and everything can be
 * closed. When the process has ended, which makes librdmacm release the device, too, the device can
 * return.
 */
#include "steps.h"
#include "unplug.h"

#define RECVS 10

static void post_recvs(struct end *end)
{
	uint64_t i;

	for (i = 0; i < RECVS; i++)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, (void *)(uintptr_t)i));
}

/*
 * One error of the domain, one FI_SHUTDOWN, and an error of the endpoint, unless its peer, which is
 * removed as well, disconnects it first.
 */
static void told(struct end *end)
{
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_cm_entry entry;
	uint64_t limit = deadline();
	int domain = 0, endpoint = 0, shutdowns = 0, quiet = 0;
	uint32_t event;
	ssize_t ret;

	while (!domain || !shutdowns || !quiet) {
		ret = fi_eq_sread(end->eq, &event, &entry, sizeof(entry), 200, 0);
		quiet = ret == -FI_EAGAIN;
		if (ret == -FI_EAVAIL) {
			RETURNS(fi_eq_readerr(end->eq, &error, 0), sizeof(error));
			EQUAL(error.err, FI_ENODEV);
			domain += error.fid == &end->domain->fid;
			endpoint += error.fid == &end->ep->fid;
		} else if (ret >= 0) {
			shutdowns += event == FI_SHUTDOWN;
		}
		pause_until(limit, "the news that the device is gone");
	}
	EQUAL(domain, 1);
	EQUAL(shutdowns, 1);
	CHECK(endpoint <= 1);
}

static void refused(ssize_t ret)
{
	if (ret != -FI_ENOTCONN)
		RETURNS(ret, -FI_ENODEV);
}

static void check_end(struct end *end)
{
	struct fi_cq_err_entry error;
	uint64_t i;

	told(end);
	for (i = 0; i < RECVS; i++) {
		wait_error(end->rxcq, &error);
		EQUAL(error.op_context, i);
		EQUAL(error.err, FI_ECANCELED);
	}
	no_comp(end->rxcq, 10);
	refused(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
	refused(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL));
}

static void test(struct pair *pair)
{
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fi_cq_attr attr = { 0 };

	pair_open(pair);
	post_recvs(&pair->client);
	post_recvs(&pair->server);
	remove_device();
	check_end(&pair->client);
	check_end(&pair->server);
	/* Opening fails now, and leaves nothing behind. */
	CHECK(fi_domain(pair->client.fabric, pair->client.info, &domain, NULL) < 0);
	if (!fi_cq_open(pair->client.domain, &attr, &cq, NULL))
		OK(fi_close(&cq->fid));
	pair_close(pair);
}

static void test_back(struct pair *pair)
{
	struct part part = { .len = 100, .seed = 2, .context = 2 };

	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(&pair->client, &part);
	post_send(&pair->client, &part);
	at(&pair->server, reap_recv, &part, sizeof(part));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .domain_eq = true };
	char *one[] = { argv[0], "-1" };
	int ret;

	(void)argc;
	need_vm();
	ret = run_unconnected(2, one, &setup, test);
	bring_back();
	return ret ? ret : run_pair(2, one, &setup, test_back);
}
