/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer is killed in each state of the connection: the survivor gets one error or one FI_SHUTDOWN,
 * each of its operations completes exactly once, and it can close everything at once.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define RECVS 20
#define SENDS 60

/* The other process is the victim: it listens, and in the last cases it connects. */
enum state {
	LISTENING,
	PENDING,
	ACCEPTED,
	IDLE,
	TRANSFER,
	STOPPED,
	WRITING,
	ASKING,
	CALLING,
	STATES
};

static void kill_peer(struct pair *pair, int sig)
{
	int status;

	CHECK(!kill(pair->server.pid, sig));
	if (sig == SIGKILL)
		EQUAL(waitid(P_PID, (id_t)pair->server.pid, NULL, WEXITED | WNOWAIT), 0);
	else
		EQUAL(waitpid(pair->server.pid, &status, WUNTRACED), pair->server.pid);
}

static void step_listen(struct end *end, void *arg)
{
	end_listen(end, local_addr(), arg);
}

static void step_accept(struct end *end, void *arg)
{
	struct fi_info *info = end_request(end, NULL, NULL);

	(void)arg;
	end->ep = end_ep(end, info);
	OK(fi_accept(end->ep, NULL, 0));
	fi_freeinfo(info);
}

static void step_request(struct end *end, void *arg)
{
	(void)arg;
	fi_freeinfo(end_request(end, NULL, NULL));
}

static void step_call(struct end *end, void *arg)
{
	end_aim(end, arg);
	OK(fi_connect(end->ep, end->info->dest_addr, NULL, 0));
}

/*
 * Events on the EQ: one error, or, after FI_CONNECTED, one FI_SHUTDOWN, perhaps preceded by an
 * error.
 */
static void ended(struct end *end, bool may_connect)
{
	bool connected = !!end->peer.key;
	int errors = 0;

	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_cm_entry entry;
	uint64_t limit = deadline();
	uint32_t event;
	ssize_t ret;

	for (;;) {
		ret = fi_eq_sread(end->eq, &event, &entry, sizeof(entry), 1000, 0);
		if (ret == -FI_EAGAIN) {
			pause_until(limit, "the end of the connection");
			continue;
		}
		if (ret == -FI_EAVAIL) {
			RETURNS(fi_eq_readerr(end->eq, &error, 0), sizeof(error));
			printf("error: %s\n", fi_strerror(error.err));
			CHECK(error.fid == &end->ep->fid && !errors++);
			if (connected)
				continue;
			break;
		}
		CHECK(ret >= (ssize_t)sizeof(entry) && entry.fid == &end->ep->fid);
		if (event == FI_SHUTDOWN && connected)
			break;
		CHECK(event == FI_CONNECTED && may_connect && !errors);
		may_connect = false;
		connected = true;
	}
	no_event(end->eq, 50);
}

/* Each context completes once, in order; only the first ones can be successes. */
static void all_complete(struct fid_cq *cq, uint64_t count)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	uint64_t i, errors = 0, limit = deadline();
	ssize_t ret;

	for (i = 0; i < count; i++) {
		while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
			pause_until(limit, "the completion of every operation");
		if (ret == 1) {
			EQUAL(entry.op_context, i);
			EQUAL(errors, 0);
			continue;
		}
		RETURNS(ret, -FI_EAVAIL);
		RETURNS(fi_cq_readerr(cq, &error, 0), 1);
		EQUAL(error.op_context, i);
		errors++;
	}
	printf("%llu errors of %llu\n", (unsigned long long)errors, (unsigned long long)count);
	no_comp(cq, 20);
}

static void connect_to(struct pair *pair, bool accept)
{
	struct end *client = &pair->client;
	struct place place;

	at(&pair->server, step_listen, &place, sizeof(place));
	end_aim(client, &place);
	OK(fi_connect(client->ep, client->info->dest_addr, NULL, 0));
	if (accept)
		at(&pair->server, step_accept, NULL, 0);
}

static void die_listening(struct pair *pair)
{
	struct place place;

	at(&pair->server, step_listen, &place, sizeof(place));
	end_aim(&pair->client, &place);
	kill_peer(pair, SIGKILL);
	OK(fi_connect(pair->client.ep, pair->client.info->dest_addr, NULL, 0));
	ended(&pair->client, false);
}

/* The survivor listens. The victim dies while its request waits, or after it was accepted. */
static void die_calling(struct pair *pair, bool accept)
{
	struct end *client = &pair->client;
	struct fi_info *info;
	struct place place;

	end_listen(client, local_addr(), &place);
	at(&pair->server, step_call, &place, sizeof(place));
	info = end_request(client, NULL, NULL);
	client->ep = end_ep(client, info);
	if (accept)
		OK(fi_accept(client->ep, NULL, 0));
	kill_peer(pair, SIGKILL);
	sleep_ms(100);
	if (!accept && fi_accept(client->ep, NULL, 0))
		no_event(client->eq, 0);
	else
		ended(client, true);
	fi_freeinfo(info);
}

static void post_transfer(struct end *end, bool write)
{
	uint64_t i;

	for (i = 0; i < RECVS; i++)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, (void *)(uintptr_t)i));
	for (i = 0; i < SENDS; i++)
		if (write)
			OK(fi_write(end->ep, end->buf, end->setup->buf_size, end->desc, 0,
				    end->peer.addr, end->peer.key, (void *)(uintptr_t)i));
		else
			OK(fi_send(end->ep, end->buf, 4096, end->desc, 0, (void *)(uintptr_t)i));
}

static void die_connected(struct pair *pair, enum state state)
{
	struct end *client = &pair->client;
	struct part part = { .len = 4096 };
	uint64_t sends = 0;
	int i;

	pair_open(pair);
	for (i = 0; i < SENDS / 2; i++)
		at(&pair->server, post_recv, &part, sizeof(part));
	if (state != IDLE) {
		sends = SENDS;
		post_transfer(client, state == WRITING);
	} else {
		for (i = 0; i < RECVS; i++) {
			part.context = (uint64_t)i;
			post_recv(client, &part);
		}
	}
	if (state == STOPPED) {
		kill_peer(pair, SIGSTOP);
		sleep_ms(50);
		no_event(client->eq, 50);
	}
	kill_peer(pair, SIGKILL);
	ended(client, false);
	all_complete(client->cq, sends);
	all_complete(client->rxcq, RECVS);
	CHECK(fi_send(client->ep, client->buf, 8, client->desc, 0, NULL) == -FI_ENOTCONN);
}

static enum state current;

static void test(struct pair *pair)
{
	uint64_t start;

	printf("state %d\n", (int)current);
	if (current == LISTENING) {
		die_listening(pair);
	} else if (current == PENDING || current == ACCEPTED) {
		connect_to(pair, current == ACCEPTED);
		if (current == PENDING)
			at(&pair->server, step_request, NULL, 0);
		kill_peer(pair, SIGKILL);
		ended(&pair->client, current == ACCEPTED);
	} else if (current == ASKING || current == CALLING) {
		die_calling(pair, current == CALLING);
	} else {
		die_connected(pair, current);
	}
	start = now_ms();
	end_close(&pair->client);
	CHECK(now_ms() - start < 5000);
}

int main(void)
{
	static const struct setup setup = { 0 };
	int ret = 0;

	for (current = 0; !ret && current < STATES; current++)
		ret = run_two_processes(&setup, test);
	return ret;
}
