/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address vectors of datagram queue pairs: formats, address handles, sources, groups, a million
 * addresses.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/verbs/dgram/av.h"
#include "verbs_rig.h"

enum { MILLION = 1000000, HOSTS = 1000 };

static struct fid_av *open_format(struct rig *rig, uint32_t format)
{
	struct fi_av_attr attr = { .count = 4 };
	struct fid_av *av = NULL;

	rig->info->addr_format = format;
	rig_open_domain(rig);
	assert_int_equal(fi_av_open(rig->domain, &attr, &av, NULL), 0);
	return av;
}

static struct fid_av *open_av(struct rig *rig)
{
	return open_format(rig, FI_ADDR_IB_UD);
}

static void close_av(struct fid_av *av)
{
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(fake.ahs, 0);
}

/* Queue pair qpn of host 10.x.x.x. */
static struct vrb_dest peer(uint32_t host, uint32_t qpn)
{
	struct vrb_dest dest = { .qpn = qpn, .qkey = 0x1234, .pkey = 0xffff };
	uint32_t ip = htonl(10u << 24 | host);

	memset(dest.gid.raw + 10, 0xff, 2);
	memcpy(dest.gid.raw + 12, &ip, sizeof(ip));
	return dest;
}

static struct vrb_ud_name name_of(uint32_t host, uint32_t qpn)
{
	struct vrb_dest dest = peer(host, qpn);
	struct vrb_ud_name name;

	vrb_ud_name_out(&dest, &name);
	return name;
}

static fi_addr_t add(struct fid_av *av, uint32_t host, uint32_t qpn)
{
	struct vrb_ud_name name = name_of(host, qpn);
	fi_addr_t addr;

	assert_int_equal(fi_av_insert(av, &name, 1, &addr, 0, NULL), 1);
	return addr;
}

static fi_addr_t source(struct fid_av *av, uint32_t host, uint32_t qpn)
{
	struct vrb_dest dest = peer(host, qpn);

	return vrb_av_source(vrb_av(av), &dest.gid, qpn);
}

static void test_open(void **state)
{
	struct rig *rig = *state;
	struct fi_av_attr attr = { 0 };
	struct fid_av *av;

	rig_open_domain(rig);
	assert_int_equal(fi_av_open(rig->domain, &attr, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_open(rig->domain, NULL, &av, NULL), -FI_EINVAL);
	attr.name = "shared";
	assert_int_equal(fi_av_open(rig->domain, &attr, &av, NULL), -FI_ENOSYS);
	attr.name = NULL;
	assert_int_equal(fi_av_open(rig->domain, &attr, &av, rig), 0);
	assert_ptr_equal(av->fid.context, rig);
	assert_int_equal(av->fid.fclass, FI_CLASS_AV);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
	close_av(av);
}

static void test_open_fails(void **state)
{
	struct rig *rig = *state;
	struct fi_av_attr attr = { 0 };
	unsigned int at, before;
	struct fid_av *av;
	int ret;

	rig_open_domain(rig);
	before = fake.calls;
	fake.fail_errno = ENOMEM;
	for (at = 1;; at++) {
		fake.calls = before;
		fake.fail_at = before + at;
		ret = fi_av_open(rig->domain, &attr, &av, NULL);
		if (!ret)
			break;
		assert_int_equal(ret, -FI_ENOMEM);
	}
	assert_true(at > 2);
	assert_string_equal(fake.failed, "ibv_query_gid_table");
	close_av(av);
}

static void test_lookup(void **state)
{
	struct fid_av *av = open_av(*state);
	struct vrb_ud_name name = name_of(5, 0x99), out;
	size_t len = sizeof(out);
	fi_addr_t addr = add(av, 5, 0x99);

	assert_int_equal(addr, 0);
	assert_int_equal(fi_av_lookup(av, addr, &out, &len), 0);
	assert_memory_equal(&out, &name, sizeof(name));
	assert_int_equal(len, 32);
	assert_int_equal(fi_av_lookup(av, 1, &out, &len), -FI_EINVAL);
	assert_int_equal(fi_av_lookup(av, FI_ADDR_UNSPEC, &out, &len), -FI_EINVAL);
	assert_int_equal(fi_av_lookup(av, addr, &out, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_remove(av, &addr, 1, 0), 0);
	assert_int_equal(fi_av_lookup(av, addr, &out, &len), -FI_EINVAL);
	close_av(av);
}

static void test_straddr(void **state)
{
	struct fid_av *av = open_av(*state);
	struct vrb_ud_name name = name_of(5, 0x99);
	char buf[200], small[9];
	size_t len = sizeof(buf), all;

	assert_ptr_equal(fi_av_straddr(av, &name, buf, &len), buf);
	assert_int_equal(len, strlen(buf) + 1);
	assert_non_null(strstr(buf, "10.0.0.5"));
	all = len;
	len = sizeof(small);
	fi_av_straddr(av, &name, small, &len);
	assert_string_equal(small, "fi_addr_");
	assert_int_equal(len, all);
	len = 0;
	fi_av_straddr(av, &name, NULL, &len);
	assert_int_equal(len, all);
	assert_null(fi_av_straddr(av, &name, NULL, NULL));
	len = sizeof(buf);
	assert_string_equal(fi_av_straddr(av, NULL, buf, &len), "(null)");
	close_av(av);
}

static void test_bad_name(void **state)
{
	struct fid_av *av = open_av(*state);
	struct vrb_ud_name names[2] = { { { 0 } }, name_of(5, 0x99) };
	fi_addr_t addr[2];
	int errs[2];

	assert_int_equal(fi_av_insert(av, names, 2, addr, FI_SYNC_ERR, errs), 1);
	assert_int_equal(addr[0], FI_ADDR_NOTAVAIL);
	assert_int_equal(errs[0], FI_EINVAL);
	assert_int_equal(addr[1], 1);
	assert_int_equal(errs[1], 0);
	close_av(av);
}

static void test_ah_at_first_use(void **state)
{
	struct fid_av *av = open_av(*state);
	fi_addr_t a = add(av, 5, 0x99), b = add(av, 5, 0x9a), c = add(av, 6, 0x99);
	const struct vrb_dest *dest;

	assert_int_equal(fake.ahs, 0);
	dest = vrb_av_dest(vrb_av(av), a);
	assert_non_null(dest);
	assert_int_equal(dest->qpn, 0x99);
	assert_int_equal(dest->qkey, 0x1234);
	assert_int_equal(fake.ah_attr.is_global, 1);
	assert_int_equal(fake.ah_attr.port_num, 1);
	assert_memory_equal(&fake.ah_attr.grh.dgid, &dest->gid, 16);
	/* Another queue pair of the host takes the same path. */
	assert_ptr_equal(vrb_av_dest(vrb_av(av), b)->ah, dest->ah);
	assert_ptr_equal(vrb_av_dest(vrb_av(av), a), dest);
	assert_int_equal(fake.ahs_made, 1);
	assert_ptr_not_equal(vrb_av_dest(vrb_av(av), c)->ah, dest->ah);
	assert_int_equal(fake.ahs_made, 2);
	close_av(av);
}

static void test_no_ah(void **state)
{
	struct fid_av *av = open_av(*state);
	fi_addr_t addr = add(av, 5, 0x99);

	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EHOSTUNREACH;
	assert_null(vrb_av_dest(vrb_av(av), addr));
	assert_int_equal(errno, EHOSTUNREACH);
	assert_non_null(vrb_av_dest(vrb_av(av), addr));
	close_av(av);
}

static void unknown(struct fid_av *av, fi_addr_t addr)
{
	errno = 0;
	assert_null(vrb_av_dest(vrb_av(av), addr));
	assert_int_equal(errno, EINVAL);
}

static void test_unknown(void **state)
{
	struct fid_av *av = open_av(*state);
	fi_addr_t addr;

	unknown(av, 0);
	addr = add(av, 5, 0x99);
	unknown(av, 1);
	unknown(av, FI_ADDR_NOTAVAIL);
	unknown(av, (fi_addr_t)1 << 62);
	unknown(av, (fi_addr_t)1 << 32);
	assert_non_null(vrb_av_dest(vrb_av(av), addr));
	assert_int_equal(fi_av_remove(av, &addr, 1, 0), 0);
	unknown(av, addr);
	assert_int_equal(add(av, 6, 0x77), addr);
	assert_int_equal(vrb_av_dest(vrb_av(av), addr)->qpn, 0x77);
	close_av(av);
}

static void test_sources(void **state)
{
	struct fid_av *av = open_av(*state);
	fi_addr_t i, addr;

	assert_int_equal(source(av, 0, 2), FI_ADDR_NOTAVAIL);
	for (i = 0; i < 100; i++)
		add(av, (uint32_t)i, 2);
	assert_int_equal(source(av, 7, 2), FI_ADDR_NOTAVAIL);
	assert_int_equal(vrb_av_keep_sources(vrb_av(av)), 0);
	assert_int_equal(vrb_av_keep_sources(vrb_av(av)), 0);
	for (i = 100; i < 500; i++)
		add(av, (uint32_t)i, 2);
	for (i = 0; i < 500; i++)
		assert_int_equal(source(av, (uint32_t)i, 2), i);
	assert_int_equal(source(av, 7, 3), FI_ADDR_NOTAVAIL);
	for (addr = 0; addr < 500; addr += 3)
		assert_int_equal(fi_av_remove(av, &addr, 1, 0), 0);
	for (i = 0; i < 500; i++)
		assert_int_equal(source(av, (uint32_t)i, 2), i % 3 ? i : FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_av_set_user_id(av, 1, 4711, 0), 0);
	assert_int_equal(source(av, 1, 2), 4711);
	assert_int_equal(source(av, 2, 2), 2);
	close_av(av);
}

/* Of two equal addresses one is left when the other goes. */
static void test_twice(void **state)
{
	struct fid_av *av = open_av(*state);
	fi_addr_t a, b, found;

	assert_int_equal(vrb_av_keep_sources(vrb_av(av)), 0);
	a = add(av, 5, 2);
	b = add(av, 5, 2);
	found = source(av, 5, 2);
	assert_true(found == a || found == b);
	assert_int_equal(fi_av_remove(av, &found, 1, 0), 0);
	assert_int_equal(source(av, 5, 2), a + b - found);
	close_av(av);
}

static void test_groups(void **state)
{
	struct vrb_dest group = peer(0, VRB_UD_QPN_MCAST);
	struct fid_av *av = open_av(*state);
	const struct vrb_dest *dest;
	fi_addr_t one, two;

	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	assert_int_equal(vrb_av_add_group(vrb_av(av), &group), FI_ADDR_NOTAVAIL);
	assert_int_equal(errno, ENOMEM);
	one = vrb_av_add_group(vrb_av(av), &group);
	two = vrb_av_add_group(vrb_av(av), &group);
	assert_int_not_equal(one, two);
	dest = vrb_av_dest(vrb_av(av), one);
	assert_int_equal(dest->qpn, VRB_UD_QPN_MCAST);
	/* The table's indices are those of the addresses that are inserted. */
	assert_int_equal(add(av, 5, 2), 0);
	vrb_av_remove_group(vrb_av(av), one);
	unknown(av, one);
	assert_non_null(vrb_av_dest(vrb_av(av), two));
	vrb_av_remove_group(vrb_av(av), FI_ADDR_NOTAVAIL);
	vrb_av_remove_group(vrb_av(av), two);
	close_av(av);
}

/* IP addresses */

static void test_ip(void **state)
{
	struct fid_av *av = open_format(*state, FI_SOCKADDR_IN);
	struct sockaddr_in in[3] = { { .sin_family = AF_INET, .sin_port = htons(7471) } }, out;
	fi_addr_t addr[3];
	size_t len = sizeof(out);
	int errs[3];

	inet_pton(AF_INET, "10.0.0.5", &in[0].sin_addr);
	in[1] = in[2] = in[0];
	in[1].sin_port = htons(RIG_REFUSED_PORT);
	in[2].sin_port = 0;
	assert_int_equal(fi_av_insert(av, in, 3, addr, FI_SYNC_ERR, errs), 2);
	assert_int_equal(errs[0] | errs[1], 0);
	assert_true(vrb_dest_is_late(ofi_av_at(&vrb_av(av)->base, addr[1])));
	assert_int_equal(errs[2], FI_EINVAL);
	assert_int_equal(vrb_av_dest(vrb_av(av), addr[0])->qpn, 7471);
	assert_int_equal(fi_av_lookup(av, addr[0], &out, &len), 0);
	assert_int_equal(len, sizeof(out));
	assert_memory_equal(&out, &in[0], sizeof(out));
	in[0].sin_family = AF_INET6;
	assert_int_equal(fi_av_insert(av, in, 1, addr, 0, NULL), 0);
	close_av(av);
}

static void test_text(void **state)
{
	struct fid_av *av = open_format(*state, FI_ADDR_STR);
	const char *in[] = { "fi_sockaddr_in://10.0.0.5:7471", "rubbish", NULL,
			     "fi_sockaddr_ib://[fe80::2:c903:a:b]:0xffff/0x1061d2f/0x3" };
	char out[64];
	fi_addr_t addr[4];
	size_t len = sizeof(out);

	assert_int_equal(fi_av_insert(av, in, 4, addr, 0, NULL), 1);
	assert_int_equal(addr[0], 0);
	assert_int_equal(addr[1], FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[2], FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[3], FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_av_lookup(av, 0, out, &len), 0);
	assert_string_equal(out, in[0]);
	assert_int_equal(len, strlen(in[0]) + 1);
	len = sizeof(out);
	assert_string_equal(fi_av_straddr(av, in[0], out, &len), in[0]);
	close_av(av);
}

static void is_addr(struct fid_av *av, fi_addr_t addr, const char *text)
{
	struct sockaddr_in in;
	size_t len = sizeof(in), room = 64;
	char buf[64];

	assert_int_equal(fi_av_lookup(av, addr, &in, &len), 0);
	assert_string_equal(fi_av_straddr(av, &in, buf, &room), text);
	in.sin_family = AF_INET6;
	assert_non_null(strstr(fi_av_straddr(av, &in, buf, &room), "not an address"));
}

static void test_service(void **state)
{
	struct fid_av *av = open_format(*state, FI_SOCKADDR_IN);
	fi_addr_t addr = 7;
	int err;

	assert_int_equal(fi_av_insertsvc(av, "10.0.0.5", "7471", &addr, 0, NULL), 1);
	is_addr(av, addr, "fi_sockaddr_in://10.0.0.5:7471");
	assert_int_equal(
		fi_av_insertsvc(av, "fi_sockaddr_in://10.0.0.6:7472", NULL, &addr, 0, NULL), 1);
	is_addr(av, addr, "fi_sockaddr_in://10.0.0.6:7472");
	assert_int_equal(fi_av_insertsvc(av, "10.0.0.5", "1", &addr, FI_SYNC_ERR, &err), 1);
	assert_int_equal(err, 0);
	is_addr(av, addr, "fi_sockaddr_in://10.0.0.5:1");
	assert_int_equal(fi_av_insertsvc(av, "10.0.0.5", NULL, &addr, FI_SYNC_ERR, &err), 0);
	assert_int_equal(err, FI_EINVAL);
	assert_int_equal(fi_av_insertsvc(av, "no such host", "1", &addr, FI_SYNC_ERR, &err), 0);
	assert_int_equal(err, FI_ENODATA);
	assert_int_equal(fi_av_insertsvc(av, NULL, "1", &addr, 0, NULL), -FI_EINVAL);
	close_av(av);
}

/* FI_SOCKADDR stands for the family of the domain's own address. */
static void test_any_ip(void **state)
{
	struct fid_av *av = open_format(*state, FI_SOCKADDR);
	fi_addr_t addr[2];

	assert_int_equal(fi_av_insertsvc(av, "10.0.0.5", "7471", addr, 0, NULL), 1);
	is_addr(av, addr[0], "fi_sockaddr_in://10.0.0.5:7471");
	assert_int_equal(fi_av_insertsym(av, "10.0.0.5", 1, "7471", 2, addr, 0, NULL), 2);
	is_addr(av, addr[1], "fi_sockaddr_in://10.0.0.5:7472");
	close_av(av);
}

static void test_any_ip_of_ipv6(void **state)
{
	struct sockaddr_in6 in[8] = { 0 }, out, *src = calloc(1, sizeof(*src));
	struct rig *rig = *state;
	fi_addr_t addr[8];
	struct fid_av *av;
	size_t i, len;

	src->sin6_family = AF_INET6;
	inet_pton(AF_INET6, "fd00::1", &src->sin6_addr);
	memcpy(fake.gids[0].gid.raw, &src->sin6_addr, sizeof(src->sin6_addr));
	rig->info->src_addr = src;
	rig->info->src_addrlen = sizeof(*src);
	av = open_format(rig, FI_SOCKADDR);
	for (i = 0; i < 8; i++) {
		in[i].sin6_family = AF_INET6;
		in[i].sin6_port = htons((uint16_t)(7471 + i));
		inet_pton(AF_INET6, "fd00::5", &in[i].sin6_addr);
	}
	assert_int_equal(fi_av_insert(av, in, 8, addr, 0, NULL), 8);
	for (i = 0; i < 8; i++) {
		len = sizeof(out);
		assert_int_equal(fi_av_lookup(av, addr[i], &out, &len), 0);
		assert_memory_equal(&out, &in[i], sizeof(out));
	}
	assert_int_equal(fi_av_insertsvc(av, "fd00::6", "7471", addr, 0, NULL), 1);
	close_av(av);
}

static void test_loopback(void **state)
{
	struct sockaddr_in *src = calloc(1, sizeof(*src));
	struct rig *rig = *state;
	struct fid_av *av;
	fi_addr_t addr;

	src->sin_family = AF_INET;
	src->sin_addr.s_addr = htonl(0x0a000001);
	rig->info->src_addr = src;
	rig->info->src_addrlen = sizeof(*src);
	inet_pton(AF_INET6, "::ffff:10.0.0.1", fake.gids[0].gid.raw);
	av = open_format(rig, FI_SOCKADDR_IN);
	assert_int_equal(fi_av_insertsvc(av, "127.0.0.1", "7471", &addr, 0, NULL), 1);
	is_addr(av, addr, "fi_sockaddr_in://10.0.0.1:7471");
	close_av(av);
}

static void test_service_of_names(void **state)
{
	struct fid_av *av = open_av(*state);
	struct vrb_ud_name name;
	size_t len = sizeof(name);
	fi_addr_t addr;
	int err;

	assert_int_equal(fi_av_insertsvc(av, "10.0.0.5", "7471", &addr, 0, NULL), 1);
	assert_int_equal(fi_av_lookup(av, addr, &name, &len), 0);
	assert_int_equal(be32toh(name.qpn), 7471);
	/* There is no name to keep. */
	assert_int_equal(fi_av_insertsvc(av, "10.0.0.5", "1", &addr, FI_SYNC_ERR, &err), 0);
	assert_int_equal(err, FI_ECONNREFUSED);
	close_av(av);
}

static void test_range(void **state)
{
	struct fid_av *av = open_format(*state, FI_SOCKADDR_IN);
	fi_addr_t addr[6];
	int errs[6];

	assert_int_equal(fi_av_insertsym(av, "10.0.0.255", 2, "5000", 2, addr, 0, NULL), 4);
	is_addr(av, addr[0], "fi_sockaddr_in://10.0.0.255:5000");
	is_addr(av, addr[1], "fi_sockaddr_in://10.0.0.255:5001");
	is_addr(av, addr[2], "fi_sockaddr_in://10.0.1.0:5000");
	is_addr(av, addr[3], "fi_sockaddr_in://10.0.1.0:5001");
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 1, "65535", 2, addr, FI_SYNC_ERR, errs),
			 1);
	assert_int_equal(errs[1], FI_EINVAL);
	assert_int_equal(fi_av_insertsym(av, "localhost", 2, "5000", 1, addr, FI_SYNC_ERR, errs),
			 1);
	assert_int_equal(errs[1], FI_EINVAL);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 0, "5000", 2, addr, 0, NULL), 0);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 2, "5000", 0, addr, 0, NULL), 0);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", SIZE_MAX, "5000", 2, addr, 0, NULL),
			 -FI_EINVAL);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 1u << 31, "5000", 1, addr, 0, NULL),
			 -FI_EINVAL);
	close_av(av);
}

/* Threads */

struct race {
	struct fid_av *av;
	bool stop;
};

/* Addresses 0..63 stay, the others come and go. */
static void *send_all(void *arg)
{
	struct race *race = arg;
	uint32_t i = 0;
	bool bad = false;

	while (!__atomic_load_n(&race->stop, __ATOMIC_RELAXED)) {
		i = (i + 1) % 64;
		bad |= !vrb_av_dest(vrb_av(race->av), i);
		bad |= source(race->av, i, 2) != i;
		vrb_av_dest(vrb_av(race->av), 64 + i);
		source(race->av, 64 + i, 2);
	}
	return bad ? race : NULL;
}

static void test_threads(void **state)
{
	struct race race = { .av = open_av(*state) };
	fi_addr_t addr[64];
	pthread_t thread;
	void *bad;
	uint32_t i;
	int round;

	assert_int_equal(vrb_av_keep_sources(vrb_av(race.av)), 0);
	for (i = 0; i < 64; i++)
		add(race.av, i, 2);
	assert_int_equal(pthread_create(&thread, NULL, send_all, &race), 0);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 64; i++)
			addr[i] = add(race.av, 64 + i, 2);
		assert_int_equal(fi_av_remove(race.av, addr, 64, 0), 0);
	}
	__atomic_store_n(&race.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, &bad);
	assert_null(bad);
	close_av(race.av);
}

/*
 * A million queue pairs of a thousand hosts take 45 bytes each, plus an address handle for each
 * host.
 */
static void test_million(void **state)
{
	struct fid_av *av = open_av(*state);
	struct vrb_ud_name *names = malloc(MILLION * sizeof(*names));
	struct mallinfo2 before, after;
	uint32_t i;

	for (i = 0; i < MILLION; i++)
		names[i] = name_of(i % HOSTS, 2 + i / HOSTS);
	before = mallinfo2();
	assert_int_equal(fi_av_insert(av, names, MILLION, NULL, 0, NULL), MILLION);
	after = mallinfo2();
	assert_true(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd <
		    (size_t)MILLION * 45);
	for (i = 0; i < MILLION; i++)
		assert_non_null(vrb_av_dest(vrb_av(av), i));
	assert_int_equal(fake.ahs, HOSTS);
	assert_int_equal(vrb_av_keep_sources(vrb_av(av)), 0);
	for (i = 0; i < MILLION; i++)
		assert_int_equal(source(av, i % HOSTS, 2 + i / HOSTS), i);
	free(names);
	close_av(av);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_open),	 RIG_TEST(test_open_fails), RIG_TEST(test_lookup),
		RIG_TEST(test_straddr),	 RIG_TEST(test_bad_name),   RIG_TEST(test_ah_at_first_use),
		RIG_TEST(test_no_ah),	 RIG_TEST(test_unknown),    RIG_TEST(test_sources),
		RIG_TEST(test_twice),	 RIG_TEST(test_groups),	    RIG_TEST(test_ip),
		RIG_TEST(test_text),	 RIG_TEST(test_service),    RIG_TEST(test_service_of_names),
		RIG_TEST(test_loopback), RIG_TEST(test_range),	    RIG_TEST(test_threads),
		RIG_TEST(test_million),	 RIG_TEST(test_any_ip),	    RIG_TEST(test_any_ip_of_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
