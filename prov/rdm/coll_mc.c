/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Joining collective groups. */
#include <stdlib.h>
#include <string.h>
#include "av.h"
#include "coll.h"
#include "lock.h"
#include "prov/base/av_set.h"
#include "prov/base/refuse.h"
#include "src/ds/patience.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#define NAME_MAX_LEN 20	  /* the GID and the number of a queue pair */
#define PATIENCE_MS  2000 /* time that fi_close gives members to finish reading our memory */

struct mc {
	struct fid_mc fid;
	struct ofi_rdm_ep *ep;
	struct ofi_eq *eq; /* for the event of the join */
	struct ofi_coll_group *group;
};

static bool coll_mc_leave(struct mc *mc, bool sever)
{
	bool left;

	ofi_rdm_lock(mc->ep);
	left = ofi_coll_leave(mc->group);
	if (!left && sever)
		ofi_coll_sever(mc->group);
	ofi_rdm_unlock(mc->ep);
	return left;
}

/*
 * Members that were told to read a large message get some time to do so. After that their
 * connection ends, because nobody may read memory that has been returned to the application.
 */
static void leave_in_time(struct mc *mc)
{
	struct ofi_rdm_proto *proto = &mc->ep->proto;
	struct ofi_patience patience = { .ms = PATIENCE_MS };
	bool late = false;

	while (!coll_mc_leave(mc, late)) {
		proto->xport.ops->progress(proto);
		late = ofi_patience_over(&patience);
		if (late)
			patience.spent = 0;
	}
}

static int mc_close(struct fid *fid)
{
	struct mc *mc = (struct mc *)fid;
	struct ofi_ref *groups = &mc->ep->coll->groups;

	if (ofi_ref_inherited(groups))
		return 0;
	leave_in_time(mc);
	ofi_eq_forget(mc->eq, fid);
	ofi_ref_put(groups);
	free(mc);
	return 0;
}

static const struct fi_ops mc_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = mc_close,
};

/*
 * A join may complete before its call returns; the fid exists by then, and the event may be read at
 * once.
 */
void ofi_rdm_coll_formed(const struct ofi_coll_done *done)
{
	struct mc *mc = done->context;

	if (done->err) {
		ofi_eq_report_err(mc->eq, &mc->fid.fid, done->err, done->err);
		return;
	}
	mc->fid.fi_addr = ofi_coll_addr(done->group);
	ofi_eq_report(mc->eq, FI_JOIN_COMPLETE, &mc->fid.fid, 0);
}

static int coll_mc_refuse(const struct ofi_rdm_ep *ep, int err, const char *why)
{
	return ofi_refuse(ep->domain->prov, FI_LOG_EP_CTRL, err, "fi_join_collective: %s\n", why);
}

/* coll_addr only says where the members come from; they are always those of the set. */
static bool known_addr(struct ofi_rdm_ep *ep, const struct fi_collective_addr *addr)
{
	bool known;

	if (addr->coll_addr == FI_ADDR_NOTAVAIL ||
	    ofi_av_set_owns(ofi_av_set(addr->set), addr->coll_addr))
		return true;
	ofi_rdm_lock(ep);
	known = ofi_coll_find(ep->coll->engine, addr->coll_addr);
	ofi_rdm_unlock(ep);
	return known;
}

static int coll_mc_check(struct ofi_rdm_ep *ep, const struct ofi_eq *eq,
			 const struct fi_collective_addr *addr, uint64_t flags, struct fid_mc **mc)
{
	if (!addr || !addr->set || !mc)
		return coll_mc_refuse(ep, -FI_EINVAL, "the AV set, or mc, is NULL");
	/* One direction would restrict the member; both together are the default. */
	if (flags & ~(FI_COLLECTIVE | FI_SEND | FI_RECV) ||
	    !(flags & FI_SEND) != !(flags & FI_RECV))
		return coll_mc_refuse(
			ep, -FI_EBADFLAGS,
			"flags must be 0 or FI_SEND | FI_RECV; members send and receive");
	if (!eq)
		return coll_mc_refuse(ep, -FI_ENOEQ,
				      "no event queue is bound to the endpoint or to its domain");
	if (ofi_av_set(addr->set)->av != &ep->av->base)
		return coll_mc_refuse(ep, -FI_EINVAL,
				      "the AV set is not of the endpoint's address vector");
	if (!known_addr(ep, addr))
		return coll_mc_refuse(
			ep, -FI_EINVAL,
			"coll_addr is not from fi_av_set_addr of this set or fi_mc_addr");
	return 0;
}

static int coll_mc_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Returns true if two addresses of the set are of the same endpoint, which cannot take part twice.
 */
static bool is_repeated(uint64_t *digests, size_t count)
{
	qsort(digests, count, sizeof(*digests), coll_mc_compare);
	for (size_t i = 1; i < count; i++)
		if (digests[i] == digests[i - 1])
			return true;
	return false;
}

/* Writes the name by which all members know an address. Returns its length. */
static size_t coll_mc_name(const struct ofi_rdm_addr *addr, uint8_t *name)
{
	if (ofi_rdm_addr_is_qp(addr)) {
		memcpy(name, addr->qp.gid, 16);
		memcpy(name + 16, &addr->qp.qpn, 4);
		return 20;
	}
	if (addr->sa.sa_family == AF_INET) {
		memcpy(name, &addr->in.sin_addr, 4);
		memcpy(name + 4, &addr->in.sin_port, 2);
		return 6;
	}
	memcpy(name, &addr->in6.sin6_addr, 16);
	memcpy(name + 16, &addr->in6.sin6_port, 2);
	return 18;
}

/* Computes the digest of the names, which is the same on all members, and finds our own rank. */
static int mc_identify(const struct ofi_rdm_ep *ep, const struct ofi_av_set *set,
		       struct ofi_coll_members *members, uint64_t *digests)
{
	uint64_t digest = ofi_coll_digest(OFI_COLL_DIGEST, set->key, set->key_len);
	uint8_t name[NAME_MAX_LEN], own[NAME_MAX_LEN];
	size_t len, own_len = coll_mc_name(&ep->self, own);
	struct ofi_rdm_addr addr;

	members->rank = members->count;
	for (size_t i = 0; i < members->count; i++) {
		if (!ofi_rdm_av_get(ep->av, members->addr[i], &addr))
			return coll_mc_refuse(ep, -FI_EINVAL,
					      "a member is no longer in the address vector");
		len = coll_mc_name(&addr, name);
		digest = ofi_coll_digest(digest, name, len);
		digests[i] = ofi_coll_digest(OFI_COLL_DIGEST, name, len);
		if (len == own_len && !memcmp(name, own, len))
			members->rank = i;
	}
	members->digest = digest;
	if (members->rank == members->count)
		return coll_mc_refuse(
			ep, -FI_EINVAL,
			"the endpoint is not a member; insert its own address into the set");
	if (is_repeated(digests, members->count))
		return coll_mc_refuse(ep, -FI_EINVAL,
				      "two members of the set are the same endpoint");
	return 0;
}

static int mc_begin(struct mc *mc, struct ofi_av_set *set)
{
	struct ofi_rdm_ep *ep = mc->ep;
	struct ofi_coll_members members;
	fi_addr_t *addr = ofi_av_set_members(set, &members.count);
	uint64_t *digests = addr ? calloc(members.count + 1, sizeof(*digests)) : NULL;
	int ret = -FI_ENOMEM;

	members.addr = addr;
	if (digests)
		ret = mc_identify(ep, set, &members, digests);
	if (!ret) {
		ofi_rdm_lock(ep);
		ret = ofi_coll_join(ep->coll->engine, &members, mc, &mc->group);
		ofi_rdm_unlock(ep);
		if (ret == -FI_EMSGSIZE)
			coll_mc_refuse(ep, ret, "a group has at most 4096 members");
	}
	free(digests);
	free(addr);
	return ret;
}

int ofi_rdm_coll_form(struct ofi_rdm_ep *ep, const struct fi_collective_addr *addr, uint64_t flags,
		      struct fid_mc **fid, void *context)
{
	struct ofi_eq *eq = ep->eq ? ep->eq : ep->domain->eq;
	struct mc *mc;
	int ret = coll_mc_check(ep, eq, addr, flags, fid);

	if (ret)
		return ret;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -FI_ENOMEM;
	mc->fid.fid.fclass = FI_CLASS_MC;
	mc->fid.fid.context = context;
	mc->fid.fid.ops = ofi_ops(&mc_ops);
	mc->fid.fi_addr = FI_ADDR_NOTAVAIL;
	mc->ep = ep;
	mc->eq = eq;
	ofi_ref_get(&ep->coll->groups);
	ret = mc_begin(mc, ofi_av_set(addr->set));
	if (ret) {
		ofi_ref_put(&ep->coll->groups);
		free(mc);
		return ret;
	}
	*fid = &mc->fid;
	return 0;
}
