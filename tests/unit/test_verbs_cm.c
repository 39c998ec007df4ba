/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections, from the calls of fi_cm to the events of the event queue, through the event thread.
 */
#include "unit.h"
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <prov/verbs/cm/cm_wire.h>
#include <prov/verbs/cm/pep.h>
#include <prov/base/name.h>
#include <prov/verbs/provider/prov.h>
#include "capture.h"
#include "fake_cm.h"

static struct fake_bed bed;
static struct vrb_ep *ep;
static struct sockaddr_in dest;

static int setup(void **state)
{
	(void)state;
	fake_init(&bed);
	dest = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(7471) };
	inet_pton(AF_INET, "10.0.0.2", &dest.sin_addr);
	ep = fake_ep(&bed);
	assert_int_equal(vrb_conn_init(ep, ep->info), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_ep_close(ep);
	fake_fini(&bed);
	return 0;
}

/* The next event, waited for. */
static int next_event(char *text)
{
	fake_settle();
	return fake_read(bed.eq, text, NULL);
}

static void resolve(void)
{
	ep->conn.id->verbs = &bed.ctx;
	fake_event(ep->conn.id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	fake_event(ep->conn.id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	fake_settle();
}

static void connects_and_disconnects(void **state)
{
	struct sockaddr_in peer;
	size_t len = sizeof(peer);
	char text[256];

	(void)state;
	assert_int_equal(fi_getpeer(&ep->fid, &peer, &len), -FI_ENOTCONN);
	assert_int_equal(fi_connect(&ep->fid, &dest, "hi", 2), 0);
	resolve();
	assert_non_null(strstr(fake.calls, "enable resolve_addr resolve_route connect "));
	assert_memory_equal(fake.data, "\2hi", 3);
	fake_event_data(ep->conn.id, RDMA_CM_EVENT_CONNECT_RESPONSE, "welcome");
	assert_int_equal(next_event(text), FI_CONNECTED);
	assert_string_equal(text, "welcome");
	assert_int_equal(fi_connect(&ep->fid, &dest, NULL, 0), -FI_EISCONN);
	assert_int_equal(fi_getpeer(&ep->fid, &peer, &len), 0);
	assert_int_equal(len, sizeof(peer));
	assert_memory_equal(&peer, &dest, sizeof(dest));
	fake_event(ep->conn.id, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(next_event(NULL), FI_SHUTDOWN);
	assert_int_equal(fake.down, 1);
	assert_int_equal(fi_shutdown(&ep->fid, 0), 0);
	fake_event(ep->conn.id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	assert_int_equal(next_event(NULL), 0);
}

static void bad_arguments(void **state)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct sockaddr odd = { .sa_family = AF_UNIX };

	(void)state;
	assert_int_equal(fi_connect(&ep->fid, NULL, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_connect(&ep->fid, &six, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_connect(&ep->fid, &odd, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_connect(&ep->fid, &dest, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_connect(&ep->fid, &any, NULL, 0), -FI_EINVAL);
	any.sin_addr = dest.sin_addr;
	any.sin_port = 0;
	assert_int_equal(fi_connect(&ep->fid, &any, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_accept(&ep->fid, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_accept(&ep->fid, NULL, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_shutdown(&ep->fid, 1), -FI_EBADFLAGS);
	assert_int_equal(fi_shutdown(&ep->fid, 0), -FI_ENOTCONN);
	assert_int_equal(fi_listen((struct fid_pep *)ep), -FI_ENOSYS);
	ep->eq = NULL;
	assert_int_equal(fi_connect(&ep->fid, &dest, NULL, 0), -FI_ENOEQ);
	assert_int_equal(fi_accept(&ep->fid, NULL, 0), -FI_ENOEQ);
	assert_null(strstr(fake.calls, "resolve_addr"));
	assert_null(strstr(fake.calls, "enable"));
}

static void the_domain_lends_its_queue(void **state)
{
	(void)state;
	ep->eq = NULL;
	bed.domain.base.eq = ofi_eq(bed.eq);
	assert_int_equal(fi_connect(&ep->fid, &dest, NULL, 0), 0);
	fake_event(ep->conn.id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	assert_int_equal(next_event(NULL), -FI_EADDRNOTAVAIL);
	fake_event(ep->conn.id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	fake_settle();
}

/* Those in the domain's queue, too, where the endpoint has its own. */
static void events_go_with_the_endpoint(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_eq_entry entry;
	struct fid_eq *own;
	uint32_t event;

	(void)state;
	assert_int_equal(
		ofi_eq_open(&vrb_prov, FI_VERSION(1, 17), &bed.fabric.ref, &attr, NULL, &own, NULL),
		0);
	bed.domain.base.eq = ofi_eq(bed.eq);
	ep->eq = ofi_eq(own);
	fake_event(ep->conn.id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	fake_event(ep->conn.id, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
	fake_settle();
	fake_ep_close(ep);
	assert_int_equal(fi_eq_read(bed.eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	assert_int_equal(fi_eq_read(own, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	assert_int_equal(fi_close(&own->fid), 0);
	ep = fake_ep(&bed);
	assert_int_equal(vrb_conn_init(ep, ep->info), 0);
}

static void enabling_may_fail(void **state)
{
	(void)state;
	fake.fail = "enable";
	fake.err = ENOMEM;
	assert_int_equal(fi_connect(&ep->fid, &dest, NULL, 0), -FI_ENOMEM);
	assert_int_equal(ep->conn.state, VRB_CONN_IDLE);
}

static void errors_keep_their_reason(void **state)
{
	static const struct {
		enum rdma_cm_event_type type;
		int status, err;
	} rows[] = {
		{ RDMA_CM_EVENT_ADDR_ERROR, 0, FI_EADDRNOTAVAIL },
		{ RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT, FI_ETIMEDOUT },
		{ RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, FI_EADDRNOTAVAIL },
		{ RDMA_CM_EVENT_ROUTE_ERROR, 0, FI_ENETUNREACH },
		{ RDMA_CM_EVENT_CONNECT_ERROR, 0, FI_ECONNABORTED },
		{ RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, FI_ETIMEDOUT },
		{ RDMA_CM_EVENT_UNREACHABLE, 0, FI_EHOSTUNREACH },
		{ RDMA_CM_EVENT_REJECTED, 8, FI_ECONNREFUSED },
		{ RDMA_CM_EVENT_DEVICE_REMOVAL, 0, FI_ENODEV },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ep->conn.state = VRB_CONN_CONNECTING;
		fake_event(ep->conn.id, rows[i].type, rows[i].status);
		assert_int_equal(next_event(NULL), -rows[i].err);
		assert_int_equal(next_event(NULL), 0);
		assert_int_equal(ep->conn.state, VRB_CONN_DOWN);
	}
}

static void refusal_has_data(void **state)
{
	char text[256];

	(void)state;
	ep->conn.state = VRB_CONN_CONNECTING;
	fake_event_data(ep->conn.id, RDMA_CM_EVENT_REJECTED, "no room");
	assert_int_equal(next_event(text), -FI_ECONNREFUSED);
	assert_string_equal(text, "no room");
}

static void this_host_is_the_device(void **state)
{
	struct sockaddr_in local = { .sin_family = AF_INET }, peer;
	size_t len = sizeof(peer);

	(void)state;
	inet_pton(AF_INET, "10.0.0.1", &local.sin_addr);
	inet_pton(AF_INET, "127.0.0.1", &dest.sin_addr);
	assert_int_equal(fi_setname(&ep->fid.fid, &local, sizeof(local)), 0);
	assert_int_equal(fi_connect(&ep->fid, &dest, NULL, 0), 0);
	assert_int_equal(fi_getpeer(&ep->fid, &peer, &len), 0);
	assert_int_equal(peer.sin_addr.s_addr, local.sin_addr.s_addr);
	assert_int_equal(peer.sin_port, dest.sin_port);
}

static void names(void **state)
{
	struct sockaddr_in name = dest, got;
	size_t len = sizeof(got);

	(void)state;
	assert_int_equal(fi_getname(&ep->fid.fid, &got, &len), -FI_EADDRNOTAVAIL);
	assert_int_equal(fi_setname(&ep->fid.fid, &name, sizeof(name) - 1), -FI_EINVAL);
	name.sin_port = 0;
	assert_int_equal(fi_setname(&ep->fid.fid, &name, sizeof(name)), 0);
	assert_int_equal(fi_setname(&ep->fid.fid, &name, sizeof(name)), 0);
	assert_int_equal(fi_getname(&ep->fid.fid, &got, &len), 0);
	assert_int_equal(got.sin_port, htons(1234));
	len = 4;
	memset(&got, 0, sizeof(got));
	assert_int_equal(fi_getname(&ep->fid.fid, &got, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(got));
	assert_int_equal(got.sin_port, htons(1234));
	assert_int_equal(got.sin_addr.s_addr, 0);
	len = 0;
	assert_int_equal(fi_getname(&ep->fid.fid, NULL, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(got));
	assert_int_equal(fi_getname(&ep->fid.fid, &got, NULL), -FI_EINVAL);
	fake.fail = "bind_addr";
	fake.err = EADDRINUSE;
	assert_int_equal(fi_setname(&ep->fid.fid, &name, sizeof(name)), -FI_EADDRINUSE);
	fake.fail = NULL;
	ep->conn.state = VRB_CONN_UP;
	assert_int_equal(fi_setname(&ep->fid.fid, &name, sizeof(name)), -FI_EOPBADSTATE);
}

/* The kernel does not tell the reasons apart if one of two addresses is the wildcard. */
static void a_port_in_use_is_told_from_a_strange_address(void **state)
{
	struct sockaddr_in name = dest;

	(void)state;
	fake.err = EADDRNOTAVAIL;
	fake.fail = "bind_port";
	assert_int_equal(fi_setname(&ep->fid.fid, &name, sizeof(name)), -FI_EADDRINUSE);
	fake.fail = "bind_addr";
	assert_int_equal(fi_setname(&ep->fid.fid, &name, sizeof(name)), -FI_EADDRNOTAVAIL);
	name.sin_port = 0;
	assert_int_equal(fi_setname(&ep->fid.fid, &name, sizeof(name)), -FI_EADDRNOTAVAIL);
}

/* The kernel knows the address, and no RDMA device of its interface. */
static void an_interface_without_a_device(void **state)
{
	const char *log;

	(void)state;
	fake.fail = "bind_addr";
	fake.err = ENODEV;
	capture_start();
	assert_int_equal(fi_setname(&ep->fid.fid, &dest, sizeof(dest)), -FI_EADDRNOTAVAIL);
	log = capture_stop();
	assert_null(strstr(log, "removed"));
	assert_non_null(strstr(log, "no RDMA device has this address"));
}

static void names_as_text(void **state)
{
	const char *text = "fi_sockaddr_in://10.0.0.2:7471";
	char buf[64];
	size_t len = 5;

	(void)state;
	ep->info->addr_format = FI_ADDR_STR;
	assert_int_equal(fi_connect(&ep->fid, "nonsense", NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_connect(&ep->fid, text, NULL, 0), 0);
	assert_int_equal(fi_getpeer(&ep->fid, buf, &len), -FI_ETOOSMALL);
	assert_int_equal(len, strlen(text) + 1);
	assert_int_equal(fi_getpeer(&ep->fid, buf, &len), 0);
	assert_string_equal(buf, text);
}

static void wire_format(void **state)
{
	uint8_t wire[VRB_CM_WIRE_MAX], lie[3] = { 200, 'a', 'b' }, reply[100], data[80] = { 0 };
	size_t len;

	(void)state;
	assert_int_equal(vrb_cm_pack(wire, "abc", 3), 4);
	assert_memory_equal(vrb_cm_unpack(wire, sizeof(wire), &len), "abc", 3);
	assert_int_equal(len, 3);
	assert_int_equal(vrb_cm_pack(wire, NULL, 0), 1);
	vrb_cm_unpack(wire, sizeof(wire), &len);
	assert_int_equal(len, 0);
	vrb_cm_unpack(lie, sizeof(lie), &len);
	assert_int_equal(len, 2);
	/* Replies have more room than requests. */
	assert_int_equal(vrb_cm_pack(reply, data, sizeof(data)), sizeof(data) + 1);
	/* Of the application's data, what does not fit is cut off. */
	assert_int_equal(vrb_cm_cut(VRB_CM_DATA_MAX), VRB_CM_DATA_MAX);
	assert_int_equal(vrb_cm_cut(VRB_CM_DATA_MAX + 1), VRB_CM_DATA_MAX);
	assert_null(vrb_cm_unpack(NULL, 0, &len));
	assert_int_equal(len, 0);
	assert_null(vrb_cm_unpack(wire, 0, &len));
}

/* Every call of opening fails in turn; fake_fini finds what would be left over. */
static void no_id(void **state)
{
	static const char *const calls[] = { "create_id", "create_event_channel" };
	struct fake_bed other;
	struct vrb_ep *second;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fake_ep_close(ep);
		fake_fini(&bed);
		fake_init(&other);
		second = fake_ep(&other);
		fake.fail = calls[i];
		fake.err = EMFILE;
		assert_int_equal(vrb_conn_init(second, second->info), -FI_EMFILE);
		fake_ep_close(second);
		fake_fini(&other);
		setup(NULL);
	}
}

/* The library does not take a missing permission for a missing module. */
static void no_id_permitted(void **state)
{
	struct fake_bed other;
	struct vrb_ep *second;
	const char *log;

	(void)state;
	fake_ep_close(ep);
	fake_fini(&bed);
	fake_init(&other);
	second = fake_ep(&other);
	fake.fail = "create_id";
	fake.err = EPERM;
	capture_start();
	assert_int_equal(vrb_conn_init(second, second->info), -FI_EPERM);
	log = capture_stop();
	fake_ep_close(second);
	fake_fini(&other);
	setup(NULL);
	assert_non_null(strstr(log, "rdma_create_id: Operation not permitted"));
	assert_null(strstr(log, "loaded"));
}

static bool no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

/* Neither is the limit of threads a shortage of the device, nor a missing module. */
static void no_thread(void **state)
{
	struct fake_bed other;
	struct vrb_ep *second;
	const char *log;

	(void)state;
	fake_ep_close(ep);
	fake_fini(&bed);
	fake_init(&other);
	second = fake_ep(&other);
	no_threads = true;
	capture_start();
	assert_int_equal(vrb_conn_init(second, second->info), -FI_ENOMEM);
	log = capture_stop();
	no_threads = false;
	fake_ep_close(second);
	fake_fini(&other);
	setup(NULL);
	assert_non_null(strstr(log, "limit of threads"));
	assert_null(strstr(log, "device"));
	assert_null(strstr(log, "loaded"));
}

/* The host has one interface, with the address of the requests. */
int __wrap_getifaddrs(struct ifaddrs **list);
void __wrap_freeifaddrs(struct ifaddrs *list);

int __wrap_getifaddrs(struct ifaddrs **list)
{
	static struct sockaddr_in addr;
	static struct ifaddrs one = { .ifa_name = (char *)"eth0", .ifa_addr = (void *)&addr };

	addr.sin_family = AF_INET;
	inet_pton(AF_INET, "10.0.0.1", &addr.sin_addr);
	*list = &one;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

/* Returns the event of a request to a listener on all addresses. */
static int request_with(const char *iface)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct fid_pep *pep;
	struct fi_info *info;
	int event;

	free(bed.info->src_addr);
	bed.info->src_addr = memcpy(malloc(sizeof(any)), &any, sizeof(any));
	bed.info->src_addrlen = sizeof(any);
	assert_int_equal(vrb_pep_open(&bed.fabric.fid, bed.info, &pep, NULL), 0);
	assert_int_equal(fi_pep_bind(pep, &bed.eq->fid, 0), 0);
	assert_int_equal(fi_listen(pep), 0);
	vrb_params.iface = iface;
	fake_request(&bed, fake.last_id, "");
	fake_settle();
	vrb_params.iface = NULL;
	event = fake_read(bed.eq, NULL, &info);
	if (info)
		assert_int_equal(fi_reject(pep, info->handle, NULL, 0), 0);
	fi_freeinfo(info);
	assert_int_equal(fi_close(&pep->fid), 0);
	return event;
}

/* A listener on all addresses does not serve an interface that FI_VERBS_IFACE leaves out. */
static void no_request_through_another_interface(void **state)
{
	(void)state;
	assert_int_equal(request_with(NULL), FI_CONNREQ);
	assert_int_equal(request_with("eth0"), FI_CONNREQ);
	assert_int_equal(request_with("ib0,eth1"), 0);
}

static void *bombard(void *arg)
{
	int i;

	for (i = 0; i < 3; i++)
		fake_event(arg, RDMA_CM_EVENT_DISCONNECTED, 0);
	return NULL;
}

static void closing_while_events_come(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 500; i++) {
		ep->conn.state = VRB_CONN_UP;
		ep->conn.shutdown_due = true;
		bombard(ep->conn.id);
		if (i % 3)
			usleep((useconds_t)(i % 50));
		fake_ep_close(ep);
		assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
		ep = fake_ep(&bed);
		assert_int_equal(vrb_conn_init(ep, ep->info), 0);
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* A lock that the library of connections holds while it binds an id. */
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t binding;

static void bind_slowly(void)
{
	pthread_mutex_lock(&library_lock);
	sem_post(&binding);
	usleep(50000);
	pthread_mutex_unlock(&library_lock);
}

static void *bind_one(void *arg)
{
	struct sockaddr_storage any = { .ss_family = AF_INET };
	struct vrb_owner owner = *(struct vrb_owner *)arg;
	struct rdma_cm_id *id;

	assert_int_equal(vrb_cm_bind_id(&bed.fabric.cm, "test", &owner, false, &any, &id), 0);
	rdma_destroy_id(id);
	return NULL;
}

/* The child needs that lock, too. */
static void forks_wait_for_binding(void **state)
{
	pthread_t thread;
	int status;
	pid_t pid;

	(void)state;
	sem_init(&binding, 0, 0);
	fake.bind_hook = bind_slowly;
	assert_int_equal(pthread_create(&thread, NULL, bind_one, &ep->owner), 0);
	sem_wait(&binding);
	pid = fork();
	if (!pid) {
		alarm(5);
		pthread_mutex_lock(&library_lock);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	pthread_join(thread, NULL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fake.bind_hook = NULL;
	sem_destroy(&binding);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(connects_and_disconnects),
		test(bad_arguments),
		test(the_domain_lends_its_queue),
		test(events_go_with_the_endpoint),
		test(enabling_may_fail),
		test(errors_keep_their_reason),
		test(refusal_has_data),
		test(this_host_is_the_device),
		test(names),
		test(a_port_in_use_is_told_from_a_strange_address),
		test(an_interface_without_a_device),
		test(names_as_text),
		test(wire_format),
		test(no_id),
		test(no_id_permitted),
		test(no_thread),
		test(no_request_through_another_interface),
		test(closing_while_events_come),
		test(forks_wait_for_binding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
