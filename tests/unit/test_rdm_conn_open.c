/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Closing the connections of an endpoint whose device still reads for a receive. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "fake_verbs.h"
#include "prov/verbs/rdm/conn.h"
#include "prov/verbs/rdm/progress.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_returned_when_the_device_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
