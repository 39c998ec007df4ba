/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Repeats single operations for callgrind, which collects during the repetitions only. Each row
 * gives a dump named ROW.THREADING.RUN.OPERATIONS; tests/bench/count attributes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "instructions.h"

#define STRETCH	  32 /* sends of which one is signalled */
#define RUNS	  3
#define TRIES	  5
#define SETTLE_MS 10 /* at first */

static struct fi_context contexts[REPEAT];
static int settle_ms;
static const char *prefix = ""; /* of the names of the rows to measure */
static const char *address;
static struct fi_info *hints;

/* A call that finds the current snapshot of the devices, as a recent call before has. */
static struct fi_info *found;

static void find(struct pair *pair)
{
	const struct pair_options options = { .address = address };

	bench_check(pair->lib, pair_find(pair->lib, &options, "1", 0, &found), "fi_getinfo");
	pair->lib->freeinfo(found);
	hints = pair_hints(pair->lib, &options);
}

static bool find_again(struct pair *pair)
{
	bench_check(pair->lib, pair->lib->getinfo(BENCH_API, address, "1", 0, hints, &found),
		    "fi_getinfo");
	return true;
}

static void forget(struct pair *pair)
{
	pair->lib->freeinfo(found);
	pair->lib->freeinfo(hints);
}

static void collect(struct pair *pair, struct fid_cq *cq, int count)
{
	struct fi_cq_data_entry entries[BATCH];
	ssize_t n;

	while (count > 0) {
		n = fi_cq_read(cq, entries, BATCH);
		if (n == -FI_EAGAIN)
			continue;
		count -= (int)bench_check(pair->lib, n, "fi_cq_read");
	}
}

void settle(void)
{
	usleep(settle_ms * 1000);
}

static bool post_recvs(struct pair *pair)
{
	struct side *b = &pair->b;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_recv(b->ep, b->buf, 64, b->desc, 0, &contexts[i]);
	bench_check(pair->lib, ret, "fi_recv");
	return true;
}

bool post_sends(struct pair *pair)
{
	struct side *a = &pair->a;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_send(a->ep, a->buf, SIZE, a->desc, a->to, &contexts[i]);
	bench_check(pair->lib, ret, "fi_send");
	return true;
}

static bool post_injects(struct pair *pair)
{
	struct side *a = &pair->a;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_inject(a->ep, a->buf, SIZE, a->to);
	bench_check(pair->lib, ret, "fi_inject");
	return true;
}

static bool post_writes(struct pair *pair)
{
	struct side *a = &pair->a, *b = &pair->b;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_write(a->ep, a->buf, SIZE, a->desc, 0, (uintptr_t)b->buf, b->key,
				&contexts[i]);
	bench_check(pair->lib, ret, "fi_write");
	return true;
}

static bool post_fetch_adds(struct pair *pair)
{
	struct side *a = &pair->a, *b = &pair->b;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_fetch_atomic(a->ep, a->buf, 1, a->desc, a->buf + 64, a->desc, 0,
				       (uintptr_t)b->buf, b->key, FI_UINT64, FI_SUM, &contexts[i]);
	bench_check(pair->lib, ret, "fi_fetch_atomic");
	return true;
}

static void post_msg(struct pair *pair, uint64_t flags)
{
	struct side *a = &pair->a;
	struct iovec iov = { a->buf, SIZE };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &a->desc,
		.iov_count = 1,
		.addr = a->to,
		.context = &contexts[0],
	};

	bench_check(pair->lib, fi_sendmsg(a->ep, &msg, flags), "fi_sendmsg");
}

static bool post_batches(struct pair *pair)
{
	int i;

	for (i = 1; i <= REPEAT; i++)
		post_msg(pair, FI_COMPLETION | (i % BATCH ? FI_MORE : 0));
	return true;
}

static bool post_stretches(struct pair *pair)
{
	struct side *a = &pair->a;
	ssize_t ret = 0;
	int i, j;

	for (i = 0; i < REPEAT / STRETCH; i++) {
		for (j = 0; j < STRETCH - 1; j++)
			ret |= fi_send(a->ep, a->buf, SIZE, a->desc, 0, &contexts[j]);
		post_msg(pair, FI_COMPLETION);
	}
	bench_check(pair->lib, ret, "fi_send");
	return true;
}

static bool post_writemsgs(struct pair *pair)
{
	struct side *a = &pair->a, *b = &pair->b;
	struct iovec iov = { a->buf, SIZE };
	struct fi_rma_iov to = { (uintptr_t)b->buf, SIZE, b->key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.desc = &a->desc,
		.iov_count = 1,
		.rma_iov = &to,
		.rma_iov_count = 1,
		.context = &contexts[0],
	};
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_writemsg(a->ep, &msg, FI_COMPLETION);
	bench_check(pair->lib, ret, "fi_writemsg");
	return true;
}

static void post_data(struct pair *pair)
{
	struct side *a = &pair->a;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_senddata(a->ep, a->buf, SIZE, a->desc, i, a->to, &contexts[i]);
	bench_check(pair->lib, ret, "fi_senddata");
}

static void post_write_data(struct pair *pair)
{
	struct side *a = &pair->a, *b = &pair->b;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < REPEAT; i++)
		ret |= fi_writedata(a->ep, a->buf, SIZE, a->desc, i, 0, (uintptr_t)b->buf, b->key,
				    &contexts[i]);
	bench_check(pair->lib, ret, "fi_writedata");
}

static void prepare_recvs(struct pair *pair)
{
	post_recvs(pair);
}

static void prepare_tx(struct pair *pair)
{
	post_recvs(pair);
	post_sends(pair);
	collect(pair, pair->b.rx, REPEAT);
	settle();
}

static void prepare_rx(struct pair *pair)
{
	post_recvs(pair);
	post_sends(pair);
	collect(pair, pair->a.tx, REPEAT);
	settle();
}

static void prepare_data_tx(struct pair *pair)
{
	post_recvs(pair);
	post_data(pair);
	collect(pair, pair->b.rx, REPEAT);
	settle();
}

static void prepare_write_data_tx(struct pair *pair)
{
	post_recvs(pair);
	post_write_data(pair);
	collect(pair, pair->b.rx, REPEAT);
	settle();
}

static void prepare_data_rx(struct pair *pair)
{
	post_recvs(pair);
	post_data(pair);
	collect(pair, pair->a.tx, REPEAT);
	settle();
}

static void prepare_stretches(struct pair *pair)
{
	post_recvs(pair);
	post_stretches(pair);
	collect(pair, pair->b.rx, REPEAT);
	settle();
}

static bool read_cq(struct fid_cq *cq, int total, int count)
{
	struct fi_cq_data_entry entries[BATCH];
	bool ok = true;
	int i;

	for (i = 0; i < total; i += count)
		ok &= fi_cq_read(cq, entries, count) == count;
	return ok;
}

static bool read_tx(struct pair *pair)
{
	return read_cq(pair->a.tx, REPEAT, 1);
}

static bool read_rx(struct pair *pair)
{
	return read_cq(pair->b.rx, REPEAT, 1);
}

static bool read_tx_batch(struct pair *pair)
{
	return read_cq(pair->a.tx, REPEAT, BATCH);
}

static bool read_rx_batch(struct pair *pair)
{
	return read_cq(pair->b.rx, REPEAT, BATCH);
}

static bool read_stretches(struct pair *pair)
{
	return read_cq(pair->a.tx, REPEAT / STRETCH, 1);
}

static bool read_empty(struct pair *pair)
{
	struct fi_cq_data_entry entries[BATCH];
	bool ok = true;
	int i;

	for (i = 0; i < REPEAT; i++)
		ok &= fi_cq_read(pair->a.tx, entries, 1) == -FI_EAGAIN;
	return ok;
}

static void finish_sends(struct pair *pair)
{
	collect(pair, pair->b.rx, REPEAT);
	collect(pair, pair->a.tx, REPEAT);
}

static void finish_injects(struct pair *pair)
{
	collect(pair, pair->b.rx, REPEAT);
	fi_recv(pair->b.ep, pair->b.buf, SIZE, pair->b.desc, 0, &contexts[0]);
	fi_send(pair->a.ep, pair->a.buf, SIZE, pair->a.desc, pair->a.to, &contexts[0]);
	collect(pair, pair->b.rx, 1);
	collect(pair, pair->a.tx, 1);
}

static void finish_tx(struct pair *pair)
{
	collect(pair, pair->a.tx, REPEAT);
}

static void finish_recvs(struct pair *pair)
{
	post_sends(pair);
	finish_sends(pair);
}

static void finish_stretches(struct pair *pair)
{
	collect(pair, pair->b.rx, REPEAT);
	collect(pair, pair->a.tx, REPEAT / STRETCH);
}

void nothing(struct pair *pair)
{
	(void)pair;
}

static const struct row rows[] = {
	{ "send", false, REPEAT, prepare_recvs, post_sends, finish_sends },
	{ "more", false, REPEAT, prepare_recvs, post_batches, finish_sends },
	{ "write", false, REPEAT, nothing, post_writes, finish_tx },
	{ "inject", false, REPEAT, prepare_recvs, post_injects, finish_injects },
	{ "msg_write", false, REPEAT, nothing, post_writemsgs, finish_tx },
	{ "msg_data_tx", false, REPEAT, prepare_data_tx, read_tx, nothing },
	{ "msg_write_data_tx", false, REPEAT, prepare_write_data_tx, read_tx, nothing },
	{ "msg_data_rx", false, REPEAT, prepare_data_rx, read_rx, nothing },
	{ "recv", false, REPEAT, nothing, post_recvs, finish_recvs },
	{ "read_tx", false, REPEAT, prepare_tx, read_tx, nothing },
	{ "read_rx", false, REPEAT, prepare_rx, read_rx, nothing },
	{ "batch_tx", false, REPEAT, prepare_tx, read_tx_batch, nothing },
	{ "batch_rx", false, REPEAT, prepare_rx, read_rx_batch, nothing },
	{ "getinfo", false, 1, find, find_again, forget },
	{ "empty", false, REPEAT, nothing, read_empty, nothing },
	{ "fetch_add", false, REPEAT, nothing, post_fetch_adds, finish_tx },
	{ "silent_send", true, REPEAT, prepare_recvs, post_stretches, finish_stretches },
	{ "silent_read", true, REPEAT / STRETCH, prepare_stretches, read_stretches, nothing },
	{ 0 },
};

static const struct row dgram_rows[] = {
	{ "ud_send", false, REPEAT, prepare_recvs, post_sends, finish_sends },
	{ "ud_more", false, REPEAT, prepare_recvs, post_batches, finish_sends },
	{ "ud_inject", false, REPEAT, prepare_recvs, post_injects, finish_injects },
	{ "ud_recv", false, REPEAT, nothing, post_recvs, finish_recvs },
	{ "ud_read_tx", false, REPEAT, prepare_tx, read_tx, nothing },
	{ "ud_read_rx", false, REPEAT, prepare_rx, read_rx, nothing },
	{ "ud_empty", false, REPEAT, nothing, read_empty, nothing },
	{ 0 },
};

/* Throws away what an incomplete measurement left in the queues. */
static void drain(struct pair *pair)
{
	struct fi_cq_tagged_entry entries[BATCH];

	settle();
	while (fi_cq_read(pair->a.tx, entries, BATCH) > 0 ||
	       fi_cq_read(pair->b.rx, entries, BATCH) > 0)
		;
}

static bool measure_once(const struct row *row, struct pair *pair)
{
	bool ok;

	row->prepare(pair);
	CALLGRIND_ZERO_STATS;
	CALLGRIND_TOGGLE_COLLECT;
	ok = row->measure(pair);
	CALLGRIND_TOGGLE_COLLECT;
	return ok;
}

/* The first round after a dump warms up the caches of the library, and callgrind's own. */
static void measure_run(const struct row *row, struct pair *pair, const char *name)
{
	int round, try;

	for (round = 0; round < 2; round++) {
		for (try = 0; !measure_once(row, pair); try++) {
			if (try == TRIES)
				bench_die(row->name, "completions do not arrive");
			drain(pair);
			settle_ms *= 2;
		}
		if (round)
			CALLGRIND_DUMP_STATS_AT(name);
		row->finish(pair);
	}
}

static void measure_row(const struct row *row, struct pair *pair, const char *threading)
{
	char name[64];
	int run;

	settle_ms = SETTLE_MS;
	for (run = 1; run <= RUNS; run++) {
		snprintf(name, sizeof(name), "%s.%s.%d.%d", row->name, threading, run,
			 row->operations);
		measure_run(row, pair, name);
	}
}

static bool is_wanted(const struct row *row, const struct pair_options *options)
{
	return row->selective == options->selective && !strncmp(row->name, prefix, strlen(prefix));
}

/* The rows of a type of endpoint that not every library has. */
static void measure_rows(const struct lib *lib, struct pair_options options, const char *threading,
			 enum fi_ep_type type, const struct row *row)
{
	struct pair pair;

	options.type = type;
	while (row->name && !is_wanted(row, &options))
		row++;
	if (!row->name || (type != FI_EP_MSG && !pair_has(lib, &options)))
		return;
	pair_open(&pair, lib, &options);
	for (; row->name; row++) {
		if (is_wanted(row, &options))
			measure_row(row, &pair, threading);
	}
	pair_close(&pair);
}

static const struct {
	const char *name;
	enum fi_threading threading;
} threadings[] = {
	{ "safe", FI_THREAD_SAFE },
	{ "domain", FI_THREAD_DOMAIN },
};

int main(int argc, char **argv)
{
	/* Long enough that the library requests no completion of its own within a window. */
	struct pair_options options = { .depth = 6 * REPEAT };
	const char *path = "libfabric.so.1", *only = NULL, *name;
	struct lib lib;
	int option, i;

	while ((option = getopt(argc, argv, "l:t:r:")) != -1) {
		if (option == 'l')
			path = optarg;
		else if (option == 't')
			only = optarg;
		else if (option == 'r')
			prefix = optarg;
		else
			optind = argc + 1;
	}
	if (optind != argc - 1) {
		fprintf(stderr, "Usage: %s [-l LIBFABRIC] [-t safe|domain] [-r ROWS] ADDRESS\n",
			argv[0]);
		return 2;
	}
	options.address = address = argv[optind];
	lib_load(&lib, path);
	printf("%d.%d\n", FI_MAJOR(lib.version()), FI_MINOR(lib.version()));
	for (i = 0; i < 4; i++) {
		options.selective = i & 1;
		options.threading = threadings[i / 2].threading;
		if (only && strcmp(only, threadings[i / 2].name))
			continue;
		name = threadings[i / 2].name;
		measure_rows(&lib, options, name, FI_EP_MSG, rows);
		measure_rows(&lib, options, name, FI_EP_DGRAM, dgram_rows);
		measure_rows(&lib, options, name, FI_EP_RDM, rdm_rows);
		measure_rows(&lib, options, name, FI_EP_RDM, rdm_window_rows);
	}
	return 0;
}
