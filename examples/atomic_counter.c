/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes draw numbers from one counter, which is in the memory of the server. Each number
 * is drawn once. The server, too, draws through its endpoint: an addition by the processor would
 * not be atomic with those of the fabric.
 */
#include <inttypes.h>
#include <rdma/fi_atomic.h>
#include "example.h"

enum { DRAWS = 200 };

struct place {
	uint64_t addr, key;
};

static uint64_t counter;

/* guide: fetch-add */
static uint64_t draw(struct node *n, fi_addr_t server, struct place at)
{
	uint64_t one = 1, number;
	struct op drawn = { 0 };

	while (full(n,
		    fi_fetch_atomic(n->ep, &one, 1, NULL, &number, NULL, server, at.addr, at.key,
				    FI_UINT64, FI_SUM, &drawn),
		    "fi_fetch_atomic"))
		;
	wait_for(n, &drawn);
	return number;
}
/* guide: end */

/* guide: valid */
static void check_support(struct node *n)
{
	size_t count;

	must(fi_fetch_atomicvalid(n->ep, FI_UINT64, FI_SUM, &count), "fi_fetch_atomicvalid");
	printf("an operation may have %zu elements of FI_UINT64\n", count);
}
/* guide: end */

int main(int argc, char **argv)
{
	struct place mine = { 0 }, theirs;
	uint64_t first = 0, last = 0, total;
	struct fid_mr *mr;
	struct node n;
	fi_addr_t self;

	node_open(&n,
		  new_hints(FI_MSG | FI_ATOMIC, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY),
		  argc, argv, "Two processes draw numbers from one counter.");
	self = node_meet(&n);
	check_support(&n);
	must(fi_mr_reg(n.domain, &counter, sizeof(counter), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
		       0, &mr, NULL),
	     "fi_mr_reg");
	mine.key = fi_mr_key(mr);
	if (n.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		mine.addr = (uintptr_t)&counter;
	exchange(&n, &mine, &theirs, sizeof(mine));
	for (int i = 0; i < DRAWS; i++) {
		last = n.client ? draw(&n, n.peer, theirs) : draw(&n, self, mine);
		if (i == 0)
			first = last;
	}
	printf("drew %d numbers, the first %" PRIu64 ", the last %" PRIu64 "\n", DRAWS, first,
	       last);
	exchange(&n, &last, &total, sizeof(last)); /* both have drawn all */
	total = total > last ? total + 1 : last + 1;
	printf("%" PRIu64 " numbers were drawn\n", total);
	must(fi_close(&mr->fid), "fi_close");
	node_close(&n);
	return total == 2 * DRAWS ? 0 : 1;
}
