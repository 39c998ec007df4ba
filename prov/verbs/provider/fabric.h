/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabric object: one per subnet name, parent of domains, passive endpoints and event queues. */
#ifndef VRB_FABRIC_H
#define VRB_FABRIC_H

#include <rdma/fi_domain.h>
#include "prov/base/ref.h"
#include "prov/verbs/cm/cm.h"
#include "prov/base/loop.h"

struct vrb_kind;

struct vrb_fabric {
	struct fid_fabric fid;
	struct ofi_ref ref;
	char *name;
	const struct vrb_kind *kind;
	struct ofi_loop loop;
	struct vrb_cm cm;
};

static inline struct vrb_fabric *vrb_fabric(struct fid_fabric *fid)
{
	return (struct vrb_fabric *)fid;
}

/* Opens a fabric of a provider, with a name that its fi_getinfo reports. */
int vrb_fabric_open_by(const struct vrb_kind *kind, struct fi_fabric_attr *attr,
		       struct fid_fabric **fabric, void *context);
int vrb_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

#endif
