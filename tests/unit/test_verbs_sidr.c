/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service ID resolution: answers, queries, many at once, every failure. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/dgram/av.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/cm/sidr.h"
#include "capture.h"
#include "fake_cm.h"

enum { QPN = 0x77, QKEY = 0x4711, MANY = 100 };

static struct fake_bed bed;
static struct vrb_av av;
static struct ibv_context other_ctx;
static struct ibv_device other_device = { .name = "rxe1" };

/* What the network does with a request. */
static enum rdma_cm_event_type addr_event, route_event, answer;
static int status;
static bool silent, foreign, named;
static unsigned int late_us; /* the event thread gets no processor before it reads the answer */
static struct vrb_ud_name name;
static struct ibv_sa_path_rec path;

static struct vrb_ud_name name_of(uint32_t qpn)
{
	struct vrb_dest dest = { .qpn = qpn, .qkey = QKEY, .pkey = 0xffff, .lid = 3 };
	struct vrb_ud_name out;

	memset(dest.gid.raw + 10, 0xff, 2);
	memcpy(dest.gid.raw + 12, "\x0a\0\0\x08", 4);
	vrb_ud_name_out(&dest, &out);
	return out;
}

static void network(struct rdma_cm_id *id, const char *call)
{
	if (!strcmp(call, "resolve_addr")) {
		id->verbs = foreign ? &other_ctx : &bed.ctx;
		id->port_num = 1;
		fake_event(id, addr_event, status);
	} else if (!strcmp(call, "resolve_route")) {
		id->route.path_rec = &path;
		id->route.num_paths = 1;
		fake_event(id, route_event, status);
	} else if (silent) {
		return;
	} else if (answer != RDMA_CM_EVENT_ESTABLISHED) {
		fake_event(id, answer, status);
	} else {
		/* Messages are padded to their fixed size. */
		uint8_t data[136] = { 0 };

		memcpy(data, &name, sizeof(name));
		fake_event_ud(id, answer, QPN, VRB_UD_QKEY_CM, named ? data : NULL,
			      named ? sizeof(data) : 0);
		usleep(late_us);
	}
}

static int setup(void **state)
{
	(void)state;
	fake_init(&bed);
	vrb_params.resolve_timeout = 2000;
	bed.domain.base.info = bed.info;
	other_ctx.device = &other_device;
	memset(&av, 0, sizeof(av));
	av.domain = &bed.domain;
	av.port.num = 1;
	av.port.pkey = 0xffff;
	av.port.mtu = 4096;
	path.mtu = IBV_MTU_4096;
	addr_event = RDMA_CM_EVENT_ADDR_RESOLVED;
	route_event = RDMA_CM_EVENT_ROUTE_RESOLVED;
	answer = RDMA_CM_EVENT_ESTABLISHED;
	status = 0;
	silent = foreign = false;
	named = true;
	late_us = 0;
	name = name_of(QPN);
	fake.on_call = network;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_fini(&bed);
	return 0;
}

static struct sockaddr_storage host(const char *ip, uint16_t port)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	inet_pton(AF_INET, ip, &in->sin_addr);
	return ss;
}

static int resolve(struct vrb_dest *dest)
{
	struct vrb_av_found found = { .addr = host("10.0.0.9", 7471) };
	int err = 0;

	vrb_sidr_resolve(&av, "test", &found, &err, 1);
	*dest = found.dest;
	return err;
}

static void test_answered(void **state)
{
	struct vrb_dest dest;

	(void)state;
	assert_int_equal(resolve(&dest), 0);
	assert_int_equal(dest.qpn, QPN);
	assert_int_equal(dest.qkey, QKEY);
	assert_int_equal(dest.lid, 3);
	assert_int_equal(dest.gid.raw[15], 8);
	assert_int_equal(fake.ids, 0);
}

/* The name is that of the port; the way there may lead through a router, at a service level. */
static void test_path(void **state)
{
	struct vrb_dest dest;

	(void)state;
	fake.sl = 5;
	fake.dlid = 9;
	assert_int_equal(resolve(&dest), 0);
	assert_int_equal(dest.qpn, QPN);
	assert_int_equal(dest.lid, 9);
	assert_int_equal(dest.sl, 5);
}

static const char *resolve_on(uint8_t mtu)
{
	struct vrb_dest dest;

	path.mtu = mtu;
	capture_start();
	assert_int_equal(resolve(&dest), 0);
	return capture_stop();
}

static void test_narrow_path(void **state)
{
	(void)state;
	assert_non_null(strstr(resolve_on(IBV_MTU_2048),
			       "more than 2048 bytes to fi_sockaddr_in://10.0.0.9"));
	assert_string_equal(resolve_on(IBV_MTU_4096), "");
	assert_string_equal(resolve_on(0), "");
}

/* Who does not say its name, or lies about it, is what the connection manager says. */
static void test_without_name(void **state)
{
	struct vrb_dest dest;

	(void)state;
	named = false;
	assert_int_equal(resolve(&dest), 0);
	assert_int_equal(dest.qpn, QPN);
	assert_int_equal(dest.qkey, VRB_UD_QKEY_CM);
	assert_int_equal(dest.gid.raw[15], 9);
	named = true;
	name = name_of(QPN + 1);
	assert_int_equal(resolve(&dest), 0);
	assert_int_equal(dest.qpn, QPN);
	assert_int_equal(dest.gid.raw[15], 9);
}

static void refused(enum rdma_cm_event_type *step, enum rdma_cm_event_type event, int status_,
		    int want)
{
	enum rdma_cm_event_type before = *step;
	struct vrb_dest dest;

	*step = event;
	status = status_;
	assert_int_equal(resolve(&dest), want);
	assert_int_equal(fake.ids, 0);
	*step = before;
}

static void test_events_fail(void **state)
{
	(void)state;
	refused(&addr_event, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH, -FI_ENETUNREACH);
	refused(&addr_event, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, -FI_ETIMEDOUT);
	refused(&route_event, RDMA_CM_EVENT_ROUTE_ERROR, -EHOSTUNREACH, -FI_EHOSTUNREACH);
	refused(&answer, RDMA_CM_EVENT_UNREACHABLE, 1, -FI_ECONNREFUSED);
	refused(&answer, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, -FI_ETIMEDOUT);
	refused(&answer, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, -FI_ENODEV);
}

static void test_calls_fail(void **state)
{
	static const char *const calls[] = { "create_event_channel", "create_id", "resolve_addr",
					     "resolve_route", "connect" };
	struct vrb_dest dest;
	size_t i;

	(void)state;
	fake.err = ENOMEM;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		fake.fail = calls[i];
		assert_int_equal(resolve(&dest), -FI_ENOMEM);
		assert_int_equal(fake.ids, 0);
	}
}

static void test_other_device(void **state)
{
	struct vrb_dest dest;

	(void)state;
	foreign = true;
	assert_int_equal(resolve(&dest), -FI_EADDRNOTAVAIL);
	foreign = false;
	av.port.num = 2;
	assert_int_equal(resolve(&dest), -FI_EADDRNOTAVAIL);
}

static void test_silence(void **state)
{
	struct vrb_dest dest;

	(void)state;
	vrb_params.resolve_timeout = 5;
	silent = true;
	assert_int_equal(resolve(&dest), -FI_ETIMEDOUT);
	assert_int_equal(fake.ids, 0);
}

/* The time is over while the answer is unread. */
static void test_late(void **state)
{
	struct sockaddr_storage to = host("10.0.0.9", 7471);
	struct vrb_sidr_lookup *lookup;
	struct vrb_dest dest;
	int err;

	(void)state;
	vrb_params.resolve_timeout = 5;
	late_us = 1000000;
	assert_int_equal(resolve(&dest), 0);
	assert_int_equal(dest.qpn, QPN);
	assert_int_equal(vrb_sidr_start(&av, "test", &to, &lookup), 0);
	usleep(late_us / 10);
	assert_false(vrb_sidr_settled(lookup, &err, &dest));
	fake_settle();
	assert_true(vrb_sidr_settled(lookup, &err, &dest));
	assert_int_equal(err, 0);
	vrb_sidr_end(lookup);
}

static void test_many(void **state)
{
	struct vrb_av_found *found = calloc(MANY, sizeof(*found));
	int errs[MANY] = { 0 };
	int i;

	(void)state;
	for (i = 0; i < MANY; i++)
		found[i].addr = host("10.0.0.9", (uint16_t)(i + 1));
	errs[3] = -FI_EINVAL;
	vrb_sidr_resolve(&av, "test", found, errs, MANY);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(errs[i], i == 3 ? -FI_EINVAL : 0);
		assert_int_equal(found[i].dest.qpn, i == 3 ? 0 : QPN);
	}
	free(found);
}

/* One that is asked for without waiting. */
static void test_later(void **state)
{
	struct sockaddr_storage to = host("10.0.0.9", 7471);
	struct vrb_sidr_lookup *lookup;
	struct vrb_dest dest;
	int err;

	(void)state;
	assert_int_equal(vrb_sidr_start(&av, "test", &to, &lookup), 0);
	fake_settle();
	assert_true(vrb_sidr_settled(lookup, &err, &dest));
	assert_int_equal(err, 0);
	assert_int_equal(dest.qpn, QPN);
	vrb_sidr_end(lookup);
	silent = true;
	assert_int_equal(vrb_sidr_start(&av, "test", &to, &lookup), 0);
	fake_settle();
	assert_false(vrb_sidr_settled(lookup, &err, &dest));
	vrb_sidr_end(lookup); /* though it is under way */
	vrb_params.resolve_timeout = 0;
	assert_int_equal(vrb_sidr_start(&av, "test", &to, &lookup), 0);
	while (!vrb_sidr_settled(lookup, &err, &dest))
		usleep(10); /* the events of its address and route are unread at first */
	assert_int_equal(err, -FI_ETIMEDOUT);
	vrb_sidr_end(lookup);
	fake.err = ENOMEM;
	fake.fail = "resolve_addr";
	assert_int_equal(vrb_sidr_start(&av, "test", &to, &lookup), -FI_ENOMEM);
	assert_int_equal(fake.ids, 0);
	assert_true(vrb_sidr_may_come(&av, -FI_ECONNREFUSED));
	assert_true(vrb_sidr_may_come(&av, -FI_ETIMEDOUT));
	assert_false(vrb_sidr_may_come(&av, -FI_ENETUNREACH));
	av.addr_format = FI_ADDR_IB_UD;
	assert_false(vrb_sidr_may_come(&av, -FI_ECONNREFUSED));
}

static void test_server(void **state)
{
	struct sockaddr_storage local = host("10.0.0.1", 0);
	struct vrb_sidr_server server;

	(void)state;
	assert_int_equal(vrb_sidr_listen(&server, &bed.fabric, &local, &name), 0);
	assert_int_equal(server.id->ps, RDMA_PS_UDP);
	assert_int_equal(((struct sockaddr_in *)&server.local)->sin_port, htons(1234));
	fake_request(&bed, server.id, "");
	fake_request(&bed, server.id, "");
	fake_settle();
	assert_int_equal(fake.param.qp_num, QPN);
	assert_int_equal(fake.param.private_data_len, sizeof(name));
	assert_memory_equal(fake.data, &name, sizeof(name));
	/* The requests' ids are gone, the listener's is left. */
	vrb_sidr_close(&server);
	vrb_sidr_close(&server);
}

static void test_server_fails(void **state)
{
	static const char *const calls[] = { "create_id", "bind_addr", "listen" };
	struct sockaddr_storage local = host("10.0.0.1", 7471);
	struct vrb_sidr_server server;
	struct vrb_ud_name none = { { 0 } };
	size_t i;

	(void)state;
	fake.err = EADDRINUSE;
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		fake.fail = calls[i];
		assert_int_equal(vrb_sidr_listen(&server, &bed.fabric, &local, &name),
				 -FI_EADDRINUSE);
		assert_int_equal(fake.ids, 0);
		vrb_sidr_close(&server);
	}
	fake.err = EADDRNOTAVAIL;
	assert_int_equal(vrb_sidr_listen(&server, &bed.fabric, &local, &name), -FI_EADDRINUSE);
	fake.fail = "bind_port";
	assert_int_equal(vrb_sidr_listen(&server, &bed.fabric, &local, &name), -FI_EADDRINUSE);
	fake.fail = NULL;
	assert_int_equal(vrb_sidr_listen(&server, &bed.fabric, &local, &none), -FI_EINVAL);
	/* When accepting fails the id goes. */
	assert_int_equal(vrb_sidr_listen(&server, &bed.fabric, &local, &name), 0);
	fake.fail = "accept";
	fake_request(&bed, server.id, "");
	fake_settle();
	vrb_sidr_close(&server);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_path),	 TEST(test_narrow_path), TEST(test_answered),
		TEST(test_without_name), TEST(test_events_fail), TEST(test_calls_fail),
		TEST(test_other_device), TEST(test_silence),	 TEST(test_many),
		TEST(test_later),	 TEST(test_server),	 TEST(test_server_fails),
		TEST(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
