/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections to very many peers: the time grows linearly with their number. WEFT_PEERS=N measures
 * N peers and prints the time.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/policy.h"

enum { FEW = 5000, MANY = 40000, WINDOW = 32 };

static uint32_t any32(void *arg)
{
	uint32_t *random = arg;

	return *random = *random * 1664525 + 1013904223;
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct run {
	struct ofi_rdm_conn_set set;
	struct ofi_rdm_conn *conns;
	uint32_t out[WINDOW], outs, count; /* requests that the peers have */
	uint32_t random, ups;
};

static void step(struct run *run, uint32_t i, struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_conn_action action;

	ofi_rdm_conn_step(&run->set, &run->conns[i], &input, &action);
	if (action.what & OFI_RDM_CONN_DO_CONNECT)
		run->out[run->outs++] = i;
	run->ups += !!(action.what & OFI_RDM_CONN_DO_UP);
}

/* What the endpoint does after each event: whatever is due, and when to look again. */
static void schedule(struct run *run)
{
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;

	while ((conn = ofi_rdm_conn_poll(&run->set, &action)))
		if (action.what & OFI_RDM_CONN_DO_CONNECT)
			run->out[run->outs++] = (uint32_t)(conn - run->conns);
	assert_true(ofi_rdm_conn_next(&run->set) >= run->set.now);
}

/* One request is answered; one of four is refused at first, and tried again later. */
static void answer(struct run *run)
{
	uint32_t at = any32(&run->random) % run->outs, i = run->out[at];

	run->out[at] = run->out[--run->outs];
	if (any32(&run->random) % 4)
		step(run, i,
		     (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED,
						  .incarnation = i + 1 });
	else
		step(run, i,
		     (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
						  .reason = OFI_RDM_CMWIRE_BUSY });
}

static double connect_all(uint32_t count)
{
	static struct run run;
	const struct ofi_rdm_conn_params params = {
		.incarnation = 77,
		.window = WINDOW,
		.cap = UINT32_MAX,
		.attempt = 1000,
		.give_up = UINT32_MAX,
		.backoff = 20,
		.backoff_max = 1000,
		.random = any32,
		.arg = &run.random,
	};
	double start;
	uint32_t i;

	run = (struct run){ .conns = calloc(count, sizeof(*run.conns)), .count = count };
	assert_non_null(run.conns);
	ofi_rdm_conn_set_init(&run.set, &params);
	for (i = 0; i < count; i++)
		ofi_rdm_conn_init(&run.conns[i], 1);
	start = cpu_s();
	for (i = 0; i < count; i++) {
		step(&run, i, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
		schedule(&run);
	}
	while (run.ups < count) {
		run.set.now += 1;
		while (run.outs)
			answer(&run);
		schedule(&run);
	}
	free(run.conns);
	return cpu_s() - start;
}

/*
 * Eight times as many peers take eight times as long, with a margin for other costs; with scanning
 * the factor is 64.
 */
static void test_linear(void **state)
{
	const char *peers = getenv("WEFT_PEERS");
	double few = 1e9, many = 1e9, s;
	int i;

	(void)state;
	if (peers) {
		printf("%s peers: %.3f s\n", peers, connect_all((uint32_t)atoi(peers)));
		return;
	}
	for (i = 0; i < 3; i++) {
		s = connect_all(FEW);
		few = s < few ? s : few;
		s = connect_all(MANY);
		many = s < many ? s : many;
	}
	print_message("%d peers in %.4f s, %d in %.4f s\n", FEW, few, MANY, many);
	assert_true(many < few * (MANY / FEW) * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear),
	};

	return cmocka_run_group_tests_name("rdm_policy_many", tests, NULL, NULL);
}
