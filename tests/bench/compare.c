/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Times libraries against raw verbs, in turns within one process, so that the machine's load
 * affects all alike. Prints "TEST NAME MEDIAN RATIO": microseconds, and the ratio of the medians to
 * raw's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "pair.h"
#include "transport.h"

#define MAX_CONTENDERS 4
#define MAX_ROUNDS     1000
#define GETINFO_ROUNDS 25
#define ENDPOINT_DEPTH 8

struct test {
	const char *name;
	/* The time of one message, microseconds. */
	double (*once)(const struct transport *transport, const struct test *test);
	size_t size;
	int count; /* ping-pong: iterations; burst: messages for a doorbell */
	int share; /* of the rounds that were asked for, per cent */
};

struct contender {
	const char *name;
	struct lib lib;
	struct transport transport;
	double times[MAX_ROUNDS];
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double time_pingpong(const struct transport *transport, const struct test *test)
{
	double start = now_us();

	transport->pingpong(transport->pair, test->size, test->count);
	return (now_us() - start) / (2 * test->count);
}

static double time_burst(const struct transport *transport, const struct test *test)
{
	double start;

	transport->ready(transport->pair, test->size);
	start = now_us();
	transport->burst(transport->pair, test->size, test->count);
	return (now_us() - start) / WINDOW;
}

static double time_reconnect(const struct transport *transport, const struct test *test)
{
	double start = now_us();

	(void)test;
	transport->reconnect(transport->pair);
	return now_us() - start;
}

static double time_met(const struct transport *transport, const struct test *test)
{
	double start = now_us();

	transport->first(transport->pair, test->size);
	return now_us() - start;
}

/* The first message of new endpoints. */
static double time_first(const struct transport *transport, const struct test *test)
{
	transport->reconnect(transport->pair);
	return time_met(transport, test);
}

static double time_first_by_ip(const struct transport *transport, const struct test *test)
{
	transport->reconnect_by_ip(transport->pair);
	return time_met(transport, test);
}

static double time_write(const struct transport *transport, const struct test *test)
{
	double start = now_us();

	transport->write(transport->pair, test->size, test->count);
	return (now_us() - start) / test->count;
}

static double time_fetch_add(const struct transport *transport, const struct test *test)
{
	double start = now_us();

	transport->fetch_add(transport->pair, test->size, test->count);
	return (now_us() - start) / test->count;
}

static const struct test tests[] = {
	{ "latency-8", time_pingpong, 8, 10, 200 },
	{ "latency-64", time_pingpong, 64, 10, 200 },
	{ "latency-4096", time_pingpong, 4096, 10, 100 },
	{ "latency-65536", time_pingpong, 65536, 2, 40 },
	{ "burst-1", time_burst, 64, 1, 50 },
	{ "burst-16", time_burst, 64, 16, 50 },
	{ "reconnect", time_reconnect, 0, 0, 200 },
	{ 0 },
};

/* Of FI_EP_RDM with tags, beside FI_EP_MSG of the first library. */
static const struct test rdm_tests[] = {
	{ "rdm-latency-8", time_pingpong, 8, 10, 200 },
	{ "rdm-latency-4096", time_pingpong, 4096, 10, 100 },
	{ "rdm-latency-1048576", time_pingpong, 1048576, 1, 20 },
	{ "rdm-burst", time_burst, 64, 1, 50 },
	{ "rdm-write", time_write, 8, 10, 100 },
	{ "rdm-fetch-add", time_fetch_add, 8, 10, 100 },
	{ 0 },
};

/* The same on another transport, beside FI_EP_RDM of the first contender. */
static const struct test transport_tests[] = {
	{ "rdm-latency-8", time_pingpong, 8, 10, 200 },
	{ "rdm-latency-4096", time_pingpong, 4096, 10, 100 },
	{ "rdm-latency-65536", time_pingpong, 65536, 2, 40 },
	{ "rdm-latency-1048576", time_pingpong, 1048576, 1, 20 },
	{ "rdm-burst", time_burst, 64, 1, 50 },
	{ "rdm-write", time_write, 8, 10, 100 },
	{ "rdm-first", time_first, 8, 0, 100 },
	{ "rdm-first-ip", time_first_by_ip, 8, 0, 100 },
	{ 0 },
};

/* Large messages beside memcpy(). */
static const struct test copy_tests[] = {
	{ "shm-copy-1048576", time_pingpong, 1048576, 1, 100 },
	{ 0 },
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, count, sizeof(*values), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Each round begins with another contender. */
static void run_test(const struct test *test, struct contender *contenders, int count, int rounds)
{
	struct contender *contender;
	double raw = 0, value;
	int i, round;

	for (i = 0; i < count; i++)
		test->once(&contenders[i].transport, test);
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < count; i++) {
			contender = &contenders[(round + i) % count];
			contender->times[round] = test->once(&contender->transport, test);
		}
	}
	for (i = 0; i < count; i++) {
		value = median(contenders[i].times, rounds);
		if (i == 0)
			raw = value;
		printf("%s %s %.2f %.4f\n", test->name, contenders[i].name, value, value / raw);
	}
	fflush(stdout);
}

static void time_getinfo(struct contender *contender, const char *address)
{
	struct pair_options options = { .address = address };
	struct fi_info *hints = pair_hints(&contender->lib, &options), *info;
	double start;
	int i;

	for (i = 0; i < GETINFO_ROUNDS; i++) {
		start = now_us();
		bench_check(&contender->lib,
			    contender->lib.getinfo(BENCH_API, address, "1", 0, hints, &info),
			    "fi_getinfo");
		contender->times[i] = now_us() - start;
		contender->lib.freeinfo(info);
	}
	contender->lib.freeinfo(hints);
	printf("getinfo %s %.2f -\n", contender->name, median(contender->times, GETINFO_ROUNDS));
}

/* The time of an endpoint, microseconds: all are open at once. */
static void time_endpoints(const struct contender *contender, const char *address, int count)
{
	struct pair_options options = { .address = address, .depth = ENDPOINT_DEPTH };
	struct pair first, *pairs = calloc(count / 2, sizeof(*pairs));
	double start, connected;
	int i;

	if (!pairs)
		bench_die("endpoints", "out of memory");
	pair_open(&first, &contender->lib, &options);
	first.ep_size = ENDPOINT_DEPTH;
	start = now_us();
	for (i = 0; i < count / 2; i++) {
		pairs[i] = first;
		pair_connect(&pairs[i]);
	}
	connected = now_us();
	for (i = 0; i < count / 2; i++)
		pair_disconnect(&pairs[i]);
	printf("endpoints-open %s %.2f -\n", contender->name, (connected - start) / count);
	printf("endpoints-close %s %.2f -\n", contender->name, (now_us() - connected) / count);
	pair_close(&first);
	free(pairs);
}

/*
 * text: "raw", "memcpy", NAME=LIBRARY, NAME.domain=LIBRARY for FI_THREAD_DOMAIN, NAME.rdm=LIBRARY
 * for FI_EP_RDM, NAME.ud=LIBRARY for FI_EP_RDM on datagrams, NAME.shm=LIBRARY for FI_EP_RDM through
 * shared memory; the last two of a library that no other contender has
 */
static void open_contender(struct contender *contender, char *text, const char *address)
{
	enum fi_threading threading = FI_THREAD_SAFE;
	char *path = strchr(text, '=');

	contender->name = text;
	if (!strcmp(text, "memcpy")) {
		transport_open_memcpy(&contender->transport);
		return;
	}
	if (!path) {
		transport_open_raw(&contender->transport, address);
		return;
	}
	*path++ = '\0';
	if (strstr(text, ".domain"))
		threading = FI_THREAD_DOMAIN;
	/* Each copy of the library reads its parameters once. */
	if (strstr(text, ".ud"))
		setenv("FI_VERBS_RDM_TRANSPORT", "ud", 1);
	setenv("FI_VERBS_SHM", strstr(text, ".shm") ? "1" : "0", 1);
	lib_load(&contender->lib, path);
	if (strstr(text, ".rdm") || strstr(text, ".ud") || strstr(text, ".shm"))
		transport_open_rdm(&contender->transport, &contender->lib, address, threading);
	else
		transport_open_fabric(&contender->transport, &contender->lib, address, threading);
	unsetenv("FI_VERBS_RDM_TRANSPORT");
}

/*
 * The order of opening and the addresses of memory change from one process to the next. The others
 * are compared with the first.
 */
static void open_contenders(struct contender *contenders, char **names, int count,
			    const char *address)
{
	int i, first = getpid() % count, opened;

	for (i = 0; i < count; i++) {
		opened = (first + i) % count;
		open_contender(&contenders[opened], names[opened], address);
	}
}

static void usage(const char *program)
{
	fprintf(stderr,
		"Usage: %s [-n ROUNDS | -e ENDPOINTS] [-r | -t | -c] ADDRESS CONTENDER...\n"
		"CONTENDER: raw, memcpy, or NAME[.domain][.rdm | .ud | .shm]=LIBRARY\n",
		program);
	exit(2);
}

int main(int argc, char **argv)
{
	static struct contender contenders[MAX_CONTENDERS];
	int i, option, count, rounds = 100, endpoints = 0;
	const struct test *test = tests;
	const char *address;

	while ((option = getopt(argc, argv, "n:e:rtc")) != -1) {
		if (option == 'n')
			rounds = bench_number("-n", optarg);
		else if (option == 'e')
			endpoints = bench_number("-e", optarg);
		else if (option == 'r')
			test = rdm_tests;
		else if (option == 't')
			test = transport_tests;
		else if (option == 'c')
			test = copy_tests;
		else
			usage(argv[0]);
	}
	count = argc - optind - 1;
	if (count < 1 || count > MAX_CONTENDERS || rounds > MAX_ROUNDS)
		usage(argv[0]);
	address = argv[optind];
	open_contenders(contenders, argv + optind + 1, count, address);
	for (i = 0; i < count && endpoints; i++)
		if (contenders[i].lib.getinfo)
			time_endpoints(&contenders[i], address, endpoints);
	if (endpoints)
		return 0;
	for (; test->name; test++)
		run_test(test, contenders, count, (rounds * test->share + 99) / 100);
	for (i = 0; i < count && contenders[0].lib.getinfo == NULL; i++)
		if (contenders[i].lib.getinfo)
			time_getinfo(&contenders[i], address);
	return 0;
}
