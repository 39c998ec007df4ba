/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles, shared by all peers that are reached in the same way. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"
#include "ud_int.h"

static int path_compare(const void *a, const void *b)
{
	const struct ibv_ah_attr *x = &((const struct vrb_ud_path *)a)->attr;
	const struct ibv_ah_attr *y = &((const struct vrb_ud_path *)b)->attr;
	int diff = memcmp(&x->grh.dgid, &y->grh.dgid, sizeof(x->grh.dgid));

	if (!diff)
		diff = (int)x->dlid - (int)y->dlid;
	if (!diff)
		diff = (int)x->grh.sgid_index - (int)y->grh.sgid_index;
	return diff ? diff : (int)x->is_global - (int)y->is_global;
}

static struct ibv_ah_attr with_tclass(const struct vrb_ud *all, const struct ibv_ah_attr *from)
{
	struct vrb_tclass tclass = vrb_tclass_of(all->ep->domain->info, all->ep->info);
	struct ibv_ah_attr attr = *from;

	if (tclass.asked)
		vrb_tclass_set_ah(tclass, &attr);
	return attr;
}

struct vrb_ud_path *vrb_ud_path_find(struct vrb_ud *all, const struct ibv_ah_attr *attr)
{
	const struct vrb_ud_path wanted = { .attr = *attr };
	struct vrb_ud_path **found = tfind(&wanted, &all->paths, path_compare);

	return found ? *found : NULL;
}

struct vrb_ud_path *vrb_ud_path_get(struct vrb_ud *all, const struct ibv_ah_attr *attr)
{
	struct vrb_ud_path *path = vrb_ud_path_find(all, attr);

	if (path)
		return path;
	path = malloc(sizeof(*path));
	if (!path)
		return NULL;
	*path = (struct vrb_ud_path){ .attr = with_tclass(all, attr) };
	path->ah = ibv_create_ah(vrb_rc_domain(all->ep)->pd, &path->attr);
	if (path->ah && tsearch(path, &all->paths, path_compare))
		return path;
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL, "ibv_create_ah: %s%s\n", strerror(errno),
		       vrb_remedy(errno));
	if (path->ah)
		ibv_destroy_ah(path->ah);
	free(path);
	return NULL;
}

static void path_free(void *node)
{
	struct vrb_ud_path *path = node;

	ibv_destroy_ah(path->ah);
	free(path);
}

void vrb_ud_paths_free(struct vrb_ud *all)
{
	tdestroy(all->paths, path_free);
	all->paths = NULL;
}
