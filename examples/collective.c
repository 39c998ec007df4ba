/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes form a group, wait for each other in a barrier, and add up an array. A group of
 * more members is formed the same way.
 */
#include <inttypes.h>
#include <rdma/fi_collective.h>
#include "example.h"

enum { COUNT = 4 };

/* guide: join */
/* All members insert the same addresses in the same order. */
static struct fid_mc *join(struct node *n, struct fid_eq *eq, const fi_addr_t members[2],
			   struct fid_av_set **set)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
				       .end_addr = FI_ADDR_NOTAVAIL };
	struct fi_eq_err_entry err = { 0 };
	struct fi_eq_entry entry;
	struct fid_mc *group;
	uint32_t event;
	ssize_t ret;

	must(fi_av_set(n->av, &attr, set, NULL), "fi_av_set");
	must(fi_av_set_insert(*set, members[0]), "fi_av_set_insert");
	must(fi_av_set_insert(*set, members[1]), "fi_av_set_insert");
	must(fi_join_collective(n->ep, FI_ADDR_NOTAVAIL, *set, 0, &group, NULL),
	     "fi_join_collective");
	while ((ret = fi_eq_read(eq, &event, &entry, sizeof(entry), 0)) == -FI_EAGAIN)
		collect(n);
	if (ret == -FI_EAVAIL) {
		must(fi_eq_readerr(eq, &err, 0), "fi_eq_readerr");
		ret = -err.err;
	}
	must(ret, "joining the group");
	return group;
}
/* guide: end */

/* guide: sum */
static void add_up(struct node *n, fi_addr_t group)
{
	uint64_t mine[COUNT], sum[COUNT];
	struct op done = { 0 };

	while (full(n, fi_barrier(n->ep, group, &done), "fi_barrier"))
		;
	wait_for(n, &done);
	for (int i = 0; i < COUNT; i++)
		mine[i] = (uint64_t)(i + 1) * (n->client ? 100 : 1);
	while (full(n,
		    fi_allreduce(n->ep, mine, COUNT, NULL, sum, NULL, group, FI_UINT64, FI_SUM, 0,
				 &done),
		    "fi_allreduce"))
		;
	wait_for(n, &done);
	printf("the sum is %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum[0], sum[1],
	       sum[2], sum[3]);
}
/* guide: end */

int main(int argc, char **argv)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_av_set *set;
	struct fid_mc *group;
	fi_addr_t self, members[2];
	struct fid_eq *eq;
	struct node n;

	node_open(&n, new_hints(FI_MSG | FI_COLLECTIVE, 0), argc, argv,
		  "Two processes add up an array.");
	must(fi_eq_open(n.fabric, &eq_attr, &eq, NULL), "fi_eq_open");
	must(fi_ep_bind(n.ep, &eq->fid, 0), "fi_ep_bind");
	self = node_meet(&n);
	members[0] = n.client ? n.peer : self; /* the server is the first member */
	members[1] = n.client ? self : n.peer;
	group = join(&n, eq, members, &set);
	add_up(&n, fi_mc_addr(group));
	must(fi_close(&group->fid), "fi_close");
	must(fi_close(&set->fid), "fi_close");
	close_endpoint(&n);
	must(fi_close(&eq->fid), "fi_close");
	node_close(&n);
	return 0;
}
