/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams need this of the fake device: GIDs, partitions, address handles, multicast groups, and
 * the state of a queue pair and the completions that it leaves.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "fake_verbs.h"

void fake_gid(int index, const char *ip)
{
	struct ibv_gid_entry *entry = &fake.gids[index];

	*entry = (struct ibv_gid_entry){
		.gid_index = (uint32_t)index,
		.port_num = 1,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
	};
	memset(entry->gid.raw + 10, 0xff, 2);
	assert_int_equal(inet_pton(AF_INET, ip, entry->gid.raw + 12), 1);
	if (fake.gid_count <= index)
		fake.gid_count = index + 1;
}

ssize_t _ibv_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t entry_size)
{
	size_t count = max < (size_t)fake.gid_count ? max : (size_t)fake.gid_count;

	(void)ctx;
	(void)flags;
	assert_int_equal(entry_size, sizeof(*entries));
	if (fake_fails("ibv_query_gid_table"))
		return -fake.fail_errno;
	memcpy(entries, fake.gids, count * sizeof(*entries));
	return (ssize_t)count;
}

int ibv_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey)
{
	(void)ctx;
	assert_int_equal(port, 1);
	assert_int_equal(index, 0);
	*pkey = htobe16(0xffff);
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = fake_fails("ibv_create_ah") ? NULL : calloc(1, sizeof(*ah));

	if (!ah)
		return NULL;
	ah->pd = pd;
	fake.ah_attr = *attr;
	fake.ahs++;
	fake.ahs_made++;
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	fake.ahs--;
	free(ah);
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	if (fake_fails("ibv_attach_mcast"))
		return fake.fail_errno;
	fake.mcasts++;
	return 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)qp;
	(void)gid;
	(void)lid;
	fake.mcasts--;
	return 0;
}

/* Returns how many there were. */
static unsigned int forget(struct fake_cq *cq, uint32_t qp_num)
{
	unsigned int i, kept = 0, count = cq->count;

	for (i = 0; i < cq->count; i++)
		if (cq->wc[cq->first + i].qp_num != qp_num)
			cq->wc[cq->first + kept++] = cq->wc[cq->first + i];
	cq->count = kept;
	return count - kept;
}

/* Some drivers leave them in the CQs. */
void fake_orphan(struct ibv_qp *qp)
{
	unsigned int count;

	if (!fake.forgets && !fake.flushes)
		return;
	if (fake.flushes)
		fake_flush(qp);
	count = forget(fake_cq(qp->send_cq), qp->qp_num);
	count += forget(fake_cq(qp->recv_cq), qp->qp_num);
	fake.stale += fake.flushes ? count : 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)mask;
	attr->qp_state = qp->state;
	*init = fake_qp(qp)->init;
	return 0;
}
