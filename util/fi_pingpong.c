/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_pingpong: times a message there and back between two processes for each size, or a stream. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rdma/fi_errno.h>

#include "pp_ctrl.h"
#include "pp_data.h"
#include "pp_ep.h"
#include "pp_hist.h"
#include "pp_log.h"
#include "pp_options.h"
#include "pp_report.h"
#include "pp_size.h"
#include "pp_stream.h"
#include "tool.h"

#define PP_WARM_UP 8

/* The parts of a test; those that its mode does not need are empty. */
struct pp_test {
	struct pp_ep *ep;
	struct pp_hist *hist;
	struct pp_stream stream;
	struct pp_report report;
};

static uint64_t pp_nsec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static double pp_usec(void)
{
	return (double)pp_nsec() / 1e3;
}

static int pp_send_step(struct pp_ep *ep, size_t size, unsigned int iteration)
{
	int ret = ep->opts->check ? pp_fill(ep, size, iteration) : 0;

	return ret ? ret : pp_tx(ep, size);
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

/* As pp_iterate, and adds half the time of each iteration to the histogram. */
static int pp_iterate_timed(struct pp_ep *ep, struct pp_hist *hist, size_t size, unsigned int first)
{
	bool client = ep->ctrl->client;
	unsigned int end = first + ep->opts->iterations;
	uint64_t last = pp_nsec(), now;
	unsigned int i;
	int ret = 0;

	for (i = first; i != end && !ret; i++) {
		ret = client ? pp_send_step(ep, size, i) : pp_recv_step(ep, size, i);
		if (!ret)
			ret = client ? pp_recv_step(ep, size, i) : pp_send_step(ep, size, i);
		now = pp_nsec();
		pp_hist_add(hist, (now - last) / 2);
		last = now;
	}
	return ret;
}

static int pp_run_pingpong(struct pp_test *test, size_t size, unsigned int index)
{
	struct pp_ep *ep = test->ep;
	struct pp_result result = { .size = size,
				    .sent = ep->opts->iterations,
				    .hist = test->hist };
	unsigned int first = index * ep->opts->iterations;
	int ret;

	ret = pp_ctrl_sync(ep->ctrl);
	if (ret)
		return ret;
	if (test->hist)
		pp_hist_clear(test->hist);
	result.usec = pp_usec();
	ret = test->hist ? pp_iterate_timed(ep, test->hist, size, first)
			 : pp_iterate(ep, size, first);
	if (ret)
		return ret;
	result.usec = pp_usec() - result.usec;
	ret = pp_ctrl_count(ep->ctrl, ep->opts->iterations, &result.acked);
	if (!ret)
		pp_report_row(&test->report, &result);
	return ret;
}

static int pp_run_rate(struct pp_test *test, size_t size)
{
	struct pp_stream *stream = &test->stream;
	struct pp_ctrl *ctrl = test->ep->ctrl;
	struct pp_agree agree = { stream->room, pp_size_count(test->ep->opts, size), size };
	struct pp_result result = { .size = size, .sent = agree.count };
	int ret;

	ret = pp_ctrl_agree(ctrl, &agree);
	stream->window = result.window = agree.window;
	/* Some that are not timed connect what is not connected yet. */
	if (!ret)
		ret = pp_stream_run(stream, size, PP_WARM_UP);
	if (!ret)
		ret = pp_ctrl_sync(ctrl);
	if (ret)
		return ret;
	result.usec = pp_usec();
	ret = pp_stream_run(stream, size, agree.count);
	result.usec = pp_usec() - result.usec;
	/* The server sends nothing else before the client has read the last acknowledgment. */
	if (!ret)
		ret = pp_ctrl_count(ctrl, agree.count, &result.acked);
	if (!ret)
		pp_report_row(&test->report, &result);
	return ret;
}

static int pp_run_sizes(struct pp_test *test)
{
	const struct pp_options *opts = test->ep->opts;
	size_t limit = test->ep->info->ep_attr->max_msg_size;
	unsigned int index;
	size_t size;
	int ret = 0;

	for (index = 0; !ret && pp_size_at(opts, limit, index, &size); index++)
		ret = opts->rate ? pp_run_rate(test, size) : pp_run_pingpong(test, size, index);
	return ret ? ret : pp_finish(test->ep);
}

/* Allocates what the mode needs. */
static int pp_prepare(struct pp_test *test)
{
	if (test->ep->opts->percentiles) {
		test->hist = calloc(1, sizeof(*test->hist));
		if (!test->hist)
			return pp_failed("calloc", -FI_ENOMEM);
	}
	return test->ep->opts->rate ? pp_stream_open(&test->stream, test->ep) : 0;
}

static int pp_run_test(struct pp_ep *ep)
{
	struct pp_test test = { .ep = ep, .report = { .opts = ep->opts, .out = stdout } };
	size_t limit = ep->info->ep_attr->max_msg_size;
	size_t size;
	int ret;

	pp_debug("Running pingpong test with %s", fi_tostr(ep->info, FI_TYPE_INFO));
	if (!pp_size_at(ep->opts, limit, 0, &size)) {
		pp_error("no size to test: the endpoint's max_msg_size is %zu", limit);
		return -FI_EMSGSIZE;
	}
	ret = pp_prepare(&test);
	if (!ret) {
		pp_report_begin(&test.report, ep->info, ep->ctrl->client);
		ret = pp_run_sizes(&test);
		pp_report_end(&test.report, ret);
	}
	pp_stream_close(&test.stream);
	free(test.hist);
	return ret;
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
		ret = pp_run_test(&ep);
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
		return tool_end(EXIT_SUCCESS);
	}
	if (opts.action == PP_VERSION) {
		tool_version(stdout);
		return tool_end(EXIT_SUCCESS);
	}
	pp_verbose = opts.verbose;
	ret = pp_run(&opts);
	/* An exit status has eight bits. */
	return tool_end(ret < -255 ? EXIT_FAILURE : -ret);
}
