/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_pingpong: times a message there and back between two processes for each size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rdma/fi_errno.h>

#include "pp_ctrl.h"
#include "pp_data.h"
#include "pp_ep.h"
#include "pp_log.h"
#include "pp_options.h"
#include "pp_size.h"
#include "tool.h"

static double pp_usec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void pp_print_header(void)
{
	printf("%-8s%-8s%-9s%-8s%8s%11s%13s%13s\n", "bytes", "#sent", "#ack", "total", "time",
	       "MB/sec", "usec/xfer", "Mxfers/sec");
}

static void pp_print_row(size_t size, unsigned int sent, unsigned int acked, double usec)
{
	char size_text[PP_TEXT_LEN], sent_text[PP_TEXT_LEN];
	char ack_text[PP_TEXT_LEN], total_text[PP_TEXT_LEN];
	uint64_t total = (uint64_t)size * sent * 2;
	double usec_per_xfer = usec / sent / 2;
	char sign = '=';

	pp_count_text(ack_text, acked);
	if (acked != sent) {
		sign = acked < sent ? '+' : '-';
		pp_count_text(ack_text, acked < sent ? sent - acked : acked - sent);
	}
	printf("%-8s%-8s%c%-8s%-8s%8.2fs%10.2f%11.2f%11.2f\n", pp_size_text(size_text, size),
	       pp_count_text(sent_text, sent), sign, ack_text, pp_size_text(total_text, total),
	       usec / 1e6, (double)total / usec, usec_per_xfer, 1.0 / usec_per_xfer);
}

static int pp_send_step(struct pp_ep *ep, size_t size, unsigned int iteration)
{
	if (ep->opts->check)
		pp_fill(ep, size, iteration);
	return pp_tx(ep, size);
}

static int pp_recv_step(struct pp_ep *ep, size_t size, unsigned int iteration)
{
	int ret = pp_rx(ep, size);

	return ret || !ep->opts->check ? ret : pp_verify(ep, size, iteration);
}

static int pp_iterate(struct pp_ep *ep, size_t size, unsigned int first)
{
	unsigned int end = first + ep->opts->iterations;
	unsigned int i;
	int ret = 0;

	if (ep->ctrl->client) {
		for (i = first; i != end && !ret; i++) {
			ret = pp_send_step(ep, size, i);
			if (!ret)
				ret = pp_recv_step(ep, size, i);
		}
	} else {
		for (i = first; i != end && !ret; i++) {
			ret = pp_recv_step(ep, size, i);
			if (!ret)
				ret = pp_send_step(ep, size, i);
		}
	}
	return ret;
}

static int pp_run_size(struct pp_ep *ep, size_t size, unsigned int first)
{
	unsigned int acked;
	double usec;
	int ret;

	ret = pp_ctrl_sync(ep->ctrl);
	if (ret)
		return ret;
	usec = pp_usec();
	ret = pp_iterate(ep, size, first);
	if (ret)
		return ret;
	usec = pp_usec() - usec;
	ret = pp_ctrl_count(ep->ctrl, ep->opts->iterations, &acked);
	if (!ret)
		pp_print_row(size, ep->opts->iterations, acked, usec);
	return ret;
}

static int pp_run_sizes(struct pp_ep *ep)
{
	size_t limit = ep->info->ep_attr->max_msg_size;
	unsigned int index;
	size_t size;
	int ret = 0;

	pp_debug("Running pingpong test with %s", fi_tostr(ep->info, FI_TYPE_INFO));
	if (!pp_size_at(ep->opts, limit, 0, &size)) {
		pp_error("no size to test: the endpoint's max_msg_size is %zu", limit);
		return -FI_EMSGSIZE;
	}
	pp_print_header();
	for (index = 0; !ret && pp_size_at(ep->opts, limit, index, &size); index++)
		ret = pp_run_size(ep, size, index * ep->opts->iterations);
	return ret ? ret : pp_finish(ep);
}

static int pp_run(const struct pp_options *opts)
{
	struct pp_ctrl ctrl;
	struct pp_ep ep = { 0 };
	int ret;

	ret = pp_ctrl_listen(&ctrl, opts);
	if (!ret)
		ret = pp_ep_probe(&ep, opts);
	if (!ret)
		ret = pp_ctrl_open(&ctrl, opts);
	if (!ret)
		ret = pp_ep_open(&ep, &ctrl);
	if (!ret)
		ret = pp_run_sizes(&ep);
	pp_ep_close(&ep);
	pp_ctrl_close(&ctrl);
	return ret;
}

int main(int argc, char **argv)
{
	struct pp_options opts;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	tool_start(argv);
	pp_options_init(&opts);
	if (pp_options_parse(&opts, argc, argv))
		return EXIT_FAILURE;
	if (opts.action == PP_HELP) {
		pp_options_usage(stdout);
		return EXIT_SUCCESS;
	}
	if (opts.action == PP_VERSION) {
		tool_version(stdout);
		return EXIT_SUCCESS;
	}
	pp_verbose = opts.verbose;
	ret = pp_run(&opts);
	/* An exit status has eight bits. */
	return ret < -255 ? EXIT_FAILURE : -ret;
}
