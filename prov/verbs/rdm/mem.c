/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of messages: the access of the local device, and of the peer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/hmem_copy.h"
#include "prov/base/mr_cache.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn.h"
#include "rc_conn.h"
#include "shm.h"
#include "prov/rdm/peer.h"
#include "window.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/provider/mr_hmem.h"
#include "prov/verbs/provider/prov.h"

#define WINDOW_MAX (1ull << 31) /* mlx5 refuses to bind a longer window */

/* A registration of exactly the bytes that a peer may read or write. */
struct vrb_rdm_lease {
	struct ibv_mr *ibv;
	struct iovec what;
	uint32_t users;
	SLIST_ENTRY(vrb_rdm_lease) spare; /* in ep->spare_leases */
};

static int reg_cached(struct ofi_rdm_ep *ep, const struct iovec *iov, unsigned int access,
		      struct ofi_rdm_proto_mr *mr)
{
	struct ofi_mr_region *region;
	int ret = ofi_mr_cache_get(ep->domain->cache, iov->iov_base, iov->iov_len, access, &region);

	if (ret)
		return ret;
	mr->handle = region;
	mr->lkey = ((struct ibv_mr *)region->mr)->lkey;
	return 0;
}

/*
 * An endpoint reads its messages to itself through the other end of its connection, where no window
 * is bound.
 */
static bool has_windows(const struct ofi_rdm_peer *peer)
{
	return vrb_rc_peer(peer)->conn && vrb_rc_peer(peer)->policy.order &&
	       __atomic_load_n(&vrb_rc_domain(peer->ep)->windows, __ATOMIC_RELAXED);
}

/* Fails without a window of the device, or if the bytes are more than one can cover. */
static int reg_window(struct ofi_rdm_peer *peer, const struct iovec *iov, bool written,
		      struct ofi_rdm_proto_mr *mr)
{
	unsigned int access = IBV_ACCESS_MW_BIND | (written ? IBV_ACCESS_LOCAL_WRITE : 0);
	struct vrb_rdm_window *window;
	int ret;

	window = iov->iov_len > WINDOW_MAX ? NULL : vrb_rdm_window_get(vrb_rc_peer(peer)->conn);
	if (!window)
		return -FI_ENOSPC;
	ret = reg_cached(peer->ep, iov, access, mr);
	if (ret) {
		vrb_rdm_window_put(window);
		return ret;
	}
	window->what = (struct ibv_mw_bind_info){
		.mr = ((struct ofi_mr_region *)mr->handle)->mr,
		.addr = (uintptr_t)iov->iov_base,
		.length = iov->iov_len,
		.mw_access_flags = written ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ,
	};
	mr->grant = window;
	mr->window = true;
	mr->rkey = vrb_rdm_window_key(window);
	return 0;
}

static void mem_set_lease(struct ofi_rdm_proto_mr *mr, struct vrb_rdm_lease *lease)
{
	mr->grant = lease;
	mr->lkey = lease->ibv->lkey;
	mr->rkey = lease->ibv->rkey;
}

/*
 * Returns the access that the device grants. On an unordered device it serves any peer with the
 * key, so with a job secret it grants no remote access.
 */
static int granted_by_device(struct ofi_rdm_ep *ep, int access)
{
	if (!vrb_rc_domain(ep)->unordered)
		return access;
	return vrb_rdm_conn_reads(ep) ? vrb_domain_unordered_access(vrb_rc_domain(ep), access)
				      : access & IBV_ACCESS_LOCAL_WRITE;
}

static struct ibv_mr *reg_hmem(struct ofi_rdm_ep *ep, const struct iovec *iov, int access,
			       const struct ofi_hmem *hmem, struct ofi_hmem_why *why)
{
	const struct vrb_mr_memory memory = { .hmem = hmem, .iov = *iov };

	return vrb_mr_hmem_try(vrb_rc_domain(ep), &memory, access, why);
}

/* Registers the bytes in a new lease; hmem is the interface of device memory, or NULL. */
static int lease_new(struct ofi_rdm_ep *ep, const struct iovec *iov, int access,
		     const struct ofi_hmem *hmem, struct vrb_rdm_lease **lease)
{
	struct vrb_domain *domain = vrb_rc_domain(ep);
	struct ofi_hmem_why why;
	int err;

	*lease = SLIST_FIRST(&vrb_rc(ep)->spare_leases);
	if (*lease)
		SLIST_REMOVE_HEAD(&vrb_rc(ep)->spare_leases, spare);
	else
		*lease = calloc(1, sizeof(**lease));
	if (!*lease)
		return -FI_ENOMEM;
	(*lease)->ibv = hmem ? reg_hmem(ep, iov, access, hmem, &why)
			     : vrb_mr_new(domain, iov->iov_base, iov->iov_len,
					  granted_by_device(ep, access));
	if ((*lease)->ibv && vrb_mr_table_add(domain, (*lease)->ibv, access)) {
		ibv_dereg_mr((*lease)->ibv);
		(*lease)->ibv = NULL;
		errno = ENOMEM;
	}
	if ((*lease)->ibv) {
		(*lease)->what = *iov;
		(*lease)->users = 1;
		return 0;
	}
	err = errno;
	SLIST_INSERT_HEAD(&vrb_rc(ep)->spare_leases, *lease, spare);
	if (hmem)
		FI_WARN_ONCE(
			&vrb_prov, FI_LOG_MR,
			"%s copies long messages, RDMA does not: as dma-buf: %s; as peer memory: %s\n",
			hmem->name, why.text, strerror(err));
	else
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_MR, "registering %zu B at %p: %s%s\n",
			       iov->iov_len, iov->iov_base, strerror(err), vrb_reg_remedy(err));
	return vrb_errno(err);
}

static void lease_put(struct ofi_rdm_ep *ep, struct vrb_rdm_lease *lease)
{
	if (--lease->users)
		return;
	if (vrb_rc(ep)->lease == lease)
		vrb_rc(ep)->lease = NULL;
	vrb_mr_table_remove(vrb_rc_domain(ep), lease->ibv);
	ibv_dereg_mr(lease->ibv);
	SLIST_INSERT_HEAD(&vrb_rc(ep)->spare_leases, lease, spare);
}

void vrb_rdm_mem_fini(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_lease *lease;

	while ((lease = SLIST_FIRST(&vrb_rc(ep)->spare_leases))) {
		SLIST_REMOVE_HEAD(&vrb_rc(ep)->spare_leases, spare);
		free(lease);
	}
}

/*
 * Messages from the same bytes share a registration while they are in flight. A peer that may still
 * read it because of an earlier, completed message sees nothing new, since the bytes cannot change
 * before the last message is complete.
 */
static int reg_exact(struct ofi_rdm_ep *ep, const struct iovec *iov, bool written,
		     struct ofi_rdm_proto_mr *mr)
{
	struct vrb_rdm_lease *lease = written ? NULL : vrb_rc(ep)->lease;
	int ret, access = written ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
				  : IBV_ACCESS_REMOTE_READ;

	if (lease && lease->what.iov_base == iov->iov_base && lease->what.iov_len == iov->iov_len) {
		lease->users++;
	} else {
		ret = lease_new(ep, iov, access, NULL, &lease);
		if (ret)
			return ret;
		if (!written)
			vrb_rc(ep)->lease = lease;
	}
	mem_set_lease(mr, lease);
	return 0;
}

/*
 * Device memory is registered for each message and not cached, so freed memory is never used. If it
 * cannot be registered, the message is sent in segments, which are copied.
 */
static int reg_device(struct ofi_rdm_ep *ep, const struct iovec *iov,
		      enum ofi_rdm_proto_access access, const struct ofi_hmem *hmem,
		      struct ofi_rdm_proto_mr *mr)
{
	static const int flags[] = {
		[OFI_RDM_PROTO_SOURCE] = 0,
		[OFI_RDM_PROTO_DESTINATION] = IBV_ACCESS_LOCAL_WRITE,
		[OFI_RDM_PROTO_PEER_READS] = IBV_ACCESS_REMOTE_READ,
		[OFI_RDM_PROTO_PEER_WRITES] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	struct vrb_rdm_lease *lease;
	int ret;

	if (ep->hmem_options.p2p == FI_HMEM_P2P_DISABLED)
		return -FI_EOPNOTSUPP;
	ret = lease_new(ep, iov, flags[access], hmem, &lease);
	if (ret)
		return ret;
	mem_set_lease(mr, lease);
	return 0;
}

int vrb_rdm_mem_reg(struct ofi_rdm_proto_peer *proto_peer, const struct iovec *iov,
		    enum ofi_rdm_proto_access access, struct ofi_rdm_proto_mr *mr)
{
	bool written = access == OFI_RDM_PROTO_DESTINATION || access == OFI_RDM_PROTO_PEER_WRITES;
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(proto_peer);
	struct vrb_rc_conn *conn = vrb_rc_peer(peer)->conn;
	const struct ofi_hmem *hmem = ofi_hmem_at(peer->ep->hmem, iov->iov_base);

	*mr = (struct ofi_rdm_proto_mr){ 0 };
	if (hmem)
		return reg_device(peer->ep, iov, access, hmem, mr);
	if (access < OFI_RDM_PROTO_PEER_READS)
		return reg_cached(peer->ep, iov, written ? IBV_ACCESS_LOCAL_WRITE : 0, mr);
	if (access == OFI_RDM_PROTO_PEER_READS && conn && conn->shm) {
		mr->rkey = vrb_shm_grant(conn, iov);
		if (mr->rkey)
			return 0;
	}
	if (has_windows(peer) && !reg_window(peer, iov, written, mr))
		return 0;
	return reg_exact(peer->ep, iov, written, mr);
}

static int retry_mem(struct ofi_rdm_peer *peer)
{
	vrb_rdm_conn_retry_post(&peer->proto);
	return -FI_EAGAIN;
}

/* Ends the connection soon, because only that revokes the peer's right. */
static void end_soon(struct ofi_rdm_peer *peer, int err)
{
	if (vrb_rc_peer(peer)->conn)
		vrb_rdm_conn_fail_later(vrb_rc_peer(peer)->conn, -vrb_errno(err));
}

int vrb_rdm_mem_bind(struct ofi_rdm_proto_peer *proto_peer, struct ofi_rdm_proto_mr *mr)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(proto_peer);
	int err = vrb_rdm_window_bind(mr->grant);

	if (!err)
		return 0;
	if (err == ENOMEM)
		return retry_mem(peer);
	if (err != ENOTCONN)
		vrb_rdm_windows_fail(vrb_rc_domain(peer->ep), "bind", strerror(err));
	return vrb_errno(err);
}

int vrb_rdm_mem_revoke(struct ofi_rdm_proto_peer *proto_peer, struct ofi_rdm_proto_mr *mr,
		       struct ofi_rdm_proto_item *item)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(proto_peer);
	int err = vrb_rdm_window_revoke(mr->grant, item);

	if (!err)
		return 0;
	if (err != ENOMEM && err != ENOTCONN) {
		vrb_rdm_windows_fail(vrb_rc_domain(peer->ep), "invalidate", strerror(err));
		end_soon(peer, err);
	}
	return retry_mem(peer);
}

static void put_window(struct ofi_rdm_peer *peer, struct vrb_rdm_window *window)
{
	int err = vrb_rdm_window_put(window);

	if (err)
		end_soon(peer, err);
}

void vrb_rdm_mem_dereg(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr)
{
	if (ofi_unlikely(mr->rkey & OFI_RDM_PROTO_COPIED))
		vrb_shm_revoke(vrb_rc_peer(vrb_rc_peer_of(peer))->conn, mr->rkey);
	if (mr->window)
		put_window(vrb_rc_peer_of(peer), mr->grant);
	else if (mr->grant)
		lease_put(vrb_rc_peer_of(peer)->ep, mr->grant);
	if (mr->handle)
		ofi_mr_cache_put(vrb_rc_peer_of(peer)->ep->domain->cache, mr->handle);
}
