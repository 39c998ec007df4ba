/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long messages between processes of one host: the receiver copies them from the sender's memory,
 * where the kernel lets it, so neither side registers memory and the bytes are copied once.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "prov/verbs/provider/prov.h"
#include "shm_int.h"

/*
 * Copies from the peer's process. The token is read in the same call, and proves whose memory that
 * was: a process that has ended may have given its number to another one. Returns 0 or an errno.
 */
static int read_peer(const struct vrb_shm_conn *shm, void *addr, size_t len, uint64_t remote)
{
	uint64_t token[2];
	const struct iovec here[] = { { addr, len }, { token, sizeof(token) } };
	const struct iovec there[] = {
		{ (void *)(uintptr_t)remote, len },
		{ (void *)(uintptr_t)shm->theirs.token_at, sizeof(token) },
	};
	ssize_t got = process_vm_readv((pid_t)shm->theirs.pid, here, 2, there, 2, 0);

	if (got < 0)
		return errno;
	if ((size_t)got != len + sizeof(token))
		return EFAULT;
	return memcmp(token, shm->theirs.token, sizeof(token)) ? ESRCH : 0;
}

void vrb_shm_try_copy(struct vrb_shm_conn *shm, const struct vrb_shm_place *bell)
{
	char text[OFI_ADDR_STRLEN];
	int err;

	shm->theirs.pid = bell->pid;
	shm->theirs.token_at = __atomic_load_n(&shm->bell->at, __ATOMIC_RELAXED);
	memcpy(shm->theirs.token, bell->token, sizeof(bell->token));
	err = read_peer(shm, NULL, 0, 0);
	shm->copies = !err;
	if (err)
		FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
			"peer %s: its memory cannot be read (%s), long messages go through the device\n",
			ofi_addr_str(&shm->conn->peer->addr.sa, text, sizeof(text)), strerror(err));
}

int vrb_shm_copy(struct vrb_rc_conn *conn, void *addr, size_t len, uint64_t remote)
{
	struct vrb_shm_conn *shm = conn->shm;

	if (!shm || !shm->copies)
		return -FI_EOPNOTSUPP;
	/* A peer that has given up the message may have used the memory for something else. */
	if (ofi_shm_ring_has_ended(&shm->rx))
		return -FI_ECONNRESET;
	if (read_peer(shm, addr, len, remote))
		return -FI_EOPNOTSUPP;
	return ofi_shm_ring_has_ended(&shm->rx) ? -FI_ECONNRESET : 0;
}

bool vrb_shm_is_copied(const struct vrb_rc_conn *conn)
{
	return conn->shm && conn->shm->is_copied;
}

void vrb_shm_end(struct vrb_rc_conn *conn)
{
	if (conn->shm && conn->shm->tx.map)
		ofi_shm_ring_end_writer(&conn->shm->tx);
}
