/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Long messages are copied from the sender's process, and only from that. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <sys/uio.h>
#include "prov/rdm/xport.h"
#include "shm_rig.h"

enum { PID = 4711 };

static const struct vrb_shm_place place = { .pid = PID, .token = { 11, 12 } };
/* The sender's end of the connection, in another process, and the ring that it made. */
static struct vrb_shm_conn sender_shm;
static struct vrb_rc_conn sender;
static struct ofi_shm_ring_map ring;
static uint64_t token[2]; /* of the sender's process */
static size_t missing;	  /* bytes that cannot be read */
static int refusal;
static bool ends; /* the sender, while its memory is read */
static uint8_t source[LEN], copy[LEN];
static const struct iovec message = { source, LEN };

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
				const struct iovec *there, unsigned long there_count,
				unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
				const struct iovec *there, unsigned long there_count,
				unsigned long flags)
{
	assert_int_equal(pid, PID);
	assert_int_equal(here_count, 2);
	assert_int_equal(there_count, 2);
	assert_int_equal(flags, 0);
	if (refusal) {
		errno = refusal;
		return -1;
	}
	assert_int_equal(here[0].iov_len, there[0].iov_len);
	assert_int_equal(here[1].iov_len, sizeof(token));
	if (here[0].iov_len)
		memcpy(here[0].iov_base, there[0].iov_base, here[0].iov_len);
	assert_int_equal((uintptr_t)there[1].iov_base, ring.at);
	memcpy(here[1].iov_base, token, sizeof(token));
	if (ends)
		vrb_shm_end(&sender);
	return (ssize_t)(here[0].iov_len + here[1].iov_len - missing);
}

static int begin_copy(void **state)
{
	static struct ofi_rdm_peer peer;

	begin(state);
	conn.peer = &peer;
	memset(&ring, 0, sizeof(ring));
	ring.at = 0x1000;
	shm.tx.map = &ring;
	sender_shm = (struct vrb_shm_conn){ .conn = &sender, .rx.map = &ring, .is_copied = true };
	sender = conn;
	sender.shm = &sender_shm;
	memcpy(token, place.token, sizeof(token));
	refusal = 0;
	ends = false;
	missing = 0;
	memset(copy, 0, sizeof(copy));
	memcpy(source, "message", LEN);
	shm.copies = vrb_shm_try_copy(&shm, &ring, &place);
	assert_true(shm.copies);
	return 0;
}

static int copy_with(uint64_t key)
{
	return vrb_shm_copy(&conn, copy, LEN, (uintptr_t)source, key);
}

static void bytes_are_copied(void **state)
{
	uint64_t key = vrb_shm_grant(&sender, &message);

	(void)state;
	assert_true(key & OFI_RDM_PROTO_COPIED);
	assert_int_equal(copy_with(key), 0);
	assert_memory_equal(copy, source, LEN);
	/* A part of the message. */
	assert_int_equal(vrb_shm_copy(&conn, copy, 2, (uintptr_t)source + LEN - 2, key), 0);
	assert_memory_equal(copy, source + LEN - 2, 2);
}

/* Whatever a peer asks for, only what its process has granted on this connection is copied. */
static void nothing_else_is_copied(void **state)
{
	uint64_t key = vrb_shm_grant(&sender, &message), at = (uintptr_t)source;
	static const struct {
		int from, len;
	} wrong[] = { { -1, 2 }, { LEN, 1 }, { 1, LEN }, { 0, LEN + 1 } };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(vrb_shm_copy(&conn, copy, (size_t)wrong[i].len,
					      at + (uint64_t)(int64_t)wrong[i].from, key),
				 -FI_ECONNRESET);
	assert_int_equal(copy_with(key + 1), -FI_ECONNRESET);
	assert_int_equal(copy_with(key ^ 1ULL << 32), -FI_ECONNRESET);
	assert_int_equal(copy_with(OFI_RDM_PROTO_COPIED), -FI_ECONNRESET);
	assert_memory_not_equal(copy, source, LEN);
}

/* A connection has so many rights at a time; a message without one is sent as any other. */
static void rights_are_limited(void **state)
{
	uint64_t keys[OFI_SHM_GRANTS], key;
	unsigned int i;

	(void)state;
	for (i = 0; i < OFI_SHM_GRANTS; i++) {
		keys[i] = vrb_shm_grant(&sender, &message);
		assert_int_not_equal(keys[i], 0);
	}
	assert_int_equal(vrb_shm_grant(&sender, &message), 0);
	vrb_shm_revoke(&sender, keys[7]);
	assert_int_equal(copy_with(keys[7]), -FI_ECONNRESET);
	assert_int_equal(copy_with(keys[8]), 0);
	key = vrb_shm_grant(&sender, &message);
	assert_int_not_equal(key, 0);
	assert_int_not_equal(key, keys[7]);
	/* A right of an earlier connection, or one that has ended, does not end this one. */
	vrb_shm_revoke(&sender, keys[7]);
	assert_int_equal(copy_with(key), 0);
	vrb_shm_revoke(NULL, key);
}

/* The kernel does not permit it, for example because of Yama or seccomp. */
static void kernel_refuses(void **state)
{
	(void)state;
	refusal = EPERM;
	assert_false(vrb_shm_try_copy(&shm, &ring, &place));
	shm.copies = false;
	refusal = 0;
	assert_int_equal(copy_with(vrb_shm_grant(&sender, &message)), -FI_EOPNOTSUPP);
}

/* It permitted it at first. */
static void kernel_refuses_later(void **state)
{
	(void)state;
	refusal = EPERM;
	assert_int_equal(copy_with(vrb_shm_grant(&sender, &message)), -FI_EOPNOTSUPP);
}

/* The peer has ended, and another process has its number. */
static void process_is_another(void **state)
{
	(void)state;
	token[1]++;
	assert_int_equal(copy_with(vrb_shm_grant(&sender, &message)), -FI_ECONNRESET);
	assert_false(vrb_shm_try_copy(&shm, &ring, &place));
}

static void process_is_gone(void **state)
{
	(void)state;
	refusal = ESRCH;
	assert_int_equal(copy_with(vrb_shm_grant(&sender, &message)), -FI_ECONNRESET);
}

/* Some of the memory is not there, or cannot be read by a processor. */
static void memory_is_missing(void **state)
{
	(void)state;
	missing = 1;
	assert_int_equal(copy_with(vrb_shm_grant(&sender, &message)), -FI_EOPNOTSUPP);
}

/* The sender gave the message up, and may have used the memory for something else. */
static void sender_has_ended(void **state)
{
	uint64_t key = vrb_shm_grant(&sender, &message);

	(void)state;
	vrb_shm_end(&sender);
	assert_int_equal(copy_with(key), -FI_ECONNRESET);
	assert_memory_not_equal(copy, source, LEN);
	sender.shm = NULL;
	vrb_shm_end(&sender);
}

/* The same while the bytes are copied. */
static void sender_ends_meanwhile(void **state)
{
	(void)state;
	ends = true;
	assert_int_equal(copy_with(vrb_shm_grant(&sender, &message)), -FI_ECONNRESET);
}

/* A key that says so is refused if the connection has no shared memory, or only half of it. */
static void no_shared_memory(void **state)
{
	uint64_t key = vrb_shm_grant(&sender, &message);

	(void)state;
	shm.tx.map = NULL;
	assert_int_equal(copy_with(key), -FI_EOPNOTSUPP);
	conn.shm = NULL;
	assert_int_equal(copy_with(key), -FI_EOPNOTSUPP);
	assert_int_equal(vrb_shm_grant(&conn, &message), 0);
}

/* With memory of a GPU an endpoint does not copy. */
static void some_endpoints_do_not_copy(void **state)
{
	(void)state;
	rc.rdm.hmem = true;
	assert_false(vrb_shm_try_copy(&shm, &ring, &place));
	rc.rdm.hmem = false;
	assert_true(vrb_shm_try_copy(&shm, &ring, &place));
}

/* Its own offer waits until others are answered, but the rights are in the sender's ring. */
static void receiver_needs_no_ring(void **state)
{
	(void)state;
	shm.rx.map = NULL;
	shm.copies = vrb_shm_try_copy(&shm, &ring, &place);
	assert_true(shm.copies);
	assert_int_equal(copy_with(vrb_shm_grant(&sender, &message)), 0);
	assert_memory_equal(copy, source, LEN);
}

/* The receiver says that it copies; one of an earlier release does not. */
static void receiver_says_so(void **state)
{
	const uint8_t start[] = { OFI_RDM_WIRE_VERSION, VRB_SHM_START, 1 };

	(void)state;
	sender_shm.is_copied = false;
	sender_shm.fd = -1;
	assert_true(vrb_shm_packet(&sender, start, 2));
	assert_int_equal(vrb_shm_grant(&sender, &message), 0);
	assert_true(vrb_shm_packet(&sender, start, 3));
	assert_int_not_equal(vrb_shm_grant(&sender, &message), 0);
	/* A peer that copies without a ring of this side breaks the rules. */
	sender_shm.rx.map = NULL;
	assert_true(vrb_shm_packet(&sender, start, 3));
	assert_int_equal(vrb_shm_grant(&sender, &message), 0);
}

/* What was copied is reported in its turn, as a read that has completed. */
static void copy_is_reported(void **state)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_READ, .send_flags = VRB_SHM_COPIED };
	struct ibv_wc wc[ROOM];

	(void)state;
	conn.slots = slots;
	conn.mask = 3;
	conn.head = conn.tail = 0;
	assert_int_equal(vrb_shm_post_send(&shm.qp, &wr, &bad), 0);
	conn.head++;
	assert_int_equal(vrb_shm_poll_cq(&all.cq, ROOM, wc), 1);
	assert_ptr_equal(wc[0].wr_id, &slots[0]);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(bytes_are_copied, begin_copy),
		cmocka_unit_test_setup(nothing_else_is_copied, begin_copy),
		cmocka_unit_test_setup(rights_are_limited, begin_copy),
		cmocka_unit_test_setup(kernel_refuses, begin_copy),
		cmocka_unit_test_setup(kernel_refuses_later, begin_copy),
		cmocka_unit_test_setup(process_is_another, begin_copy),
		cmocka_unit_test_setup(process_is_gone, begin_copy),
		cmocka_unit_test_setup(memory_is_missing, begin_copy),
		cmocka_unit_test_setup(sender_has_ended, begin_copy),
		cmocka_unit_test_setup(sender_ends_meanwhile, begin_copy),
		cmocka_unit_test_setup(no_shared_memory, begin_copy),
		cmocka_unit_test_setup(some_endpoints_do_not_copy, begin_copy),
		cmocka_unit_test_setup(receiver_needs_no_ring, begin_copy),
		cmocka_unit_test_setup(receiver_says_so, begin_copy),
		cmocka_unit_test_setup(copy_is_reported, begin_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
