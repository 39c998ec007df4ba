/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Without FI_MR_ALLOCATED a region may cover memory that does not exist yet, up to all of the
 * address space: peers reach what is mapped when they access it, and get an error for the rest.
 */
#include "rdm.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROOM = 4 << 20, LEN = 1000000, KEY = 0 };

static const uint64_t access_all = FI_REMOTE_READ | FI_REMOTE_WRITE;
static uint8_t out[LEN], in[LEN], fixed[LEN + 64];
static struct fid_cntr *writes, *reads;

static void hint_events(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT;
}

static void bind_events(struct rdm_pair *pair, int side)
{
	if (!side)
		return;
	OK(fi_cntr_open(pair->domain, NULL, &writes, NULL));
	OK(fi_cntr_open(pair->domain, NULL, &reads, NULL));
	OK(fi_ep_bind(pair->side[1].ep, &writes->fid, FI_REMOTE_WRITE));
	OK(fi_ep_bind(pair->side[1].ep, &reads->fid, FI_REMOTE_READ));
}

/* Reserves addresses without memory. */
static uint8_t *reserve(size_t len)
{
	void *at = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static void transfer(struct rdm_pair *pair, uint8_t *to, uint64_t addr, size_t len)
{
	struct rdm_side *side = &pair->side[0];
	static unsigned int seed;

	fill(out, len, ++seed);
	memset(in, 0, len);
	rdm_order(pair);
	OK(fi_write(side->ep, out, len, NULL, side->peer, addr, KEY, out));
	CHECK(rdm_wait(pair, 0).op_context == out);
	rdm_order(pair);
	CHECK_FILLED(to, len, seed);
	OK(fi_read(side->ep, in, len, NULL, side->peer, addr, KEY, in));
	CHECK(rdm_wait(pair, 0).op_context == in);
	CHECK_FILLED(in, len, seed);
}

/* Operations of every size, on memory of the heap's kind and on variables of the program. */
static void lengths(struct rdm_pair *pair, uint8_t *to, uint64_t addr)
{
	static const size_t lens[] = { 1, 8, 4000, 16384, 100000, LEN };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		transfer(pair, to + i, addr + i, lens[i]);
}

static void fails(struct rdm_pair *pair, ssize_t posted)
{
	struct fi_cq_err_entry entry;

	OK(posted);
	entry = rdm_wait_error(pair, 0);
	CHECK(entry.err == FI_EFAULT || entry.err == FI_EKEYREJECTED);
}

/* Operations on memory that does not exist fail, and change nothing. */
static void missing(struct rdm_pair *pair, uint64_t addr)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t one = 1, old;

	fails(pair, fi_write(side->ep, out, 8, NULL, side->peer, addr, KEY, NULL));
	fails(pair, fi_read(side->ep, in, 8, NULL, side->peer, addr, KEY, NULL));
	fails(pair, fi_write(side->ep, out, LEN, NULL, side->peer, addr, KEY, NULL));
	fails(pair, fi_read(side->ep, in, LEN, NULL, side->peer, addr, KEY, NULL));
	fails(pair, fi_writedata(side->ep, out, 8, NULL, 3, side->peer, addr, KEY, NULL));
	fails(pair, fi_fetch_atomic(side->ep, &one, 1, NULL, &old, NULL, side->peer, addr, KEY,
				    FI_UINT64, FI_SUM, NULL));
	RETURNS(fi_cq_read(pair->side[1].cq, in, 1), -FI_EAGAIN);
}

/* Read-only memory of the target can be read, and writing to it is an error. */
static void read_only(struct rdm_pair *pair, uint8_t *at, uint64_t addr)
{
	struct rdm_side *side = &pair->side[0];

	fill(at, 4096, 5);
	OK(mprotect(at, 4096, PROT_READ));
	OK(fi_read(side->ep, in, 4096, NULL, side->peer, addr, KEY, NULL));
	rdm_wait(pair, 0);
	CHECK_FILLED(in, 4096, 5);
	fails(pair, fi_write(side->ep, out, 8, NULL, side->peer, addr, KEY, NULL));
	CHECK_FILLED(at, 4096, 5);
	OK(mprotect(at, 4096, PROT_READ | PROT_WRITE));
	transfer(pair, at, addr, 4096);
}

/* The data of a write arrives once, behind all of it, also if nothing is written. */
static void with_data(struct rdm_pair *pair, uint8_t *to, uint64_t addr)
{
	static const size_t lens[] = { 0, 8, LEN };
	struct rdm_side *side = &pair->side[0];
	struct fi_cq_tagged_entry entry;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		fill(out, LEN, 70 + (unsigned int)i);
		OK(fi_writedata(side->ep, out, lens[i], NULL, i, side->peer, addr, KEY, NULL));
		entry = rdm_wait(pair, 1);
		CHECK(entry.flags & FI_REMOTE_CQ_DATA && entry.data == i);
		CHECK_FILLED(to, lens[i], 70 + (unsigned int)i);
		rdm_wait(pair, 0);
	}
}

static void empty(struct rdm_pair *pair, uint64_t addr)
{
	struct rdm_side *side = &pair->side[0];

	OK(fi_write(side->ep, out, 0, NULL, side->peer, addr, KEY, out));
	CHECK(rdm_wait(pair, 0).op_context == out);
	OK(fi_read(side->ep, in, 0, NULL, side->peer, addr, KEY, in));
	CHECK(rdm_wait(pair, 0).op_context == in);
}

static void atomics(struct rdm_pair *pair, uint8_t *at, uint64_t addr)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t one = 1, old = 0, now;

	memcpy(at, &(uint64_t){ 41 }, 8);
	rdm_order(pair);
	OK(fi_fetch_atomic(side->ep, &one, 1, NULL, &old, NULL, side->peer, addr, KEY, FI_UINT64,
			   FI_SUM, NULL));
	rdm_wait(pair, 0);
	rdm_order(pair);
	memcpy(&now, at, 8);
	CHECK(old == 41 && now == 42);
}

/* Many transfers of many packets are under way at once, and the reads see what the writes wrote. */
static void at_once(struct rdm_pair *pair, uint8_t *to, uint64_t addr)
{
	enum { MANY = 10, PART = LEN / MANY };
	struct rdm_side *side = &pair->side[0];
	int i;

	fill(out, LEN, 11);
	memset(in, 0, LEN);
	for (i = 0; i < MANY; i++)
		OK(fi_write(side->ep, out + i * PART, PART, NULL, side->peer,
			    addr + (uint64_t)(i * PART), KEY, NULL));
	for (i = 0; i < MANY; i++)
		OK(fi_read(side->ep, in + i * PART, PART, NULL, side->peer,
			   addr + (uint64_t)(i * PART), KEY, NULL));
	for (i = 0; i < 2 * MANY; i++)
		rdm_wait(pair, 0);
	rdm_order(pair);
	CHECK_FILLED(to, LEN, 11);
	CHECK_FILLED(in, LEN, 11);
}

/* Several ranges of the target in one operation, and several buffers. */
static void vectors(struct rdm_pair *pair, uint8_t *to, uint64_t addr)
{
	struct rdm_side *side = &pair->side[0];
	struct iovec iov[] = { { out, 70000 }, { out + 70000, 30001 } };
	struct fi_rma_iov places[] = { { addr + 50000, 50001, KEY }, { addr, 50000, KEY } };
	struct fi_msg_rma msg = { .msg_iov = iov,
				  .iov_count = 2,
				  .addr = side->peer,
				  .rma_iov = places,
				  .rma_iov_count = 2 };

	fill(out, 100001, 12);
	OK(fi_writemsg(side->ep, &msg, FI_COMPLETION));
	rdm_wait(pair, 0);
	rdm_order(pair);
	CHECK(!memcmp(to + 50000, out, 50001) && !memcmp(to, out + 50001, 50000));
	iov[0].iov_base = in;
	iov[1].iov_base = in + 70000;
	OK(fi_readmsg(side->ep, &msg, FI_COMPLETION));
	rdm_wait(pair, 0);
	CHECK(!memcmp(in, out, 100001));
}

/* With FI_MR_VIRT_ADDR, addresses are virtual; otherwise they are offsets from the start. */
static void address_space(int mode)
{
	uint8_t *room = reserve(ROOM);
	struct rdm_pair pair;
	struct fid_mr *mr;

	rdm_open(&pair, mode);
	OK(fi_mr_reg(pair.domain, NULL, SIZE_MAX, access_all, 0, KEY, 0, &mr, NULL));
	EQUAL(fi_mr_key(mr), KEY);
	lengths(&pair, fixed, (uintptr_t)fixed);
	missing(&pair, (uintptr_t)room);
	OK(mprotect(room, ROOM, PROT_READ | PROT_WRITE));
	lengths(&pair, room, (uintptr_t)room);
	with_data(&pair, room, (uintptr_t)room);
	empty(&pair, (uintptr_t)room);
	atomics(&pair, room, (uintptr_t)room);
	at_once(&pair, room, (uintptr_t)room);
	vectors(&pair, room, (uintptr_t)room);
	read_only(&pair, room, (uintptr_t)room);
	OK(munmap(room, ROOM));
	missing(&pair, (uintptr_t)room);
	missing(&pair, 0);
	OK(fi_close(&mr->fid));
	fails(&pair, fi_read(pair.side[0].ep, in, 8, NULL, pair.side[0].peer, (uintptr_t)fixed, KEY,
			     NULL));
	rdm_close(&pair);
}

/* A buffer whose end is not mapped yet, alone and as one of several. */
static void partly(void)
{
	uint8_t *room = reserve(ROOM);
	struct iovec iov[] = { { fixed, 4096 }, { room, ROOM } };
	struct rdm_pair pair;
	struct fid_mr *mr;

	rdm_open(&pair, 0);
	OK(mprotect(room, ROOM / 2, PROT_READ | PROT_WRITE));
	OK(fi_mr_reg(pair.domain, room, ROOM, access_all, 0, KEY, 0, &mr, NULL));
	lengths(&pair, room, 0);
	missing(&pair, ROOM / 2);
	OK(mprotect(room, ROOM, PROT_READ | PROT_WRITE));
	lengths(&pair, room + ROOM / 2, ROOM / 2);
	OK(fi_close(&mr->fid));
	OK(mprotect(room, ROOM, PROT_NONE));
	OK(fi_mr_regv(pair.domain, iov, 2, access_all, 0, KEY, 0, &mr, NULL));
	OK(mprotect(room, ROOM, PROT_READ | PROT_WRITE));
	lengths(&pair, room, 4096);
	transfer(&pair, fixed, 0, 4096);
	OK(fi_close(&mr->fid));
	OK(munmap(room, ROOM));
	rdm_close(&pair);
}

/* FI_RMA_EVENT counts each operation once, however many packets it takes. */
static void events(void)
{
	struct rdm_change change = { .hints = hint_events,
				     .bind = bind_events,
				     .wait = FI_WAIT_NONE };
	struct rdm_pair pair;
	struct fid_mr *mr;

	rdm_open_with(&pair, FI_MR_VIRT_ADDR, &change);
	OK(fi_mr_reg(pair.domain, NULL, SIZE_MAX, access_all, 0, KEY, 0, &mr, NULL));
	transfer(&pair, fixed, (uintptr_t)fixed, 8);
	rdm_reaches(&pair, writes, 1);
	rdm_reaches(&pair, reads, 1);
	transfer(&pair, fixed, (uintptr_t)fixed, LEN);
	rdm_reaches(&pair, writes, 2);
	rdm_reaches(&pair, reads, 2);
	missing(&pair, 0);
	with_data(&pair, fixed, (uintptr_t)fixed);
	rdm_reaches(&pair, writes, 5);
	rdm_reaches(&pair, reads, 2);
	OK(fi_close(&mr->fid));
	OK(fi_close(&pair.side[1].ep->fid));
	OK(fi_close(&writes->fid));
	OK(fi_close(&reads->fid));
	pair.side[1].ep = NULL;
	rdm_close(&pair);
}

/* Keys of the device, and FI_MR_ALLOCATED, ask for memory that exists. */
static void refused(int mode)
{
	struct rdm_pair pair;
	struct fid_mr *mr;

	rdm_open(&pair, mode);
	RETURNS(fi_mr_reg(pair.domain, NULL, SIZE_MAX, access_all, 0, KEY, 0, &mr, NULL),
		-FI_EINVAL);
	rdm_close(&pair);
}

/* Forgoes the right to lock memory without a limit. */
static void limit_locked_memory(rlim_t limit)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	OK(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ limit, limit }));
	OK(syscall(SYS_capget, &header, data));
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	OK(syscall(SYS_capset, &header, data));
}

/* Addresses are reserved for more memory than may be locked; no more of it exists than may. */
static void limited(void)
{
	const size_t len = 1ull << 30;
	uint8_t *room = reserve(len);
	struct rdm_pair pair;
	struct fid_mr *mr;

	limit_locked_memory(256 << 20);
	rdm_open(&pair, 0);
	OK(mprotect(room, ROOM, PROT_READ | PROT_WRITE));
	OK(fi_mr_reg(pair.domain, room, len, access_all, 0, KEY, 0, &mr, NULL));
	lengths(&pair, room, 0);
	missing(&pair, len / 2);
	OK(fi_close(&mr->fid));
	OK(mprotect(room, len, PROT_READ | PROT_WRITE));
	RETURNS(fi_mr_reg(pair.domain, room, len, access_all, 0, KEY, 0, &mr, NULL), -FI_ENOMEM);
	OK(munmap(room, len));
	rdm_close(&pair);
}

static void test(void)
{
	address_space(0);
	address_space(FI_MR_VIRT_ADDR);
	partly();
	events();
	refused(FI_MR_ALLOCATED);
	refused(RDM_PROV_KEYS);
	limited();
}

int main(void)
{
	return run_test(test);
}
