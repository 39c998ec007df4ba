/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagram endpoints that close while another thread reads their completions. */
#include "unit.h"

#include "prov/verbs/dgram/dgram.h"
#include "verbs_rig.h"

enum { GRH = VRB_GRH_SIZE };

static struct fid_av *av;
static uint8_t buf[256];

static void open_dgram(struct rig *rig, uint64_t mode)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };

	rig->info->caps = FI_MSG | FI_SEND | FI_RECV | FI_SOURCE;
	rig->info->mode = mode;
	rig->info->addr_format = FI_ADDR_IB_UD;
	rig->info->ep_attr->type = FI_EP_DGRAM;
	rig->info->ep_attr->max_msg_size = sizeof(buf);
	rig->info->ep_attr->msg_prefix_size = mode & FI_MSG_PREFIX ? GRH : 0;
	rig_open_ep(rig);
	assert_int_equal(fi_av_open(rig->domain, &attr, &av, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &av->fid, 0), 0);
	assert_int_equal(fi_enable(rig->ep), 0);
}

static void close_dgram(struct rig *rig)
{
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&av->fid), 0);
}

static struct rig *closing;
static int reads;

static void read_closing(void)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_data_entry entry;
	fi_addr_t src;

	reads++;
	assert_int_equal(fi_cq_readfrom(closing->cq[1], &entry, 1, &src), -FI_EAGAIN);
	assert_int_equal(fi_cq_readerr(closing->cq[1], &error, 0), -FI_EAGAIN);
}

/* Another thread reads the completion queue while the endpoint closes. */
static void close_while_read(struct rig *rig, enum ibv_wc_status status)
{
	assert_int_equal(fi_recv(rig->ep, buf, 100, NULL, 0, NULL), 0);
	fake_complete_recv(rig_qp(rig), status, IBV_WC_RECV, GRH + 1, NULL);
	closing = rig;
	reads = 0;
	fake.on_end = read_closing;
	close_dgram(rig);
	fake.on_end = NULL;
	assert_true(reads >= 1);
}

static void test_close_while_read(void **state)
{
	open_dgram(*state, 0);
	close_while_read(*state, IBV_WC_SUCCESS);
}

static void test_close_while_error_is_read(void **state)
{
	open_dgram(*state, FI_MSG_PREFIX);
	close_while_read(*state, IBV_WC_LOC_QP_OP_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_close_while_read),
		RIG_TEST(test_close_while_error_is_read),
	};

	return RIG_RUN("dgram close", tests);
}
