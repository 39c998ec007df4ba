/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A shared receive that is too small: its error names the endpoint that took it; that endpoint
 * fails, and the others continue with the remaining receives.
 */
#include <stdio.h>
#include <string.h>
#include "links.h"

#define LINKS 3
#define LEN   64

static struct setup setup = { .buf_size = 16384, .srx_size = 16 };

static void too_large(struct end *end, const struct link *link)
{
	struct fi_cq_err_entry error;
	char text[256];

	OK(fi_send(link->from, end->buf + 8192, LEN + 1, end->desc, 0, (void *)100));
	wait_error(end->rxcq, &error);
	if (error.err != FI_EINVAL || !on_soft_roce(end))
		EQUAL(error.err, FI_ETRUNC);
	EQUAL(error.op_context, 0);
	EQUAL(error.flags, FI_MSG | FI_RECV);
	fi_cq_strerror(end->rxcq, error.prov_errno, error.err_data, text, sizeof(text));
	printf("%s\n", text);
	CHECK(strstr(text, "receive of 64 B") && strstr(text, local_addr()));
	wait_error(end->cq, &error);
	EQUAL(error.op_context, 100);
	EQUAL(error.err, FI_EREMOTEIO);
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_eq_cm_entry event;
	struct link links[LINKS];
	struct place place;
	uint64_t i;
	uint32_t kind;

	end_listen(&end, local_addr(), &place);
	for (i = 0; i < LINKS; i++)
		link_open(&end, &place, &links[i], NULL, NULL);
	for (i = 0; i < 10; i++)
		OK(fi_recv(end.srx, end.buf + i * LEN, LEN, end.desc, 0, (void *)(uintptr_t)i));
	too_large(&end, &links[1]);
	no_comp(end.rxcq, 20);
	for (i = 1; i < 5; i++) {
		fill(end.buf + 8192, LEN, (unsigned int)i);
		OK(fi_inject(links[i % 2 * 2].from, end.buf + 8192, LEN, 0));
		wait_context(end.rxcq, (void *)(uintptr_t)i);
		CHECK_FILLED(end.buf + i * LEN, LEN, (unsigned int)i);
	}
	EQUAL(fi_rx_size_left(end.srx), 11);
	link_close(&links[1]);
	while (fi_eq_read(end.eq, &kind, &event, sizeof(event), 0) >= 0)
		;
	link_open(&end, &place, &links[1], NULL, NULL);
	OK(fi_inject(links[1].from, end.buf, LEN, 0));
	wait_context(end.rxcq, (void *)5);
	for (i = 0; i < LINKS; i++)
		link_close(&links[i]);
	end_close(&end);
}

int main(void)
{
	setup.format = FI_CQ_FORMAT_TAGGED;
	return run_test(test);
}
