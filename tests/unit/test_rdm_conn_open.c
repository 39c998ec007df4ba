/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening an endpoint, and closing its connections while the device still reads for a receive.
 */
#include "unit.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "fake_verbs.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/rdm/conn.h"
#include "prov/verbs/rdm/progress.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/rdm/ud_qp.h"

static struct vrb_domain domain;
static struct vrb_rc_ep rc;
static struct ofi_rdm_proto_in message;
static unsigned int ended;

void __wrap_ofi_rdm_proto_read_done(struct ofi_rdm_proto_in *in, int err);

/* The receive may be of a shared context: its memory may be freed at once. */
void __wrap_ofi_rdm_proto_read_done(struct ofi_rdm_proto_in *in, int err)
{
	assert_ptr_equal(in, &message);
	assert_int_equal(err, FI_ECANCELED);
	assert_int_equal(fake.qps, 0);
	ended++;
}

static struct vrb_rc_conn *new_conn(void)
{
	struct vrb_rc_conn *conn = calloc(1, sizeof(*conn));
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = rc.cq };

	assert_non_null(conn);
	conn->slots = calloc(1, sizeof(*conn->slots));
	assert_non_null(conn->slots);
	conn->ep = &rc.rdm;
	conn->live = true;
	conn->qp = ibv_create_qp(domain.pd, &init);
	assert_true(vrb_rc_table_reserve(&rc.by_qp));
	vrb_rc_table_add(&rc.by_qp, conn);
	return conn;
}

static void memory_is_returned_when_the_device_is_done(void **state)
{
	struct vrb_rc_conn *conn;

	(void)state;
	fake_reset();
	domain.ctx = &fake.ctx;
	domain.pd = ibv_alloc_pd(&fake.ctx);
	rc.rdm.domain = &domain.base;
	rc.rdm.closing = true;
	rc.conns.timer.fd = -1;
	rc.cq = ibv_create_cq(&fake.ctx, 1, NULL, NULL, 0);
	conn = new_conn();
	conn->slots[conn->head++].flags = vrb_rdm_kind_bits(VRB_RDM_READ);
	conn->slots[0].context = &message;
	vrb_rdm_conn_close(&rc.rdm);
	assert_int_equal(ended, 1);
	ibv_destroy_cq(rc.cq);
	ibv_dealloc_pd(domain.pd);
	fake_all_closed();
}

static int limit_err;

int __wrap_vrb_inline_max(struct ibv_context *ctx, enum ibv_qp_type type, const char **call,
			  uint32_t *max);

/* A guess that the device accepts would become the limit. */
int __wrap_vrb_inline_max(struct ibv_context *ctx, enum ibv_qp_type type, const char **call,
			  uint32_t *max)
{
	(void)type;
	assert_ptr_equal(ctx, &fake.ctx);
	assert_int_equal(*max, 0);
	*call = "ibv_create_qp";
	return limit_err;
}

/* Leaves what variables that are not initialized then contain. */
static void soil_stack(void)
{
	volatile char bytes[4096];
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = 1;
}

static void open_device(void)
{
	static const struct vrb_kind kind;
	static struct vrb_fabric fabric = { .kind = &kind };

	fake_reset();
	domain.ctx = &fake.ctx;
	domain.fabric = &fabric;
	domain.pd = ibv_alloc_pd(&fake.ctx);
	rc.rdm.domain = &domain.base;
}

static void the_inline_limit_is_not_guessed(void **state)
{
	(void)state;
	open_device();
	limit_err = EMFILE;
	soil_stack();
	assert_int_equal(vrb_rc_init(&rc.rdm), -FI_EMFILE);
	ibv_dealloc_pd(domain.pd);
}

static void what_errno_was_before_is_no_reason(void **state)
{
	static struct vrb_ud ud = { .ep = &rc.rdm };

	(void)state;
	open_device();
	limit_err = 0;
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = -1;
	errno = EAGAIN;
	assert_int_equal(vrb_ud_qp_open(&ud), -FI_EINVAL);
	assert_string_equal(fake.failed, "ibv_create_qp");
	ibv_dealloc_pd(domain.pd);
}

static struct ibv_context *bound_to; /* NULL: to the wildcard address */

int __wrap_vrb_cm_bind_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner, bool ud,
			  const struct sockaddr_storage *ss, struct rdma_cm_id **id);

int __wrap_vrb_cm_bind_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner, bool ud,
			  const struct sockaddr_storage *ss, struct rdma_cm_id **id)
{
	(void)cm;
	(void)owner;
	(void)ud;
	assert_string_equal(call, "fi_endpoint");
	*id = calloc(1, sizeof(**id));
	assert_non_null(*id);
	(*id)->verbs = bound_to;
	memcpy(rdma_get_local_addr(*id), ss, sizeof(struct sockaddr_in));
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id;
	(void)backlog;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	return 0;
}

static int open_at(struct ibv_context *ctx)
{
	static struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = 1 };
	static struct vrb_rc_ep ep;
	struct fi_info *info = fi_allocinfo();
	int ret;

	assert_non_null(info);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	info->addr_format = FI_SOCKADDR_IN;
	info->src_addr = &addr;
	info->src_addrlen = sizeof(addr);
	domain.base.info = ep.rdm.info = info;
	ep.rdm.domain = &domain.base;
	bound_to = ctx;
	ret = vrb_rdm_conn_open(&ep.rdm);
	ep.rdm.closing = true;
	vrb_rdm_conn_close(&ep.rdm);
	info->src_addr = NULL;
	fi_freeinfo(info);
	memset(&ep, 0, sizeof(ep));
	return ret;
}

/* Whatever the fi_info says: peers would get a name at which nobody is reached. */
static void the_address_is_of_the_domains_device(void **state)
{
	struct ibv_device device = { .name = "another" };
	struct ibv_context another = { .device = &device };

	(void)state;
	open_device();
	assert_int_equal(ofi_loop_init(&domain.fabric->loop, &vrb_prov), 0);
	assert_int_equal(open_at(&fake.ctx), 0);
	assert_int_equal(open_at(&another), -FI_EADDRNOTAVAIL);
	assert_int_equal(open_at(NULL), -FI_EADDRNOTAVAIL);
	ofi_loop_fini(&domain.fabric->loop);
	ibv_dealloc_pd(domain.pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_returned_when_the_device_is_done),
		cmocka_unit_test(the_inline_limit_is_not_guessed),
		cmocka_unit_test(what_errno_was_before_is_no_reason),
		cmocka_unit_test(the_address_is_of_the_domains_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
