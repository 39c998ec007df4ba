/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Compares hints attribute by attribute, and narrows a match to them. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "attr.h"

#define PRIMARY_CAPS                                                                \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_MULTICAST | FI_NAMED_RX_CTX | \
	 FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV |      \
	 FI_TAGGED_MULTI_RECV | FI_HMEM | FI_COLLECTIVE | FI_XPU | FI_AV_USER_ID)
#define MSG_MODIFIERS	  (FI_SEND | FI_RECV)
#define RMA_MODIFIERS	  (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define PRIMARY_MODIFIERS (MSG_MODIFIERS | RMA_MODIFIERS)
#define MR_TARGET_BITS	  (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

struct ask {
	uint32_t version;
	const struct fi_info *offer, *hints;
	/* The addresses of the attribute on both sides, and its type, if fi_tostr knows it. */
	const void *have, *asked;
	enum fi_type type;
};

/* Returns true if the offer satisfies the hints; if not, *miss describes the attribute. */
typedef bool check_fn(const struct ask *ask, struct ofi_miss *miss);

static void value_text(char *buf, size_t len, const void *value, enum fi_type type)
{
	buf[0] = '\0';
	if (!fi_tostr_r(buf, len, value, type) || !buf[0])
		snprintf(buf, len, "none");
}

static bool miss_values(struct ofi_miss *miss, const void *have, const void *asked,
			enum fi_type type)
{
	value_text(miss->asked, sizeof(miss->asked), asked, type);
	value_text(miss->has, sizeof(miss->has), have, type);
	return false;
}

static bool miss_texts(struct ofi_miss *miss, const char *have, const char *asked)
{
	snprintf(miss->asked, sizeof(miss->asked), "%s", asked);
	snprintf(miss->has, sizeof(miss->has), "%s", have);
	return false;
}

static bool miss_numbers(struct ofi_miss *miss, uint64_t have, uint64_t asked)
{
	snprintf(miss->asked, sizeof(miss->asked), "%llu", (unsigned long long)asked);
	snprintf(miss->has, sizeof(miss->has), "at most %llu", (unsigned long long)have);
	return false;
}

static bool at_most(const struct ask *ask, struct ofi_miss *miss)
{
	size_t has = *(const size_t *)ask->have, wants = *(const size_t *)ask->asked;

	return wants <= has ? true : miss_numbers(miss, has, wants);
}

static bool at_most_32(const struct ask *ask, struct ofi_miss *miss)
{
	uint32_t has = *(const uint32_t *)ask->have, wants = *(const uint32_t *)ask->asked;

	return wants <= has ? true : miss_numbers(miss, has, wants);
}

/* Reports the missing bits, not all requested ones. */
static bool has_bits(uint64_t has, const struct ask *ask, struct ofi_miss *miss)
{
	uint64_t lacking = *(const uint64_t *)ask->asked & ~has;

	return lacking ? miss_values(miss, &has, &lacking, ask->type) : true;
}

static bool check_bits(const struct ask *ask, struct ofi_miss *miss)
{
	return has_bits(*(const uint64_t *)ask->have, ask, miss);
}

/* Capabilities of the endpoint that belong to the other direction have no effect. */
static bool context_caps(const struct ask *ask, struct ofi_miss *miss)
{
	return has_bits(*(const uint64_t *)ask->have | ask->offer->caps, ask, miss);
}

/* Mode bits work in the opposite direction: the hints list what the application can do. */
static bool mode_bits(uint64_t needs, uint64_t offers, struct ofi_miss *miss)
{
	uint64_t lacking = needs & ~offers;

	if (!lacking)
		return true;
	value_text(miss->asked, sizeof(miss->asked), &offers, FI_TYPE_MODE);
	snprintf(miss->has, sizeof(miss->has), "requires ");
	value_text(miss->has + 9, sizeof(miss->has) - 9, &lacking, FI_TYPE_MODE);
	return false;
}

static bool info_mode(const struct ask *ask, struct ofi_miss *miss)
{
	return mode_bits(*(const uint64_t *)ask->have, *(const uint64_t *)ask->asked, miss);
}

/* 0 stands for the mode of the fi_info. */
static bool context_mode(const struct ask *ask, struct ofi_miss *miss)
{
	uint64_t offers = *(const uint64_t *)ask->asked;

	return mode_bits(*(const uint64_t *)ask->have, offers ? offers : ask->hints->mode, miss);
}

/* Checks an enum whose value 0 means any. */
static bool check_same(const struct ask *ask, struct ofi_miss *miss)
{
	int wants = *(const int *)ask->asked;

	if (!wants || wants == *(const int *)ask->have)
		return true;
	return miss_values(miss, ask->have, ask->asked, ask->type);
}

bool ofi_attr_format_fits(uint32_t has, uint32_t wants)
{
	if (has == FI_FORMAT_UNSPEC || wants == FI_FORMAT_UNSPEC || has == wants)
		return true;
	if ((wants == FI_SOCKADDR || wants == FI_ADDR_STR) && has >= FI_SOCKADDR_IN &&
	    has <= FI_SOCKADDR_IB)
		return true;
	return wants == FI_SOCKADDR_IP && (has == FI_SOCKADDR_IN || has == FI_SOCKADDR_IN6);
}

static bool addr_format(const struct ask *ask, struct ofi_miss *miss)
{
	return ofi_attr_format_fits(*(const uint32_t *)ask->have, *(const uint32_t *)ask->asked) ||
	       miss_values(miss, ask->have, ask->asked, ask->type);
}

static bool check_name(const struct ask *ask, struct ofi_miss *miss)
{
	const char *has = *(char *const *)ask->have, *wants = *(char *const *)ask->asked;

	return !wants || !has || !strcmp(wants, has) || miss_texts(miss, has, wants);
}

/* The less serialization the application guarantees, the smaller the rank. */
static int threading_rank(int threading)
{
	static const char rank[] = {
		[FI_THREAD_UNSPEC] = 5,	  [FI_THREAD_SAFE] = 0,	      [FI_THREAD_FID] = 1,
		[FI_THREAD_ENDPOINT] = 2, [FI_THREAD_COMPLETION] = 3, [FI_THREAD_DOMAIN] = 4,
	};

	return threading >= 0 && (size_t)threading < sizeof(rank) ? rank[threading] : -1;
}

static bool check_threading(const struct ask *ask, struct ofi_miss *miss)
{
	if (threading_rank(*(const int *)ask->asked) >= threading_rank(*(const int *)ask->have))
		return true;
	return miss_values(miss, ask->have, ask->asked, ask->type);
}

/*
 * FI_PROGRESS_AUTO also satisfies a request for FI_PROGRESS_MANUAL, and both satisfy one for
 * FI_PROGRESS_CONTROL_UNIFIED.
 */
static bool check_progress(const struct ask *ask, struct ofi_miss *miss)
{
	int wants = *(const int *)ask->asked;

	if (wants == FI_PROGRESS_CONTROL_UNIFIED ||
	    (*(const int *)ask->have == FI_PROGRESS_AUTO && wants <= FI_PROGRESS_CONTROL_UNIFIED))
		return true;
	return check_same(ask, miss);
}

static bool resource_mgmt(const struct ask *ask, struct ofi_miss *miss)
{
	static const char *const names[] = { "FI_RM_UNSPEC", "FI_RM_DISABLED", "FI_RM_ENABLED" };
	unsigned has = *(const unsigned *)ask->have, wants = *(const unsigned *)ask->asked;

	return wants <= has ||
	       miss_texts(miss, names[has], wants <= FI_RM_ENABLED ? names[wants] : "unknown");
}

static bool av_type(const struct ask *ask, struct ofi_miss *miss)
{
	return (*(const int *)ask->have == FI_AV_UNSPEC &&
		*(const unsigned *)ask->asked <= FI_AV_TABLE) ||
	       check_same(ask, miss);
}

static bool check_tclass(const struct ask *ask, struct ofi_miss *miss)
{
	uint32_t wants = *(const uint32_t *)ask->asked;

	if (ofi_attr_tclass_fits(wants))
		return true;
	snprintf(miss->asked, sizeof(miss->asked), "0x%x", wants);
	snprintf(miss->has, sizeof(miss->has), "FI_TC_* or fi_tc_dscp_set(0 to %d)", OFI_DSCP_MAX);
	return false;
}

/* The domain limits the number of contexts of an endpoint and how many endpoints may share one. */
static bool check_contexts(size_t max, size_t max_shared, size_t wants, struct ofi_miss *miss)
{
	if (wants == FI_SHARED_CONTEXT && !max_shared) {
		snprintf(miss->asked, sizeof(miss->asked), "FI_SHARED_CONTEXT");
		snprintf(miss->has, sizeof(miss->has), "at most %zu, not shared", max);
		return false;
	}
	if (wants == FI_SHARED_CONTEXT || wants <= max)
		return true;
	return miss_numbers(miss, max, wants);
}

static bool tx_contexts(const struct ask *ask, struct ofi_miss *miss)
{
	const struct fi_domain_attr *domain = ask->offer->domain_attr;

	return check_contexts(domain->max_ep_tx_ctx, domain->max_ep_stx_ctx,
			      *(const size_t *)ask->asked, miss);
}

static bool rx_contexts(const struct ask *ask, struct ofi_miss *miss)
{
	const struct fi_domain_attr *domain = ask->offer->domain_attr;

	return check_contexts(domain->max_ep_rx_ctx, domain->max_ep_srx_ctx,
			      *(const size_t *)ask->asked, miss);
}

static bool auth_key_size(const struct ask *ask, struct ofi_miss *miss)
{
	size_t has = *(const size_t *)ask->have, wants = *(const size_t *)ask->asked;

	if (FI_VERSION_LT(ask->version, FI_VERSION(1, 5)) || !wants || wants == has)
		return true;
	return miss_numbers(miss, has, wants);
}

/* A format without fields, as our providers have, satisfies every format that is not wider. */
static bool tag_format(const struct ask *ask, struct ofi_miss *miss)
{
	uint64_t has = *(const uint64_t *)ask->have, wants = *(const uint64_t *)ask->asked;

	if (!(ask->hints->caps & FI_TAGGED) || wants <= (has | has >> 1))
		return true;
	snprintf(miss->asked, sizeof(miss->asked), "0x%016" PRIx64, wants);
	snprintf(miss->has, sizeof(miss->has), "at most 0x%016" PRIx64, has | has >> 1);
	return false;
}

static bool is_legacy(uint32_t version, int asked)
{
	return FI_VERSION_LT(version, FI_VERSION(1, 5)) || asked == FI_MR_BASIC ||
	       asked == FI_MR_SCALABLE;
}

/*
 * A capability without modifiers means all of its modifiers; FI_SEND or FI_RECV without a
 * capability means messages.
 */
static uint64_t with_modifiers(uint64_t caps)
{
	if (caps & MSG_MODIFIERS && !(caps & (FI_MSG | FI_TAGGED)))
		caps |= FI_MSG;
	if (caps & (FI_MSG | FI_TAGGED) && !(caps & MSG_MODIFIERS))
		caps |= MSG_MODIFIERS;
	if (caps & (FI_RMA | FI_ATOMIC) && !(caps & RMA_MODIFIERS))
		caps |= RMA_MODIFIERS;
	return caps;
}

static bool is_target(uint64_t caps)
{
	return caps & (FI_RMA | FI_ATOMIC) &&
	       with_modifiers(caps) & (FI_REMOTE_READ | FI_REMOTE_WRITE);
}

/* An endpoint that is not a target of RMA does not need any particular registration mode. */
static int mr_required(const struct fi_info *have, uint64_t caps)
{
	int mode = have->domain_attr->mr_mode;

	return !caps || is_target(caps) ? mode : mode & ~MR_TARGET_BITS;
}

static bool mr_mode_legacy(const struct ask *ask, int required, int asked, struct ofi_miss *miss)
{
	const char *names[] = { "FI_MR_UNSPEC", "FI_MR_BASIC", "FI_MR_SCALABLE" };
	const char *name = (unsigned)asked < 3 ? names[asked] : "FI_MR_BASIC";

	if (required & FI_MR_HMEM)
		return miss_texts(miss, "FI_HMEM requires FI_MR_HMEM", name);
	if (required & MR_TARGET_BITS && asked == FI_MR_SCALABLE)
		return miss_texts(miss, "FI_MR_BASIC", name);
	if (required & FI_MR_LOCAL && !(ask->hints->mode & FI_LOCAL_MR) && !(asked & FI_MR_LOCAL)) {
		snprintf(miss->asked, sizeof(miss->asked), "%s without mode FI_LOCAL_MR", name);
		snprintf(miss->has, sizeof(miss->has), "requires mode FI_LOCAL_MR");
		return false;
	}
	return true;
}

static bool mr_mode(const struct ask *ask, struct ofi_miss *miss)
{
	int required = mr_required(ask->offer, ask->hints->caps), wants = *(const int *)ask->asked;

	if (is_legacy(ask->version, wants))
		return mr_mode_legacy(ask, required, wants, miss);
	if (!(required & ~wants))
		return true;
	return miss_values(miss, &required, &wants, ask->type);
}

enum part { INFO, TX, RX, EP, DOMAIN, FABRIC };

struct row {
	const char *attr;
	enum part part;
	size_t offset;
	enum fi_type type;
	check_fn *check;
};

#define ROW(part_, struct_, prefix_, field_, check_, type_)                                       \
	{                                                                                         \
		prefix_ #field_, part_, offsetof(struct struct_, field_), FI_TYPE_##type_, check_ \
	}
#define INFO_ROW(field_, check_, type_) ROW(INFO, fi_info, "", field_, check_, type_)
#define TX_ROW(field_, check_, type_)	ROW(TX, fi_tx_attr, "tx_attr->", field_, check_, type_)
#define RX_ROW(field_, check_, type_)	ROW(RX, fi_rx_attr, "rx_attr->", field_, check_, type_)
#define EP_ROW(field_, check_, type_)	ROW(EP, fi_ep_attr, "ep_attr->", field_, check_, type_)
#define DOMAIN_ROW(field_, check_, type_) \
	ROW(DOMAIN, fi_domain_attr, "domain_attr->", field_, check_, type_)
#define FABRIC_ROW(field_, check_, type_) \
	ROW(FABRIC, fi_fabric_attr, "fabric_attr->", field_, check_, type_)

/* Misses are reported in this order. FI_TYPE_INFO stands for "not used". */
static const struct row rows[] = {
	FABRIC_ROW(name, check_name, INFO),
	FABRIC_ROW(prov_name, check_name, INFO),
	FABRIC_ROW(prov_version, at_most_32, INFO),
	DOMAIN_ROW(name, check_name, INFO),
	EP_ROW(type, check_same, EP_TYPE),
	INFO_ROW(caps, check_bits, CAPS),
	INFO_ROW(mode, info_mode, MODE),
	INFO_ROW(addr_format, addr_format, ADDR_FORMAT),
	DOMAIN_ROW(mr_mode, mr_mode, MR_MODE),
	DOMAIN_ROW(threading, check_threading, THREADING),
	DOMAIN_ROW(control_progress, check_progress, PROGRESS),
	DOMAIN_ROW(data_progress, check_progress, PROGRESS),
	DOMAIN_ROW(resource_mgmt, resource_mgmt, INFO),
	DOMAIN_ROW(av_type, av_type, AV_TYPE),
	DOMAIN_ROW(caps, check_bits, CAPS),
	DOMAIN_ROW(mode, context_mode, MODE),
	DOMAIN_ROW(mr_key_size, at_most, INFO),
	DOMAIN_ROW(cq_data_size, at_most, INFO),
	DOMAIN_ROW(cq_cnt, at_most, INFO),
	DOMAIN_ROW(ep_cnt, at_most, INFO),
	DOMAIN_ROW(tx_ctx_cnt, at_most, INFO),
	DOMAIN_ROW(rx_ctx_cnt, at_most, INFO),
	DOMAIN_ROW(max_ep_tx_ctx, at_most, INFO),
	DOMAIN_ROW(max_ep_rx_ctx, at_most, INFO),
	DOMAIN_ROW(max_ep_stx_ctx, at_most, INFO),
	DOMAIN_ROW(max_ep_srx_ctx, at_most, INFO),
	DOMAIN_ROW(cntr_cnt, at_most, INFO),
	DOMAIN_ROW(mr_iov_limit, at_most, INFO),
	DOMAIN_ROW(auth_key_size, auth_key_size, INFO),
	DOMAIN_ROW(max_err_data, at_most, INFO),
	DOMAIN_ROW(mr_cnt, at_most, INFO),
	DOMAIN_ROW(tclass, check_tclass, INFO),
	DOMAIN_ROW(max_ep_auth_key, at_most, INFO),
	DOMAIN_ROW(max_group_id, at_most_32, INFO),
	DOMAIN_ROW(max_cntr_value, at_most, INFO),
	DOMAIN_ROW(max_err_cntr_value, at_most, INFO),
	DOMAIN_ROW(max_xpu_ctx_cnt, at_most, INFO),
	EP_ROW(protocol, check_same, PROTOCOL),
	EP_ROW(protocol_version, at_most_32, INFO),
	EP_ROW(max_msg_size, at_most, INFO),
	EP_ROW(max_order_raw_size, at_most, INFO),
	EP_ROW(max_order_war_size, at_most, INFO),
	EP_ROW(max_order_waw_size, at_most, INFO),
	EP_ROW(mem_tag_format, tag_format, INFO),
	EP_ROW(tx_ctx_cnt, tx_contexts, INFO),
	EP_ROW(rx_ctx_cnt, rx_contexts, INFO),
	EP_ROW(auth_key_size, auth_key_size, INFO),
	TX_ROW(caps, context_caps, CAPS),
	TX_ROW(mode, context_mode, MODE),
	TX_ROW(op_flags, check_bits, OP_FLAGS),
	TX_ROW(msg_order, check_bits, MSG_ORDER),
	TX_ROW(comp_order, check_bits, MSG_ORDER),
	TX_ROW(inject_size, at_most, INFO),
	TX_ROW(size, at_most, INFO),
	TX_ROW(iov_limit, at_most, INFO),
	TX_ROW(rma_iov_limit, at_most, INFO),
	TX_ROW(tclass, check_tclass, INFO),
	RX_ROW(caps, context_caps, CAPS),
	RX_ROW(mode, context_mode, MODE),
	RX_ROW(op_flags, check_bits, OP_FLAGS),
	RX_ROW(msg_order, check_bits, MSG_ORDER),
	RX_ROW(comp_order, check_bits, MSG_ORDER),
	RX_ROW(size, at_most, INFO),
	RX_ROW(iov_limit, at_most, INFO),
};

static const void *part_of(const struct fi_info *info, enum part part)
{
	switch (part) {
	case TX:
		return info->tx_attr;
	case RX:
		return info->rx_attr;
	case EP:
		return info->ep_attr;
	case DOMAIN:
		return info->domain_attr;
	case FABRIC:
		return info->fabric_attr;
	default:
		return info;
	}
}

/*
 * Without domain attributes, an application of API 1.4 or earlier must still offer FI_LOCAL_MR; one
 * of API 1.5 or later has said nothing about registration.
 */
static bool legacy_local_mr(const struct ask *ask, struct ofi_miss *miss)
{
	if (ask->hints->domain_attr || !ask->offer->domain_attr ||
	    FI_VERSION_GE(ask->version, FI_VERSION(1, 5)))
		return true;
	miss->attr = "domain_attr->mr_mode";
	return mr_mode_legacy(ask, mr_required(ask->offer, ask->hints->caps), FI_MR_UNSPEC, miss);
}

unsigned ofi_attr_misses(uint32_t version, const struct fi_info *have, const struct fi_info *hints,
			 struct ofi_miss *first)
{
	struct ask ask = { .version = version, .offer = have, .hints = hints };
	struct ofi_miss scratch;
	unsigned misses = 0;
	size_t i;

	if (!hints)
		return 0;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *has = part_of(have, rows[i].part);
		const char *asked = part_of(hints, rows[i].part);
		struct ofi_miss *miss = !misses && first ? first : &scratch;

		if (!asked || !has)
			continue;
		miss->attr = rows[i].attr;
		ask.have = has + rows[i].offset;
		ask.asked = asked + rows[i].offset;
		ask.type = rows[i].type;
		if (!rows[i].check(&ask, miss))
			misses++;
	}
	if (!legacy_local_mr(&ask, !misses && first ? first : &scratch))
		misses++;
	return misses;
}

static uint64_t narrow_caps(uint64_t have, uint64_t asked)
{
	if (!asked)
		return have;
	asked = with_modifiers(asked);
	return have & (asked | ~(PRIMARY_CAPS | PRIMARY_MODIFIERS));
}

static void narrow_tx(struct fi_tx_attr *tx, uint64_t caps, const struct fi_tx_attr *hints)
{
	tx->caps &= caps;
	if (hints)
		tx->caps = narrow_caps(tx->caps, hints->caps);
	tx->op_flags = hints ? hints->op_flags : 0;
	if (hints && hints->tclass)
		tx->tclass = hints->tclass;
}

static void narrow_rx(struct fi_rx_attr *rx, uint64_t caps, const struct fi_rx_attr *hints)
{
	rx->caps &= caps;
	if (hints)
		rx->caps = narrow_caps(rx->caps, hints->caps);
	rx->op_flags = hints ? hints->op_flags : 0;
}

static void narrow_mr_mode(uint32_t version, struct fi_info *info, const struct fi_info *hints)
{
	struct fi_domain_attr *domain = info->domain_attr;
	uint64_t caps = hints ? hints->caps : 0;
	bool asks = hints && hints->domain_attr;
	int asked = asks ? hints->domain_attr->mr_mode : 0;
	/* The keys of an initiator are those of its targets. */
	int kept = caps & (FI_RMA | FI_ATOMIC) ? domain->mr_mode : 0;

	/* A program that offers FI_MR_ALLOCATED gets it: devices register memory that exists. */
	domain->mr_mode =
		mr_required(info, caps) | (asks ? asked & (kept | FI_MR_ALLOCATED) : kept);
	if (!is_legacy(version, asked))
		return;
	if (domain->mr_mode & FI_MR_LOCAL)
		info->mode |= FI_LOCAL_MR;
	domain->mr_mode = asked == FI_MR_SCALABLE ? FI_MR_SCALABLE : FI_MR_BASIC;
}

static void narrow_domain(struct fi_domain_attr *domain, const struct fi_domain_attr *hints)
{
	if (hints->threading)
		domain->threading = hints->threading;
	if (hints->control_progress)
		domain->control_progress = hints->control_progress;
	if (hints->data_progress)
		domain->data_progress = hints->data_progress;
	if (hints->av_type)
		domain->av_type = hints->av_type;
	if (hints->tclass)
		domain->tclass = hints->tclass;
}

static void narrow_ep(struct fi_ep_attr *ep, const struct fi_ep_attr *hints)
{
	if (hints->tx_ctx_cnt)
		ep->tx_ctx_cnt = hints->tx_ctx_cnt;
	if (hints->rx_ctx_cnt)
		ep->rx_ctx_cnt = hints->rx_ctx_cnt;
	if (ep->mem_tag_format && hints->mem_tag_format)
		ep->mem_tag_format = hints->mem_tag_format;
}

void ofi_attr_narrow(uint32_t version, struct fi_info *info, const struct fi_info *hints)
{
	info->caps = narrow_caps(info->caps, hints ? hints->caps : 0);
	narrow_tx(info->tx_attr, info->caps, hints ? hints->tx_attr : NULL);
	narrow_rx(info->rx_attr, info->caps, hints ? hints->rx_attr : NULL);
	narrow_mr_mode(version, info, hints);
	if (hints && hints->domain_attr)
		narrow_domain(info->domain_attr, hints->domain_attr);
	if (hints && hints->ep_attr)
		narrow_ep(info->ep_attr, hints->ep_attr);
	if (hints && info->addr_format && hints->addr_format == FI_ADDR_STR)
		info->addr_format = FI_ADDR_STR;
}
