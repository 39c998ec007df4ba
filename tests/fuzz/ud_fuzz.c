/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arbitrary packets on unreliable datagrams, from a peer that knows its connection's numbers and
 * from a stranger who does not: nothing is written outside the region that peers may write, and
 * what an honest peer sends meanwhile arrives once and in order. The input is a list of records: a
 * byte with the kind of event, one with the length of the rest, and the rest.
 */
#include <stdlib.h>
#include <string.h>
#include "prov/base/mr_cache.h"
#include "prov/base/refuse.h"
#include "prov/base/stats.h"
#include "prov/base/wait.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"
#include "prov/verbs/queue/qp.h"
#include "prov/verbs/rdm/arrive.h"
#include "tests/unit/ud_net.h"

enum { HONEST = 2, MESSAGES = 64, POLLS = 400, KEY = 7 };

enum event { STRANGER, PEER, SEND, READ, PASS, EVENTS };

struct fi_provider vrb_prov;
struct vrb_params vrb_params;

static struct ud_conn *peer[2], *honest[2];
static unsigned int sent, arrived;
static uint8_t numbers[MESSAGES], answer[2000];

static void check(bool truth)
{
	if (!truth)
		abort();
}

/* What the endpoints use of the rest of the library. */

uint8_t ofi_stats_text(const char *text)
{
	(void)text;
	return 0;
}

void fi_log(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys,
	    const char *func, int line, const char *fmt, ...)
{
	(void)prov, (void)level, (void)subsys, (void)func, (void)line, (void)fmt;
}

bool ofi_mr_cache_shed(struct ofi_mr_cache *cache, size_t len)
{
	(void)cache;
	(void)len;
	return false;
}

int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		   enum fi_log_subsys subsys)
{
	(void)prov, (void)level, (void)subsys;
	return 0;
}

int fi_log_ready(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys,
		 uint64_t *showtime)
{
	(void)prov, (void)level, (void)subsys, (void)showtime;
	return 0;
}

int ofi_refused(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys,
		const char *func, int line, int err, const char *fmt, ...)
{
	(void)prov, (void)level, (void)subsys, (void)func, (void)line, (void)fmt;
	return err;
}

int vrb_errno(int err)
{
	return -err;
}

const char *vrb_remedy(int err)
{
	(void)err;
	return "";
}

const char *vrb_reg_remedy(int err)
{
	(void)err;
	return "";
}

int vrb_wc_err(enum ibv_wc_status status, bool receive)
{
	(void)receive;
	return status == IBV_WC_RESP_TIMEOUT_ERR ? FI_ETIMEDOUT : FI_ECONNRESET;
}

struct vrb_tclass vrb_tclass_of(const struct fi_info *domain, const struct fi_info *ep)
{
	(void)domain, (void)ep;
	return (struct vrb_tclass){ 0 };
}

void vrb_tclass_set_ah(struct vrb_tclass tclass, struct ibv_ah_attr *attr)
{
	(void)tclass, (void)attr;
}

struct ibv_qp *vrb_qp_new(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return ibv_create_qp(pd, attr);
}

void vrb_qp_settle(const struct vrb_domain *domain, const struct fi_info *info,
		   struct ibv_qp_attr *attr, int mask)
{
	(void)domain, (void)info, (void)attr, (void)mask;
}

uint64_t ofi_now_ms(void)
{
	return vrb_ud_clock() / 1000;
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	(void)info;
	return calloc(1, sizeof(struct fi_info));
}

void fi_freeinfo(struct fi_info *info)
{
	free(info);
}

int vrb_rc_conn_send(struct vrb_rc_conn *conn, const void *bytes, size_t len)
{
	(void)conn, (void)bytes, (void)len;
	return 0;
}

/* Events. */

static void take(unsigned int at, const struct ibv_wc *wc)
{
	struct vrb_rdm_rx *rx;

	if (!(wc->wr_id & VRB_RDM_RX_BIT))
		return;
	rx = vrb_rdm_rx_of(wc);
	check(wc->byte_len <= UD_BUFFER);
	if (at == 0 && wc->qp_num == honest[0]->rc.qp_num) {
		check(wc->byte_len == 1);
		check(*(uint8_t *)(uintptr_t)rx->sge.addr == arrived++);
	}
	ud_net_repost(at, rx);
}

static void pass(uint64_t us)
{
	struct ibv_wc wc;
	unsigned int at;

	ud_net_pass(us);
	for (at = 0; at < UD_NODES; at++)
		while (ud_net_poll(at, &wc))
			take(at, &wc);
}

/* Letters come from an address of the peer, with the key of the name that they ask. */
static void aim_letter(struct vrb_ud_head *head, struct vrb_ud_place *place, uint8_t *payload)
{
	uint32_t carried = le32toh(place->len) % 400;

	head->to = htole32(KEY);
	place->len = htole32(carried ? carried : 100);
	memcpy(payload, ud_nodes[1].rc.ud->port.gid.raw, sizeof(union ibv_gid));
}

static bool take_request(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event)
{
	const uint8_t *bytes = event->param.ud.private_data;
	size_t len = event->param.ud.private_data_len + vrb_ud_carried(event), first;
	static uint8_t copy[UD_MTU];
	uint32_t mark;

	check(len <= sizeof(copy));
	memcpy(copy, bytes, len);
	if (vrb_ud_first_in(event, &first, &mark))
		check(first && first + 4 + event->param.ud.private_data_len == len);
	check(vrb_ud_words_check(event) || vrb_ud_number_in(event));
	vrb_rc(ep)->ud->requests++;
	vrb_ud_was_asked(ep, event);
	return false;
}

/* The fields that the end of a connection checks are relative to what it expects. */
static void aim(struct vrb_ud_head *head, struct vrb_ud_place *place)
{
	const struct vrb_ud_conn *ud = peer[0]->rc.ud;

	head->version = VRB_UD_VERSION;
	head->kind %= VRB_UD_KINDS;
	head->flags &= VRB_UD_LAST;
	head->to = htole32(peer[0]->rc.qp_num);
	head->from = htole32(peer[1]->rc.qp_num);
	head->number = htole32(ud->in.next + head->number % 70 - 3);
	head->next = htole32(ud->ack.oldest + head->next % 70 - 3);
	head->echo = htole32(ud->ack.order + head->echo % 8 - 4);
	if (place->key & 1)
		place->key = htole32(peer[0]->node->mr.rkey);
	if (place->id & 1)
		place->id = htole32(ud->next_id - 1);
	if (place->unused & 1)
		place->addr = htole64((uintptr_t)peer[0]->node->region + UD_REGION - 64 +
				      place->addr % 128);
	else
		place->addr %= 2000;
	place->unused = 0;
	if (head->kind == VRB_UD_ASK)
		aim_letter(head, place, (uint8_t *)(place + 1));
}

static void inject(bool is_peer, const uint8_t *data, size_t len)
{
	uint8_t bytes[VRB_UD_HEAD_MAX + 600] __attribute__((aligned(8))) = { 0 };
	struct vrb_ud_head *head = (void *)bytes;

	memcpy(bytes, data, len);
	if (is_peer && peer[0]->rc.ud) {
		aim(head, (void *)(bytes + VRB_UD_HEAD));
		len = len < VRB_UD_HEAD ? VRB_UD_HEAD : len;
		if (head->kind == VRB_UD_ASK)
			len += 300;
	}
	ud_net_inject(is_peer ? 1 : UD_STRANGER, is_peer ? ud_net_qpn(1) : UD_STRANGER_QPN, 0,
		      bytes, len);
}

static void post_read(size_t len)
{
	if (!peer[0]->rc.ud->over)
		ud_net_post(peer[0], IBV_WR_RDMA_READ, answer, (uint32_t)len * 7, 0x1000, 1, 2);
}

static void post_send(void)
{
	if (sent == MESSAGES)
		return;
	numbers[sent] = (uint8_t)sent;
	check(!ud_net_post(honest[1], IBV_WR_SEND, &numbers[sent], 1, 0, 0, 2));
	sent++;
}

static void act(enum event event, const uint8_t *data, size_t len)
{
	switch (event) {
	case STRANGER:
	case PEER:
		inject(event == PEER, data, len);
		break;
	case SEND:
		post_send();
		break;
	case READ:
		post_read(len);
		break;
	default:
		pass(len);
		break;
	}
}

static void begin(void)
{
	static const struct ud_net_params calm = { .asked = take_request };
	uint8_t *gid;

	ud_net_begin(1, &calm);
	ud_nodes[0].rc.ud->key = KEY;
	gid = ud_nodes[1].rc.ud->port.gid.raw;
	memcpy(gid, ofi_rdm_addr_mapped, sizeof(ofi_rdm_addr_mapped));
	memcpy(gid + sizeof(ofi_rdm_addr_mapped), (const uint8_t[]){ 10, 0, 0, 1 }, 4);
	ud_net_join(0, 1, &peer[0], &peer[1]);
	ud_net_join(HONEST, 0, &honest[1], &honest[0]);
	sent = arrived = 0;
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < POLLS && arrived < sent; i++)
		pass(10000);
	check(arrived == sent);
	check(!honest[0]->endings && !honest[1]->endings);
	for (i = 0; i < 2; i++) {
		ud_net_close(peer[i]);
		ud_net_close(honest[i]);
	}
	ud_net_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len;

	begin();
	for (; size >= 2; data += 2 + len, size -= 2 + len) {
		len = data[1] < size - 2 ? data[1] : size - 2;
		act(data[0] % EVENTS, data + 2, len);
	}
	end();
	return 0;
}
