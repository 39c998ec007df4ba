/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many counters with descriptors wait for the same completions. Linux limits how many ways there
 * are from a descriptor to those who wait for it.
 */
#include "unit.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "capture.h"
#include "prov/base/cntr.h"
#include "prov/rdm/domain_progress.h"
#include "prov/rdm/rdm.h"

enum { CNTRS = 120, PERMITTED = 100, LONG = 60000 /* ms */ };

static struct fi_provider prov = { .name = "test" };
static struct fi_domain_attr attr;
static struct fi_info info = { .domain_attr = &attr };
static struct ofi_ref parent, fabric;
static struct ofi_domain domain;
static struct ofi_rdm_ep ep; /* ep.fd stands for the completion channel */
static struct fid_cntr *cntrs[CNTRS];
static int user = -1; /* the application's epoll */
static bool ready;    /* atomic */

static void ep_progress(struct ofi_rdm_proto *proto)
{
	uint64_t count;
	int i;

	(void)proto;
	(void)!read(ep.fd, &count, sizeof(count));
	if (__atomic_exchange_n(&ready, false, __ATOMIC_ACQ_REL))
		for (i = 0; i < CNTRS; i++)
			ofi_cntr_count(ofi_cntr(cntrs[i]), 1);
}

static int ep_arm(struct ofi_rdm_proto *proto)
{
	bool counts = __atomic_load_n(&ready, __ATOMIC_ACQUIRE);

	ep_progress(proto);
	return counts ? -FI_EAGAIN : 0;
}

static const struct ofi_rdm_xport_ops xport = { .progress = ep_progress, .arm = ep_arm };

static void complete(void)
{
	const uint64_t one = 1;

	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	assert_int_equal(write(ep.fd, &one, sizeof(one)), sizeof(one));
}

static void open_all(bool automatic)
{
	struct fi_cntr_attr of_cntr = { .wait_obj = FI_WAIT_FD };
	int i;

	domain = (struct ofi_domain){ .info = &info, .prov = &prov };
	ofi_triggers_init(&domain.triggers);
	assert_int_equal(ofi_rdm_domain_progress_open(&domain, automatic), 0);
	for (i = 0; i < CNTRS; i++)
		assert_int_equal(ofi_cntr_open(&prov, &parent, &fabric, &domain.triggers, &of_cntr,
					       &cntrs[i], NULL),
				 0);
	memset(&ep, 0, sizeof(ep));
	ep.fd = eventfd(0, EFD_NONBLOCK);
	ep.proto.xport.ops = &xport;
	assert_int_equal(ofi_rdm_domain_progress_add(domain.progress, &ep), 0);
	user = epoll_create1(0);
}

/* This is what fi_mr_bind does. */
static int bind_cntr(int i)
{
	return ofi_rdm_domain_progress_watch(domain.progress, ofi_cntr(cntrs[i]));
}

static int wait_for_cntr(int i)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = -1;

	assert_int_equal(fi_control(&cntrs[i]->fid, FI_GETWAIT, &fd), 0);
	return epoll_ctl(user, EPOLL_CTL_ADD, fd, &event);
}

static void close_all(int bound)
{
	int i;

	for (i = 0; i < CNTRS; i++) {
		if (i < bound)
			ofi_rdm_domain_progress_unwatch(domain.progress, ofi_cntr(cntrs[i]));
		assert_int_equal(fi_close(&cntrs[i]->fid), 0);
	}
	ofi_rdm_domain_progress_remove(domain.progress, &ep);
	ofi_rdm_domain_progress_close(domain.progress);
	close(ep.fd);
	close(user);
}

/* The application's epoll sleeps until something is counted, and then wakes up. */
static void wakes(int waiting)
{
	struct epoll_event event;
	int i;

	for (i = 0; i < waiting; i++)
		while (ofi_cntr_trywait(&cntrs[i]->fid))
			fi_cntr_read(cntrs[i]);
	assert_int_equal(epoll_wait(user, &event, 1, 20), 0);
	complete();
	assert_int_equal(epoll_wait(user, &event, 1, LONG), 1);
	for (i = 0; i < CNTRS; i++)
		assert_int_equal(fi_cntr_wait(cntrs[i], 1, LONG), 0);
}

static void with_a_thread(void **state)
{
	int i;

	(void)state;
	open_all(true);
	for (i = 0; i < CNTRS; i++) {
		assert_int_equal(bind_cntr(i), 0);
		assert_int_equal(wait_for_cntr(i), 0);
	}
	wakes(CNTRS);
	close_all(CNTRS);
}

static void without(void **state)
{
	int i;

	(void)state;
	open_all(false);
	for (i = 0; i < CNTRS; i++)
		assert_int_equal(bind_cntr(i), 0);
	for (i = 0; i < PERMITTED; i++)
		assert_int_equal(wait_for_cntr(i), 0);
	wakes(PERMITTED);
	close_all(CNTRS);
}

static void the_limit_is_told(void **state)
{
	const char *told;
	int i, ret = 0;

	(void)state;
	open_all(false);
	for (i = 0; i < CNTRS; i++)
		assert_int_equal(wait_for_cntr(i), 0);
	capture_start();
	for (i = 0; i < CNTRS && !ret; i++)
		ret = bind_cntr(i);
	told = capture_stop();
	assert_true(i > PERMITTED);
	if (ret) {
		i--;
		assert_int_equal(ret, -FI_EINVAL);
		assert_non_null(strstr(told, "Linux limits how many counters"));
	}
	close_all(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_a_thread),
		cmocka_unit_test(without),
		cmocka_unit_test(the_limit_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
