/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads by a device that tests/efa makes look like an Elastic Fabric Adapter with RDMA reads: which
 * messages and reads it carries out, that reads see what was written before them, what it refuses,
 * and that it carries out none where the parameter or a job secret forbids it.
 */
#include "rdm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/efa/fake.h"

enum { LEN = 3 << 20, MESSAGE = 1 << 20, READ = 1 << 16, KEY = 5, ROUNDS = 16 };

static uint8_t *out, *in, *target;

struct place {
	struct rdm_pair *pair;
	struct fid_mr *mr;
	uint64_t base, key;
};

static unsigned long reads_of(size_t len)
{
	return (len + FAKE_MAX_READ - 1) / FAKE_MAX_READ;
}

static void message(struct rdm_pair *pair, size_t len, unsigned long reads)
{
	unsigned long before = fake_reads_done();

	rdm_exchange(pair, out, in, len, (unsigned int)len);
	EQUAL(fake_reads_done() - before, reads);
}

static void messages(bool direct)
{
	struct rdm_pair pair;

	rdm_open(&pair, RDM_PROV_KEYS);
	CHECK(!strcmp(rdm_transport(), "srd"));
	message(&pair, MESSAGE - 1, 0);
	message(&pair, MESSAGE, direct ? reads_of(MESSAGE) : 0);
	/* Each MiB is read apart. */
	message(&pair, LEN, direct ? 3 * reads_of(MESSAGE) : 0);
	rdm_close(&pair);
}

static void place_open(struct place *place, struct rdm_pair *pair, int mode, uint64_t access)
{
	place->pair = pair;
	OK(fi_mr_reg(pair->domain, target, LEN, access, 0, KEY, 0, &place->mr, NULL));
	place->base = mode ? (uintptr_t)target : 0;
	place->key = fi_mr_key(place->mr);
}

static void start_read(const struct place *place, size_t from, size_t len)
{
	struct rdm_side *side = &place->pair->side[0];

	OK(fi_read(side->ep, in, len, NULL, side->peer, place->base + from, place->key, in));
}

static void read_back(const struct place *place, size_t from, size_t len, unsigned long reads)
{
	unsigned long before = fake_reads_done();

	memset(in, 0, len);
	start_read(place, from, len);
	CHECK(rdm_wait(place->pair, 0).op_context == in);
	CHECK(!memcmp(in, target + from, len));
	EQUAL(fake_reads_done() - before, reads);
}

/* The read begins before the write is complete. */
static void write_and_read(const struct place *place, size_t len, unsigned int seed)
{
	struct rdm_side *side = &place->pair->side[0];

	fill(out, len, seed);
	OK(fi_write(side->ep, out, len, NULL, side->peer, place->base, place->key, out));
	start_read(place, 0, len);
	rdm_wait(place->pair, 0);
	rdm_wait(place->pair, 0);
	CHECK_FILLED(in, len, seed);
}

static void rma(int mode, bool direct)
{
	struct rdm_pair pair;
	struct place place;
	unsigned int i;

	rdm_open(&pair, mode);
	place_open(&place, &pair, mode, FI_REMOTE_READ | FI_REMOTE_WRITE);
	fill(target, LEN, 1);
	read_back(&place, 1, READ - 1, 0);
	read_back(&place, 2, READ, direct ? 1 : 0);
	read_back(&place, LEN - MESSAGE, MESSAGE, direct ? reads_of(MESSAGE) : 0);
	for (i = 0; i < ROUNDS; i++)
		write_and_read(&place, i % 2 ? READ : 3 * READ, i);
	OK(fi_close(&place.mr->fid));
	rdm_close(&pair);
}

static void refused(struct rdm_pair *pair)
{
	struct fi_cq_err_entry error = rdm_wait_error(pair, 0);

	CHECK(error.err == FI_EKEYREJECTED || !printf("%s\n", fi_strerror(error.err)));
}

/* The device refuses, the connection ends, and the next operation makes another one. */
static void refusals(void)
{
	struct rdm_pair pair;
	struct place place;

	rdm_open(&pair, RDM_PROV_KEYS);
	place_open(&place, &pair, RDM_PROV_KEYS, FI_REMOTE_READ);
	read_back(&place, 0, READ, 1);
	start_read(&place, LEN - READ + 1, READ);
	refused(&pair);
	read_back(&place, LEN - READ, READ, 1);
	OK(fi_close(&place.mr->fid));
	start_read(&place, 0, READ);
	refused(&pair);
	place_open(&place, &pair, RDM_PROV_KEYS, FI_REMOTE_WRITE);
	start_read(&place, 0, READ);
	refused(&pair);
	OK(fi_close(&place.mr->fid));
	message(&pair, MESSAGE, reads_of(MESSAGE));
	rdm_close(&pair);
}

static void allocate(void)
{
	out = malloc(LEN);
	in = malloc(LEN);
	target = malloc(LEN);
	CHECK(out && in && target);
}

static void release(void)
{
	free(out);
	free(in);
	free(target);
}

static void with_reads(void)
{
	allocate();
	messages(true);
	rma(RDM_PROV_KEYS, true);
	rma(0, true);
	refusals();
	release();
}

/* It has no status for a wrong key. */
static void old_libefa(void)
{
	allocate();
	refusals();
	release();
}

static void without(void)
{
	allocate();
	messages(false);
	rma(RDM_PROV_KEYS, false);
	EQUAL(fake_reads_done(), 0);
	release();
}

static int run_without(const char *name, const char *value)
{
	int ret;

	setenv(name, value, 1);
	ret = run_test(without);
	unsetenv(name);
	return ret;
}

int main(void)
{
	int ret;

	setenv("WEFT_PROVIDER", "efa", 1);
	setenv("FAKE_EFA_READ", "1", 1);
	/* A parameter of verbs changes nothing. */
	setenv("FI_VERBS_RDM_USE_WRITE", "1", 1);
	setenv("FI_EFA_ENABLE_SHM_TRANSFER", "0", 1);
	ret = run_test(with_reads);
	setenv("FAKE_LIBEFA44", "1", 1);
	if (!ret)
		ret = run_test(old_libefa);
	if (!ret)
		ret = run_without("FI_EFA_USE_DEVICE_RDMA", "0");
	if (!ret)
		ret = run_without("FI_VERBS_AUTH_KEY", "secret");
	unsetenv("FAKE_EFA_READ");
	return ret ? ret : run_without("FI_EFA_USE_DEVICE_RDMA", "1");
}
