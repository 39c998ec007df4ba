/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Passive endpoints; requests that are accepted, rejected, abandoned and never answered. */
#include "unit.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <prov/verbs/cm/cm_wire.h>
#include <prov/verbs/cm/pep.h>
#include <prov/verbs/cm/req.h>
#include <prov/verbs/provider/prov.h>
#include "capture.h"
#include "fake_cm.h"

static struct fake_bed bed;
static struct fid_pep *pep;
static struct rdma_cm_id *listener;
static const char *no_copy; /* a text for whose copy there is no memory */

char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = no_copy && !strcmp(text, no_copy) ? NULL : malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

static void open_pep(void)
{
	struct sockaddr_in src = { .sin_family = AF_INET, .sin_port = htons(7471) };

	bed.info->src_addr = malloc(sizeof(src));
	memcpy(bed.info->src_addr, &src, sizeof(src));
	bed.info->src_addrlen = sizeof(src);
	assert_int_equal(vrb_pep_open(&bed.fabric.fid, bed.info, &pep, NULL), 0);
	listener = fake.last_id;
}

/* Opens it again, with what is in bed.info now. */
static void reopen_pep(void)
{
	assert_int_equal(fi_close(&pep->fid), 0);
	free(bed.info->src_addr);
	open_pep();
	assert_int_equal(fi_pep_bind(pep, &bed.eq->fid, FI_CONNREQ), 0);
}

static int setup(void **state)
{
	(void)state;
	fake_init(&bed);
	open_pep();
	assert_int_equal(fi_pep_bind(pep, &bed.eq->fid, 0), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (pep)
		assert_int_equal(fi_close(&pep->fid), 0);
	pep = NULL;
	fake_fini(&bed);
	return 0;
}

static struct fi_info *request(const char *sent)
{
	struct fi_info *info;
	char text[256];

	fake_request(&bed, listener, sent);
	fake_settle();
	assert_int_equal(fake_read(bed.eq, text, &info), FI_CONNREQ);
	assert_string_equal(text, sent);
	assert_non_null(info);
	return info;
}

static void listening(void **state)
{
	struct sockaddr_in name;
	size_t len = sizeof(name);
	int backlog = 7, none = -1;

	(void)state;
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &backlog), 0);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &none), -FI_EINVAL);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(&pep->fid, FI_ENABLE, NULL), -FI_ENOSYS);
	assert_int_equal(fi_listen(pep), 0);
	assert_int_equal(fi_listen(pep), -FI_EALREADY);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &backlog), -FI_EOPBADSTATE);
	assert_int_equal(fi_getname(&pep->fid, &name, &len), 0);
	assert_int_equal(ntohs(name.sin_port), 7471);
	assert_int_equal(fi_setname(&pep->fid, &name, len), 0); /* its own */
	name.sin_port = htons(7472);
	assert_int_equal(fi_setname(&pep->fid, &name, len), -FI_EOPBADSTATE);
	assert_int_equal(fi_connect((struct fid_ep *)pep, &name, NULL, 0), -FI_ENOSYS);
}

static bool reports_removal(void)
{
	struct fi_eq_err_entry entry = { 0 };

	return fi_eq_readerr(bed.eq, &entry, 0) > 0 && entry.fid == &pep->fid &&
	       entry.err == FI_ENODEV;
}

/* The id may get another owner, which lets this one go, only before or after an event. */
static void removal_is_reported_under_the_lock(void **state)
{
	struct ofi_eq *eq = (struct ofi_eq *)bed.eq;

	(void)state;
	ofi_lock(&eq->lock);
	fake_event(listener, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	usleep(20000);
	assert_false(ofi_trylock(&bed.fabric.cm.lock));
	ofi_unlock(&eq->lock);
	fake_settle();
	assert_true(reports_removal());
}

static void opening_checks_what_it_gets(void **state)
{
	struct fi_info *rdm = fi_dupinfo(bed.info);
	struct fid_pep *other = NULL;

	(void)state;
	assert_int_equal(vrb_pep_open(&bed.fabric.fid, NULL, &other, NULL), -FI_EINVAL);
	assert_int_equal(vrb_pep_open(&bed.fabric.fid, bed.info, NULL, NULL), -FI_EINVAL);
	rdm->ep_attr->type = FI_EP_RDM;
	assert_int_equal(vrb_pep_open(&bed.fabric.fid, rdm, &other, NULL), -FI_EINVAL);
	fi_freeinfo(rdm);
	fake.fail = "bind_addr";
	fake.err = EADDRINUSE;
	assert_int_equal(vrb_pep_open(&bed.fabric.fid, bed.info, &other, NULL), -FI_EADDRINUSE);
	assert_null(other);
}

static void listening_needs_a_queue(void **state)
{
	struct ofi_eq foreign = { .fid.fid.fclass = FI_CLASS_EQ };
	struct fid_pep *other;

	(void)state;
	assert_int_equal(fi_pep_bind(pep, &bed.eq->fid, 0), -FI_EBUSY);
	assert_int_equal(fi_pep_bind(pep, &bed.eq->fid, 2), -FI_EBADFLAGS);
	assert_int_equal(fi_pep_bind(pep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_pep_bind(pep, &pep->fid, 0), -FI_EINVAL);
	assert_int_equal(vrb_pep_open(&bed.fabric.fid, bed.info, &other, NULL), 0);
	assert_int_equal(fi_listen(other), -FI_ENOEQ);
	assert_int_equal(fi_pep_bind(other, &foreign.fid.fid, 0), -FI_EINVAL);
	assert_int_equal(fi_listen(other), -FI_ENOEQ);
	assert_int_equal(fi_close(&other->fid), 0);
}

static void without_a_name_any_will_do(void **state)
{
	struct fi_info *info = fi_dupinfo(bed.info);
	struct sockaddr_in name = { 0 };
	size_t len = sizeof(name);
	struct fid_pep *other;

	(void)state;
	free(info->src_addr);
	info->src_addr = NULL;
	assert_int_equal(vrb_pep_open(&bed.fabric.fid, info, &other, NULL), 0);
	fi_freeinfo(info);
	assert_int_equal(fi_getname(&other->fid, &name, &len), -FI_EADDRNOTAVAIL);
	assert_int_equal(fi_pep_bind(other, &bed.eq->fid, 0), 0);
	assert_int_equal(fi_listen(other), 0);
	len = sizeof(name);
	assert_int_equal(fi_getname(&other->fid, &name, &len), 0);
	assert_int_equal(ntohs(name.sin_port), 1234);
	assert_int_equal(fi_close(&other->fid), 0);
}

static void the_port_is_taken(void **state)
{
	(void)state;
	fake.fail = "listen";
	for (fake.err = EADDRINUSE; fake.err <= EADDRNOTAVAIL; fake.err++)
		assert_int_equal(fi_listen(pep), -FI_EADDRINUSE);
	fake.fail = NULL;
	assert_int_equal(fi_listen(pep), 0);
}

static void options(void **state)
{
	size_t size = 0, len = 1;

	(void)state;
	assert_int_equal(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &len),
			 -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(size));
	assert_int_equal(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &len),
			 0);
	assert_int_equal(size, VRB_CM_DATA_MAX);
	assert_int_equal(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, NULL, NULL),
			 -FI_ENOPROTOOPT);
	assert_int_equal(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &size, &len),
			 -FI_ENOPROTOOPT);
}

static void a_request_becomes_an_endpoint(void **state)
{
	struct fi_info *info;
	struct vrb_ep *ep = fake_ep(&bed), *again = fake_ep(&bed);
	struct sockaddr_in *peer;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	info = request("hello");
	assert_int_equal(info->handle->fclass, FI_CLASS_CONNREQ);
	peer = info->dest_addr;
	assert_int_equal(ntohs(peer->sin_port), 40000);
	assert_string_equal(info->domain_attr->name, "rxe0");

	assert_int_equal(vrb_conn_init(ep, info), 0);
	assert_int_equal(vrb_conn_init(again, info), -FI_EINVAL);
	assert_int_equal(fi_reject(pep, info->handle, NULL, 0), -FI_EINVAL);
	fi_freeinfo(info);
	assert_int_equal(fi_accept(&ep->fid, "yes", 3), 0);
	assert_non_null(strstr(fake.calls, "enable qp_connect accept "));
	assert_memory_equal(fake.data, "\3yes", 4);
	assert_int_equal(fake.param.responder_resources, 4);
	assert_int_equal(fake.param.initiator_depth, 8);
	fake_event(ep->conn.id, RDMA_CM_EVENT_ESTABLISHED, 0);
	fake_settle();
	assert_int_equal(fake_read(bed.eq, NULL, NULL), FI_CONNECTED);
	fake_ep_close(again);
	fake_ep_close(ep);
}

static void an_ipv6_listener_gets_an_ipv4_request(void **state)
{
	struct ibv_device other = { .name = "rxe1" }, *devices[] = { &bed.device, &other };
	struct vrb_pep *listens = (struct vrb_pep *)pep;
	struct fi_info *info;
	int i;

	(void)state;
	listens->info->addr_format = FI_SOCKADDR_IN6;
	assert_int_equal(fi_listen(pep), 0);
	for (i = 0; i < 2; i++) {
		bed.ctx.device = devices[i];
		info = request("");
		assert_int_equal(info->addr_format, FI_SOCKADDR_IN);
		assert_int_equal(info->dest_addrlen, sizeof(struct sockaddr_in));
		assert_int_equal(fi_reject(pep, info->handle, NULL, 0), 0);
		fi_freeinfo(info);
	}
	bed.ctx.device = &bed.device;
}

static void a_request_is_rejected(void **state)
{
	struct fi_info *info;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	info = request("");
	assert_int_equal(fi_reject(pep, info->handle, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_reject(pep, NULL, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_reject(pep, info->handle, "no", 2), 0);
	assert_memory_equal(fake.data, "\2no", 3);
	assert_int_equal(fi_reject(pep, info->handle, "no", 2), -FI_EINVAL);
	fi_freeinfo(info);
}

/* The handle is right; it is only too late. */
static void a_peer_that_gave_up_is_rejected(void **state)
{
	struct fi_info *info;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	info = request("");
	fake.fail = "reject";
	fake.err = EINVAL;
	assert_int_equal(fi_reject(pep, info->handle, NULL, 0), -FI_ECONNABORTED);
	fake.fail = NULL;
	assert_int_equal(fi_reject(pep, info->handle, NULL, 0), -FI_EINVAL);
	fi_freeinfo(info);
}

static void a_handle_can_be_closed(void **state)
{
	struct fi_info *info;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	info = request("");
	assert_int_equal(fi_close(info->handle), 0);
	assert_non_null(strstr(fake.calls, "reject destroy_id "));
	fi_freeinfo(info);
}

static void the_peer_gives_up(void **state)
{
	struct vrb_ep *ep = fake_ep(&bed);
	struct fi_info *info;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	info = request("");
	fake_event(fake.last_id, RDMA_CM_EVENT_REJECTED, 0);
	fake_settle();
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
	assert_int_equal(vrb_conn_init(ep, info), -FI_ECONNABORTED);
	assert_int_equal(vrb_req_count(&bed.fabric.cm, pep, 1), 0);
	assert_int_equal(fi_close(info->handle), 0);
	assert_non_null(strstr(fake.calls, "reject destroy_id "));
	fake_ep_close(ep);
	fi_freeinfo(info);
}

static void the_peer_gives_up_before_accept(void **state)
{
	struct vrb_ep *ep = fake_ep(&bed);
	struct fi_info *info;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	info = request("");
	assert_int_equal(vrb_conn_init(ep, info), 0);
	fi_freeinfo(info);
	fake_event(ep->conn.id, RDMA_CM_EVENT_REJECTED, 0);
	fake_settle();
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_ECONNREFUSED);
	assert_int_equal(fi_accept(&ep->fid, NULL, 0), -FI_ECONNABORTED);
	fake_ep_close(ep);
}

static void another_device(void **state)
{
	static struct ibv_device other = { .name = "rxe1" }, odd = { .name = "mlx9" };
	struct vrb_ep *ep = fake_ep(&bed);
	const char *refusal, *text = "left out by a parameter, belongs to another fabric, or does";
	struct fi_info *info;

	(void)state;
	bed.fabric.fid.api_version = FI_VERSION(1, 17);
	assert_int_equal(fi_listen(pep), 0);
	bed.ctx.device = &other;
	info = request("");
	assert_string_equal(info->domain_attr->name, "rxe1");
	assert_string_equal(info->fabric_attr->prov_name, "verbs");
	assert_int_equal(info->fabric_attr->prov_version, vrb_prov.version);
	assert_int_equal(info->fabric_attr->api_version, FI_VERSION(1, 17));
	assert_null(info->next);
	bed.ctx.device = &bed.device;
	fi_freeinfo(info);

	/* Anybody can cause that, so it is not logged each time. */
	capture_start();
	bed.ctx.device = &odd;
	for (int i = 0; i < 3; i++)
		fake_request(&bed, listener, "");
	fake_settle();
	refusal = strstr(capture_stop(), text);
	assert_non_null(refusal);
	assert_null(strstr(refusal + 1, text));
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
	assert_non_null(strstr(fake.calls, "reject"));

	/* Not a request with what is known of any device. */
	bed.ctx.device = &other;
	no_copy = "rxe1";
	fake_request(&bed, listener, "");
	fake_settle();
	no_copy = NULL;
	assert_int_equal(fake_read(bed.eq, NULL, &info), 0);
	bed.ctx.device = &bed.device;
	fake_ep_close(ep);
}

/* The application may close the domain that its hints named before a request arrives. */
static void objects_of_the_hints_are_not_kept(void **state)
{
	struct ibv_device other = { .name = "rxe1" }, *devices[] = { &bed.device, &other };
	struct fi_info *info;

	(void)state;
	bed.info->domain_attr->domain = (struct fid_domain *)"closed";
	bed.info->fabric_attr->fabric = &bed.fabric.fid;
	reopen_pep();
	assert_int_equal(fi_listen(pep), 0);
	for (int i = 0; i < 2; i++) {
		bed.ctx.device = devices[i];
		info = request("");
		assert_string_equal(info->domain_attr->name, devices[i]->name);
		assert_null(info->domain_attr->domain);
		assert_null(info->fabric_attr->fabric);
		assert_int_equal(fi_reject(pep, info->handle, NULL, 0), 0);
		fi_freeinfo(info);
	}
	bed.ctx.device = &bed.device;
}

#define LIMIT 16

/* Returns one of the attributes that limit what a device has, or NULL after the last one. */
static size_t *limit_of(const struct fi_info *info, size_t i)
{
	struct fi_domain_attr *domain = info->domain_attr;
	struct fi_ep_attr *ep = info->ep_attr;
	size_t *const limits[] = { &domain->cq_cnt,	    &domain->ep_cnt,
				   &domain->cntr_cnt,	    &domain->mr_cnt,
				   &domain->tx_ctx_cnt,	    &domain->rx_ctx_cnt,
				   &domain->max_ep_tx_ctx,  &domain->max_ep_rx_ctx,
				   &domain->max_ep_stx_ctx, &domain->max_ep_srx_ctx,
				   &ep->max_msg_size,	    &ep->max_order_raw_size,
				   &ep->max_order_war_size, &ep->max_order_waw_size };

	return i < sizeof(limits) / sizeof(limits[0]) ? limits[i] : NULL;
}

static bool exceeds_limit(const struct fi_info *hints)
{
	const size_t *limit;
	size_t i;

	for (i = 0; (limit = limit_of(hints, i)); i++)
		if (*limit > LIMIT)
			return true;
	return false;
}

/* The limits of the passive endpoint's device do not apply to the device of a request. */
static void a_weaker_device_will_do(void **state)
{
	struct ibv_device weaker = { .name = "rxe1" };
	struct fi_info *info;
	size_t *limit, i;

	(void)state;
	for (i = 0; (limit = limit_of(bed.info, i)); i++)
		*limit = LIMIT + 1;
	fake.refuses = exceeds_limit;
	reopen_pep();
	assert_int_equal(fi_listen(pep), 0);
	bed.ctx.device = &weaker;
	info = request("");
	bed.ctx.device = &bed.device;
	assert_string_equal(info->domain_attr->name, "rxe1");
	assert_int_equal(fi_reject(pep, info->handle, NULL, 0), 0);
	fi_freeinfo(info);
}

static void nobody_answers(void **state)
{
	int i;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	fi_freeinfo(request("read and forgotten"));
	for (i = 0; i < 3; i++)
		fake_request(&bed, listener, "not even read");
	fake_settle();
	assert_int_equal(fake.ids, 5);
	assert_int_equal(fi_close(&pep->fid), 0);
	pep = NULL;
	assert_int_equal(fake.ids, 1);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
}

/* Its event stays in the queue, and names a handle that is no longer one. */
static void a_request_is_rejected_after_a_peek(void **state)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	fake_request(&bed, listener, "");
	fake_settle();
	assert_int_equal(fi_eq_read(bed.eq, &event, &entry, sizeof(entry), FI_PEEK), sizeof(entry));
	assert_int_equal(fi_reject(pep, entry.info->handle, NULL, 0), 0);
	assert_int_equal(fi_close(&pep->fid), 0);
	pep = NULL;
	assert_int_equal(fake.ids, 0);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
}

/* Whoever asks, and however often: what waits for an answer is bounded. */
static void requests_beyond_the_backlog_are_refused(void **state)
{
	struct fi_info *first, *info;
	int i, backlog = 3;

	(void)state;
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &backlog), 0);
	assert_int_equal(fi_listen(pep), 0);
	first = request("read and not answered");
	for (i = 0; i < 5; i++)
		fake_request(&bed, listener, "one of many");
	fake_settle();
	assert_int_equal(fake.ids, 1 + backlog);
	assert_int_equal(fi_reject(pep, first->handle, NULL, 0), 0);
	fi_freeinfo(first);
	fake_request(&bed, listener, "in its place");
	fake_settle();
	assert_int_equal(fake.ids, 1 + backlog);
	for (i = 0; i < backlog; i++) {
		assert_int_equal(fake_read(bed.eq, NULL, &info), FI_CONNREQ);
		assert_int_equal(fi_reject(pep, info->handle, NULL, 0), 0);
		fi_freeinfo(info);
	}
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
}

/* A request that its reader keeps counts for no other endpoint, wherever that is allocated. */
static void requests_do_not_count_for_a_later_listener(void **state)
{
	struct vrb_cm *cm = &bed.fabric.cm;
	struct fi_info *info;

	(void)state;
	assert_int_equal(fi_listen(pep), 0);
	info = request("kept");
	assert_int_equal(vrb_req_count(cm, pep, 9), 1);
	assert_int_equal(fi_close(&pep->fid), 0);
	assert_int_equal(vrb_req_count(cm, pep, 9), 0);
	pep = NULL;
	assert_int_equal(fi_close(info->handle), 0);
	fi_freeinfo(info);
}

static void an_endpoint_takes_the_name_over(void **state)
{
	struct fi_info *info = fi_dupinfo(bed.info);
	struct vrb_ep *ep = fake_ep(&bed), *late = fake_ep(&bed);
	struct sockaddr_in name;
	size_t len = sizeof(name);

	(void)state;
	info->handle = &pep->fid;
	assert_int_equal(vrb_conn_init(ep, info), 0);
	assert_ptr_equal(ep->conn.id, listener);
	assert_int_equal(fi_getname(&ep->fid.fid, &name, &len), 0);
	assert_int_equal(ntohs(name.sin_port), 7471);
	assert_int_equal(vrb_conn_init(late, info), -FI_EOPBADSTATE);
	assert_int_equal(fi_listen(pep), -FI_EOPBADSTATE);
	fake_ep_close(ep);
	fake_ep_close(late);
	info->handle = NULL;
	fi_freeinfo(info);
}

static void closing_while_requests_come(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < 200; i++) {
		assert_int_equal(fi_listen(pep), 0);
		for (j = 0; j < 3; j++)
			fake_request(&bed, listener, "hello");
		reopen_pep();
		assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(listening),
		test(opening_checks_what_it_gets),
		test(listening_needs_a_queue),
		test(without_a_name_any_will_do),
		test(the_port_is_taken),
		test(options),
		test(a_request_becomes_an_endpoint),
		test(an_ipv6_listener_gets_an_ipv4_request),
		test(a_request_is_rejected),
		test(a_peer_that_gave_up_is_rejected),
		test(a_handle_can_be_closed),
		test(the_peer_gives_up),
		test(the_peer_gives_up_before_accept),
		test(another_device),
		test(objects_of_the_hints_are_not_kept),
		test(a_weaker_device_will_do),
		test(nobody_answers),
		test(a_request_is_rejected_after_a_peek),
		test(requests_beyond_the_backlog_are_refused),
		test(requests_do_not_count_for_a_later_listener),
		test(an_endpoint_takes_the_name_over),
		test(closing_while_requests_come),
		test(removal_is_reported_under_the_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
