/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many endpoints of FI_EP_RDM send to one at once, for the first time. They are in one process, the
 * receiver in another. Prints "TEST NAME VALUE -": the time of a connection, how often a send had
 * to be retried, and the resident memory of an enabled endpoint and of a connected peer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include "pair.h"

enum { POLL = 16, POSTED = 64, LEN = 64, NAME = 64, SECONDS = 120, ADDRESSES = 100000 };

struct storm {
	struct lib lib;
	const char *name;
	int count;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep **ep;
	int eps;
	struct fid_mr *mr;
	char *buf;
	struct fi_context *contexts;
	int sock; /* to the other process */
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double resident_kib(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*u %lu", &pages) != 1)
		bench_die("/proc/self/statm", "can't be read");
	fclose(file);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static void print(const struct storm *s, const char *test, double value)
{
	printf("%s %s %.2f -\n", test, s->name, value);
	fflush(stdout);
}

static void say(const struct storm *s, const void *data, size_t len)
{
	if (send(s->sock, data, len, MSG_NOSIGNAL) != (ssize_t)len)
		bench_die("the other process", "is gone");
}

static void hear(const struct storm *s, void *data, size_t len)
{
	if (recv(s->sock, data, len, MSG_WAITALL) != (ssize_t)len)
		bench_die("the other process", "is gone");
}

static void open_domain(struct storm *s, const char *address)
{
	struct pair_options options = { .address = address, .depth = 128, .type = FI_EP_RDM };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE };
	struct fi_av_attr av = { 0 };
	const struct lib *lib = &s->lib;

	bench_check(lib, pair_find(lib, &options, NULL, FI_SOURCE, &s->info), "fi_getinfo");
	bench_check(lib, lib->fabric(s->info->fabric_attr, &s->fabric, NULL), "fi_fabric");
	bench_check(lib, fi_domain(s->fabric, s->info, &s->domain, NULL), "fi_domain");
	cq.size = 2 * (size_t)s->count;
	av.type = s->info->domain_attr->av_type;
	bench_check(lib, fi_cq_open(s->domain, &cq, &s->cq, NULL), "fi_cq_open");
	bench_check(lib, fi_av_open(s->domain, &av, &s->av, NULL), "fi_av_open");
	s->ep = calloc((size_t)s->count, sizeof(*s->ep));
	s->contexts = calloc((size_t)s->count, sizeof(*s->contexts));
	s->buf = aligned_alloc(4096, 4096);
	if (!s->ep || !s->contexts || !s->buf)
		bench_die("storm", "out of memory");
	memset(s->buf, 0, 4096);
	bench_check(lib,
		    fi_mr_reg(s->domain, s->buf, 4096, FI_SEND | FI_RECV, 0, 0, 0, &s->mr, NULL),
		    "fi_mr_reg");
}

static void open_ep(struct storm *s)
{
	const struct lib *lib = &s->lib;
	struct fid_ep **ep = &s->ep[s->eps];

	bench_check(lib, fi_endpoint(s->domain, s->info, ep, NULL), "fi_endpoint");
	s->eps++;
	bench_check(lib, fi_ep_bind(*ep, &s->av->fid, 0), "fi_ep_bind(av)");
	bench_check(lib, fi_ep_bind(*ep, &s->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind(cq)");
	bench_check(lib, fi_enable(*ep), "fi_enable");
}

static void close_all(struct storm *s)
{
	const struct lib *lib = &s->lib;

	while (s->eps--)
		bench_check(lib, fi_close(&s->ep[s->eps]->fid), "fi_close(ep)");
	bench_check(lib, fi_close(&s->mr->fid), "fi_close(mr)");
	bench_check(lib, fi_close(&s->av->fid), "fi_close(av)");
	bench_check(lib, fi_close(&s->cq->fid), "fi_close(cq)");
	bench_check(lib, fi_close(&s->domain->fid), "fi_close(domain)");
	bench_check(lib, fi_close(&s->fabric->fid), "fi_close(fabric)");
	lib->freeinfo(s->info);
	free(s->ep);
	free(s->contexts);
	free(s->buf);
}

/* Returns how many completions there were. */
static int look(struct storm *s)
{
	struct fi_cq_tagged_entry entries[POLL];
	struct fi_cq_err_entry error = { 0 };
	ssize_t n = fi_cq_read(s->cq, entries, POLL);

	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL && fi_cq_readerr(s->cq, &error, 0) == 1)
		n = -error.err;
	return (int)bench_check(&s->lib, n, "fi_cq_read");
}

static void receive(struct storm *s, int which)
{
	bench_check(&s->lib,
		    fi_recv(s->ep[0], s->buf, LEN, fi_mr_desc(s->mr), FI_ADDR_UNSPEC,
			    &s->contexts[which % s->count]),
		    "fi_recv");
}

/* The one. */
static void direct(struct storm *s, const char *address)
{
	int i, n, posted, arrived = 0;
	char name[NAME] = { 0 };
	size_t len = sizeof(name);
	double before;

	open_domain(s, address);
	open_ep(s);
	bench_check(&s->lib, fi_getname(&s->ep[0]->fid, name, &len), "fi_getname");
	for (posted = 0; posted < s->count && posted < POSTED; posted++)
		receive(s, posted);
	before = resident_kib();
	say(s, name, sizeof(name));
	while (arrived < s->count) {
		n = look(s);
		for (i = 0; i < n && posted < s->count; i++)
			receive(s, posted++);
		arrived += n;
	}
	say(s, "a", 1);
	print(s, "rdm-storm-peer", (resident_kib() - before) / s->count);
	/* Others may need us to end. */
	while (recv(s->sock, name, 1, MSG_DONTWAIT) < 0)
		look(s);
	close_all(s);
}

/* An address vector with many addresses of peers, and the resident memory of each. */
static void time_av(struct storm *s)
{
	struct fi_av_attr attr = { .type = s->info->domain_attr->av_type, .count = ADDRESSES };
	struct sockaddr_in *names = calloc(ADDRESSES, sizeof(*names));
	double start, before;
	struct fid_av *av;
	int i;

	if (!names)
		bench_die("addresses", "out of memory");
	for (i = 0; i < ADDRESSES; i++) {
		names[i].sin_family = AF_INET;
		names[i].sin_port = htons((uint16_t)(1024 + i % 50000));
		names[i].sin_addr.s_addr = htonl(0x0a000001 + (uint32_t)i / 50000);
	}
	before = resident_kib();
	start = now_us();
	bench_check(&s->lib, fi_av_open(s->domain, &attr, &av, NULL), "fi_av_open");
	bench_check(&s->lib, fi_av_insert(av, names, ADDRESSES, NULL, 0, NULL) - ADDRESSES,
		    "fi_av_insert");
	print(s, "rdm-av-insert", (now_us() - start) / ADDRESSES);
	print(s, "rdm-av-address", 1024 * (resident_kib() - before) / ADDRESSES);
	bench_check(&s->lib, fi_close(&av->fid), "fi_close(av)");
	free(names);
}

/* The many. */
static void source(struct storm *s, const char *address)
{
	double start, before, again = 0;
	int i, done = 0;
	char name[NAME];
	fi_addr_t to;
	ssize_t ret;

	open_domain(s, address);
	before = resident_kib();
	start = now_us();
	for (i = 0; i < s->count; i++)
		open_ep(s);
	print(s, "rdm-storm-open", (now_us() - start) / s->count);
	print(s, "rdm-storm-endpoint", (resident_kib() - before) / s->count);
	hear(s, name, sizeof(name));
	bench_check(&s->lib, fi_av_insert(s->av, name, 1, &to, 0, NULL) - 1, "fi_av_insert");
	start = now_us();
	for (i = 0; i < s->count; i++) {
		while ((ret = fi_send(s->ep[i], s->buf, LEN, fi_mr_desc(s->mr), to,
				      &s->contexts[i])) == -FI_EAGAIN) {
			done += look(s);
			again++;
		}
		bench_check(&s->lib, ret, "fi_send");
	}
	while (done < s->count)
		done += look(s);
	hear(s, name, 1);
	print(s, "rdm-storm-connect", (now_us() - start) / s->count);
	print(s, "rdm-storm-again", again / s->count);
	time_av(s);
	close_all(s);
	say(s, "e", 1);
}

/* An endpoint has some descriptors. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void run(struct storm *s, const char *address, const char *path)
{
	int socks[2], status = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks))
		bench_die("socketpair", "failed");
	pid = fork();
	if (pid < 0)
		bench_die("fork", "failed");
	close(socks[!!pid]);
	s->sock = socks[!pid];
	alarm(SECONDS);
	lib_load(&s->lib, path);
	if (!pid) {
		source(s, address);
		exit(0);
	}
	direct(s, address);
	if (waitpid(pid, &status, 0) != pid || status)
		bench_die("the senders", "failed");
}

int main(int argc, char **argv)
{
	struct storm storm = { 0 };
	char *path;

	if (argc != 4 || !(path = strchr(argv[3], '='))) {
		fprintf(stderr, "Usage: %s ENDPOINTS ADDRESS NAME=LIBRARY\n", argv[0]);
		return 2;
	}
	*path++ = '\0';
	storm.count = bench_number("ENDPOINTS", argv[1]);
	storm.name = argv[3];
	raise_limit();
	run(&storm, argv[2], path);
	return 0;
}
