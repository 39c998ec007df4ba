/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects bound to reliable-datagram endpoints once, and objects of another domain, fabric or type.
 */
#include "unit.h"
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/eq.h"
#include "capture.h"
#include "prov/rdm/av.h"
#include "prov/rdm/cq.h"
#include "prov/rdm/cntr.h"
#include "prov/rdm/ep.h"
#include "prov/rdm/objects.h"
#include "prov/rdm/peer.h"
#include "prov/rdm/msg.h"
#include "prov/base/stx.h"
#include "prov/rdm/srx.h"

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref fabric, other_fabric;
static struct ofi_domain domain, other_domain;
static struct fi_info info;
static struct ofi_rdm_ep ep;
static struct ofi_rdm_cq cq;
static struct ofi_rdm_av av;
static struct ofi_cntr cntr;
static struct ofi_eq eq;
static struct fi_ops cq_ops = { .size = sizeof(struct fi_ops), .control = ofi_cq_control };
static unsigned int modes;

void ofi_rdm_set_modes(struct ofi_rdm_ep *of)
{
	assert_ptr_equal(of, &ep);
	modes++;
}

void ofi_rdm_av_bind(struct ofi_rdm_av *to, struct ofi_rdm_ep *of)
{
	assert_ptr_equal(to, &av);
	assert_ptr_equal(of, &ep);
	ofi_ref_get(&to->base.ref);
}

int ofi_stx_bind(struct ofi_stx **slot, struct ofi_stx *stx, const struct ofi_domain *of,
		 const struct fi_tx_attr *attr, uint64_t flags)
{
	assert_ptr_equal(slot, &ep.stx);
	assert_ptr_equal(of, &domain);
	assert_ptr_equal(attr, info.tx_attr);
	assert_int_equal(flags, 5);
	*slot = stx;
	return 0;
}

void ofi_stx_put(struct ofi_stx *stx)
{
	ofi_ref_put(&stx->ref);
}

int ofi_rdm_srx_bind(struct ofi_rdm_ep *to, struct fid *fid, uint64_t flags)
{
	assert_ptr_equal(to, &ep);
	assert_int_equal(fid->fclass, FI_CLASS_SRX_CTX);
	assert_int_equal(flags, 6);
	return -FI_EBUSY;
}

static int begin(void **state)
{
	(void)state;
	memset(&ep, 0, sizeof(ep));
	ep.endpoint = &ep;
	memset(&info, 0, sizeof(info));
	domain.fabric = other_domain.fabric = &fabric;
	domain.prov = other_domain.prov = &prov;
	ep.domain = &domain;
	ep.info = &info;
	cq = (struct ofi_rdm_cq){ .base = { .fid.fid = { .fclass = FI_CLASS_CQ, .ops = &cq_ops },
					    .slow = &cq.slow },
				  .slow.parent = &domain.ref,
				  .domain = &domain };
	av = (struct ofi_rdm_av){ .base = { .fid.fid.fclass = FI_CLASS_AV, .parent = &domain.ref },
				  .domain = &domain };
	cntr = (struct ofi_cntr){ .fid.fid.fclass = FI_CLASS_CNTR, .parent = &domain.ref };
	eq = (struct ofi_eq){ .fid.fid.fclass = FI_CLASS_EQ, .parent = &fabric };
	modes = 0;
	return 0;
}

static int bind_it(struct fid *fid, uint64_t flags)
{
	return ofi_rdm_bind(&ep.fid.fid, fid, flags);
}

static void each_once(void **state)
{
	struct ofi_stx stx = { .fid.fid.fclass = FI_CLASS_STX_CTX };
	struct fid srx = { .fclass = FI_CLASS_SRX_CTX };

	(void)state;
	assert_int_equal(bind_it(&cq.fid.fid, FI_TRANSMIT), 0);
	assert_int_equal(bind_it(&cq.fid.fid, FI_TRANSMIT | FI_RECV), -FI_EBUSY);
	assert_int_equal(bind_it(&cq.fid.fid, FI_RECV | FI_SELECTIVE_COMPLETION), 0);
	assert_true(ep.tx_cq == &cq && ep.rx_cq == &cq && ep.rx_selective && !ep.tx_selective);
	assert_int_equal(cq.slow.ref.children, 2);
	assert_int_equal(bind_it(&cntr.fid.fid, FI_SEND | FI_WRITE), 0);
	assert_int_equal(bind_it(&cntr.fid.fid, FI_WRITE | FI_READ), -FI_EBUSY);
	assert_true(ep.cntrs[OFI_RDM_SEND] == &cntr && ep.cntrs[OFI_RDM_RMA_WRITE] == &cntr);
	assert_null(ep.cntrs[OFI_RDM_RMA_READ]);
	assert_int_equal(cntr.ref.children, 2);
	assert_int_equal(modes, 3);
	assert_int_equal(bind_it(&av.base.fid.fid, 1), -FI_EBADFLAGS);
	assert_int_equal(bind_it(&av.base.fid.fid, 0), 0);
	assert_int_equal(bind_it(&av.base.fid.fid, 0), -FI_EBUSY);
	assert_int_equal(av.base.ref.children, 1);
	assert_int_equal(bind_it(&eq.fid.fid, 0), 0);
	assert_int_equal(bind_it(&eq.fid.fid, 0), -FI_EBUSY);
	assert_int_equal(eq.ref.children, 1);
	assert_int_equal(bind_it(&stx.fid.fid, 5), 0);
	assert_ptr_equal(ep.stx, &stx);
	assert_int_equal(bind_it(&srx, 6), -FI_EBUSY);
}

static void wrong_flags_are_refused(void **state)
{
	(void)state;
	assert_int_equal(bind_it(&cq.fid.fid, 0), -FI_EBADFLAGS);
	assert_int_equal(bind_it(&cq.fid.fid, FI_RECV | FI_READ), -FI_EBADFLAGS);
	assert_int_equal(bind_it(&cntr.fid.fid, 0), -FI_EBADFLAGS);
	assert_int_equal(bind_it(&cntr.fid.fid, FI_SEND | FI_MORE), -FI_EBADFLAGS);
	assert_int_equal(bind_it(&cntr.fid.fid, FI_REMOTE_WRITE), -FI_EOPNOTSUPP);
	assert_int_equal(bind_it(&cntr.fid.fid, FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE), 0);
	assert_ptr_equal(ep.cntrs[OFI_RDM_RECV], &cntr);
	assert_null(ep.cntrs[OFI_RDM_REMOTE_WRITE]);
	info.caps = FI_RMA_EVENT;
	assert_int_equal(bind_it(&cntr.fid.fid, FI_REMOTE_WRITE), 0);
	assert_ptr_equal(ep.cntrs[OFI_RDM_REMOTE_WRITE], &cntr);
}

/* One line says what it is. */
static void refused(struct fid *fid, uint64_t flags, const char *what)
{
	const char *text;

	capture_start();
	assert_int_equal(bind_it(fid, flags), -FI_EINVAL);
	text = capture_stop();
	assert_non_null(strstr(text, what));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void of_its_own_domain(void **state)
{
	(void)state;
	cq.slow.parent = &other_domain.ref;
	refused(&cq.fid.fid, FI_RECV, "completion queue belongs to another domain");
	av.base.parent = &other_domain.ref;
	refused(&av.base.fid.fid, 0, "address vector belongs to another domain");
	cntr.parent = &other_domain.ref;
	refused(&cntr.fid.fid, FI_SEND, "counter belongs to another domain");
	eq.parent = &other_fabric;
	refused(&eq.fid.fid, 0, "event queue belongs to another fabric");
	assert_false(ep.tx_cq || ep.rx_cq || ep.av || ep.eq || ep.cntrs[OFI_RDM_SEND]);
	assert_int_equal(cq.slow.ref.children + av.base.ref.children + eq.ref.children, 0);
}

static void of_its_own_kind(void **state)
{
	struct fid pep = { .fclass = FI_CLASS_PEP };

	(void)state;
	cq.fid.fid.ops = NULL; /* of connections */
	refused(&cq.fid.fid, FI_RECV, "completion queue belongs to another domain");
	refused(&pep, 0, "class");
	assert_int_equal(bind_it(NULL, 0), -FI_EINVAL);
	ep.enabled = true;
	assert_int_equal(bind_it(&eq.fid.fid, 0), -FI_EOPBADSTATE);
}

const struct ofi_cntr_source_ops ofi_rdm_cntr_source;
static struct ofi_rdm_peer peer;
static unsigned int watches, watch_most, signals, asked;
static uint64_t marked;

static void signal_all(struct ofi_rdm_ep *of)
{
	assert_ptr_equal(of, &ep);
	signals++;
}

static bool settled(struct ofi_rdm_proto_peer *of)
{
	assert_ptr_equal(of, &peer.proto);
	asked++;
	return false;
}

static const struct ofi_rdm_xport_ops xport = { .signal_all = signal_all, .settled = settled };

int ofi_cntr_watch(struct ofi_cntr *to, const struct ofi_cntr_source_ops *ops, void *object, int fd)
{
	assert_ptr_equal(ops, &ofi_rdm_cntr_source);
	assert_ptr_equal(to, &cntr);
	assert_ptr_equal(object, &ep);
	assert_int_equal(fd, 7);
	assert_int_equal(ep.lock.word, 0);
	if (watches == watch_most)
		return -FI_ENOMEM;
	watches++;
	return 0;
}

void ofi_cntr_unwatch(struct ofi_cntr *to, void *object)
{
	assert_ptr_equal(to, &cntr);
	assert_ptr_equal(object, &ep);
	watches--;
}

void ofi_rdm_recvs_mark(struct ofi_rdm_ep *of, uint64_t bits)
{
	assert_ptr_equal(of, &ep);
	marked |= bits;
}

/*
 * An enabled endpoint accepts counters; operations in flight count, too, and each silent one is
 * reported to them.
 */
static void late(void **state)
{
	struct ofi_stx stx = { .fid.fid.fclass = FI_CLASS_STX_CTX };
	struct ofi_rdm_peer *peers[] = { &peer };

	(void)state;
	ofi_lock_init(&ep.lock);
	ep.fd = 7;
	ep.proto.xport.ops = &xport;
	ep.peers = peers;
	ep.peer_count = 1;
	signals = asked = 0;
	ep.enabled = true;
	watch_most = 1;
	assert_int_equal(bind_it(&cntr.fid.fid, FI_SEND | FI_RECV), -FI_ENOMEM);
	assert_true(watches == 0 && !ep.counts && !ep.cntrs[OFI_RDM_SEND] && !signals);
	watch_most = 9;
	assert_int_equal(bind_it(&cntr.fid.fid, FI_READ), 0);
	assert_true(watches == 1 && ep.counts && !marked && modes == 1);
	assert_true(signals == 1 && asked == 1);
	assert_int_equal(bind_it(&cntr.fid.fid, FI_READ | FI_SEND), -FI_EBUSY);
	assert_true(watches == 1 && !ep.cntrs[OFI_RDM_SEND]);
	assert_int_equal(bind_it(&cntr.fid.fid, FI_SEND | FI_RECV), 0);
	assert_true(watches == 3 && signals == 2 && asked == 2 && marked == OFI_RDM_RECV_SLOW);
	assert_int_equal(cntr.ref.children, 3);
	assert_int_equal(bind_it(&stx.fid.fid, 5), 0);
	assert_int_equal(bind_it(&cq.fid.fid, FI_TRANSMIT), -FI_EOPBADSTATE);
	assert_int_equal(bind_it(&av.base.fid.fid, 0), -FI_EOPBADSTATE);
	/* An endpoint whose device is lost is not enabled any more. */
	ep.enabled = false;
	ofi_rdm_release_cntrs(&ep, FI_SEND | FI_RECV);
	assert_true(watches == 1 && !ep.cntrs[OFI_RDM_SEND]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_once, begin),
		cmocka_unit_test_setup(wrong_flags_are_refused, begin),
		cmocka_unit_test_setup(of_its_own_domain, begin),
		cmocka_unit_test_setup(of_its_own_kind, begin),
		cmocka_unit_test_setup(late, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
