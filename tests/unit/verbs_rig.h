/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects of the provider on the fake device: a domain, completion queues and endpoints. Discovery
 * and connections are replaced by the minimum that the data path needs.
 */
#ifndef VERBS_RIG_H
#define VERBS_RIG_H

#include <stdbool.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/msg/ep.h"
#include "fake_verbs.h"

/* What to open; the test may change it between rig_init() and opening. */
struct rig {
	struct fi_info *info;
	struct fi_cq_attr cq_attr; /* for both CQs */
	uint64_t tx_bind, rx_bind; /* flags besides FI_TRANSMIT and FI_RECV */
	bool one_cq;		   /* cq[1] is cq[0] */

	struct fid_domain *domain;
	struct fid_cq *cq[2]; /* transmit, receive */
	struct fid_ep *ep;
};

/* Errors of vrb_async_open, vrb_conn_init, vrb_device_open and vrb_sidr_listen, until reset. */
extern int rig_async_err, rig_conn_err, rig_device_err, rig_sidr_err;
extern struct ofi_eq rig_eq;
extern struct vrb_kind rig_kind; /* of the fabric: that of verbs */
extern struct vrb_fabric rig_fabric;
extern bool rig_alias; /* what vrb_device_open was told */

/* The interface of device memory that there is, or NULL, and whether it may export dma-bufs. */
extern const struct ofi_hmem *rig_hmem;
extern bool rig_hmem_exports;

/*
 * Service ID lookups return, depending on the port of the address, the queue pair with that number
 * at the same host; port 1 refuses.
 */
enum { RIG_REFUSED_PORT = 1 };
/* What becomes of that port when it is asked for again, and how often it was. */
extern enum rig_late { RIG_SILENT, RIG_NOBODY, RIG_THERE } rig_late;
extern unsigned int rig_late_asked, rig_late_open;

/*
 * Resets the device and creates an info with small sizes: queues of 8, inject 64, 4 buffers,
 * messages up to 1 MiB.
 */
void rig_init(struct rig *rig);
/* Each function opens what it depends on first. */
void rig_open_domain(struct rig *rig);
void rig_open_cqs(struct rig *rig);
void rig_open_ep(struct rig *rig); /* bound */
void rig_enable(struct rig *rig);
void rig_connect(struct rig *rig); /* ready to send */
/* Opens another connected endpoint on the same CQs as rig->ep. */
struct fid_ep *rig_another_ep(struct rig *rig);
/* Closes everything; nothing may be left open. */
void rig_close(struct rig *rig);

static inline struct ibv_qp *rig_qp(const struct rig *rig)
{
	return vrb_ep(rig->ep)->qp;
}

static inline const struct fake_post *rig_sent(const struct rig *rig)
{
	return &fake_qp(rig_qp(rig))->sends.last;
}

/* Posts one send of 0 bytes. */
ssize_t rig_send(struct fid_ep *ep, void *context);
/* Reads the next entry of a CQ with FI_CQ_FORMAT_DATA, which must exist. */
struct fi_cq_data_entry rig_entry(struct fid_cq *cq);
/* Checks that the CQ is empty. */
void rig_no_entry(struct fid_cq *cq);
/* Reads the next entry of a CQ, which must be an error; *context is that of its operation. */
struct fi_cq_err_entry rig_error(struct fid_cq *cq);

/* Setup and teardown of a test: the state is an initialized rig. */
int rig_setup(void **state);
int rig_teardown(void **state);
#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

/* Run the tests with locks and without: FI_THREAD_SAFE, FI_THREAD_DOMAIN. */
int rig_with_locks(void **state);
int rig_without_locks(void **state);
#define RIG_RUN(name, tests)                                                            \
	(cmocka_run_group_tests_name(name " with locks", tests, rig_with_locks, NULL) + \
	 cmocka_run_group_tests_name(name " without locks", tests, rig_without_locks, NULL))

/* Does nothing; a reference to it links the fakes of reliable datagrams. */
void fake_rdm(void);
/*
 * Number of watches of ofi_rdm_domain_progress_watch(), and the limit beyond which it returns
 * -FI_ENOMEM.
 */
extern unsigned int fake_rdm_watches, fake_rdm_watch_most;

#endif
