/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two connected queue pairs of one process. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "lib.h"
#include "raw.h"

#define RESOLVE_TIMEOUT 2000 /* ms */

static void check(int ret, const char *what)
{
	if (ret)
		bench_die(what, strerror(errno));
}

static void *check_object(void *object, const char *what)
{
	if (!object)
		bench_die(what, strerror(errno));
	return object;
}

/* The id of a connection request, else the id that the event is about. */
static struct rdma_cm_id *wait_event(struct raw_pair *pair, enum rdma_cm_event_type wanted)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	do {
		check(rdma_get_cm_event(pair->channel, &event), "rdma_get_cm_event");
		type = event->event;
		id = event->id;
		rdma_ack_cm_event(event);
	} while (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_TIMEWAIT_EXIT);
	if (type != wanted)
		bench_die("rdma_get_cm_event", rdma_event_str(type));
	return id;
}

static void create_qp(struct raw_pair *pair, struct raw_side *side)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = side->tx,
		.recv_cq = side->rx,
		.cap = {
			.max_send_wr = pair->depth,
			.max_recv_wr = pair->depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = pair->max_inline,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 0,
	};

	check(rdma_create_qp(side->id, pair->pd, &attr), "rdma_create_qp");
}

static void open_side(struct raw_pair *pair, struct raw_side *side)
{
	struct ibv_context *context = pair->listener->verbs;

	side->tx =
		check_object(ibv_create_cq(context, pair->depth, NULL, NULL, 0), "ibv_create_cq");
	side->rx =
		check_object(ibv_create_cq(context, pair->depth, NULL, NULL, 0), "ibv_create_cq");
	side->buf = check_object(aligned_alloc(4096, RAW_BUF_SIZE), "buffer");
	memset(side->buf, 0, RAW_BUF_SIZE);
	side->mr =
		check_object(ibv_reg_mr(pair->pd, side->buf, RAW_BUF_SIZE, IBV_ACCESS_LOCAL_WRITE),
			     "ibv_reg_mr");
}

void raw_connect(struct raw_pair *pair)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct sockaddr *address = rdma_get_local_addr(pair->listener);

	check(rdma_create_id(pair->channel, &pair->a.id, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_resolve_addr(pair->a.id, NULL, address, RESOLVE_TIMEOUT), "rdma_resolve_addr");
	wait_event(pair, RDMA_CM_EVENT_ADDR_RESOLVED);
	check(rdma_resolve_route(pair->a.id, RESOLVE_TIMEOUT), "rdma_resolve_route");
	wait_event(pair, RDMA_CM_EVENT_ROUTE_RESOLVED);
	create_qp(pair, &pair->a);
	check(rdma_connect(pair->a.id, &param), "rdma_connect");
	pair->b.id = wait_event(pair, RDMA_CM_EVENT_CONNECT_REQUEST);
	create_qp(pair, &pair->b);
	check(rdma_accept(pair->b.id, &param), "rdma_accept");
	wait_event(pair, RDMA_CM_EVENT_ESTABLISHED);
	wait_event(pair, RDMA_CM_EVENT_ESTABLISHED);
}

static void disconnect_side(struct raw_side *side)
{
	rdma_disconnect(side->id);
	rdma_destroy_qp(side->id);
	check(rdma_destroy_id(side->id), "rdma_destroy_id");
}

void raw_disconnect(struct raw_pair *pair)
{
	disconnect_side(&pair->a);
	disconnect_side(&pair->b);
}

void raw_open(struct raw_pair *pair, const char *address, uint32_t depth, uint32_t max_inline)
{
	struct sockaddr_in name = { .sin_family = AF_INET };

	*pair = (struct raw_pair){ .depth = depth, .max_inline = max_inline };
	if (inet_pton(AF_INET, address, &name.sin_addr) != 1)
		bench_die(address, "not an IPv4 address");
	pair->channel = check_object(rdma_create_event_channel(), "rdma_create_event_channel");
	check(rdma_create_id(pair->channel, &pair->listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(rdma_bind_addr(pair->listener, (struct sockaddr *)&name), "rdma_bind_addr");
	check(rdma_listen(pair->listener, 4), "rdma_listen");
	pair->pd = check_object(ibv_alloc_pd(pair->listener->verbs), "ibv_alloc_pd");
	open_side(pair, &pair->a);
	open_side(pair, &pair->b);
	raw_connect(pair);
}

static void close_side(struct raw_side *side)
{
	ibv_dereg_mr(side->mr);
	ibv_destroy_cq(side->tx);
	ibv_destroy_cq(side->rx);
	free(side->buf);
}

void raw_close(struct raw_pair *pair)
{
	raw_disconnect(pair);
	close_side(&pair->a);
	close_side(&pair->b);
	ibv_dealloc_pd(pair->pd);
	rdma_destroy_id(pair->listener);
	rdma_destroy_event_channel(pair->channel);
}
