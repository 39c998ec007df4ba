/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects of the provider on the fake device. */
#include "unit.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include "prov/base/ops.h"
#include "prov/verbs/provider/async.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/dgram/av.h"
#include "prov/verbs/discovery/device.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/msg/ops.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/cm/sidr.h"
#include "verbs_rig.h"
#include "prov/base/hmem.h"

int rig_async_err, rig_conn_err, rig_device_err, rig_sidr_err;
const struct ofi_hmem *rig_hmem;
bool rig_hmem_exports;
enum rig_late rig_late;
unsigned int rig_late_asked, rig_late_open;
struct ofi_eq rig_eq = { .fid.fid.fclass = FI_CLASS_EQ, .parent = &rig_fabric.ref };
struct vrb_kind rig_kind = { .has_ip = true };
struct vrb_fabric rig_fabric = { .fid.fid.fclass = FI_CLASS_FABRIC, .kind = &rig_kind };
bool rig_alias;

struct fi_provider vrb_prov = { .name = "verbs" };
struct vrb_params vrb_params;
const struct fi_ops_cm vrb_ep_cm_ops = { .size = sizeof(struct fi_ops_cm) };

struct ibv_context *vrb_device_open(const char *name, bool alias, int *err)
{
	rig_alias = alias;
	assert_string_equal(name, fake.device.name);
	*err = rig_device_err;
	if (rig_device_err)
		return NULL;
	fake.contexts++;
	return &fake.ctx;
}

int vrb_async_open(struct vrb_domain *domain)
{
	assert_non_null(domain->ctx);
	return rig_async_err;
}

void vrb_async_close(struct vrb_domain *domain)
{
	assert_non_null(domain->ctx);
}

int vrb_conn_init(struct vrb_ep *ep, const struct fi_info *info)
{
	(void)info;
	ofi_lock_init(&ep->conn.lock);
	return rig_conn_err;
}

void vrb_conn_fini(struct vrb_ep *ep)
{
	(void)ep;
}

void vrb_sidr_resolve(struct vrb_av *av, const char *call, struct vrb_av_found *found, int *errs,
		      size_t count)
{
	const struct sockaddr_in *in;
	size_t i;

	assert_non_null(av->domain);
	assert_non_null(call);
	for (i = 0; i < count; i++) {
		in = (const struct sockaddr_in *)&found[i].addr;
		if (errs[i])
			continue;
		errs[i] = ntohs(in->sin_port) == RIG_REFUSED_PORT ? -FI_ECONNREFUSED : 0;
		if (errs[i])
			continue;
		found[i].dest = (struct vrb_dest){ .qpn = ntohs(in->sin_port), .pkey = 0xffff };
		memset(found[i].dest.gid.raw + 10, 0xff, 2);
		memcpy(found[i].dest.gid.raw + 12, &in->sin_addr, 4);
	}
}

bool vrb_sidr_may_come(const struct vrb_av *av, int err)
{
	return err == -FI_ECONNREFUSED && av->addr_format != FI_ADDR_IB_UD;
}

const char *vrb_sidr_advice(int err)
{
	assert_true(err < 0);
	return "";
}

int vrb_sidr_start(struct vrb_av *av, const char *call, const struct sockaddr_storage *to,
		   struct vrb_sidr_lookup **lookup)
{
	assert_string_equal(call, "fi_send");
	assert_true(ofi_trylock(&av->base.lock)); /* which events may want */
	ofi_unlock(&av->base.lock);
	assert_int_equal(ntohs(((const struct sockaddr_in *)to)->sin_port), RIG_REFUSED_PORT);
	rig_late_asked++;
	rig_late_open++;
	*lookup = (struct vrb_sidr_lookup *)&rig_late;
	return 0;
}

bool vrb_sidr_settled(const struct vrb_sidr_lookup *lookup, int *err, struct vrb_dest *dest)
{
	assert_ptr_equal(lookup, &rig_late);
	*err = rig_late == RIG_NOBODY ? -FI_ECONNREFUSED : 0;
	*dest = (struct vrb_dest){ .qpn = 0x77, .pkey = 0xffff, .gid.raw[15] = 9 };
	return rig_late != RIG_SILENT;
}

void vrb_sidr_end(struct vrb_sidr_lookup *lookup)
{
	assert_ptr_equal(lookup, &rig_late);
	rig_late_open--;
}

int vrb_sidr_listen(struct vrb_sidr_server *server, struct vrb_fabric *fabric,
		    const struct sockaddr_storage *local, const struct vrb_ud_name *name)
{
	assert_ptr_equal(fabric, &rig_fabric);
	server->local = *local;
	server->name = *name;
	return rig_sidr_err;
}

void vrb_sidr_close(struct vrb_sidr_server *server)
{
	assert_non_null(server);
}

int vrb_mc_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		void *context)
{
	(void)ep;
	(void)addr;
	(void)flags;
	(void)mc;
	(void)context;
	return -FI_ENOSYS;
}

static void rig_fatal(struct vrb_owner *owner, int err)
{
	vrb_ep_down(ofi_container(owner, struct vrb_ep, owner), -err);
}

const struct vrb_owner_ops vrb_ep_owner_ops = { .fatal = rig_fatal };

static void init_tables(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	fake_rdm();
}

static enum fi_threading threading = FI_THREAD_SAFE;

static struct fi_info *new_info(void)
{
	struct fi_info *info = fi_dupinfo(NULL);

	assert_non_null(info);
	info->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ | FI_WRITE |
		     FI_REMOTE_READ | FI_REMOTE_WRITE;
	info->addr_format = FI_SOCKADDR_IN;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->max_msg_size = 1 << 20;
	info->tx_attr->size = info->rx_attr->size = 8;
	info->tx_attr->iov_limit = info->rx_attr->iov_limit = 4;
	info->tx_attr->inject_size = 64;
	info->domain_attr->threading = threading;
	info->domain_attr->name = strdup(fake.device.name);
	info->fabric_attr->name = strdup("fabric");
	info->fabric_attr->api_version = FI_VERSION(1, 17);
	return info;
}

void rig_init(struct rig *rig)
{
	rig_hmem = NULL;
	rig_hmem_exports = false;
	rig_async_err = rig_conn_err = rig_device_err = rig_sidr_err = 0;
	vrb_params = (struct vrb_params){ .cqread_bunch_size = 8, .min_rnr_timer = 12 };
	vrb_params.rx_size = 16;
	vrb_params.rx_iov_limit = 4;
	vrb_params.retry_count = vrb_params.rnr_retry_count = 7;
	fake_reset();
	init_tables();
	*rig = (struct rig){ .info = new_info(), .cq_attr.format = FI_CQ_FORMAT_DATA };
}

void rig_open_domain(struct rig *rig)
{
	if (!rig->domain)
		assert_int_equal(vrb_domain_open(&rig_fabric.fid, rig->info, &rig->domain, NULL),
				 0);
}

void rig_open_cqs(struct rig *rig)
{
	int i;

	rig_open_domain(rig);
	for (i = 0; i < (rig->one_cq ? 1 : 2); i++)
		assert_int_equal(
			fi_cq_open(rig->domain, &rig->cq_attr, &rig->cq[i], (void *)(uintptr_t)i),
			0);
	if (rig->one_cq)
		rig->cq[1] = rig->cq[0];
}

static struct fid_ep *open_ep(struct rig *rig)
{
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &rig->cq[0]->fid, FI_TRANSMIT | rig->tx_bind), 0);
	assert_int_equal(fi_ep_bind(ep, &rig->cq[1]->fid, FI_RECV | rig->rx_bind), 0);
	return ep;
}

void rig_open_ep(struct rig *rig)
{
	rig_open_cqs(rig);
	rig->ep = open_ep(rig);
}

void rig_enable(struct rig *rig)
{
	rig_open_ep(rig);
	assert_int_equal(fi_enable(rig->ep), 0);
}

void rig_connect(struct rig *rig)
{
	rig_enable(rig);
	vrb_ep_ready(vrb_ep(rig->ep));
}

struct fid_ep *rig_another_ep(struct rig *rig)
{
	struct fid_ep *ep = open_ep(rig);

	assert_int_equal(fi_enable(ep), 0);
	vrb_ep_ready(vrb_ep(ep));
	return ep;
}

void rig_close(struct rig *rig)
{
	if (rig->ep)
		assert_int_equal(fi_close(&rig->ep->fid), 0);
	if (rig->cq[1] && !rig->one_cq)
		assert_int_equal(fi_close(&rig->cq[1]->fid), 0);
	if (rig->cq[0])
		assert_int_equal(fi_close(&rig->cq[0]->fid), 0);
	if (rig->domain)
		assert_int_equal(fi_close(&rig->domain->fid), 0);
	fi_freeinfo(rig->info);
	assert_int_equal(rig_fabric.ref.children, 0);
	assert_int_equal(rig_eq.ref.children, 0);
	fake_all_closed();
}

ssize_t rig_send(struct fid_ep *ep, void *context)
{
	return fi_send(ep, NULL, 0, NULL, FI_ADDR_UNSPEC, context);
}

struct fi_cq_data_entry rig_entry(struct fid_cq *cq)
{
	struct fi_cq_data_entry entry;

	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	return entry;
}

void rig_no_entry(struct fid_cq *cq)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry error = { 0 };

	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), -FI_EAGAIN);
}

struct fi_cq_err_entry rig_error(struct fid_cq *cq)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_data_entry entry;

	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	return error;
}

int rig_setup(void **state)
{
	static struct rig rig;

	rig_init(&rig);
	*state = &rig;
	return 0;
}

int rig_teardown(void **state)
{
	rig_close(*state);
	return 0;
}

int rig_with_locks(void **state)
{
	(void)state;
	threading = FI_THREAD_SAFE;
	return 0;
}

int rig_without_locks(void **state)
{
	(void)state;
	threading = FI_THREAD_DOMAIN;
	return 0;
}

/* All that prov/base/hmem.c has. */
bool ofi_hmem_any(const struct fi_provider *prov, const char **why)
{
	return ofi_hmem_get(prov, FI_HMEM_CUDA, why);
}

const struct ofi_hmem *ofi_hmem_get(const struct fi_provider *prov, enum fi_hmem_iface iface,
				    const char **why)
{
	(void)prov;
	*why = "not in unit tests";
	return rig_hmem && rig_hmem->iface == iface ? rig_hmem : NULL;
}

const struct ofi_hmem *ofi_hmem_of(const void *addr)
{
	return rig_hmem && rig_hmem->owns(addr) ? rig_hmem : NULL;
}

bool ofi_hmem_p2p_disabled(void)
{
	return false;
}

bool ofi_hmem_may_export(const struct ofi_hmem *hmem)
{
	return hmem == rig_hmem && rig_hmem_exports;
}
