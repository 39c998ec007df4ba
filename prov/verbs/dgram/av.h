/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address vectors of datagram endpoints: names of queue pairs, and the address handles to send to
 * them.
 *
 * fi_av_remove while another thread sends to the address: the datagram may go out, fail, or go to
 * an address that is inserted meanwhile. Address handles are shared by path (GID, LID, service
 * level), made at first use, and live as long as the address vector, so none is ever freed under a
 * sender.
 */
#ifndef VRB_AV_H
#define VRB_AV_H

#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/fi_domain.h>
#include "prov/base/av.h"
#include "av_source.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/tclass.h"
#include "ud_name.h"
#include "ud_port.h"
#include "src/ds/compiler.h"

struct vrb_av {
	struct ofi_av base;
	struct vrb_domain *domain;
	struct vrb_ud_port port;
	uint32_t addr_format;
	void *paths;		 /* tree of address handles, under base.lock */
	struct ofi_table groups; /* struct vrb_dest of multicast groups, changed under base.lock */
	/*
	 * Of the address handles: the class of the endpoint that was bound first. Under base.lock
	 * until then.
	 */
	struct vrb_tclass tclass;
	bool has_tclass;
	bool has_sources; /* under base.lock */
	struct vrb_sources sources;
};

static inline struct vrb_av *vrb_av(struct fid_av *fid)
{
	return (struct vrb_av *)fid;
}

int vrb_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		void *context);

/* First use of an address, multicast groups, and what went wrong. */
const struct vrb_dest *vrb_av_dest_slow(struct vrb_av *av, fi_addr_t addr);

/*
 * Where to send for an address; ah is set. NULL with errno set (a positive FI_E*): EINVAL when it
 * is unknown or removed, else why no address handle could be made. Needs no lock.
 */
static inline const struct vrb_dest *vrb_av_dest(struct vrb_av *av, fi_addr_t addr)
{
	const struct vrb_dest *dest = ofi_av_at(&av->base, addr);

	if (ofi_likely(dest && __atomic_load_n(&dest->ah, __ATOMIC_ACQUIRE)))
		return dest;
	return vrb_av_dest_slow(av, addr);
}

/*
 * An endpoint is bound whose packets are of the class. False when the address handles are of
 * another: the endpoint asks with vrb_av_dest_as() for each send.
 */
bool vrb_av_adopt(struct vrb_av *av, struct vrb_tclass tclass);
/* As vrb_av_dest(); the answer is in *own. */
const struct vrb_dest *vrb_av_dest_as(struct vrb_av *av, fi_addr_t addr, struct vrb_tclass tclass,
				      struct vrb_dest *own);
/*
 * For an endpoint that is bound with FI_SOURCE: keeps the reverse lookup from now on. 0 or
 * -FI_ENOMEM.
 */
int vrb_av_keep_sources(struct vrb_av *av);
/*
 * What a completion reports as the source: the address or its user id; FI_ADDR_NOTAVAIL. Needs no
 * lock.
 */
fi_addr_t vrb_av_source(const struct vrb_av *av, const union ibv_gid *gid, uint32_t qpn);

/* Multicast groups have addresses of their own, from 2^62 on. FI_ADDR_NOTAVAIL with errno set. */
fi_addr_t vrb_av_add_group(struct vrb_av *av, const struct vrb_dest *dest);
void vrb_av_remove_group(struct vrb_av *av, fi_addr_t addr);

#endif
