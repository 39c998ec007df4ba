/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Long messages are copied from the sender's process, and only from that. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <sys/uio.h>
#include "shm_rig.h"

enum { PID = 4711 };

static const struct vrb_shm_place place = { .pid = PID, .token = { 11, 12 } };
static uint64_t token[2], token_at; /* of the peer's process, and where it lies */
static size_t missing;		    /* bytes that cannot be read */
static int refusal;
static bool ends; /* the sender, while its memory is read */
static uint8_t source[LEN], copy[LEN];

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
	assert_int_equal((uintptr_t)there[1].iov_base, token_at);
	memcpy(here[1].iov_base, token, sizeof(token));
	map.writer_ended = ends;
	return (ssize_t)(here[0].iov_len + here[1].iov_len - missing);
}

/* The peer's bell is mapped, and says where the token lies in its process. */
static int begin_copy(void **state)
{
	static struct ofi_rdm_peer peer;

	begin(state);
	conn.peer = &peer;
	shm.tx.map = &map;
	bell.at = token_at = 0x1000;
	memcpy(token, place.token, sizeof(token));
	refusal = 0;
	ends = false;
	missing = 0;
	memset(copy, 0, sizeof(copy));
	memcpy(source, "message", LEN);
	return 0;
}

static int copy_message(void)
{
	return vrb_shm_copy(&conn, copy, LEN, (uintptr_t)source);
}

static void bytes_are_copied(void **state)
{
	(void)state;
	vrb_shm_try_copy(&shm, &place);
	assert_true(shm.copies);
	assert_int_equal(copy_message(), 0);
	assert_memory_equal(copy, source, LEN);
}

/* The kernel does not permit it, for example because of Yama or seccomp. */
static void kernel_refuses(void **state)
{
	(void)state;
	refusal = EPERM;
	vrb_shm_try_copy(&shm, &place);
	assert_false(shm.copies);
	refusal = 0;
	assert_int_equal(copy_message(), -FI_EOPNOTSUPP);
}

/* It permitted it at first. */
static void kernel_refuses_later(void **state)
{
	(void)state;
	vrb_shm_try_copy(&shm, &place);
	refusal = EPERM;
	assert_int_equal(copy_message(), -FI_EOPNOTSUPP);
}

/* The peer has ended, and another process has its number. */
static void process_is_another(void **state)
{
	(void)state;
	vrb_shm_try_copy(&shm, &place);
	token[1]++;
	assert_int_equal(copy_message(), -FI_EOPNOTSUPP);
	vrb_shm_try_copy(&shm, &place);
	assert_false(shm.copies);
}

/* Some of the memory is not there, or cannot be read by a processor. */
static void memory_is_missing(void **state)
{
	(void)state;
	vrb_shm_try_copy(&shm, &place);
	missing = 1;
	assert_int_equal(copy_message(), -FI_EOPNOTSUPP);
}

/* The sender gave the message up, and may have used the memory for something else. */
static void sender_has_ended(void **state)
{
	struct vrb_rc_conn sender = conn;
	struct vrb_shm_conn theirs = { .conn = &sender, .tx.map = &map };

	(void)state;
	vrb_shm_try_copy(&shm, &place);
	sender.shm = &theirs;
	vrb_shm_end(&sender);
	assert_int_equal(copy_message(), -FI_ECONNRESET);
	assert_memory_not_equal(copy, source, LEN);
	/* Nothing to tell, and nobody to tell it to. */
	theirs.tx.map = NULL;
	vrb_shm_end(&sender);
	sender.shm = NULL;
	vrb_shm_end(&sender);
}

/* The same while the bytes are copied. */
static void sender_ends_meanwhile(void **state)
{
	(void)state;
	vrb_shm_try_copy(&shm, &place);
	ends = true;
	assert_int_equal(copy_message(), -FI_ECONNRESET);
}

/* A key that says so is refused if the connection has no shared memory. */
static void no_shared_memory(void **state)
{
	(void)state;
	conn.shm = NULL;
	assert_int_equal(copy_message(), -FI_EOPNOTSUPP);
	assert_false(vrb_shm_is_copied(&conn));
}

/* The receiver says that it copies; one of an earlier release does not. */
static void receiver_says_so(void **state)
{
	const uint8_t start[] = { OFI_RDM_WIRE_VERSION, VRB_SHM_START, 1 };

	(void)state;
	shm.fd = -1;
	assert_true(vrb_shm_packet(&conn, start, 2));
	assert_false(vrb_shm_is_copied(&conn));
	assert_true(vrb_shm_packet(&conn, start, 3));
	assert_true(vrb_shm_is_copied(&conn));
}

/* What was copied is reported in its turn, as a read that has completed. */
static void copy_is_reported(void **state)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_READ, .send_flags = VRB_SHM_COPIED };
	struct ibv_wc wc[ROOM];

	(void)state;
	conn.slots = slots;
	conn.mask = 3;
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
		cmocka_unit_test_setup(kernel_refuses, begin_copy),
		cmocka_unit_test_setup(kernel_refuses_later, begin_copy),
		cmocka_unit_test_setup(process_is_another, begin_copy),
		cmocka_unit_test_setup(memory_is_missing, begin_copy),
		cmocka_unit_test_setup(sender_has_ended, begin_copy),
		cmocka_unit_test_setup(sender_ends_meanwhile, begin_copy),
		cmocka_unit_test_setup(no_shared_memory, begin_copy),
		cmocka_unit_test_setup(receiver_says_so, begin_copy),
		cmocka_unit_test_setup(copy_is_reported, begin_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
