/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Joining collective groups: events, addresses, subgroups, wrong arguments. */
#include "unit.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "prov/base/av_set.h"
#include "prov/rdm/av.h"
#include "prov/rdm/coll.h"
#include <rdma/fi_errno.h>
#include "coll_net.h"

#define N 4

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref parent;
static struct ofi_domain domain = { .prov = &prov };
static struct ofi_rdm_av av = { .base.prov = &prov };
static struct net *net;
static pthread_mutex_t net_lock = PTHREAD_MUTEX_INITIALIZER; /* two members leave at once */
static struct ofi_rdm_coll colls[N];
static struct ofi_rdm_ep eps[N];
static struct fid_eq *eqs[N];
static char names[N][8];
static size_t gone; /* a member that has left the address vectors */
static bool twins;  /* all go by one name */
static long clock_ms, tick_ms;

bool __wrap_ofi_av_has(const struct ofi_av *vector, fi_addr_t addr);
fi_addr_t __wrap_ofi_av_limit(const struct ofi_av *vector);

bool __wrap_ofi_av_has(const struct ofi_av *vector, fi_addr_t addr)
{
	(void)vector;
	return addr >= net_addr(0) && addr <= net_addr(N);
}

fi_addr_t __wrap_ofi_av_limit(const struct ofi_av *vector)
{
	(void)vector;
	return 0;
}

bool __wrap_ofi_rdm_av_get(struct ofi_rdm_av *vector, fi_addr_t addr, struct ofi_rdm_addr *found);
bool __real_ofi_coll_leave(struct ofi_coll_group *group);
bool __wrap_ofi_coll_leave(struct ofi_coll_group *group);

static struct ofi_rdm_addr addr_of(size_t id)
{
	return (struct ofi_rdm_addr){
		.in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)(twins ? 1 : id + 1)) },
	};
}

bool __wrap_ofi_rdm_av_get(struct ofi_rdm_av *vector, fi_addr_t addr, struct ofi_rdm_addr *found)
{
	size_t id = (addr - net_addr(0)) / 7;

	assert_ptr_equal(vector, &av);
	*found = addr_of(id);
	return id != gone;
}

bool __wrap_ofi_coll_leave(struct ofi_coll_group *group)
{
	bool left;

	pthread_mutex_lock(&net_lock);
	left = __real_ofi_coll_leave(group);
	pthread_mutex_unlock(&net_lock);
	return left;
}

static void step(struct ofi_rdm_proto *proto)
{
	(void)proto;
	pthread_mutex_lock(&net_lock);
	net_step(net);
	pthread_mutex_unlock(&net_lock);
	usleep(10); /* the other one's turn, also under valgrind */
}

static const struct ofi_rdm_xport_ops xport_ops = { .progress = step };

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

/* The clock that fi_close looks at. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!tick_ms)
		return __real_clock_gettime(clock, now);
	clock_ms += tick_ms;
	*now = (struct timespec){ clock_ms / 1000, clock_ms % 1000 * 1000000 };
	return 0;
}

static void on_done(struct net_member *member, const struct ofi_coll_done *done)
{

	(void)member;
	if (done->join)
		ofi_rdm_coll_formed(done);
}

static void open_all(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };

	net = net_new(N, 11);
	gone = N;
	for (size_t i = 0; i < N; i++) {
		net->member[i].done = on_done;
		assert_int_equal(
			ofi_eq_open(&prov, FI_VERSION(1, 17), &parent, &attr, NULL, &eqs[i], NULL),
			0);
		snprintf(names[i], sizeof(names[i]), "ep%zu", i);
		colls[i] = (struct ofi_rdm_coll){ .engine = net->member[i].coll };
		eps[i] = (struct ofi_rdm_ep){
			.proto.xport.ops = &xport_ops,
			.domain = &domain,
			.coll = &colls[i],
			.av = &av,
			.eq = ofi_eq(eqs[i]),
			.self = addr_of(i),
		};
		ofi_lock_init(&eps[i].lock);
	}
}

static void close_all(void)
{
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(colls[i].groups.children, 0);
		assert_int_equal(fi_close(&eqs[i]->fid), 0);
	}
	net_free(net);
	assert_int_equal(av.base.ref.children, 0);
}

static struct fid_av_set *set_of(size_t count, const size_t *ids)
{
	struct fi_av_set_attr attr = {
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL,
	};
	struct fid_av_set *set;

	assert_int_equal(ofi_av_set_open(&av.base.fid, &attr, &set, NULL), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(fi_av_set_insert(set, net_addr(ids[i])), 0);
	return set;
}

/* Every other member spells out that it is not restricted to one direction. */
static int join(size_t id, const struct fid_av_set *set, fi_addr_t coll_addr, struct fid_mc **mc)
{
	struct fi_collective_addr addr = { .set = set, .coll_addr = coll_addr };
	uint64_t flags = FI_COLLECTIVE | (id % 2 ? FI_SEND | FI_RECV : 0);

	*mc = NULL;
	return ofi_rdm_coll_form(&eps[id], &addr, flags, mc, &names[id]);
}

static void run(void)
{
	do {
		for (size_t i = 0; i < N; i++)
			if (!net->member[i].dead)
				ofi_coll_progress(net->member[i].coll);
	} while (net_step(net) || net_random(net, 20));
}

static void expect_joined(size_t id, struct fid_mc *mc)
{
	struct fi_eq_entry entry;
	uint32_t event;

	assert_int_equal(fi_eq_read(eqs[id], &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(event, FI_JOIN_COMPLETE);
	assert_ptr_equal(entry.fid, &mc->fid);
	assert_ptr_equal(entry.context, &names[id]);
	assert_int_equal(mc->fid.fclass, FI_CLASS_MC);
	assert_int_not_equal(fi_mc_addr(mc), FI_ADDR_NOTAVAIL);
}

static void join_and_subgroup(void)
{
	struct fid_av_set *all = set_of(N, (size_t[]){ 2, 0, 3, 1 });
	struct fid_av_set *some = set_of(2, (size_t[]){ 3, 2 });
	struct fid_mc *mc[N], *sub[N];
	fi_addr_t addr;
	uint32_t event;

	assert_int_equal(fi_av_set_addr(all, &addr), 0);
	for (size_t i = 0; i < N - 1; i++)
		assert_int_equal(join(i, all, i ? addr : FI_ADDR_NOTAVAIL, &mc[i]), 0);
	run();
	assert_int_equal(fi_eq_read(eqs[0], &event, &event, 0, 0), -FI_EAGAIN);
	assert_int_equal(fi_mc_addr(mc[0]), FI_ADDR_NOTAVAIL);
	assert_int_equal(join(N - 1, all, addr, &mc[N - 1]), 0);
	run();
	for (size_t i = 0; i < N; i++) {
		expect_joined(i, mc[i]);
		assert_int_equal(colls[i].groups.children, 1);
	}
	for (size_t i = 2; i < N; i++)
		assert_int_equal(join(i, some, fi_mc_addr(mc[i]), &sub[i]), 0);
	run();
	for (size_t i = 2; i < N; i++) {
		expect_joined(i, sub[i]);
		assert_int_not_equal(fi_mc_addr(sub[i]), fi_mc_addr(mc[i]));
		assert_int_equal(fi_close(&sub[i]->fid), 0);
	}
	for (size_t i = 0; i < N; i++)
		assert_int_equal(fi_close(&mc[i]->fid), 0);
	fi_close(&all->fid);
	fi_close(&some->fid);
}

/* The error comes with the context; an unread event goes with its fid. */
static void a_member_dies(void)
{
	struct fid_av_set *all = set_of(2, (size_t[]){ 0, 1 });
	struct fi_eq_err_entry err = { 0 };
	struct fid_mc *mc, *other;
	uint32_t event;

	assert_int_equal(join(0, all, FI_ADDR_NOTAVAIL, &mc), 0);
	net_kill(net, 1);
	run();
	assert_int_equal(fi_eq_read(eqs[0], &event, &event, 0, 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(eqs[0], &err, 0), sizeof(err));
	assert_ptr_equal(err.fid, &mc->fid);
	assert_ptr_equal(err.context, &names[0]);
	assert_int_equal(err.err, FI_EHOSTDOWN);
	assert_int_equal(fi_mc_addr(mc), FI_ADDR_NOTAVAIL);
	assert_int_equal(join(0, all, FI_ADDR_NOTAVAIL, &other), 0);
	run();
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fi_eq_read(eqs[0], &event, &event, 0, 0), -FI_EAGAIN);
	assert_int_equal(fi_close(&mc->fid), 0);
	fi_close(&all->fid);
}

static void given_up(void)
{
	struct fid_av_set *all = set_of(2, (size_t[]){ 0, 1 });
	struct fid_mc *mc;

	assert_int_equal(join(0, all, FI_ADDR_NOTAVAIL, &mc), 0);
	net_step(net);
	net->busy = true;
	assert_int_equal(fi_close(&mc->fid), 0);
	fi_close(&all->fid);
	while (net_step(net))
		;
}

/* Both have announced a message that the other one has not read. */
static void lend(struct fid_av_set *set, struct fid_mc **mc)
{
	static uint64_t value[2][4];
	struct ofi_coll_call call = {
		.kind = FI_BROADCAST, .count = 4, .datatype = FI_UINT64, .op = FI_NOOP
	};

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(join(i, set, FI_ADDR_NOTAVAIL, &mc[i]), 0);
	run();
	net->lent = net->calm = true;
	for (size_t i = 0; i < 2; i++) {
		expect_joined(i, mc[i]);
		call.root = net_addr(i);
		call.result = value[i];
		assert_int_equal(ofi_coll_start(net->member[i].coll, fi_mc_addr(mc[i]), &call), 0);
	}
	while (net_step(net))
		;
}

static void *close_one(void *mc)
{
	fi_close((struct fid *)mc);
	return NULL;
}

/* Two members that close at once let go of each other's memory. */
static void closed_at_once(void)
{
	struct fid_av_set *set = set_of(2, (size_t[]){ 0, 1 });
	struct fid_mc *mc[2];
	pthread_t thread;

	lend(set, mc);
	assert_int_equal(pthread_create(&thread, NULL, close_one, mc[1]), 0);
	close_one(mc[0]);
	pthread_join(thread, NULL);
	assert_int_equal(net->severed, 0);
	fi_close(&set->fid);
}

/*
 * A member that does not read loses its connection, and nobody reads what was freed. It is polled
 * for long, even if this process is stopped meanwhile.
 */
static void closed_alone(void)
{
	struct fid_av_set *set = set_of(2, (size_t[]){ 0, 1 });
	struct fid_mc *mc[2];

	lend(set, mc);
	tick_ms = 5000;
	assert_int_equal(fi_close(&mc[0]->fid), 0);
	assert_true(clock_ms >= 40 * tick_ms);
	tick_ms = 0;
	assert_int_equal(net->severed, 1);
	assert_int_equal(fi_close(&mc[1]->fid), 0);
	assert_int_equal(net->severed, 1);
	fi_close(&set->fid);
}

static void wrong_arguments(void)
{
	struct fid_av_set *all = set_of(2, (size_t[]){ 0, 1 }), *empty = set_of(0, NULL);
	struct fi_collective_addr addr = { .set = all, .coll_addr = FI_ADDR_NOTAVAIL };
	struct fid_mc *mc = NULL;

	assert_int_equal(join(0, NULL, FI_ADDR_NOTAVAIL, &mc), -FI_EINVAL);
	assert_int_equal(join(0, empty, FI_ADDR_NOTAVAIL, &mc), -FI_EINVAL);
	assert_int_equal(join(0, all, 5, &mc), -FI_EINVAL);
	assert_int_equal(join(2, all, FI_ADDR_NOTAVAIL, &mc), -FI_EINVAL);
	twins = true;
	assert_int_equal(join(0, all, FI_ADDR_NOTAVAIL, &mc), -FI_EINVAL);
	twins = false;
	assert_int_equal(ofi_rdm_coll_form(&eps[0], NULL, 0, &mc, NULL), -FI_EINVAL);
	assert_int_equal(ofi_rdm_coll_form(&eps[0], &addr, 0, NULL, NULL), -FI_EINVAL);
	assert_int_equal(ofi_rdm_coll_form(&eps[0], &addr, FI_SEND, &mc, NULL), -FI_EBADFLAGS);
	assert_int_equal(ofi_rdm_coll_form(&eps[0], &addr, FI_RECV, &mc, NULL), -FI_EBADFLAGS);
	assert_int_equal(ofi_rdm_coll_form(&eps[0], &addr, FI_SEND | FI_RECV | FI_MORE, &mc, NULL),
			 -FI_EBADFLAGS);
	eps[0].eq = NULL;
	assert_int_equal(ofi_rdm_coll_form(&eps[0], &addr, 0, &mc, NULL), -FI_ENOEQ);
	eps[0].eq = ofi_eq(eqs[0]);
	gone = 1;
	assert_int_equal(join(0, all, FI_ADDR_NOTAVAIL, &mc), -FI_EINVAL);
	eps[0].av = NULL;
	assert_int_equal(join(0, all, FI_ADDR_NOTAVAIL, &mc), -FI_EINVAL);
	assert_null(mc);
	fi_close(&all->fid);
	fi_close(&empty->fid);
}

static void case_join_and_subgroup(void **state)
{
	(void)state;
	open_all();
	join_and_subgroup();
	close_all();
}

static void case_a_member_dies(void **state)
{
	(void)state;
	open_all();
	a_member_dies();
	close_all();
}

static void case_given_up(void **state)
{
	(void)state;
	open_all();
	given_up();
	close_all();
}

static void case_closed_at_once(void **state)
{
	(void)state;
	open_all();
	closed_at_once();
	close_all();
}

static void case_closed_alone(void **state)
{
	(void)state;
	open_all();
	closed_alone();
	close_all();
}

static void case_wrong_arguments(void **state)
{
	(void)state;
	open_all();
	wrong_arguments();
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_join_and_subgroup), cmocka_unit_test(case_a_member_dies),
		cmocka_unit_test(case_given_up),	  cmocka_unit_test(case_closed_at_once),
		cmocka_unit_test(case_closed_alone),	  cmocka_unit_test(case_wrong_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
