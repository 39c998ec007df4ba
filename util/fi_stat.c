/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_stat: the statistics of a running process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_stats.h>

#include "stat_options.h"
#include "stat_print.h"
#include "tool.h"

enum { EXIT_GOOD, EXIT_FAILED, EXIT_USAGE };

struct snapshot {
	struct fi_stats_object *objects;
	size_t count;
	double time;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int explain(pid_t pid, int err)
{
	const char *why = fi_strerror(-err);

	if (err == -FI_ENODATA)
		why = "it has no statistics: it has opened nothing, FI_STATS=0 is set, or it uses another library";
	else if (err == -ENOENT)
		why = "there is no such process";
	else if (err == -FI_EACCES)
		why = "it is another user's";
	else if (err == -FI_EPROTO)
		why = "its libfabric has a different version";
	else if (err == -FI_ENOSYS)
		why = "the libfabric.so.1 that fi_stat itself has loaded is not weft";
	fprintf(stderr, "fi_stat: process %d: %s\n", (int)pid, why);
	return err;
}

static int add(struct snapshot *snapshot, const struct fi_stats_object *object)
{
	struct fi_stats_object *grown;

	grown = realloc(snapshot->objects, (snapshot->count + 1) * sizeof(*grown));
	if (!grown)
		return -FI_ENOMEM;
	snapshot->objects = grown;
	grown[snapshot->count++] = *object;
	return 0;
}

static int collect(struct fid *fid, struct snapshot *snapshot)
{
	struct fi_stats_object object = { 0 };
	struct fi_ops_stats_process *ops;
	int ret;

	ret = fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL);
	while (!ret && (ret = ops->next(fid, object.id, &object)) == 1)
		ret = add(snapshot, &object);
	return ret;
}

/* Looks up the process each time, since it may open and close objects. */
static int open_process(pid_t pid, struct fid **fid)
{
	struct fi_stats_attr attr = { .size = sizeof(attr), .pid = pid };

	return fi_open(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), "stats", &attr, sizeof(attr),
		       0, fid, NULL);
}

static int take(pid_t pid, struct snapshot *snapshot)
{
	struct fid *fid;
	int ret;

	*snapshot = (struct snapshot){ .time = now() };
	ret = open_process(pid, &fid);
	if (!ret) {
		ret = collect(fid, snapshot);
		fi_close(fid);
	}
	return ret ? explain(pid, ret) : 0;
}

static const struct fi_stats_object *find(const struct snapshot *snapshot, uint32_t id)
{
	size_t i;

	for (i = 0; i < snapshot->count; i++)
		if (snapshot->objects[i].id == id)
			return &snapshot->objects[i];
	return NULL;
}

static void print(const struct stat_options *opts, const struct snapshot *now,
		  const struct snapshot *before)
{
	size_t i;

	if (opts->json)
		printf("{\"pid\": %d, \"objects\": [", (int)opts->pid);
	for (i = 0; i < now->count; i++) {
		if (!opts->json) {
			stat_print_text(stdout, &now->objects[i], find(before, now->objects[i].id),
					now->time - before->time, opts->all);
			continue;
		}
		fputs(i ? ", " : "", stdout);
		stat_print_json(stdout, &now->objects[i]);
	}
	if (opts->json)
		puts("]}");
	else if (opts->watch_ms)
		puts("");
	fflush(stdout);
}

static void print_peer(const struct stat_options *opts, const struct fi_stats_peer *peer,
		       bool first)
{
	if (!opts->json) {
		stat_print_peer(stdout, peer, opts->all);
		return;
	}
	fputs(first ? "" : ", ", stdout);
	stat_print_peer_json(stdout, peer);
}

static int print_each(const struct stat_options *opts, struct fid *fid)
{
	struct fi_stats_peer peer = { 0 };
	struct fi_ops_stats_process *ops;
	bool first = true;
	int ret;

	ret = fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL);
	if (!ret && ops->size < sizeof(*ops))
		return -FI_ENOSYS;
	for (; !ret && (ret = ops->next_peer(fid, peer.id, &peer)) == 1; ret = 0, first = false)
		print_peer(opts, &peer, first);
	return ret;
}

static int print_peers(const struct stat_options *opts)
{
	struct fid *fid;
	int ret = open_process(opts->pid, &fid);

	if (ret)
		return explain(opts->pid, ret);
	if (opts->json)
		printf("{\"pid\": %d, \"peers\": [", (int)opts->pid);
	ret = print_each(opts, fid);
	if (opts->json)
		puts("]}");
	else if (opts->watch_ms)
		puts("");
	fflush(stdout);
	fi_close(fid);
	return ret ? explain(opts->pid, ret) : 0;
}

static void pause_ms(int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static int print_objects(const struct stat_options *opts, struct snapshot *before)
{
	struct snapshot next;
	int ret = take(opts->pid, &next);

	if (!ret)
		print(opts, &next, before);
	free(before->objects);
	*before = next;
	return ret;
}

static int run(const struct stat_options *opts)
{
	struct snapshot before = { 0 };
	long round;
	int ret = 0;

	for (round = 0; !ret; round++) {
		ret = opts->peers ? print_peers(opts) : print_objects(opts, &before);
		if (!opts->watch_ms || (opts->count && round + 1 >= opts->count))
			break;
		if (!ret)
			pause_ms(opts->watch_ms);
	}
	free(before.objects);
	return ret ? EXIT_FAILED : EXIT_GOOD;
}

int main(int argc, char **argv)
{
	struct stat_options opts;

	tool_start(argv);
	if (!stat_options_parse(&opts, argc, argv))
		return EXIT_USAGE;
	if (opts.help) {
		stat_options_usage(stdout);
		return EXIT_GOOD;
	}
	if (opts.version) {
		tool_version(stdout);
		return EXIT_GOOD;
	}
	return run(&opts);
}
