/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Nobody listens at the peer's address, or its host does not answer: all operations to it fail once
 * each, whether posted before the library gives up on the peer or afterward. Once the peer exists,
 * later operations succeed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include "fixture.h"
#include "rdm.h"

enum { GIVE_UP_MS = 300, WAVES = 20, WAVE_MS = 45, OPS_MAX = 16, LARGE = 300000, KEY = 5 };
enum { SENDS, READS, WRITES, KINDS };

static const uint64_t bits[KINDS] = { FI_SEND, FI_READ, FI_WRITE };
static uint8_t large[LARGE], in[LARGE], word[64], target[64];
static struct fid_cntr *cntr[KINDS];
static uint64_t posted[KINDS]; /* since the counters were opened */
static uint8_t ended[WAVES * OPS_MAX];
static unsigned int count; /* operations that reported their result */
static uint64_t key, addr;

static void counters(struct rdm_pair *pair, int side)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	int i;

	for (i = 0; !side && i < KINDS; i++) {
		OK(fi_cntr_open(pair->domain, &attr, &cntr[i], NULL));
		OK(fi_ep_bind(pair->side[0].ep, &cntr[i]->fid, bits[i]));
	}
}

static void *next(int kind)
{
	posted[kind]++;
	CHECK(count < sizeof(ended));
	ended[count] = 0;
	return &ended[count++];
}

static void post_fenced(struct rdm_side *side, fi_addr_t to)
{
	struct iovec iov = { word, 8 };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = to };

	msg.context = next(SENDS);
	OK(fi_tsendmsg(side->ep, &msg, FI_FENCE));
	msg.context = next(SENDS);
	OK(fi_tsendmsg(side->ep, &msg, FI_DELIVERY_COMPLETE));
}

/* One operation of each kind. */
static void post_all(struct rdm_pair *pair, fi_addr_t to)
{
	struct rdm_side *side = &pair->side[0];

	OK(fi_send(side->ep, word, 8, NULL, to, next(SENDS)));
	OK(fi_tsend(side->ep, word, 8, NULL, to, 1, next(SENDS)));
	OK(fi_tsend(side->ep, large, LARGE, NULL, to, 2, next(SENDS)));
	OK(fi_write(side->ep, word, 8, NULL, to, addr, key, next(WRITES)));
	OK(fi_read(side->ep, word, 8, NULL, to, addr, key, next(READS)));
	OK(fi_atomic(side->ep, word, 1, NULL, to, addr, key, FI_UINT64, FI_SUM, next(WRITES)));
	OK(fi_fetch_atomic(side->ep, word, 1, NULL, word + 8, NULL, to, addr, key, FI_UINT64,
			   FI_SUM, next(READS)));
	post_fenced(side, to);
}

/* Takes one completion: its context and FI_E*. Returns false if there is none. */
static bool take(struct rdm_pair *pair, uint8_t **context, int *err)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	fi_cq_read(pair->side[1].cq, NULL, 0);
	ret = fi_cq_read(pair->side[0].cq, &entry, 1);
	if (ret == -FI_EAGAIN)
		return false;
	*err = 0;
	*context = entry.op_context;
	if (ret == 1)
		return true;
	RETURNS(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(pair->side[0].cq, &error, 0), 1);
	*context = error.op_context;
	*err = error.err;
	CHECK(*err);
	return true;
}

/* Waits for all operations, each of which completes once, with this error or with 0. */
static void reap(struct rdm_pair *pair, int want)
{
	uint64_t end = deadline();
	unsigned int done;
	uint8_t *context;
	int err;

	for (done = 0; done < count; done++) {
		while (!take(pair, &context, &err))
			pause_until(end, "the completion of every operation");
		CHECK(context >= ended && context < ended + count);
		EQUAL(*context, 0);
		*context = 1;
		EQUAL(err, want);
	}
	for (end = now_ms() + 50; now_ms() < end;)
		CHECK(!take(pair, &context, &err));
	count = 0;
}

static void injected_fail(struct rdm_pair *pair, fi_addr_t to, int want)
{
	uint64_t end = deadline();
	uint8_t *context;
	int i, err;

	OK(fi_inject(pair->side[0].ep, word, 8, to));
	OK(fi_inject_write(pair->side[0].ep, word, 8, to, addr, key));
	posted[SENDS]++;
	posted[WRITES]++;
	for (i = 0; i < 2; i++) {
		while (!take(pair, &context, &err))
			pause_until(end, "the failure of what was injected");
		EQUAL(err, want);
	}
}

/* Checks that this many of each kind have failed, and all others have succeeded. */
static void counted(const uint64_t *failed)
{
	uint64_t end = deadline();
	int i;

	for (i = 0; i < KINDS; i++) {
		while (fi_cntr_read(cntr[i]) + fi_cntr_readerr(cntr[i]) < posted[i])
			pause_until(end, "a counter");
		EQUAL(fi_cntr_readerr(cntr[i]), failed[i]);
		EQUAL(fi_cntr_read(cntr[i]), posted[i] - failed[i]);
	}
}

/* A failure ends waiting for the counter, and so does it end sleeping on the queue. */
static void sleepers_wake(struct rdm_pair *pair, fi_addr_t to)
{
	struct fi_cq_tagged_entry entry;
	uint64_t start = now_ms();

	OK(fi_tsend(pair->side[0].ep, word, 8, NULL, to, 1, next(SENDS)));
	RETURNS(fi_cq_sread(pair->side[0].cq, &entry, 1, NULL, WAIT_MS), -FI_EAVAIL);
	OK(fi_tsend(pair->side[0].ep, word, 8, NULL, to, 1, next(SENDS)));
	RETURNS(fi_cntr_wait(cntr[SENDS], 1, WAIT_MS), -FI_EAVAIL);
	CHECK(now_ms() - start >= 2 * GIVE_UP_MS);
	CHECK(now_ms() - start < 20 * GIVE_UP_MS);
}

static uint64_t all_failures(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < KINDS; i++)
		sum += fi_cntr_readerr(cntr[i]);
	return sum;
}

/* A message that still waits for its connection is taken back, and no other. */
static void canceled(struct rdm_pair *pair, fi_addr_t to, int want)
{
	struct fid_ep *ep = pair->side[0].ep;
	uint8_t own, *context;
	int err;

	OK(fi_tsend(ep, word, 8, NULL, to, 1, next(SENDS)));
	OK(fi_tsend(ep, large, LARGE, NULL, to, 1, &own));
	posted[SENDS]++;
	OK(fi_tsend(ep, word, 8, NULL, to, 1, next(SENDS)));
	OK(fi_cancel(&ep->fid, &own));
	CHECK(take(pair, &context, &err));
	CHECK(context == &own);
	EQUAL(err, FI_ECANCELED);
	RETURNS(fi_cancel(&ep->fid, &own), -FI_ENOENT);
	reap(pair, want);
}

/* Nobody reads the queue meanwhile. The time for several attempts passes. */
static void all_fail(struct rdm_pair *pair, fi_addr_t to, int want)
{
	uint64_t failed = all_failures();
	int i;

	for (i = 0; i < WAVES; i++) {
		post_all(pair, to);
		sleep_ms(WAVE_MS);
	}
	failed = all_failures() - failed;
	post_all(pair, to);
	printf("%u operations, %llu of them had failed before the last were posted\n", count,
	       (unsigned long long)failed);
	CHECK(failed > 0);
	reap(pair, want);
	injected_fail(pair, to, want);
	sleepers_wake(pair, to);
	reap(pair, want);
	canceled(pair, to, want);
	counted(posted);
}

/* The other side's endpoint closes; the first one knows its address. */
static void leave(struct rdm_pair *pair, struct sockaddr_in *name)
{
	size_t len = sizeof(*name);

	OK(fi_getname(&pair->side[1].ep->fid, name, &len));
	OK(fi_close(&pair->side[1].ep->fid));
	pair->side[1].ep = NULL;
}

static void come_back(struct rdm_pair *pair, const struct sockaddr_in *name)
{
	struct fi_info *info = fi_dupinfo(pair->info);
	struct rdm_side *side = &pair->side[1];

	CHECK(info);
	free(info->src_addr);
	info->src_addr = malloc(sizeof(*name));
	CHECK(info->src_addr);
	memcpy(info->src_addr, name, sizeof(*name));
	info->src_addrlen = sizeof(*name);
	OK(fi_endpoint(pair->domain, info, &side->ep, NULL));
	fi_freeinfo(info);
	OK(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(side->ep, &side->av->fid, 0));
	OK(fi_enable(side->ep));
}

static void all_done(struct rdm_pair *pair)
{
	struct fid_ep *ep = pair->side[1].ep;
	uint64_t failed[KINDS];

	memcpy(failed, posted, sizeof(failed));
	OK(fi_recv(ep, in, LARGE, NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_trecv(ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_trecv(ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 2, 0, NULL));
	OK(fi_trecv(ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 0, 0, NULL));
	OK(fi_trecv(ep, in, LARGE, NULL, FI_ADDR_UNSPEC, 0, 0, NULL));
	post_all(pair, pair->side[0].peer);
	reap(pair, 0);
	counted(failed);
}

static void begin(struct rdm_pair *pair, int mr_mode)
{
	struct rdm_change change = { .bind = counters, .wait = FI_WAIT_UNSPEC };

	memset(posted, 0, sizeof(posted));
	rdm_open_with(pair, mr_mode, &change);
}

static void end(struct rdm_pair *pair)
{
	int i;

	for (i = 0; i < 2; i++) {
		OK(fi_close(&pair->side[i].ep->fid));
		pair->side[i].ep = NULL;
	}
	for (i = 0; i < KINDS; i++)
		OK(fi_close(&cntr[i]->fid));
	rdm_close(pair);
}

static void run(int mr_mode)
{
	struct sockaddr_in name;
	struct rdm_pair pair;
	struct fid_mr *mr;

	begin(&pair, mr_mode);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
		     0, &mr, NULL));
	key = fi_mr_key(mr);
	addr = mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)target : 0;
	leave(&pair, &name);
	all_fail(&pair, pair.side[0].peer, FI_ECONNREFUSED);
	come_back(&pair, &name);
	all_done(&pair);
	OK(fi_close(&mr->fid));
	end(&pair);
}

static void keys_of_the_application(void)
{
	run(0);
}

static void keys_of_the_provider(void)
{
	run(RDM_PROV_KEYS);
}

/*
 * An address in the device's network that no host has, although the kernel has an entry for it, so
 * requests are lost.
 */
static void silent_host(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(7411) };
	char text[INET_ADDRSTRLEN], command[200];
	struct rdm_pair pair;
	fi_addr_t to;

	need_vm();
	EQUAL(inet_pton(AF_INET, local_addr(), &name.sin_addr), 1);
	((uint8_t *)&name.sin_addr)[3] ^= 0x80;
	CHECK(inet_ntop(AF_INET, &name.sin_addr, text, sizeof(text)));
	snprintf(command, sizeof(command),
		 "ip neigh replace %s lladdr 02:00:00:00:00:99 dev %s nud permanent", text,
		 local_interface());
	shell(command);
	begin(&pair, 0);
	RETURNS(fi_av_insert(pair.side[0].av, &name, 1, &to, 0, NULL), 1);
	all_fail(&pair, to, FI_ETIMEDOUT);
	end(&pair);
}

int main(void)
{
	char limit[16];
	int ret;

	snprintf(limit, sizeof(limit), "%d", GIVE_UP_MS);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", limit, 1);
	ret = run_test(keys_of_the_application);
	if (!ret)
		ret = run_test(keys_of_the_provider);
	return ret ? ret : run_test(silent_host) == 1;
}
