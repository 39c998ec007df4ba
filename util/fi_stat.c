/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_stat: the statistics of a running process. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_stats.h>

#include "stat_options.h"
#include "stat_print.h"
#include "stat_process.h"
#include "stat_screen.h"
#include "term.h"
#include "tool.h"

enum { EXIT_GOOD, EXIT_FAILED, EXIT_USAGE };
/* More objects or peers have no room at once, but a process could add others all the time. */
enum { MOST = 1 << 17 };

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
		why = "it is another user's, or protected (it is not dumpable, has file capabilities, or is in another user namespace); try as root";
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
	while (!ret && snapshot->count < MOST && (ret = ops->next(fid, object.id, &object)) == 1)
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
	return ret;
}

static const struct fi_stats_object *find(const struct snapshot *snapshot, uint32_t id)
{
	size_t i;

	for (i = 0; i < snapshot->count; i++)
		if (snapshot->objects[i].id == id)
			return &snapshot->objects[i];
	return NULL;
}

/* Where the output goes: to stdout, or first into a text that is drawn on a screen. */
struct view {
	const struct stat_options *opts;
	struct stat_process process;
	struct stat_screen screen;
	bool live;
	FILE *out;
	char *text;
	size_t len;
};

static void print_live_title(struct view *view)
{
	fprintf(view->out, "process %d ", (int)view->opts->pid);
	stat_print_name(view->out, view->process.name);
	fprintf(view->out, ", every %g s; Ctrl-C ends\n\n", view->opts->watch_ms / 1e3);
}

static int view_begin(struct view *view)
{
	view->out = stdout;
	if (!view->live)
		return 0;
	view->out = open_memstream(&view->text, &view->len);
	if (!view->out) {
		fprintf(stderr, "fi_stat: %s\n", fi_strerror(FI_ENOMEM));
		return -FI_ENOMEM;
	}
	print_live_title(view);
	return 0;
}

/* Draws what was printed, unless it is not complete. */
static void view_end(struct view *view, int ret)
{
	struct stat_screen *screen = &view->screen;

	if (!view->live) {
		if (!ret && view->opts->watch_ms && !view->opts->json)
			fputc('\n', stdout);
		fflush(stdout);
		return;
	}
	fclose(view->out);
	term_size(stdout, &screen->lines, &screen->columns);
	if (!ret)
		stat_screen_draw(screen, view->text);
	free(view->text);
	view->text = NULL;
}

static void print(struct view *view, const struct snapshot *now, const struct snapshot *before)
{
	const struct stat_options *opts = view->opts;
	const struct fi_stats_object *object, *old;
	size_t i;

	if (opts->json)
		fprintf(view->out, "{\"pid\": %d, \"objects\": [", (int)opts->pid);
	else if (view->live)
		stat_print_title(view->out);
	for (i = 0; i < now->count; i++) {
		object = &now->objects[i];
		old = find(before, object->id);
		if (opts->json) {
			fputs(i ? ", " : "", view->out);
			stat_print_json(view->out, object);
		} else if (view->live) {
			stat_print_table(view->out, object, old, now->time - before->time,
					 opts->all);
		} else {
			stat_print_text(view->out, object, old, now->time - before->time,
					opts->all);
		}
	}
	if (opts->json)
		fputs("]}\n", view->out);
}

static void print_peer(struct view *view, const struct fi_stats_peer *peer, bool first)
{
	if (!view->opts->json) {
		stat_print_peer(view->out, peer, view->opts->all);
		return;
	}
	fputs(first ? "" : ", ", view->out);
	stat_print_peer_json(view->out, peer);
}

static int print_each(struct view *view, struct fid *fid)
{
	struct fi_stats_peer peer = { 0 };
	struct fi_ops_stats_process *ops;
	int n, ret;

	ret = fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL);
	if (!ret && ops->size < sizeof(*ops))
		return -FI_ENOSYS;
	for (n = 0; !ret && n < MOST && (ret = ops->next_peer(fid, peer.id, &peer)) == 1; n++) {
		print_peer(view, &peer, !n);
		ret = 0;
	}
	return ret;
}

static int print_peers(struct view *view)
{
	const struct stat_options *opts = view->opts;
	struct fid *fid;
	int ret = open_process(opts->pid, &fid);

	if (ret)
		return ret;
	if (opts->json)
		fprintf(view->out, "{\"pid\": %d, \"peers\": [", (int)opts->pid);
	ret = print_each(view, fid);
	if (opts->json)
		fputs("]}\n", view->out);
	fi_close(fid);
	return ret;
}

static int print_objects(struct view *view, struct snapshot *before)
{
	struct snapshot next;
	int ret = take(view->opts->pid, &next);

	if (!ret)
		print(view, &next, before);
	free(before->objects);
	*before = next;
	return ret;
}

static int show(struct view *view, struct snapshot *before)
{
	int ret = view_begin(view);

	if (ret)
		return ret;
	ret = view->opts->peers ? print_peers(view) : print_objects(view, before);
	view_end(view, ret);
	return ret;
}

/* Returns false when the user has pressed Ctrl-C. */
static bool pause_ms(int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000L };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	return sigtimedwait(&set, NULL, &left) < 0;
}

/* Ctrl-C ends the pause between two outputs, not an output. */
static void block_interrupt(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The kernel takes a moment to end a process whose memory is gone. */
static bool ends_soon(const struct stat_process *process)
{
	int i;

	for (i = 0; i < 20; i++) {
		if (stat_process_has_ended(process))
			return true;
		if (!pause_ms(10))
			break;
	}
	return false;
}

/* Shows again and again, until the process ends or the user does not want more. */
static int watch(struct view *view, struct snapshot *before)
{
	const struct stat_options *opts = view->opts;
	long round;
	int ret;

	block_interrupt();
	for (round = 0; !opts->count || round < opts->count; round++) {
		if (round && !pause_ms(opts->watch_ms))
			return 0;
		ret = round && stat_process_has_ended(&view->process) ? -ENOENT
								      : show(view, before);
		if (ret && round && ends_soon(&view->process)) {
			fprintf(stderr, "fi_stat: process %d has ended\n", (int)opts->pid);
			return 0;
		}
		if (ret)
			return explain(opts->pid, ret);
		if (ferror(stdout)) /* tool_end() says so */
			return 0;
	}
	return 0;
}

static int run(const struct stat_options *opts)
{
	struct view view = { .opts = opts, .screen.out = stdout };
	struct snapshot before = { 0 };
	int ret;

	view.live = opts->watch_ms && !opts->json && term_is_screen(stdout);
	stat_process_find(&view.process, opts->pid);
	if (opts->watch_ms) {
		ret = watch(&view, &before);
	} else {
		ret = show(&view, &before);
		if (ret)
			explain(opts->pid, ret);
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
		return tool_end(EXIT_GOOD);
	}
	if (opts.version) {
		tool_version(stdout);
		return tool_end(EXIT_GOOD);
	}
	return tool_end(run(&opts));
}
