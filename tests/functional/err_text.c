/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_cq_strerror names the operation, its size, the peer, the queue pair and the status. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include "steps.h"

static void check_text(const char *text, const char *part)
{
	if (!strstr(text, part))
		FAIL("\"%s\" is not in \"%s\"", part, text);
}

static void test(struct pair *pair)
{
	struct part receive = { .len = 10 }, send = { .len = 4321 };
	struct fid_cq *cq = pair->client.cq;
	struct fi_cq_err_entry error = { 0 };
	char text[512], cut[12], data[256];
	const char *same;

	at(&pair->server, post_recv, &receive, sizeof(receive));
	post_send(&pair->client, &send);
	wait_error(cq, &error);
	CHECK(error.err_data && error.err_data_size);
	EQUAL(error.src_addr, FI_ADDR_NOTAVAIL);

	same = fi_cq_strerror(cq, error.prov_errno, error.err_data, text, sizeof(text));
	CHECK(same == text);
	puts(text);
	check_text(text, "send");
	check_text(text, "4321 B");
	check_text(text, local_addr());
	check_text(text, "QP 0x");
	check_text(text, "remote ");

	/*
	 * The call also accepts copied error data, no error data, and a buffer that is too small.
	 */
	CHECK(error.err_data_size <= sizeof(data));
	memcpy(data, error.err_data, error.err_data_size);
	CHECK(!strcmp(fi_cq_strerror(cq, error.prov_errno, data, NULL, 0), text));
	check_text(fi_cq_strerror(cq, error.prov_errno, NULL, NULL, 0), "remote ");
	memset(cut, 'x', sizeof(cut));
	fi_cq_strerror(cq, error.prov_errno, error.err_data, cut, sizeof(cut) - 1);
	EQUAL(strnlen(cut, sizeof(cut)), sizeof(cut) - 2);
	EQUAL(cut[sizeof(cut) - 1], 'x');
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
