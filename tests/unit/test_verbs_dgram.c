/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagram endpoints on a fake device: work requests, headers, sources, errors, closing. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/ep.h"
#include "prov/verbs/dgram/dgram.h"
#include "verbs_rig.h"

enum { QPN = 0x4711, QKEY = 0x1234567, GRH = VRB_GRH_SIZE, MTU = 1024 };

static struct fid_av *av;
static fi_addr_t to;
static uint8_t buf[2 * MTU];

static struct vrb_ud_name peer_name(void)
{
	struct vrb_dest dest = { .qpn = QPN, .qkey = QKEY, .pkey = 0xffff };
	struct vrb_ud_name name;

	inet_pton(AF_INET6, "::ffff:10.0.0.9", dest.gid.raw);
	vrb_ud_name_out(&dest, &name);
	return name;
}

static void ask_dgram(struct rig *rig, uint64_t mode)
{
	struct fi_info *info = rig->info;

	info->caps = FI_MSG | FI_SEND | FI_RECV | FI_SOURCE;
	info->mode = mode;
	info->addr_format = FI_ADDR_IB_UD;
	info->ep_attr->type = FI_EP_DGRAM;
	info->ep_attr->max_msg_size = MTU;
	info->ep_attr->msg_prefix_size = mode & FI_MSG_PREFIX ? GRH : 0;
}

static void open_only(struct rig *rig, uint64_t mode)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };

	ask_dgram(rig, mode);
	rig_open_ep(rig);
	assert_int_equal(fi_av_open(rig->domain, &attr, &av, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &av->fid, 0), 0);
}

static void open_dgram(struct rig *rig, uint64_t mode)
{
	struct vrb_ud_name name = peer_name();

	open_only(rig, mode);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fi_av_insert(av, &name, 1, &to, 0, NULL), 1);
}

/* The endpoint holds the address vector. */
static void close_dgram(struct rig *rig)
{
	assert_int_equal(fi_close(&av->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(fake.ahs, 0);
}

static const struct fake_post *received(struct rig *rig)
{
	return &fake_qp(rig_qp(rig))->recvs.last;
}

static void expect_sent(struct rig *rig, enum ibv_wr_opcode opcode, size_t len)
{
	const struct fake_post *post = rig_sent(rig);

	assert_int_equal(post->wr.opcode, opcode);
	assert_non_null(post->wr.wr.ud.ah);
	assert_int_equal(post->wr.wr.ud.remote_qpn, QPN);
	assert_int_equal(post->wr.wr.ud.remote_qkey, QKEY);
	assert_int_equal(post->len, len);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
}

static void test_queue_pair(void **state)
{
	struct rig *rig = *state;
	struct vrb_ud_name name;
	size_t len = sizeof(name);
	const struct fake_qp *qp;

	open_dgram(rig, 0);
	qp = fake_qp(rig_qp(rig));
	assert_int_equal(qp->init.qp_type, IBV_QPT_UD);
	assert_int_equal(qp->init.cap.max_recv_sge, rig->info->rx_attr->iov_limit + 1);
	assert_int_equal(qp->ibv.state, IBV_QPS_RTS);
	assert_int_equal(qp->attr.port_num, 1);
	assert_int_equal(qp->attr.qkey >> 31, 0);
	assert_int_equal(fi_getname(&rig->ep->fid, &name, &len), 0);
	assert_int_equal(be32toh(name.qpn), qp->ibv.qp_num);
	assert_int_equal(be32toh(name.qkey), qp->attr.qkey);
	close_dgram(rig);
}

static void test_multicast_key(void **state)
{
	struct rig *rig = *state;

	rig->info->caps = 0;
	ask_dgram(rig, 0);
	rig->info->caps |= FI_MULTICAST;
	rig_open_ep(rig);
	assert_int_equal(vrb_dgram(rig->ep)->qkey, VRB_UD_QKEY_CM);
}

static void test_send(void **state)
{
	struct rig *rig = *state;
	struct iovec iov[2] = { { buf, 10 }, { buf + 100, 20 } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2, .addr = 0, .data = 5 };

	open_dgram(rig, 0);
	assert_int_equal(fi_send(rig->ep, buf, 100, NULL, to, NULL), 0);
	expect_sent(rig, IBV_WR_SEND, 100);
	assert_int_equal(fi_send(rig->ep, NULL, 0, NULL, to, NULL), 0);
	expect_sent(rig, IBV_WR_SEND, 0);
	assert_int_equal(fi_senddata(rig->ep, buf, 8, NULL, 7, to, NULL), 0);
	expect_sent(rig, IBV_WR_SEND_WITH_IMM, 8);
	assert_int_equal(rig_sent(rig)->wr.imm_data, htonl(7));
	assert_int_equal(fi_inject(rig->ep, buf, 64, to), 0);
	assert_int_equal(rig_sent(rig)->wr.send_flags & IBV_SEND_INLINE, IBV_SEND_INLINE);
	expect_sent(rig, IBV_WR_SEND, 64);
	assert_int_equal(fi_inject(rig->ep, buf, 0, to), 0);
	expect_sent(rig, IBV_WR_SEND, 0);
	assert_int_equal(fi_injectdata(rig->ep, buf, 4, 9, to), 0);
	expect_sent(rig, IBV_WR_SEND_WITH_IMM, 4);
	assert_int_equal(fi_sendv(rig->ep, iov, NULL, 2, to, NULL), 0);
	assert_int_equal(rig_sent(rig)->wr.num_sge, 1); /* some drivers copy only one */
	assert_memory_equal(rig_sent(rig)->data, buf, 10);
	assert_memory_equal(rig_sent(rig)->data + 10, buf + 100, 20);
	expect_sent(rig, IBV_WR_SEND, 30);
	msg.addr = to;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_REMOTE_CQ_DATA | FI_FENCE), 0);
	assert_int_equal(rig_sent(rig)->wr.send_flags & IBV_SEND_FENCE, 0);
	expect_sent(rig, IBV_WR_SEND_WITH_IMM, 30);
	close_dgram(rig);
}

static void test_refused(void **state)
{
	struct rig *rig = *state;
	struct fi_msg msg = { .addr = 0 };
	unsigned long total;

	open_dgram(rig, 0);
	total = fake_qp(rig_qp(rig))->sends.total;
	assert_int_equal(fi_send(rig->ep, buf, MTU + 1, NULL, to, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_inject(rig->ep, buf, 65, to), -FI_EMSGSIZE);
	assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to + 1, NULL), -FI_EINVAL);
	assert_int_equal(fi_send(rig->ep, buf, 8, NULL, FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
	assert_int_equal(fi_inject(rig->ep, buf, 8, to + 1), -FI_EINVAL);
	assert_int_equal(fi_senddata(rig->ep, buf, 8, NULL, 1ULL << 32, to, NULL), -FI_EINVAL);
	assert_int_equal(fi_injectdata(rig->ep, buf, 8, 1ULL << 32, to), -FI_EINVAL);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_DELIVERY_COMPLETE), -FI_EBADFLAGS);
	assert_int_equal(fi_sendmsg(rig->ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, total);
	fake_qp(rig_qp(rig))->post_err = ENOMEM;
	assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, NULL), -FI_ENOMEM);
	assert_int_equal(fi_tx_size_left(rig->ep), 8);
	close_dgram(rig);
}

static void test_prefix(void **state)
{
	struct rig *rig = *state;
	struct iovec iov[2] = { { buf, GRH }, { buf + 500, 20 } };

	open_dgram(rig, FI_MSG_PREFIX);
	assert_int_equal(fi_send(rig->ep, buf, GRH + MTU, NULL, to, NULL), 0);
	assert_int_equal(rig_sent(rig)->sge[0].addr, (uintptr_t)buf + GRH);
	expect_sent(rig, IBV_WR_SEND, MTU);
	assert_int_equal(fi_inject(rig->ep, buf, GRH + 64, to), 0);
	expect_sent(rig, IBV_WR_SEND, 64);
	assert_int_equal(fi_sendv(rig->ep, iov, NULL, 2, to, NULL), 0);
	expect_sent(rig, IBV_WR_SEND, 20);
	assert_int_equal(fi_send(rig->ep, buf, GRH, NULL, to, NULL), 0);
	expect_sent(rig, IBV_WR_SEND, 0);
	assert_int_equal(fi_send(rig->ep, buf, GRH - 1, NULL, to, NULL), -FI_EINVAL);
	assert_int_equal(fi_recv(rig->ep, buf, GRH - 1, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_recv(rig->ep, buf, GRH + 100, NULL, 0, NULL), 0);
	assert_int_equal(received(rig)->wr.num_sge, 1);
	assert_int_equal(received(rig)->sge[0].addr, (uintptr_t)buf);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, GRH + 3, NULL);
	assert_int_equal(rig_entry(rig->cq[1]).len, GRH + 3);
	close_dgram(rig);
}

static void test_recv(void **state)
{
	struct rig *rig = *state;
	struct iovec iov[2] = { { buf, 10 }, { buf + 100, 20 } };
	struct fi_msg none = { .iov_count = 1 };
	uint64_t first;

	open_dgram(rig, 0);
	assert_int_equal(fi_recvmsg(rig->ep, &none, FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_recvmsg(rig->ep, &none, OFI_RX_FLAGS), -FI_EINVAL);
	assert_int_equal(fi_recv(rig->ep, buf, 100, NULL, FI_ADDR_UNSPEC, buf), 0);
	assert_int_equal(received(rig)->wr.num_sge, 2);
	assert_int_equal(received(rig)->sge[0].length, GRH);
	assert_int_equal(received(rig)->sge[1].addr, (uintptr_t)buf);
	first = received(rig)->sge[0].addr;
	assert_int_equal(fi_recvv(rig->ep, iov, NULL, 2, 0, NULL), 0);
	assert_int_equal(received(rig)->wr.num_sge, 3);
	assert_int_not_equal(received(rig)->sge[0].addr, first);
	assert_int_equal(received(rig)->sge[2].length, 20);
	assert_int_equal(fi_recv(rig->ep, NULL, 0, NULL, 0, NULL), 0);
	assert_int_equal(received(rig)->wr.num_sge, 1);
	assert_int_equal(fi_recv(rig->ep, buf, UINT32_MAX, NULL, 0, NULL), 0);
	assert_int_equal(received(rig)->sge[1].length, INT32_MAX);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, GRH + 77, NULL);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, GRH, NULL);
	assert_int_equal(rig_entry(rig->cq[1]).len, 77);
	assert_int_equal(rig_entry(rig->cq[1]).len, 0);
	close_dgram(rig);
}

/* What the device writes before the message. */
static void put_ipv6(uint8_t *grh, const char *from)
{
	memset(grh, 0, GRH);
	grh[0] = 0x60;
	inet_pton(AF_INET6, from, grh + 8);
	inet_pton(AF_INET6, "fd00::1", grh + 24);
}

static void put_ipv4(uint8_t *grh, const char *from, uint8_t junk, bool sum)
{
	uint32_t total = 0;
	uint8_t *ip = grh + 20;
	int i;

	memset(grh, junk, 20);
	memset(ip, 0, 20);
	ip[0] = 0x45;
	inet_pton(AF_INET, from, ip + 12);
	inet_pton(AF_INET, "10.0.0.1", ip + 16);
	for (i = 0; i < 20; i += 2)
		total += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	total = 0xffff - ((total & 0xffff) + (total >> 16));
	ip[10] = (uint8_t)(sum ? total >> 8 : 0);
	ip[11] = (uint8_t)(sum ? total : 0);
}

/* Returns the source of a datagram with that header. */
static fi_addr_t source_of(struct rig *rig, const uint8_t *header, uint32_t qpn)
{
	struct fake_cq *cq = fake_cq(vrb_cq(rig->cq[1])->ibv);
	struct fi_cq_data_entry entry;
	fi_addr_t src = 12345;

	assert_int_equal(fi_recv(rig->ep, buf, 100, NULL, 0, NULL), 0);
	memcpy((void *)(uintptr_t)received(rig)->sge[0].addr, header, GRH);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, GRH + 1, NULL);
	cq->wc[cq->first].src_qp = qpn;
	cq->wc[cq->first].wc_flags |= IBV_WC_GRH;
	assert_int_equal(fi_cq_readfrom(rig->cq[1], &entry, 1, &src), 1);
	return src;
}

static void test_source(void **state)
{
	struct rig *rig = *state;
	struct vrb_dest six = { .qpn = QPN, .qkey = QKEY, .pkey = 0xffff };
	struct vrb_ud_name name;
	fi_addr_t other;
	uint8_t grh[GRH];

	open_dgram(rig, 0);
	inet_pton(AF_INET6, "fd00::9", six.gid.raw);
	vrb_ud_name_out(&six, &name);
	assert_int_equal(fi_av_insert(av, &name, 1, &other, 0, NULL), 1);
	put_ipv6(grh, "fd00::9");
	assert_int_equal(source_of(rig, grh, QPN), other);
	assert_int_equal(source_of(rig, grh, QPN + 1), FI_ADDR_NOTAVAIL);
	put_ipv6(grh, "fd00::8");
	assert_int_equal(source_of(rig, grh, QPN), FI_ADDR_NOTAVAIL);
	put_ipv4(grh, "10.0.0.9", 0, false); /* soft-RoCE's loopback has no checksum */
	assert_int_equal(source_of(rig, grh, QPN), to);
	put_ipv4(grh, "10.0.0.9", 0x6f, true); /* what precedes it is undefined */
	assert_int_equal(source_of(rig, grh, QPN), to);
	close_dgram(rig);
}

/* Returns FI_MULTICAST if the completion of a datagram with that header has it. */
static uint64_t group_flag_of(struct rig *rig, const uint8_t *header)
{
	struct fake_cq *cq = fake_cq(vrb_cq(rig->cq[1])->ibv);
	struct fi_cq_data_entry entry;

	assert_int_equal(fi_recv(rig->ep, buf, 100, NULL, 0, NULL), 0);
	memcpy((void *)(uintptr_t)received(rig)->sge[0].addr, header, GRH);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, GRH + 1, NULL);
	cq->wc[cq->first].wc_flags |= IBV_WC_GRH;
	assert_int_equal(fi_cq_read(rig->cq[1], &entry, 1), 1);
	return entry.flags & FI_MULTICAST;
}

static void test_group_flag(void **state)
{
	struct rig *rig = *state;
	uint8_t grh[GRH];

	open_dgram(rig, 0);
	vrb_ep(rig->ep)->info->caps |= FI_MULTICAST;
	put_ipv6(grh, "fd00::9");
	assert_int_equal(group_flag_of(rig, grh), 0);
	grh[24] = 0xff;
	assert_int_equal(group_flag_of(rig, grh), FI_MULTICAST);
	put_ipv4(grh, "10.0.0.9", 0, false);
	assert_int_equal(group_flag_of(rig, grh), 0);
	grh[36] = 239;
	assert_int_equal(group_flag_of(rig, grh), FI_MULTICAST);
	close_dgram(rig);
}

static void test_source_of_send(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_data_entry entry;
	fi_addr_t src = 1;

	rig->one_cq = true;
	open_dgram(rig, 0);
	assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, NULL), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_int_equal(fi_cq_readfrom(rig->cq[0], &entry, 1, &src), 1);
	assert_int_equal(src, FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_cq_readfrom(rig->cq[0], &entry, 1, &src), -FI_EAGAIN);
	close_dgram(rig);
}

/* As a device does whose queue pair stops at an error. */
static void fail_recv(struct rig *rig, enum ibv_wc_status status)
{
	struct ibv_qp *qp = rig_qp(rig);

	fake_complete_recv(qp, status, IBV_WC_RECV, 0, NULL);
	qp->state = IBV_QPS_ERR;
	fake_flush(qp);
}

static void test_mend(void **state)
{
	struct rig *rig = *state;
	int i;

	open_dgram(rig, 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), 0);
		assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), 0);
		assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, NULL), 0);
		fail_recv(rig, i ? IBV_WC_LOC_LEN_ERR : IBV_WC_LOC_QP_OP_ERR);
		assert_int_equal(rig_error(rig->cq[1]).err, FI_ETRUNC);
		assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, NULL), -FI_EAGAIN);
		assert_int_equal(rig_error(rig->cq[1]).err, FI_ECANCELED);
		assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), -FI_EAGAIN);
		assert_int_equal(rig_qp(rig)->state, IBV_QPS_ERR);
		assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
		assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), 0);
		assert_int_equal(rig_qp(rig)->state, IBV_QPS_RTS);
		assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, NULL), 0);
		expect_sent(rig, IBV_WR_SEND, 8);
		rig_entry(rig->cq[0]);
		fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, GRH + 8, NULL);
		assert_int_equal(rig_entry(rig->cq[1]).len, 8);
	}
	close_dgram(rig);
}

static void test_no_mending(void **state)
{
	struct rig *rig = *state;

	open_dgram(rig, 0);
	assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), 0);
	fail_recv(rig, IBV_WC_LOC_LEN_ERR);
	rig_error(rig->cq[1]);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EIO;
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), -FI_EIO);
	assert_string_equal(fake.failed, "ibv_modify_qp");
	assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, NULL), -FI_EIO);
	close_dgram(rig);
}

static void test_lost(void **state)
{
	struct rig *rig = *state;

	open_dgram(rig, 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, NULL), -FI_ENODEV);
	assert_int_equal(fi_inject(rig->ep, buf, 8, to), -FI_ENODEV);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, 0, NULL), -FI_ENODEV);
	close_dgram(rig);
}

/* A device error while work requests are held back: they complete in order, with their address. */
static void test_more_refused(void **state)
{
	struct rig *rig = *state;
	struct iovec iov = { buf, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };

	open_dgram(rig, 0);
	msg.addr = to;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE | FI_COMPLETION), 0);
	fake_qp(rig_qp(rig))->post_err = ENOMEM;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, 0), -FI_ENOMEM);
	assert_int_equal(rig_sent(rig)->wr.wr.ud.remote_qpn, QPN);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	assert_int_equal(fi_send(rig->ep, buf, 8, NULL, to, NULL), -FI_EIO);
	close_dgram(rig);
}

/* Closing waits for what was injected: by a datagram to itself that has a wrong key. */
static void test_marker(void **state)
{
	struct rig *rig = *state;
	uint32_t qpn, qkey;

	open_dgram(rig, 0);
	assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
	qpn = rig_qp(rig)->qp_num;
	qkey = vrb_dgram(rig->ep)->qkey;
	assert_true(vrb_dgram_post_marker(vrb_dgram(rig->ep)));
	assert_int_equal(rig_sent(rig)->wr.wr.ud.remote_qpn, qpn);
	assert_int_not_equal(rig_sent(rig)->wr.wr.ud.remote_qkey, qkey);
	assert_int_equal(rig_sent(rig)->wr.send_flags, IBV_SEND_SIGNALED);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
	close_dgram(rig);
}

/* Without an address handle there is no such datagram, and its credit goes back to the pool. */
static void test_no_marker(void **state)
{
	struct rig *rig = *state;
	int *pool, credits;

	fake.attr.max_cqe = 8;
	rig->cq_attr.size = 8;
	open_dgram(rig, 0);
	pool = &vrb_cq(rig->cq[0])->pool;
	credits = *pool;
	assert_true(credits > 0);
	assert_int_equal(fi_inject(rig->ep, buf, 8, to), 0);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	close_dgram(rig);
	assert_string_equal(fake.failed, "ibv_create_ah");
	rig_no_entry(rig->cq[0]);
	assert_int_equal(*pool, credits);
}

static void test_enable_fails(void **state)
{
	struct rig *rig = *state;
	unsigned int n;
	int ret;

	open_only(rig, 0);
	for (n = 1; n < 20; n++) {
		fake.fail_at = fake.calls + n;
		fake.fail_errno = ENOMEM;
		fake.failed = NULL;
		ret = fi_enable(rig->ep);
		if (!fake.failed)
			break;
		assert_int_equal(ret, -FI_ENOMEM);
		assert_int_equal(fake.qps, 0);
		assert_int_equal(fi_send(rig->ep, buf, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	}
	fake.fail_at = 0;
	assert_int_equal(ret, 0);
	assert_in_range(n, 4, 10);
	close_dgram(rig);
}

/* The device is lost when all endpoints are told, but before this one is enabled. */
static void test_lost_while_enabling(void **state)
{
	struct rig *rig = *state;

	open_only(rig, 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	vrb_domain(rig->domain)->dead = true;
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fi_recv(rig->ep, buf, 8, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENODEV);
	close_dgram(rig);
}

static void test_no_length(void **state)
{
	struct rig *rig = *state;
	struct fi_info info;

	ask_dgram(rig, 0);
	rig_open_domain(rig);
	info = *rig->info;
	info.src_addr = buf;
	info.src_addrlen = 0;
	assert_int_equal(fi_endpoint(rig->domain, &info, &rig->ep, NULL), -FI_EINVAL);
}

static void test_open_fails(void **state)
{
	struct rig *rig = *state;
	unsigned int n;
	int ret;

	ask_dgram(rig, 0);
	rig_open_cqs(rig);
	for (n = 1; n < 20; n++) {
		fake.fail_at = fake.calls + n;
		fake.fail_errno = ENOMEM;
		fake.failed = NULL;
		ret = fi_endpoint(rig->domain, rig->info, &rig->ep, NULL);
		if (!fake.failed)
			break;
		if (ret)
			assert_int_equal(ret, -FI_ENOMEM);
		else
			assert_int_equal(fi_close(&rig->ep->fid), 0);
		rig->ep = NULL;
	}
	fake.fail_at = 0;
	assert_int_equal(ret, 0);
	assert_int_equal(fi_enable(rig->ep), -FI_ENOAV);
}

/* A receive of the alias does not disturb the template of the endpoint's, nor the reverse. */
static void alias_posts(struct rig *rig, uint64_t mode)
{
	struct fid_ep *alias = NULL;
	int message = mode ? 0 : 1; /* the segment */

	open_only(rig, mode);
	assert_int_equal(fi_ep_alias(rig->ep, &alias, FI_TRANSMIT | FI_COMPLETION), 0);
	assert_int_equal(fi_send(alias, buf, 100, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_recv(alias, buf, 100, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_enable(alias), 0);
	assert_int_equal(fi_av_insert(av, &(struct vrb_ud_name[]){ peer_name() }, 1, &to, 0, NULL),
			 1);
	assert_int_equal(fi_send(alias, buf, 100, NULL, to, NULL), 0);
	expect_sent(rig, IBV_WR_SEND, mode ? 100 - GRH : 100);
	assert_int_equal(fi_recv(rig->ep, buf, 100, NULL, 0, NULL), 0);
	assert_int_equal(received(rig)->sge[message].addr, (uintptr_t)buf);
	assert_int_equal(fi_recv(alias, buf + 200, 300, NULL, 0, NULL), 0);
	assert_int_equal(received(rig)->wr.num_sge, 1 + message);
	assert_int_equal(received(rig)->sge[message].addr, (uintptr_t)buf + 200);
	assert_int_equal(received(rig)->sge[message].length, 300);
	assert_int_equal(fi_recv(rig->ep, buf + 500, 100, NULL, 0, NULL), 0);
	assert_int_equal(received(rig)->sge[message].addr, (uintptr_t)buf + 500);
	assert_int_equal(fi_close(&alias->fid), 0);
	close_dgram(rig);
}

static void test_alias(void **state)
{
	alias_posts(*state, 0);
}

static void test_alias_prefix(void **state)
{
	alias_posts(*state, FI_MSG_PREFIX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_queue_pair),     RIG_TEST(test_multicast_key),
		RIG_TEST(test_send),	       RIG_TEST(test_refused),
		RIG_TEST(test_prefix),	       RIG_TEST(test_recv),
		RIG_TEST(test_source),	       RIG_TEST(test_group_flag),
		RIG_TEST(test_source_of_send), RIG_TEST(test_mend),
		RIG_TEST(test_no_mending),     RIG_TEST(test_lost),
		RIG_TEST(test_more_refused),   RIG_TEST(test_marker),
		RIG_TEST(test_enable_fails),   RIG_TEST(test_open_fails),
		RIG_TEST(test_alias),	       RIG_TEST(test_alias_prefix),
		RIG_TEST(test_no_marker),      RIG_TEST(test_lost_while_enabling),
		RIG_TEST(test_no_length),
	};

	return RIG_RUN("dgram", tests);
}
