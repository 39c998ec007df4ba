/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of the core, and of counters and sets, which do not depend on the type of endpoint. */
#include "interface.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#define TRY(name, call)		   tried("Calls", #name, (long)(call))
#define TRY_VALUE(name, condition) tried("Calls", #name, (condition) ? 0 : -FI_EOTHER)

static struct fid_domain *domain_of_atomics;

/* The count of written, fetched or compared elements, whichever applies. */
static int query(uint64_t datatype, uint64_t op)
{
	static const uint64_t flags[] = { 0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC };
	struct fi_atomic_attr attr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (!fi_query_atomic(domain_of_atomics, (enum fi_datatype)datatype, (enum fi_op)op,
				     &attr, flags[i]))
			return 0;
	return -FI_EOPNOTSUPP;
}

static void try_datatype(uint64_t datatype, const char *name)
{
	tried("Data types of atomics", name, query(datatype, FI_SUM));
}

static void try_operation(uint64_t op, const char *name)
{
	tried("Operations of atomics, on FI_UINT64", name, query(FI_UINT64, op));
}

void try_datatypes(struct fid_domain *domain)
{
	domain_of_atomics = domain;
	each_number(FI_TYPE_ATOMIC_TYPE, try_datatype);
	each_number(FI_TYPE_ATOMIC_OP, try_operation);
}

static void try_counters(struct fid_cntr *cntr)
{
	TRY_VALUE(fi_cntr_read, fi_cntr_read(cntr) == 0);
	TRY_VALUE(fi_cntr_readerr, fi_cntr_readerr(cntr) == 0);
	TRY(fi_cntr_add, fi_cntr_add(cntr, 1));
	TRY(fi_cntr_adderr, fi_cntr_adderr(cntr, 1));
	TRY(fi_cntr_set, fi_cntr_set(cntr, 3));
	TRY(fi_cntr_seterr, fi_cntr_seterr(cntr, 0));
	TRY(fi_cntr_wait, fi_cntr_wait(cntr, 0, 0));
	TRY(fi_cntr_export_xpu, fi_cntr_export_xpu(cntr, 0, NULL));
}

void try_waits(struct fid_fabric *fabric, struct fid_domain *domain, struct fid_cq *cq,
	       struct fid_cntr *cntr)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_wait *wait;
	struct fid_poll *poll;
	void *context;

	TRY(fi_wait_open, fi_wait_open(fabric, &attr, &wait));
	tried("Calls", "fi_wait", fi_wait(wait, 0) == -FI_ETIMEDOUT ? 0 : -FI_EOTHER);
	OK(fi_close(&wait->fid));
	TRY(fi_poll_open, fi_poll_open(domain, NULL, &poll));
	TRY(fi_poll_add, fi_poll_add(poll, &cq->fid, 0));
	TRY(fi_poll, fi_poll(poll, &context, 1));
	TRY(fi_poll_del, fi_poll_del(poll, &cq->fid, 0));
	OK(fi_close(&poll->fid));
	try_counters(cntr);
}

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys, uint64_t flags)
{
	(void)prov;
	(void)level;
	(void)subsys;
	(void)flags;
	return 0;
}

static void try_imports(void)
{
	static struct fi_ops_log ops = { .size = sizeof(ops), .enabled = log_enabled };
	static struct fid_logging log = { .ops = &ops };
	struct fid *handle;

	TRY(fi_open, fi_open(FI_VERSION(2, 6), "logging", NULL, 0, 0, &handle, NULL));
	log.fid.fclass = FI_CLASS_LOG;
	TRY(fi_import_fid, fi_import_fid(handle, &log.fid, 0));
	OK(fi_close(handle));
	TRY(fi_import, fi_import(FI_VERSION(2, 6), "logging", NULL, 0, 0, &log.fid, NULL));
	TRY(fi_import_log, fi_import_log(FI_VERSION(2, 6), 0, &log));
	OK(fi_close(&log.fid));
	log.fid.ops = NULL;
}

static void try_params(void)
{
	static struct fi_provider prov = { .name = "interface" };
	char *string;
	size_t size;
	int n;

	TRY(fi_param_define, fi_param_define(&prov, "size", FI_PARAM_SIZE_T, "A size"));
	setenv("FI_INTERFACE_SIZE", "7", 1);
	TRY(fi_param_get, fi_param_get(&prov, "size", &size));
	TRY(fi_param_get_size_t, fi_param_get_size_t(&prov, "size", &size));
	OK(kind == FI_EP_MSG ? fi_param_define(&prov, "number", FI_PARAM_INT, "A number") : 0);
	setenv("FI_INTERFACE_NUMBER", "1", 1);
	TRY(fi_param_get_int, fi_param_get_int(&prov, "number", &n));
	OK(kind == FI_EP_MSG ? fi_param_define(&prov, "flag", FI_PARAM_BOOL, "A flag") : 0);
	setenv("FI_INTERFACE_FLAG", "1", 1);
	TRY(fi_param_get_bool, fi_param_get_bool(&prov, "flag", &n));
	OK(kind == FI_EP_MSG ? fi_param_define(&prov, "text", FI_PARAM_STRING, "A text") : 0);
	setenv("FI_INTERFACE_TEXT", "x", 1);
	TRY(fi_param_get_str, fi_param_get_str(&prov, "text", &string));
}

void try_core(void)
{
	static struct fi_provider prov = { .name = "interface" };
	uint64_t caps = FI_MSG, showtime = 0;
	struct fi_param *params;
	char text[64];
	int n;

	TRY_VALUE(fi_version, fi_version() >= FI_VERSION(2, 6));
	TRY_VALUE(fi_strerror, *fi_strerror(FI_ENODATA));
	TRY_VALUE(fi_tostr, strstr(fi_tostr(&caps, FI_TYPE_CAPS), "FI_MSG"));
	TRY_VALUE(fi_tostr_r, fi_tostr_r(text, sizeof(text), &caps, FI_TYPE_CAPS));
	TRY_VALUE(fi_tc_dscp_set, fi_tc_dscp_get(fi_tc_dscp_set(5)) == 5);
	TRY_VALUE(fi_tc_dscp_get, fi_tc_dscp_get(fi_tc_dscp_set(5)) == 5);
	TRY(fi_getparams, fi_getparams(&params, &n));
	fi_freeparams(params);
	TRY_VALUE(fi_freeparams, true);
	TRY_VALUE(fi_log, true);
	TRY_VALUE(fi_log_enabled, !fi_log_enabled(&prov, FI_LOG_DEBUG, FI_LOG_CORE));
	TRY_VALUE(fi_log_ready, !fi_log_ready(&prov, FI_LOG_DEBUG, FI_LOG_CORE, &showtime));
	try_params();
	try_imports();
	TRY(fi_hmem_ze_device, fi_hmem_ze_device(1, 2) < 0 ? -FI_ENOSYS : 0);
}

void try_auth_keys(struct fid_fabric *fabric, struct fid_domain *domain)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fi_info *hints = hints_of_kind(), *found = NULL;
	struct fid_domain *keyed = NULL;
	uint8_t bytes[8] = { 1 };
	size_t len = sizeof(bytes);
	fi_addr_t key = 0;
	struct fid_av *av;

	hints->domain_attr->auth_key_size = FI_AV_AUTH_KEY;
	if (!fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &found))
		OK(fi_domain(fabric, found, &keyed, NULL));
	OK(fi_av_open(keyed ? keyed : domain, &attr, &av, NULL));
	tried("Calls", "fi_av_insert_auth_key", fi_av_insert_auth_key(av, bytes, 8, &key, 0));
	tried("Calls", "fi_av_lookup_auth_key", fi_av_lookup_auth_key(av, key, bytes, &len));
	OK(fi_close(&av->fid));
	if (keyed)
		OK(fi_close(&keyed->fid));
	fi_freeinfo(found);
	fi_freeinfo(hints);
}
