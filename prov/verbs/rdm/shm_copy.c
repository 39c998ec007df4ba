/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long messages between processes of one host: the receiver copies them from the sender's memory,
 * if the kernel permits that, so neither side registers memory and the bytes are copied once.
 *
 * The receiver copies only memory that the sender has granted in its own ring; the key of a message
 * identifies the right. So no peer can make it copy other memory, of that process or another one.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "prov/rdm/xport.h"
#include "prov/verbs/provider/prov.h"
#include "shm_int.h"

/*
 * Copies from the peer's process. The token of its ring is read in the same call, which shows that
 * this is the process that made the ring: a process that has ended may have given its number to
 * another one. Returns 0 or an errno.
 */
static int read_peer(const struct vrb_shm_conn *shm, void *addr, size_t len, uint64_t remote)
{
	uint64_t token[2];
	const struct iovec here[] = { { addr, len }, { token, sizeof(token) } };
	const struct iovec there[] = {
		{ (void *)(uintptr_t)remote, len },
		{ (void *)(uintptr_t)shm->theirs.at, sizeof(token) },
	};
	ssize_t got = process_vm_readv((pid_t)shm->theirs.pid, here, 2, there, 2, 0);

	if (got < 0)
		return errno;
	if ((size_t)got != len + sizeof(token))
		return EFAULT;
	return memcmp(token, shm->theirs.token, sizeof(token)) ? ESRCH : 0;
}

/* An endpoint with FI_HMEM may receive into memory of a GPU, which the kernel does not write to. */
bool vrb_shm_try_copy(struct vrb_shm_conn *shm, const struct ofi_shm_ring_map *ring,
		      const struct vrb_shm_place *place)
{
	char text[OFI_ADDR_STRLEN];
	int err;

	if (shm->conn->ep->hmem)
		return false;
	shm->theirs.pid = place->pid;
	shm->theirs.at = __atomic_load_n(&ring->at, __ATOMIC_RELAXED);
	memcpy(shm->theirs.token, place->token, sizeof(place->token));
	err = read_peer(shm, NULL, 0, 0);
	if (err)
		FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
			"peer %s: its memory cannot be read (%s), long messages go through the device\n",
			ofi_rdm_addr_str(&shm->conn->peer->addr, text, sizeof(text)),
			strerror(err));
	return !err;
}

static bool is_granted(const struct vrb_shm_conn *shm, uint64_t key, uint64_t remote, size_t len)
{
	return ofi_shm_grant_covers(shm->tx.map->grants, key, remote, len);
}

/* Checks the right again after the copy: the peer may have revoked it and reused the memory. */
int vrb_shm_copy(struct vrb_rc_conn *conn, void *addr, size_t len, uint64_t remote, uint64_t key)
{
	struct vrb_shm_conn *shm = conn->shm;
	int err;

	if (!shm || !shm->copies || !shm->tx.map)
		return -FI_EOPNOTSUPP;
	if (!is_granted(shm, key, remote, len))
		return -FI_ECONNRESET;
	err = read_peer(shm, addr, len, remote);
	if (err && err != ESRCH)
		return -FI_EOPNOTSUPP;
	return !err && is_granted(shm, key, remote, len) ? 0 : -FI_ECONNRESET;
}

uint64_t vrb_shm_grant(struct vrb_rc_conn *conn, const struct iovec *iov)
{
	struct vrb_shm_conn *shm = conn->shm;
	struct vrb_shm *all = vrb_rc(conn->ep)->shm;
	uint32_t number;

	if (!shm || !shm->is_copied || !~shm->granted)
		return 0;
	number = (uint32_t)__builtin_ctz(~shm->granted);
	shm->granted |= 1u << number;
	all->grants_given = (all->grants_given + 1) & (uint32_t)INT32_MAX;
	shm->keys[number] = OFI_RDM_PROTO_COPIED | (uint64_t)all->grants_given << 32 | number;
	ofi_shm_grant_give(shm->rx.map->grants, shm->keys[number], (uintptr_t)iov->iov_base,
			   iov->iov_len);
	return shm->keys[number];
}

/* Does nothing if the connection is a later one, whose rights have other keys. */
void vrb_shm_revoke(struct vrb_rc_conn *conn, uint64_t key)
{
	struct vrb_shm_conn *shm = conn ? conn->shm : NULL;
	uint32_t number = (uint32_t)key;

	if (!shm || !(shm->granted >> number & 1) || shm->keys[number] != key)
		return;
	ofi_shm_grant_end(shm->rx.map->grants, number);
	shm->granted &= ~(1u << number);
}

void vrb_shm_end(struct vrb_rc_conn *conn)
{
	struct vrb_shm_conn *shm = conn->shm;

	while (shm && shm->granted)
		vrb_shm_revoke(conn, shm->keys[__builtin_ctz(shm->granted)]);
}
