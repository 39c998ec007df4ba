/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Invalid calls for each type of endpoint and its objects: each is refused, and exactly one line of
 * the log, at level warn or info, gives the reason. Calls that an object does not have only return
 * -FI_ENOSYS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include "check.h"
#include "objects.h"

#define BAD_FLAG (1ULL << 60)

static char buf[64];
static char last[512];
static int lines, wrong;

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys, uint64_t flags)
{
	(void)prov;
	(void)subsys;
	(void)flags;
	return level == FI_LOG_WARN || level == FI_LOG_INFO;
}

static int log_ready(const struct fi_provider *prov, enum fi_log_level level,
		     enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	(void)showtime;
	return log_enabled(prov, level, subsys, flags);
}

static void log_count(const struct fi_provider *prov, enum fi_log_level level,
		      enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)prov;
	(void)level;
	(void)subsys;
	(void)func;
	(void)line;
	lines++;
	snprintf(last, sizeof(last), "%s", msg);
}

static void refused(const char *call, long ret, int want)
{
	if (ret >= 0 || lines != want || (!want && ret != -FI_ENOSYS)) {
		printf("%s: %ld (%s), %d lines of the log, expected %d%s%s\n", call, ret,
		       ret < 0 ? fi_strerror((int)-ret) : "success", lines, want, lines ? ": " : "",
		       lines ? last : "");
		wrong++;
	}
	lines = 0;
}

#define REFUSED(call) refused(#call, (long)(call), 1)

/* The code is the one that the manual names. */
static void refused_as(const char *call, long ret, long code)
{
	if (ret != code) {
		printf("%s: %ld, expected %ld (%s)\n", call, ret, code, fi_strerror((int)-code));
		wrong++;
	}
	refused(call, ret, 1);
}

#define REFUSED_AS(call, code) refused_as(#call, (long)(call), code)
/* The call does not exist here. */
#define LACKS(call) refused(#call, (long)(call), 0)

static void open_all(enum fi_ep_type type)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_info *hints = fi_allocinfo();

	hints->ep_attr->type = type;
	hints->mode = FI_CONTEXT;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	OK(fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
	OK(fi_eq_open(fabric, &eq_attr, &eq, NULL));
	OK(fi_cq_open(domain, &cq_attr, &cq, NULL));
	OK(fi_cntr_open(domain, &cntr_attr, &cntr, NULL));
	OK(fi_av_open(domain, &av_attr, &av, NULL));
	OK(fi_mr_reg(domain, buf, sizeof(buf), FI_SEND | FI_RECV, 0, 0, 0, &mr, NULL));
	OK(fi_endpoint(domain, info, &ep, NULL));
	if (type == FI_EP_MSG)
		OK(fi_ep_bind(ep, &eq->fid, 0));
	else
		OK(fi_ep_bind(ep, &av->fid, 0));
	OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_enable(ep));
	if (type == FI_EP_MSG)
		OK(fi_passive_ep(fabric, info, &pep, NULL));
	lines = 0;
}

static void of_the_core(void)
{
	struct fid_fabric *other = NULL;
	struct fi_info *found = NULL;
	struct fid *fid = NULL;

	REFUSED(fi_getinfo(FI_VERSION(99, 0), NULL, NULL, 0, NULL, &found));
	REFUSED(fi_getinfo(FI_VERSION(2, 6), NULL, NULL, FI_TRIGGER, NULL, &found));
	REFUSED(fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, NULL, NULL));
	REFUSED(fi_fabric(NULL, &other, NULL));
	REFUSED(fi_fabric(info->fabric_attr, NULL, NULL));
	REFUSED(fi_open(FI_VERSION(2, 6), "nonsense", NULL, 0, 0, &fid, NULL));
	REFUSED(fi_open(FI_VERSION(2, 6), NULL, NULL, 0, 0, &fid, NULL));
}

static void of_fabrics(void)
{
	struct fi_eq_attr eq_attr = { .wait_obj = 99 };
	struct fi_wait_attr wait_attr = { .wait_obj = 99 };
	struct fid_domain *other = NULL;
	struct fid_wait *wait = NULL;
	struct fid_pep *passive = NULL;
	struct fid_eq *queue = NULL;
	struct fid *fids[] = { &mr->fid };
	void *ops;

	REFUSED(fi_domain(fabric, NULL, &other, NULL));
	REFUSED(fi_domain(fabric, info, NULL, NULL));
	REFUSED(fi_eq_open(fabric, &eq_attr, &queue, NULL));
	eq_attr = (struct fi_eq_attr){ .flags = BAD_FLAG };
	REFUSED(fi_eq_open(fabric, &eq_attr, &queue, NULL));
	REFUSED(fi_eq_open(fabric, &eq_attr, NULL, NULL));
	REFUSED(fi_passive_ep(fabric, NULL, &passive, NULL));
	REFUSED(fi_passive_ep(fabric, info, NULL, NULL));
	REFUSED(fi_wait_open(fabric, &wait_attr, &wait));
	REFUSED(fi_wait_open(fabric, NULL, &wait));
	REFUSED(fi_trywait(fabric, fids, 1));
	REFUSED(fi_trywait(fabric, NULL, 1));
	REFUSED(fi_close(&fabric->fid));
	LACKS(fi_control(&fabric->fid, 9999, NULL));
	LACKS(fi_open_ops(&fabric->fid, "nonsense", 0, &ops, NULL));
	REFUSED(fi_open_ops(&domain->fid, "nonsense", 0, &ops, NULL));
	REFUSED(fi_open_ops(&domain->fid, NULL, 0, &ops, NULL));
}

static void of_domains(void)
{
	struct fid_ep *other = NULL;
	struct fid_stx *stx;
	struct fi_poll_attr poll_attr = { .flags = BAD_FLAG };
	struct fid_poll *set;
	struct fi_info *bad = fi_dupinfo(info);

	REFUSED(fi_domain_bind(domain, NULL, 0));
	REFUSED(fi_domain_bind(domain, &cq->fid, 0));
	REFUSED(fi_domain_bind(domain, &eq->fid, BAD_FLAG));
	REFUSED(fi_close(&domain->fid));
	LACKS(fi_control(&domain->fid, 9999, NULL));
	REFUSED(fi_endpoint(domain, NULL, &other, NULL));
	REFUSED(fi_endpoint(domain, info, NULL, NULL));
	bad->ep_attr->type = FI_EP_SOCK_STREAM;
	REFUSED(fi_endpoint(domain, bad, &other, NULL));
	bad->ep_attr->type = info->ep_attr->type;
	if (info->ep_attr->type != FI_EP_RDM) { /* it queues in memory */
		bad->tx_attr->size = SIZE_MAX;
		REFUSED(fi_endpoint(domain, bad, &other, NULL));
	}
	REFUSED(fi_poll_open(domain, &poll_attr, &set));
	REFUSED(fi_poll_open(domain, &poll_attr, NULL));
	if (info->domain_attr->max_ep_tx_ctx > 1)
		REFUSED(fi_scalable_ep(domain, info, NULL, NULL));
	else
		LACKS(fi_scalable_ep(domain, info, &other, NULL));
	if (info->domain_attr->max_ep_stx_ctx)
		REFUSED(fi_stx_context(domain, NULL, NULL, NULL));
	else
		LACKS(fi_stx_context(domain, NULL, &stx, NULL));
	if (info->domain_attr->max_ep_srx_ctx)
		REFUSED(fi_srx_context(domain, NULL, NULL, NULL));
	else
		LACKS(fi_srx_context(domain, NULL, &other, NULL));
	fi_freeinfo(bad);
}

static void of_atomics(void)
{
	struct fi_atomic_attr attr;

	if (!(info->caps & FI_ATOMIC)) {
		LACKS(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, 0));
		return;
	}
	REFUSED(fi_query_atomic(domain, FI_UINT64, FI_SUM, NULL, 0));
	REFUSED(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, BAD_FLAG));
	REFUSED(fi_query_atomic(domain, FI_UINT64, (enum fi_op)999, &attr, 0));
	REFUSED(fi_query_atomic(domain, (enum fi_datatype)999, FI_SUM, &attr, 0));
	REFUSED(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr,
				FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC));
}

static void of_queues(void)
{
	struct fi_cq_attr attr = { .format = 99 };
	struct fid_cq *other = NULL;

	REFUSED(fi_cq_open(domain, &attr, &other, NULL));
	attr = (struct fi_cq_attr){ .wait_obj = 99 };
	REFUSED(fi_cq_open(domain, &attr, &other, NULL));
	attr = (struct fi_cq_attr){ .flags = BAD_FLAG };
	REFUSED(fi_cq_open(domain, &attr, &other, NULL));
	attr = (struct fi_cq_attr){ .size = SIZE_MAX };
	REFUSED(fi_cq_open(domain, &attr, &other, NULL));
	attr = (struct fi_cq_attr){ .wait_obj = FI_WAIT_SET };
	REFUSED(fi_cq_open(domain, &attr, &other, NULL));
	attr = (struct fi_cq_attr){ 0 };
	REFUSED(fi_cq_open(domain, &attr, NULL, NULL));
	REFUSED(fi_close(&cq->fid));
	REFUSED(fi_control(&cq->fid, FI_GETWAIT, NULL));
	REFUSED(fi_control(&cq->fid, 9999, NULL));
	LACKS(fi_ep_bind((struct fid_ep *)cq, &eq->fid, 0));
}

static void of_counters(void)
{
	struct fi_cntr_attr attr = { .flags = BAD_FLAG };
	struct fid_cntr *other = NULL;

	REFUSED(fi_cntr_open(domain, &attr, &other, NULL));
	attr = (struct fi_cntr_attr){ .events = (enum fi_cntr_events)99 };
	REFUSED(fi_cntr_open(domain, &attr, &other, NULL));
	attr = (struct fi_cntr_attr){ .wait_obj = 99 };
	REFUSED(fi_cntr_open(domain, &attr, &other, NULL));
	attr = (struct fi_cntr_attr){ 0 };
	REFUSED(fi_cntr_open(domain, &attr, NULL, NULL));
	REFUSED(fi_control(&cntr->fid, 9999, NULL));
}

static void of_address_vectors(void)
{
	struct fi_av_attr attr = { .flags = BAD_FLAG };
	struct fid_av *other = NULL;
	fi_addr_t addr = 12345;
	size_t len = 0;

	REFUSED(fi_av_open(domain, NULL, &other, NULL));
	REFUSED(fi_av_open(domain, &attr, &other, NULL));
	attr = (struct fi_av_attr){ .type = 99 };
	REFUSED(fi_av_open(domain, &attr, &other, NULL));
	attr = (struct fi_av_attr){ .rx_ctx_bits = 65 };
	REFUSED(fi_av_open(domain, &attr, &other, NULL));
	attr = (struct fi_av_attr){ 0 };
	REFUSED(fi_av_open(domain, &attr, NULL, NULL));
	REFUSED(fi_av_bind(av, NULL, 0));
	REFUSED(fi_av_bind(av, &cq->fid, 0));
	REFUSED(fi_av_insert(av, NULL, 1, NULL, 0, NULL));
	REFUSED(fi_av_insert(av, buf, 1, NULL, BAD_FLAG, NULL));
	REFUSED(fi_av_insertsvc(av, NULL, NULL, NULL, 0, NULL));
	REFUSED(fi_av_remove(av, &addr, 1, 0));
	REFUSED(fi_av_remove(av, NULL, 1, 0));
	REFUSED(fi_av_remove(av, &addr, 1, BAD_FLAG));
	REFUSED(fi_av_lookup(av, addr, buf, &len));
	REFUSED(fi_av_lookup(av, addr, buf, NULL));
	REFUSED(fi_av_set_user_id(av, addr, 1, 0));
	LACKS(fi_control(&av->fid, 9999, NULL));
}

static void of_memory(void)
{
	struct fi_mr_attr attr = { 0 };
	struct fid_mr *other = NULL;
	struct iovec iov = { buf, sizeof(buf) };

	REFUSED(fi_mr_reg(domain, buf, sizeof(buf), BAD_FLAG, 0, 0, 0, &other, NULL));
	REFUSED(fi_mr_reg(domain, buf, sizeof(buf), FI_SEND, 0, 0, BAD_FLAG, &other, NULL));
	REFUSED(fi_mr_reg(domain, buf, sizeof(buf), FI_SEND, 0, 0, 0, NULL, NULL));
	REFUSED(fi_mr_reg(domain, NULL, SIZE_MAX, FI_SEND, 0, 0, 0, &other, NULL));
	REFUSED(fi_mr_regv(domain, &iov, 1000, FI_SEND, 0, 0, 0, &other, NULL));
	REFUSED(fi_mr_regattr(domain, NULL, 0, &other));
	REFUSED(fi_mr_regattr(domain, &attr, BAD_FLAG, &other));
	REFUSED(fi_mr_bind(mr, &cq->fid, FI_REMOTE_WRITE));
	REFUSED(fi_control(&mr->fid, 9999, NULL));
}

static void of_options(void)
{
	uint64_t flags = 0;
	size_t value = 1, len = sizeof(value);

	REFUSED(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, 9999, &value, &len));
	REFUSED_AS(fi_getopt(&ep->fid, 7, FI_OPT_TX_SIZE, &value, &len), -FI_ENOPROTOOPT);
	REFUSED(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, NULL, &len));
	REFUSED(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &value, NULL));
	len = 1;
	REFUSED(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &value, &len));
	REFUSED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &value, sizeof(value)));
	REFUSED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &value, 1));
	REFUSED(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, 9999, &value, sizeof(value)));
	REFUSED_AS(fi_setopt(&ep->fid, 7, FI_OPT_TX_SIZE, &value, sizeof(value)), -FI_ENOPROTOOPT);
	REFUSED(fi_control(&ep->fid, FI_GETOPSFLAG, &flags));
	REFUSED(fi_control(&ep->fid, FI_SETOPSFLAG, NULL));
	flags = FI_TRANSMIT | 1ULL << 62;
	REFUSED(fi_control(&ep->fid, FI_SETOPSFLAG, &flags));
	REFUSED(fi_control(&ep->fid, 9999, NULL));
}

static void of_bindings(void)
{
	struct fid_ep *fresh, *alias = NULL;

	OK(fi_endpoint(domain, info, &fresh, NULL));
	lines = 0;
	REFUSED(fi_enable(fresh));
	REFUSED(fi_ep_bind(fresh, NULL, 0));
	REFUSED(fi_ep_bind(fresh, &mr->fid, 0));
	REFUSED(fi_ep_bind(fresh, &eq->fid, FI_TRANSMIT));
	REFUSED(fi_ep_bind(fresh, &cq->fid, 0));
	REFUSED(fi_ep_bind(fresh, &cq->fid, FI_RECV | BAD_FLAG));
	REFUSED(fi_ep_bind(fresh, &cntr->fid, 0));
	REFUSED(fi_ep_bind(fresh, &cntr->fid, FI_REMOTE_READ));
	OK(fi_ep_bind(fresh, &cq->fid, FI_TRANSMIT));
	REFUSED(fi_ep_bind(fresh, &cq->fid, FI_TRANSMIT));
	OK(fi_ep_bind(fresh, &eq->fid, 0));
	REFUSED(fi_ep_bind(fresh, &eq->fid, 0));
	OK(fi_ep_bind(fresh, &cntr->fid, FI_SEND));
	REFUSED(fi_ep_bind(fresh, &cntr->fid, FI_SEND));
	REFUSED(fi_close(&cntr->fid));
	if (info->ep_attr->type == FI_EP_MSG) {
		REFUSED(fi_ep_bind(fresh, &av->fid, 0));
	} else {
		REFUSED_AS(fi_ep_bind(fresh, &av->fid, BAD_FLAG), -FI_EBADFLAGS);
		OK(fi_ep_bind(fresh, &av->fid, 0));
		REFUSED_AS(fi_ep_bind(fresh, &av->fid, 0), -FI_EBUSY);
		REFUSED(fi_close(&av->fid));
	}
	REFUSED(fi_ep_alias(fresh, &alias, BAD_FLAG));
	OK(fi_close(&fresh->fid));
	lines = 0;
	REFUSED(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT));
	LACKS(fi_tx_context(ep, 0, NULL, &alias, NULL));
	LACKS(fi_rx_context(ep, 0, NULL, &alias, NULL));
}

static void of_connections(void)
{
	size_t len = 0;
	int backlog = -1;

	if (info->ep_attr->type != FI_EP_MSG) {
		LACKS(fi_connect(ep, buf, NULL, 0));
		LACKS(fi_accept(ep, NULL, 0));
		LACKS(fi_shutdown(ep, 0));
		LACKS(fi_getpeer(ep, buf, &len));
		REFUSED(fi_getname(&ep->fid, NULL, NULL));
		return;
	}
	REFUSED(fi_connect(ep, NULL, NULL, 0));
	REFUSED(fi_connect(ep, info->src_addr, buf, 100000));
	REFUSED(fi_accept(ep, NULL, 0));
	REFUSED_AS(fi_shutdown(ep, BAD_FLAG), -FI_EBADFLAGS);
	REFUSED(fi_getpeer(ep, buf, &len));
	REFUSED(fi_getname(&ep->fid, NULL, NULL));
	REFUSED(fi_pep_bind(pep, NULL, 0));
	REFUSED(fi_pep_bind(pep, &cq->fid, 0));
	REFUSED_AS(fi_pep_bind(pep, &eq->fid, BAD_FLAG), -FI_EBADFLAGS);
	REFUSED_AS(fi_listen(pep), -FI_ENOEQ);
	OK(fi_pep_bind(pep, &eq->fid, 0));
	REFUSED_AS(fi_pep_bind(pep, &eq->fid, 0), -FI_EBUSY);
	REFUSED(fi_reject(pep, NULL, NULL, 0));
	REFUSED(fi_reject(pep, &cq->fid, NULL, 0));
	REFUSED(fi_control(&pep->fid, FI_BACKLOG, &backlog));
	REFUSED(fi_control(&pep->fid, 9999, NULL));
	REFUSED(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, buf, &len));
	REFUSED(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, buf, &len));
	REFUSED(fi_setname(&pep->fid, NULL, 0));
}

static void of_event_queues(void)
{
	struct fi_eq_entry entry = { 0 };

	REFUSED(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), BAD_FLAG));
	REFUSED(fi_eq_write(eq, 1000, NULL, 1, 0));
	REFUSED(fi_control(&eq->fid, 9999, NULL));
	REFUSED(fi_control(&eq->fid, FI_GETWAIT, NULL));
}

static void test(void)
{
	static const enum fi_ep_type types[] = { FI_EP_MSG, FI_EP_RDM, FI_EP_DGRAM };
	static struct fi_ops_log ops = { sizeof(ops), log_enabled, log_ready, log_count };
	static struct fid_logging log = { .ops = &ops };
	size_t i;

	need_env("WEFT_DEVICE");
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		OK(fi_import_log(FI_VERSION(2, 6), 0, &log));
		open_all(types[i]);
		printf("%s\n", fi_tostr(&types[i], FI_TYPE_EP_TYPE));
		of_the_core();
		of_fabrics();
		of_domains();
		of_atomics();
		of_queues();
		of_counters();
		of_address_vectors();
		of_memory();
		of_options();
		of_bindings();
		of_connections();
		of_event_queues();
		close_objects();
		OK(fi_close(&log.fid));
		log.fid.ops = NULL;
	}
	EQUAL(wrong, 0);
}

int main(void)
{
	return run_test(test);
}
