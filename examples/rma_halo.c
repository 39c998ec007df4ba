/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A rod, hot at one end and cold at the other, of which each process computes one half. In each
 * step a process writes its border cell into the memory of the other one. The write carries data,
 * so that the other one gets a completion when the cell is there: no message, no barrier.
 */
#include <rdma/fi_rma.h>
#include "example.h"

enum { CELLS = 16, STEPS = 200 };

/* What a peer has to know to write to a region. */
struct place {
	uint64_t addr, key;
};

/*
 * The neighbor can be one step ahead, as it needs this process's cell to go on. So there are two
 * places for its cell, used in turn.
 */
static double halo[2];
static double rod[CELLS], next[CELLS];

/* guide: register */
static struct place expose(struct node *n, void *buf, size_t len, struct fid_mr **mr)
{
	struct place place;

	must(fi_mr_reg(n->domain, buf, len, FI_REMOTE_WRITE, 0, 0, 0, mr, NULL), "fi_mr_reg");
	place.key = fi_mr_key(*mr);
	place.addr = n->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)buf : 0;
	return place;
}
/* guide: end */

/* guide: write */
static void write_cell(struct node *n, const double *cell, uint64_t step, struct place to,
		       struct op *written)
{
	uint64_t addr = to.addr + step % 2 * sizeof(*cell);

	while (full(n,
		    fi_writedata(n->ep, cell, sizeof(*cell), NULL, step, n->peer, addr, to.key,
				 written),
		    "fi_writedata"))
		;
}
/* guide: end */

static void relax(bool left, double neighbor)
{
	for (int i = 0; i < CELLS; i++) {
		double before = i > 0 ? rod[i - 1] : left ? 100 : neighbor;
		double after = i < CELLS - 1 ? rod[i + 1] : left ? neighbor : 0;

		next[i] = (before + after) / 2;
	}
	memcpy(rod, next, sizeof(rod));
}

/* guide: steps */
static void compute(struct node *n, bool left, struct place to)
{
	struct op written = { 0 };
	uint64_t step;
	double cell;

	for (step = 0; step < STEPS; step++) {
		cell = rod[left ? CELLS - 1 : 0];
		write_cell(n, &cell, step, to, &written);
		while (n->remote_writes <= step)
			collect(n);
		relax(left, halo[step % 2]);
		wait_for(n, &written); /* before the cell changes */
	}
}
/* guide: end */

int main(int argc, char **argv)
{
	struct place mine, theirs;
	struct fid_mr *mr;
	struct node n;

	node_open(&n,
		  new_hints(FI_MSG | FI_RMA, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY),
		  argc, argv, "Two processes exchange the borders of a grid by RMA.");
	node_meet(&n);
	mine = expose(&n, halo, sizeof(halo), &mr);
	exchange(&n, &mine, &theirs, sizeof(mine));
	compute(&n, !n.client, theirs);
	exchange(&n, &mine, &theirs, sizeof(mine)); /* the peer writes no more */
	printf("%s half after %d steps: from %.2f to %.2f degrees\n", n.client ? "right" : "left",
	       STEPS, rod[0], rod[CELLS - 1]);
	must(fi_close(&mr->fid), "fi_close");
	node_close(&n);
	return 0;
}
