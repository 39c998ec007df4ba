/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory and address handles of the fake network, and kinds of devices. */
#include "ud_net.h"
#include "ud_net_int.h"

#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include "prov/verbs/discovery/inline.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/provider/prov.h"

#undef ibv_reg_mr

int ud_net_objects, ud_net_retries;

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	(void)access;
	assert(mr);
	*mr = (struct ibv_mr){ .pd = pd, .addr = addr, .length = len };
	ud_net_objects++;
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, len, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	ud_net_objects--;
	return 0;
}

int ibv_init_ah_from_wc(struct ibv_context *ctx, uint8_t port, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	(void)ctx;
	(void)wc;
	*attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = port, .grh.dgid = grh->sgid };
	/* See put_ipv4() of ud_net.c. */
	attr->grh.traffic_class = ((const uint8_t *)grh)[21];
	return 0;
}

int ud_net_paths;
static struct ibv_ah *ahs[1024];

/* Returns how many of a domain there are for the same GID, and where the object is. */
static unsigned int count_ahs(const struct ibv_ah *ah, unsigned int *at)
{
	unsigned int i, count = 0;

	for (i = 0; i < sizeof(ahs) / sizeof(ahs[0]); i++) {
		count += ahs[i] && ahs[i]->pd == ah->pd && ahs[i]->handle == ah->handle;
		if (ahs[i] == ah)
			*at = i;
	}
	return count;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = ud_net_params()->no_paths ? NULL : calloc(1, sizeof(*ah));
	unsigned int at;

	ud_net_paths++;
	errno = ETIMEDOUT;
	if (!ah)
		return NULL;
	*ah = (struct ibv_ah){ .pd = pd, .handle = attr->grh.dgid.raw[15] };
	for (at = 0; ahs[at]; at++)
		assert(at + 1 < sizeof(ahs) / sizeof(ahs[0]));
	ahs[at] = ah;
	ud_net_objects++;
	return ah;
}

void ud_net_move(unsigned int node)
{
	unsigned int i;

	for (i = 0; i < sizeof(ahs) / sizeof(ahs[0]); i++)
		if (ahs[i] && ahs[i]->handle == node)
			ahs[i]->handle = UD_STRANGER;
}

/* With SRD that aborts what was sent with another one for that GID. */
int ibv_destroy_ah(struct ibv_ah *ah)
{
	unsigned int at = 0, count = count_ahs(ah, &at);

	assert(count == 1 || !ud_net_params()->srd);
	ahs[at] = NULL;
	free(ah);
	ud_net_objects--;
	return 0;
}

int vrb_ud_port_find(const char *call, struct ibv_context *ctx, const struct fi_info *info,
		     struct vrb_ud_port *port)
{
	(void)call;
	(void)ctx;
	(void)info;
	*port = (struct vrb_ud_port){ .num = 1, .mtu = UD_MTU };
	if (ud_net_params()->mtu && !ud_net_opening())
		port->mtu = ud_net_params()->mtu;
	if (!ud_net_params()->named)
		return 0;
	/* The last byte says which node it is. */
	port->gid.raw[0] = 0xfe;
	port->gid.raw[15] = (uint8_t)ud_net_opening();
	return 0;
}

int vrb_inline_max(struct ibv_context *ctx, enum ibv_qp_type type, const char **call, uint32_t *max)
{
	(void)ctx;
	(void)type;
	(void)call;
	assert(!*max);
	*max = ud_net_params()->no_inline ? 0 : 200;
	return 0;
}

void ud_net_meet_host(unsigned int node, const uint8_t *gid)
{
	struct vrb_ud *all = ud_nodes[node].rc.ud;
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = all->port.num,
		.grh.sgid_index = (uint8_t)all->port.gid_index,
	};
	struct vrb_ah *path;

	memcpy(attr.grh.dgid.raw, gid, sizeof(attr.grh.dgid));
	path = vrb_ud_path_get(all, &attr);
	assert(path);
	vrb_ud_path_leave(all, path);
}

static void path_is_left(const void *node, VISIT visit, int depth)
{
	(void)visit;
	(void)depth;
	assert(!(*(struct vrb_ah *const *)node)->users);
}

void ud_net_free_paths(void **tree)
{
	twalk(*tree, path_is_left);
	vrb_ahs_fini(tree);
}

enum { SRD_INLINE = 32 };

static struct ibv_qp *create_srd(struct ibv_pd *pd, struct ibv_qp_init_attr *init, bool reads)
{
	assert(reads == (ud_net_params()->max_read > 0));
	/* An adapter takes no more than that. */
	if (init->cap.max_inline_data > SRD_INLINE)
		init->cap.max_inline_data = SRD_INLINE;
	return ibv_create_qp(pd, init);
}

static bool takes_retries(struct ibv_context *ctx)
{
	(void)ctx;
	return ud_net_params()->retries;
}

static const struct vrb_params srd_params = { .max_timeout = 10000,
					      .inter_min_read_message_size = UD_MIN_MESSAGE,
					      .inter_min_read_write_size = UD_MIN_READ };
static const struct vrb_kind kind = { .sizes = &vrb_params, .has_ip = true };
static const struct vrb_kind srd_kind = { .sizes = &srd_params,
					  .srd = create_srd,
					  .retries = takes_retries };
static struct vrb_fabric fabric = { .kind = &kind }, srd_fabric = { .kind = &srd_kind };

struct vrb_fabric *ud_net_fabric(bool srd)
{
	return srd ? &srd_fabric : &fabric;
}

static void open_buffers(struct ud_node *node)
{
	struct vrb_rdm_rx_buf *buf;
	unsigned int i;

	for (i = 0; i < UD_BUFFERS; i++) {
		buf = &node->bufs[i];
		buf->rx.sge.length = UD_BUFFER;
		buf->rx.sge.addr = (uintptr_t)malloc(UD_BUFFER);
		assert(buf->rx.sge.addr);
		buf->wr.wr_id = (uintptr_t)buf | VRB_RDM_RX_BIT;
		buf->wr.sg_list = &buf->rx.sge;
		buf->wr.num_sge = 1;
		ud_net_repost((unsigned int)(node - ud_nodes), &buf->rx);
	}
}

static void open_region(struct ud_node *node)
{
	node->mr = (struct ibv_mr){ .addr = node->region,
				    .length = UD_REGION,
				    .rkey = 1000 + (uint32_t)(node - ud_nodes) };
	vrb_mr_table_open(&node->domain.table);
	assert(!vrb_mr_table_add(&node->domain, &node->mr,
				 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
}

void ud_net_memory(struct ud_node *node)
{
	TAILQ_INIT(&node->domain.spare_paths);
	open_region(node);
	open_buffers(node);
}

bool ud_net_has_buffers(const struct ud_node *node)
{
	const struct vrb_ud *all = node->rc.ud;
	const struct vrb_rdm_buf *buf;
	uint32_t i, count = 0;

	SLIST_FOREACH (buf, &all->pool.free, link)
		count++;
	for (i = 0; i < VRB_UD_SQ; i++)
		count += all->sq[i] && all->sq[i]->buf;
	return count == all->pool.count;
}
