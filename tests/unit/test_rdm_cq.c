/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failures that name senders: their addresses are valid as long as the API promises, and no longer.
 */
#include "unit.h"
#include <malloc.h>
#include <string.h>
#include <sys/epoll.h>
#include <rdma/fi_errno.h>
#include "prov/base/waitset.h"
#include "prov/rdm/domain_progress.h"
#include "prov/rdm/complete.h"
#include "prov/rdm/cq.h"
#include "prov/rdm/objects.h"
#include "prov/rdm/peer.h"

enum { SENDERS = 20000, GROWN = 64 * 1024 };

static struct ofi_domain domain;
static struct fi_fabric_attr fabric = { .api_version = FI_VERSION(1, 17) };
static struct fi_domain_attr attr = { .data_progress = FI_PROGRESS_MANUAL };
static struct fi_info info = { .fabric_attr = &fabric, .domain_attr = &attr };
static const struct fi_cq_attr cq_attr;
static struct fid_cq *cq;
static const struct fi_ops_cq ops = { .size = sizeof(ops), OFI_RDM_CQ_CALLS };

static int begin(void **state)
{
	(void)state;
	memset(&domain, 0, sizeof(domain));
	domain.info = &info;
	assert_int_equal(ofi_rdm_domain_progress_open(&domain, false), 0);
	return ofi_rdm_cq_open(&domain, &cq_attr, 0, &ops, &ops, &cq, NULL);
}

static int end(void **state)
{
	(void)state;
	assert_int_equal(fi_close(&cq->fid), 0);
	ofi_rdm_domain_progress_close(domain.progress);
	return 0;
}

static void put(uint32_t number)
{
	struct ofi_cq_item item = { .err = FI_EADDRNOTAVAIL, .flags = FI_RECV, .len = number };
	struct ofi_rdm_addr addr = { .in.sin_family = AF_INET, .in.sin_port = htons(7) };

	addr.in.sin_addr.s_addr = htonl(number);
	ofi_rdm_cq_name_sender(&item, &addr);
	ofi_rdm_cq_put((struct ofi_rdm_cq *)cq, &item);
}

static void take(uint32_t number, bool own)
{
	struct fi_cq_err_entry error = { 0 };
	struct sockaddr_in addr = { 0 };
	const struct sockaddr_in *from = own ? &addr : NULL;

	if (own) {
		error.err_data = &addr;
		error.err_data_size = sizeof(addr);
	}
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_int_equal(error.err, FI_EADDRNOTAVAIL);
	assert_int_equal(error.flags, FI_RECV);
	assert_int_equal(error.len, number);
	assert_int_equal(error.err_data_size, sizeof(*from));
	if (!own)
		from = error.err_data;
	assert_int_equal(from->sin_addr.s_addr, htonl(number));
}

static void addresses_are_not_kept(void **state)
{
	size_t before;
	uint32_t i;

	(void)state;
	put(1);
	take(1, false);
	before = mallinfo2().uordblks;
	for (i = 2; i < SENDERS; i++) {
		put(i);
		take(i, i % 2);
	}
	assert_true(mallinfo2().uordblks < before + GROWN);
}

/* The name of a queue pair is given as the bytes that an address vector takes. */
static void a_name_is_as_it_is_inserted(void **state)
{
	struct ofi_cq_item item = { .err = FI_EADDRNOTAVAIL };
	struct fi_cq_err_entry error = { 0 };
	uint8_t gid[16] = { 0xfe, 1 };
	struct ofi_rdm_addr addr, found;

	(void)state;
	assert_true(ofi_rdm_addr_set_qp(&addr, gid, 5, 6));
	ofi_rdm_cq_name_sender(&item, &addr);
	ofi_rdm_cq_put((struct ofi_rdm_cq *)cq, &item);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_int_equal(error.err_data_size, OFI_RDM_ADDR_NAME);
	assert_true(ofi_rdm_addr_from_name(&found, error.err_data));
	assert_int_equal(ofi_rdm_addr_compare(&found, &addr), 0);
}

/* Valgrind and the address sanitizer see that nothing is lost. */
static void what_is_not_read_is_freed(void **state)
{
	(void)state;
	put(1);
	put(2);
	put(3);
	take(1, false);
}

/* Another failure with this code tells of nobody, whatever it has of its own. */
static void others_have_no_address(void **state)
{
	struct ofi_cq_item item = { .err = FI_EADDRNOTAVAIL, .olen = 12345 };
	struct fi_cq_err_entry error = { 0 };

	(void)state;
	ofi_rdm_cq_put((struct ofi_rdm_cq *)cq, &item);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_int_equal(error.olen, 12345);
	assert_null(error.err_data);
	assert_int_equal(error.err_data_size, 0);
}

/* Prepares an endpoint that reports senders of unknown address, and such a sender. */
static void prepare(struct ofi_rdm_ep *ep, struct ofi_rdm_peer *peer)
{
	ep->rx_cq = (struct ofi_rdm_cq *)cq;
	ep->source_err = true;
	peer->ep = ep;
	peer->source = peer->fi_addr = FI_ADDR_NOTAVAIL;
	peer->addr.in.sin_family = AF_INET;
}

/* With FI_SOURCE_ERR, a receive from a sender of unknown address fails for counters, too. */
static void an_unknown_source_is_counted_as_an_error(void **state)
{
	struct ofi_cq_item item = { .flags = FI_RECV };
	struct fi_cq_err_entry error = { 0 };
	static struct ofi_rdm_recv recv;
	static struct ofi_rdm_peer peer;
	static struct ofi_rdm_ep ep;
	static struct ofi_cntr cntr;

	(void)state;
	prepare(&ep, &peer);
	ep.cntrs[OFI_RDM_RECV] = &cntr;
	ep.counts = true;
	ofi_rdm_complete_rx(&ep, &recv, &item, &peer);
	assert_int_equal(cntr.value, 0);
	assert_int_equal(cntr.errors, 1);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_int_equal(error.err, FI_EADDRNOTAVAIL);
	assert_int_equal(error.err_data_size, sizeof(peer.addr.in));
	/* Nobody reads the address. */
	ep.rx_cq = NULL;
	item = (struct ofi_cq_item){ .flags = FI_RECV };
	ofi_rdm_complete_rx(&ep, &recv, &item, &peer);
	assert_int_equal(cntr.errors, 2);
	assert_false(item.flags & OFI_RDM_CQ_FROM);
}

static int children; /* of the domain when a queue left its wait set */

int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_DEL)
		children = domain.ref.children;
	return __real_epoll_ctl(epfd, op, fd, event);
}

/* Until then, the set may ask the queue for events, for which it needs its domain. */
static void the_domain_is_held_until_the_queue_has_left_its_wait_set(void **state)
{
	struct fi_wait_attr set_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr in_set = { .wait_obj = FI_WAIT_SET };
	struct ofi_ref parent = { 0 };
	struct fid_cq *member;

	(void)state;
	assert_int_equal(ofi_waitset_open(NULL, &parent, &set_attr, &in_set.wait_set), 0);
	domain.fabric = &parent;
	assert_int_equal(ofi_rdm_cq_open(&domain, &in_set, 0, &ops, &ops, &member, NULL), 0);
	assert_int_equal(fi_close(&member->fid), 0);
	assert_int_equal(children, 2);
	assert_int_equal(fi_close(&in_set.wait_set->fid), 0);
}

/* The address vector takes the address of a scalable endpoint, not those of its contexts. */
static void a_context_is_named_by_its_endpoint(void **state)
{
	struct ofi_cq_item item = { .flags = FI_RECV };
	struct fi_cq_err_entry error = { 0 };
	static struct ofi_rdm_recv recv;
	static struct ofi_rdm_peer peer;
	static struct ofi_rdm_ep ep;

	(void)state;
	prepare(&ep, &peer);
	peer.context = 2;
	peer.addr.in.sin_port = htons(4002);
	ofi_rdm_complete_rx(&ep, &recv, &item, &peer);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_int_equal(error.err, FI_EADDRNOTAVAIL);
	assert_int_equal(((struct sockaddr_in *)error.err_data)->sin_port, htons(4000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(addresses_are_not_kept, begin, end),
		cmocka_unit_test_setup_teardown(a_name_is_as_it_is_inserted, begin, end),
		cmocka_unit_test_setup_teardown(what_is_not_read_is_freed, begin, end),
		cmocka_unit_test_setup_teardown(others_have_no_address, begin, end),
		cmocka_unit_test_setup_teardown(an_unknown_source_is_counted_as_an_error, begin,
						end),
		cmocka_unit_test_setup_teardown(
			the_domain_is_held_until_the_queue_has_left_its_wait_set, begin, end),
		cmocka_unit_test_setup_teardown(a_context_is_named_by_its_endpoint, begin, end),
	};

	return cmocka_run_group_tests_name("rdm_cq", tests, NULL, NULL);
}
