/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What shared memory costs 32 endpoints of a host that all talk to each other. Each pair has two
 * rings, one per direction: together they take at most 2 * (64 KiB + one page) of the host's
 * memory, also when they have been written around, and only the pages that were touched, about one
 * per ring, if there were only a few short messages. Each endpoint has one more page for its bells.
 * The file descriptors of a process do not grow with the number of its peers, and nothing remains
 * when the endpoints are closed.
 *
 * There are 8 processes with 4 endpoints each: an emulated machine takes more than a minute for the
 * 2,016 pairs of 64 endpoints, each of which costs as much (136.0 KiB there, too).
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "rdm_node.h"

enum {
	PROCESSES = 8,
	EPS = 4, /* of a process */
	RANKS = PROCESSES * EPS,
	PAIRS = RANKS * (RANKS - 1) / 2,
	/* The limits, from the manual page. The ring's size is not taken from the library. */
	RING = 64 << 10,
	FDS = EPS + 4, /* the bells of each endpoint, and what a process opens once */
	/* The messages of a direction: a few, and more than one and a half times the ring. */
	SHORT_LEN = 64,
	SHORT_COUNT = 4,
	LONG_LEN = 12000,
	LONG_COUNT = 9,
	COUNT = LONG_COUNT,
	REST_US = 10000,
	WORD = 4, /* the messages' offsets: no two begin alike */
};

/* The files of rings and bells; others count statistics, for example. */
#define NAME "memfd:weft"

/* All messages are parts of this. */
static char bytes[WORD * RANKS * RANKS * COUNT + LONG_LEN];

struct report {
	size_t shared; /* bytes of rings, a page that is mapped twice counting half */
	int fds;       /* how many there are more than before the first message */
};

/* A process of several ranks. */
struct process {
	struct node node; /* its endpoint is the first of these */
	struct fid_ep *eps[EPS];
	struct child *parent;
	unsigned int first; /* of its ranks */
	int fds;	    /* before the first message */
	fi_addr_t to[RANKS];
	char in[EPS][RANKS][LONG_LEN];
};

static size_t page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * Returns the bytes of rings that this process uses, a page that is mapped twice counting half for
 * each mapping, and sets *maps to the number of the mappings of rings and bells. Of a bell, which
 * all peers have mapped, each mapping counts less than the KiB that Pss is rounded down to.
 */
static size_t use_now(int *maps)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	bool is_ours = false;
	unsigned long kib, sum = 0;
	char line[512];

	CHECK(file);
	*maps = 0;
	while (fgets(line, sizeof(line), file)) {
		/* Only the first line of a mapping begins with its address. */
		if (!isupper((unsigned char)line[0])) {
			is_ours = strstr(line, NAME);
			*maps += is_ours;
		} else if (is_ours && sscanf(line, "Pss: %lu", &kib) == 1) {
			sum += kib;
		}
	}
	fclose(file);
	return sum * 1024;
}

/* Returns the number of file descriptors, or of those of rings and bells. */
static int count_fds(bool ours)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char name[64];
	ssize_t len;
	int count = 0;

	CHECK(dir);
	while ((entry = readdir(dir))) {
		len = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);
		if (len < 0 || atoi(entry->d_name) == dirfd(dir))
			continue;
		name[len] = 0;
		count += !ours || strstr(name, NAME);
	}
	closedir(dir);
	return count;
}

/* Every message of every phase has its own contents. */
static const char *message(unsigned int from, unsigned int to, unsigned int number)
{
	return bytes + (size_t)WORD * ((from * RANKS + to) * COUNT + number);
}

/* A process that waits leaves the processors to the others, and to the kernel. */
static void rest(uint64_t end, const char *what)
{
	pause_until(end, what);
	usleep(REST_US);
}

static void reap(struct process *self, unsigned int count)
{
	uint64_t end = deadline();
	struct fi_cq_tagged_entry entry;
	unsigned int done = 0;
	int err;

	while (done < count) {
		if (!node_poll(&self->node, &entry, &err)) {
			rest(end, "the completion of every operation");
			continue;
		}
		EQUAL(err, 0);
		done++;
	}
}

/* Posts what each rank sends and receives at this distance to and from others. */
static void post(struct process *self, unsigned int distance, size_t len, unsigned int number)
{
	unsigned int i, rank, to, from;

	for (i = 0; i < EPS; i++) {
		rank = self->first + i;
		to = (rank + distance) % RANKS;
		from = (rank + RANKS - distance) % RANKS;
		OK(fi_trecv(self->eps[i], self->in[i][from], len, NULL, FI_ADDR_UNSPEC, from, 0,
			    NULL));
		OK(fi_tsend(self->eps[i], message(rank, to, number), len, NULL, self->to[to], rank,
			    NULL));
	}
}

static void verify(const struct process *self, size_t len, unsigned int number)
{
	unsigned int i, rank, from;

	for (i = 0; i < EPS; i++) {
		rank = self->first + i;
		for (from = 0; from < RANKS; from++)
			if (from != rank)
				CHECK(!memcmp(self->in[i][from], message(from, rank, number), len));
	}
}

/*
 * The first messages, which connect each pair. A rank connects to one other at a time: the
 * connection manager of an emulated machine does not keep up with thousands of requests at once.
 */
static void greet(struct process *self)
{
	unsigned int i;

	for (i = 1; i < RANKS; i++) {
		post(self, i, SHORT_LEN, 0);
		reap(self, 2 * EPS);
	}
	verify(self, SHORT_LEN, 0);
}

static void exchange(struct process *self, size_t len, unsigned int count)
{
	unsigned int i, k;

	for (i = 0; i < count; i++) {
		for (k = 1; k < RANKS; k++)
			post(self, k, len, i);
		reap(self, 2 * EPS * (RANKS - 1));
		verify(self, len, i);
	}
}

static void progress(struct process *self)
{
	RETURNS(fi_cq_read(self->node.cq, NULL, 0), -FI_EAGAIN);
}

/* A process closes its end of a ring's file when it hears that the peer has mapped it. */
static void settle(struct process *self)
{
	uint64_t end = deadline();
	int fds = count_fds(false);

	while (fds > self->fds + FDS) {
		if (now_ms() > end)
			FAIL("%d file descriptors, %d before", fds, self->fds);
		progress(self);
		usleep(REST_US);
		fds = count_fds(false);
	}
}

/* Waits for all processes, which may need this one until then. */
static void meet(struct process *self)
{
	uint64_t end = deadline();
	char word;

	child_say(self->parent, "m", 1);
	while (recv(self->parent->sock, &word, 1, MSG_DONTWAIT) != 1) {
		progress(self);
		rest(end, "all processes to be there");
	}
}

/* All processes measure while none does anything else. */
static void report(struct process *self)
{
	struct report report;
	char word;
	int maps;

	settle(self);
	meet(self);
	report.shared = use_now(&maps);
	report.fds = count_fds(false) - self->fds;
	child_say(self->parent, &report, sizeof(report));
	child_hear(self->parent, &word, 1);
}

static void open_all(struct process *self)
{
	struct node *node = &self->node;
	struct node_name names[RANKS];
	size_t len = sizeof(names[0]);
	unsigned int i;

	node_open(node, NULL);
	self->eps[0] = node->ep;
	for (i = 0; i < EPS; i++) {
		if (i) {
			OK(fi_endpoint(node->domain, node->info, &self->eps[i], NULL));
			OK(fi_ep_bind(self->eps[i], &node->cq->fid, FI_TRANSMIT | FI_RECV));
			OK(fi_ep_bind(self->eps[i], &node->av->fid, 0));
			OK(fi_enable(self->eps[i]));
		}
		OK(fi_getname(&self->eps[i]->fid, &names[i], &len));
	}
	child_say(self->parent, names, EPS * sizeof(names[0]));
	child_hear(self->parent, names, sizeof(names));
	for (i = 0; i < RANKS; i++)
		self->to[i] = node_know(node, &names[i]);
}

static void close_all(struct process *self)
{
	unsigned int i;

	for (i = 1; i < EPS; i++)
		OK(fi_close(&self->eps[i]->fid));
	node_close(&self->node);
}

static void run(struct child *parent, void *arg)
{
	struct process *self = calloc(1, sizeof(*self));
	int maps;

	CHECK(self);
	self->parent = parent;
	self->first = *(unsigned int *)arg * EPS;
	open_all(self);
	self->fds = count_fds(false);
	greet(self);
	exchange(self, SHORT_LEN, SHORT_COUNT);
	report(self);
	exchange(self, LONG_LEN, LONG_COUNT);
	report(self);
	close_all(self);
	EQUAL(count_fds(true), 0);
	EQUAL(use_now(&maps), 0);
	EQUAL(maps, 0);
	free(self);
}

static void wait_for_all(struct child *children)
{
	unsigned int i;
	char word;

	for (i = 0; i < PROCESSES; i++)
		child_hear(&children[i], &word, 1);
	for (i = 0; i < PROCESSES; i++)
		child_say(&children[i], "g", 1);
}

/* Adds up what the processes report; a pair may use so many bytes. */
static void measure(struct child *children, const char *what, size_t least, size_t most)
{
	size_t shared = 0;
	struct report report;
	unsigned int i;
	int fds = 0;

	wait_for_all(children);
	for (i = 0; i < PROCESSES; i++) {
		child_hear(&children[i], &report, sizeof(report));
		shared += report.shared;
		fds = report.fds > fds ? report.fds : fds;
	}
	printf("%s: %zu KiB in all, %.2f KiB for each of %d pairs, at least %zu, at most %zu; %d file "
	       "descriptors more\n",
	       what, shared / 1024, (double)shared / PAIRS / 1024, PAIRS, least / 1024, most / 1024,
	       fds);
	CHECK(fds <= FDS);
	CHECK(shared >= PAIRS * least);
	CHECK(shared <= PAIRS * most);
	for (i = 0; i < PROCESSES; i++)
		child_say(&children[i], "g", 1);
}

static void test(void)
{
	struct child children[PROCESSES];
	struct node_name names[RANKS];
	unsigned int i;

	fill(bytes, sizeof(bytes), 1);
	for (i = 0; i < PROCESSES; i++)
		children[i] = child_start(run, &i);
	for (i = 0; i < PROCESSES; i++)
		child_hear(&children[i], &names[i * EPS], EPS * sizeof(names[0]));
	for (i = 0; i < PROCESSES; i++)
		child_say(&children[i], names, sizeof(names));
	measure(children, "few messages", 2 * page(), 4 * page());
	measure(children, "full rings", 2 * RING, 2 * (RING + page()));
	for (i = 0; i < PROCESSES; i++)
		child_end(&children[i]);
}

int main(void)
{
	setenv("FI_VERBS_SHM", "1", 1);
	/* The device's memory is not what this measures. */
	setenv("FI_VERBS_RDM_RX_BUFFERS", "64", 1);
	need_env("WEFT_DEVICE");
	return run_test(test);
}
