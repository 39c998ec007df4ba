/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of reliable datagrams by name, and ranges of them. */
#include "unit.h"
#include <stdio.h>
#include <unistd.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/av.h"
#include "prov/verbs/discovery/resolve.h"
#include "src/ds/clock.h"

enum { RANKS = 8, MANY = 20000 };

static const struct fi_provider prov = { .name = "test" };
static struct fi_domain_attr domain_attr = { .name = (char[]){ "rxe0" } };
static struct fi_info info = { .domain_attr = &domain_attr };
static const struct ofi_domain_ops ops = { .resolve = vrb_resolve_peer };
static struct ofi_domain domain = { .prov = &prov, .info = &info, .ops = &ops };

static struct fid_av *open_named(uint32_t format, const char *name)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .name = name };
	struct fid_av *av;

	info.addr_format = format;
	assert_int_equal(ofi_rdm_av_open((struct fid_domain *)&domain, &attr, &av, NULL), 0);
	return av;
}

static struct fid_av *open_format(uint32_t format)
{
	return open_named(format, NULL);
}

static void is_addr(struct fid_av *av, fi_addr_t addr, const char *want)
{
	char found[128], text[128];
	size_t len = sizeof(found), text_len = sizeof(text);

	assert_int_equal(fi_av_lookup(av, addr, found, &len), 0);
	assert_string_equal(fi_av_straddr(av, found, text, &text_len), want);
}

static void nodes_and_services_follow_each_other(void **state)
{
	struct fid_av *av = open_format(FI_SOCKADDR_IN);
	fi_addr_t addr[6];

	(void)state;
	assert_int_equal(fi_av_insertsym(av, "10.0.0.255", 2, "5000", 2, addr, 0, NULL), 4);
	is_addr(av, addr[0], "fi_sockaddr_in://10.0.0.255:5000");
	is_addr(av, addr[1], "fi_sockaddr_in://10.0.0.255:5001");
	is_addr(av, addr[2], "fi_sockaddr_in://10.0.1.0:5000");
	is_addr(av, addr[3], "fi_sockaddr_in://10.0.1.0:5001");
	assert_int_equal(fi_av_insertsvc(av, "10.0.0.7", "8", addr, 0, NULL), 1);
	is_addr(av, addr[0], "fi_sockaddr_in://10.0.0.7:8");
	assert_int_equal(fi_close(&av->fid), 0);
}

/*
 * Closing an address vector, or removing its addresses, is as fast if each was inserted twice: a
 * search for the other entry would take minutes.
 */
static void many_twice(void **state)
{
	static struct sockaddr_in addrs[MANY];
	struct fid_av *av = open_format(FI_SOCKADDR_IN);
	static fi_addr_t fi_addrs[2][MANY];
	uint64_t start = ofi_now_ms();
	unsigned int i;

	(void)state;
	for (i = 0; i < MANY; i++)
		addrs[i] = (struct sockaddr_in){ .sin_family = AF_INET,
						 .sin_port = htons(1),
						 .sin_addr.s_addr = htonl(0x0a000000 + i) };
	for (i = 0; i < 2; i++)
		assert_int_equal(fi_av_insert(av, addrs, MANY, fi_addrs[i], 0, NULL), MANY);
	assert_int_equal(fi_av_remove(av, fi_addrs[0], MANY / 2, 0), 0);
	assert_int_equal(fi_close(&av->fid), 0);
	assert_in_range(ofi_now_ms() - start, 0, 5000);
}

static void of_other_formats(void **state)
{
	struct fid_av *av = open_format(FI_SOCKADDR_IN6);
	fi_addr_t addr[2];

	(void)state;
	assert_int_equal(fi_av_insertsym(av, "fe80::ff", 2, "5000", 1, addr, 0, NULL), 2);
	is_addr(av, addr[1], "fi_sockaddr_in6://[fe80::100]:5000");
	assert_int_equal(fi_close(&av->fid), 0);
	av = open_format(FI_ADDR_STR);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 1, "5000", 2, addr, 0, NULL), 2);
	is_addr(av, addr[0], "fi_sockaddr_in://10.0.0.1:5000");
	is_addr(av, addr[1], "fi_sockaddr_in://10.0.0.1:5001");
	assert_int_equal(fi_close(&av->fid), 0);
}

/* Inserts the addresses of many ranks on one host, as a job that exchanges its names does. */
static void insert_ranks(struct fid_av *av)
{
	struct sockaddr_in6 names[RANKS];
	fi_addr_t addr[RANKS];
	char text[RANKS][64];
	int i;

	for (i = 0; i < RANKS; i++) {
		struct sockaddr_storage ss;

		snprintf(text[i], sizeof(text[i]), "fi_sockaddr_in6://[fd00::1]:%d", 5000 + i);
		assert_int_equal(ofi_addr_parse(text[i], &ss), 0);
		memcpy(&names[i], &ss, sizeof(names[i]));
	}
	assert_int_equal(fi_av_insert(av, names, RANKS, addr, 0, NULL), RANKS);
	for (i = 0; i < RANKS; i++)
		is_addr(av, addr[i], text[i]);
}

/* FI_SOCKADDR stands for the family of the domain's own address. */
static void of_the_family_of_the_source(void **state)
{
	struct sockaddr_in6 src = { .sin6_family = AF_INET6 };
	struct fid_av *av;
	fi_addr_t addr;
	char name[64];

	(void)state;
	info.src_addr = &src;
	info.src_addrlen = sizeof(src);
	av = open_format(FI_SOCKADDR);
	insert_ranks(av);
	assert_int_equal(fi_av_insertsvc(av, "fd00::2", "7", &addr, 0, NULL), 1);
	is_addr(av, addr, "fi_sockaddr_in6://[fd00::2]:7");
	assert_int_equal(fi_av_insertsvc(av, "fi_sockaddr_in6://[fd00::3]:7", NULL, &addr, 0, NULL),
			 1);
	assert_int_equal(fi_av_insertsvc(av, "10.0.0.7", "8", &addr, 0, NULL), 0);
	assert_int_equal(fi_close(&av->fid), 0);
	snprintf(name, sizeof(name), "test_rdm_av_svc.%d", (int)getpid());
	av = open_named(FI_SOCKADDR, name);
	insert_ranks(av);
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(info.addr_format, FI_SOCKADDR);
	info.src_addr = NULL;
	av = open_format(FI_SOCKADDR);
	assert_int_equal(fi_av_insertsvc(av, "10.0.0.7", "8", &addr, 0, NULL), 1);
	is_addr(av, addr, "fi_sockaddr_in://10.0.0.7:8");
	assert_int_equal(fi_close(&av->fid), 0);
}

static void loopback_is_this_host(void **state)
{
	struct sockaddr_in src = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001) };
	struct fid_av *av = open_format(FI_SOCKADDR_IN);
	fi_addr_t addr;

	(void)state;
	info.src_addr = &src;
	assert_int_equal(fi_av_insertsvc(av, "127.0.0.1", "8", &addr, 0, NULL), 1);
	is_addr(av, addr, "fi_sockaddr_in://10.0.0.1:8");
	info.src_addr = NULL;
	assert_int_equal(fi_close(&av->fid), 0);
}

/* As fi_getinfo takes them, with no service. */
static void a_string_says_all(void **state)
{
	struct fid_av *av = open_format(FI_SOCKADDR_IN);
	fi_addr_t addr;
	int err;

	(void)state;
	assert_int_equal(
		fi_av_insertsvc(av, "fi_sockaddr_in://10.0.0.6:7472", NULL, &addr, 0, NULL), 1);
	is_addr(av, addr, "fi_sockaddr_in://10.0.0.6:7472");
	assert_int_equal(fi_av_insertsvc(av, "10.0.0.5", NULL, &addr, FI_SYNC_ERR, &err), 0);
	assert_int_equal(err, FI_EINVAL);
	assert_int_equal(
		fi_av_insertsvc(av, "fi_sockaddr_in6://[::1]:1", NULL, &addr, FI_SYNC_ERR, &err),
		0);
	assert_int_equal(err, FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* What is wrong with one is told of that one. */
static void not_all_can_be_had(void **state)
{
	struct fid_av *av = open_format(FI_SOCKADDR_IN);
	fi_addr_t addr[2];
	int errs[2];

	(void)state;
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 1, "65535", 2, addr, FI_SYNC_ERR, errs),
			 1);
	assert_int_equal(errs[0], 0);
	assert_int_equal(errs[1], FI_EINVAL);
	assert_int_equal(addr[1], FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_av_insertsym(av, "localhost", 2, "5000", 1, addr, FI_SYNC_ERR, errs),
			 1);
	assert_int_equal(errs[1], FI_EINVAL);
	/* There is no address after the last one. */
	assert_int_equal(
		fi_av_insertsym(av, "255.255.255.255", 2, "5000", 1, addr, FI_SYNC_ERR, errs), 1);
	assert_int_equal(errs[1], FI_EINVAL);
	assert_int_equal(fi_av_insertsvc(av, "10.0.0.5", "65536", addr, 0, NULL), 0);
	assert_int_equal(fi_av_insertsvc(av, "no such host", "1", addr, FI_SYNC_ERR, errs), 0);
	assert_int_equal(errs[0], FI_ENODATA);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void what_is_no_range(void **state)
{
	struct fid_av *av = open_format(FI_SOCKADDR_IN);
	fi_addr_t addr;

	(void)state;
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 0, "1", 2, &addr, 0, NULL), 0);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 2, "1", 0, &addr, 0, NULL), 0);
	assert_int_equal(fi_av_insertsym(av, NULL, 1, "1", 1, &addr, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", SIZE_MAX, "1", 2, &addr, 0, NULL),
			 -FI_EINVAL);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 1u << 31, "1", 1, &addr, 0, NULL),
			 -FI_EINVAL);
	assert_int_equal(fi_av_insertsym(av, "10.0.0.1", 1, "1", 1, &addr, 1ULL << 60, NULL),
			 -FI_EBADFLAGS);
	assert_int_equal(fi_close(&av->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_and_services_follow_each_other),
		cmocka_unit_test(many_twice),
		cmocka_unit_test(of_other_formats),
		cmocka_unit_test(of_the_family_of_the_source),
		cmocka_unit_test(loopback_is_this_host),
		cmocka_unit_test(a_string_says_all),
		cmocka_unit_test(not_all_can_be_had),
		cmocka_unit_test(what_is_no_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
