/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* IP addresses of datagrams that no endpoint has when they are inserted; one opens later. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "prov/base/wait.h"
#include "prov/verbs/dgram/av.h"
#include "prov/verbs/provider/prov.h"
#include "verbs_rig.h"

enum { QPN = 0x77, PATIENCE_MS = 5 * 20 };

static struct fid_av *fid;
static struct vrb_av *av;

static int begin(void **state)
{
	struct fi_av_attr attr = { .count = 4 };
	int ret = rig_setup(state);
	struct rig *rig = *state;

	rig->info->addr_format = FI_SOCKADDR_IN;
	rig_open_domain(rig);
	assert_int_equal(fi_av_open(rig->domain, &attr, &fid, NULL), 0);
	av = vrb_av(fid);
	vrb_params.resolve_timeout = 20;
	rig_late = RIG_SILENT;
	rig_late_asked = 0;
	return ret;
}

static void finish(void)
{
	assert_int_equal(fi_close(&fid->fid), 0);
	assert_int_equal(rig_late_open, 0);
	assert_int_equal(fake.ahs, 0);
}

static fi_addr_t add(uint32_t host)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(RIG_REFUSED_PORT) };
	fi_addr_t addr;

	in.sin_addr.s_addr = htonl(10u << 24 | host);
	assert_int_equal(fi_av_insert(fid, &in, 1, &addr, 0, NULL), 1);
	return addr;
}

static int send_err(fi_addr_t addr)
{
	errno = 0;
	return vrb_av_dest(av, addr) ? 0 : errno;
}

static fi_addr_t source(void)
{
	union ibv_gid gid = { .raw[15] = 9 };

	return vrb_av_source(av, &gid, QPN);
}

static void test_comes(void **state)
{
	fi_addr_t addr = add(5);

	(void)state;
	assert_int_equal(vrb_av_keep_sources(av), 0);
	assert_int_equal(send_err(addr), EAGAIN);
	assert_int_equal(send_err(addr), EAGAIN);
	assert_int_equal(rig_late_asked, 1); /* one request at a time */
	assert_true(source() == FI_ADDR_NOTAVAIL);
	rig_late = RIG_THERE;
	assert_int_equal(send_err(addr), 0);
	assert_int_equal(vrb_av_dest(av, addr)->qpn, QPN);
	assert_int_equal(source(), addr);
	assert_int_equal(rig_late_open, 0);
	assert_int_equal(fi_av_remove(fid, &addr, 1, 0), 0);
	assert_true(source() == FI_ADDR_NOTAVAIL);
	finish();
}

/*
 * For some time a send returns -FI_EAGAIN, then the reason. Queries continue, with pauses between
 * them.
 */
static void test_nobody(void **state)
{
	uint64_t start = ofi_now_ms();
	fi_addr_t addr = add(5);
	int err;

	(void)state;
	rig_late = RIG_NOBODY;
	while ((err = send_err(addr)) == EAGAIN)
		assert_true(ofi_now_ms() - start < 5000);
	assert_int_equal(err, FI_ECONNREFUSED);
	assert_true(ofi_now_ms() - start >= PATIENCE_MS);
	assert_in_range(rig_late_asked, 2, (ofi_now_ms() - start) / 50 + 2);
	rig_late = RIG_THERE;
	while ((err = send_err(addr)) == FI_ECONNREFUSED)
		assert_true(ofi_now_ms() - start < 5000);
	assert_int_equal(err, 0);
	finish();
}

static void test_silence(void **state)
{
	uint64_t start = ofi_now_ms();
	fi_addr_t addr = add(5);
	int err;

	(void)state;
	while ((err = send_err(addr)) == EAGAIN)
		assert_true(ofi_now_ms() - start < 5000);
	assert_int_equal(err, FI_ETIMEDOUT);
	finish();
}

/* An answer to an address that is gone is not that of the one in its place. */
static void test_removed(void **state)
{
	fi_addr_t addr = add(5);

	(void)state;
	assert_int_equal(send_err(addr), EAGAIN);
	assert_int_equal(fi_av_remove(fid, &addr, 1, 0), 0);
	assert_int_equal(send_err(addr), EINVAL);
	assert_int_equal(add(6), addr);
	assert_int_equal(send_err(addr), EAGAIN);
	assert_int_equal(rig_late_asked, 2);
	rig_late = RIG_THERE;
	assert_int_equal(send_err(addr), 0);
	finish(); /* ends the first request */
}

/*
 * The number of simultaneous queries is bounded, and an address that finds no room gets it when
 * others are given up.
 */
static void test_many(void **state)
{
	uint64_t start = ofi_now_ms();
	fi_addr_t addr = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < 300; i++) {
		addr = add(5 + i);
		assert_int_equal(send_err(addr), EAGAIN);
	}
	assert_int_equal(rig_late_open, 256);
	rig_late = RIG_THERE;
	while (send_err(addr))
		assert_true(ofi_now_ms() - start < 5000);
	finish();
}

/* An answer waits for the next send to its address, however late that comes. */
static void test_seldom(void **state)
{
	fi_addr_t addr = add(5);

	(void)state;
	assert_int_equal(send_err(addr), EAGAIN);
	rig_late = RIG_THERE;
	usleep(1000 * (2 * PATIENCE_MS + 10));
	assert_int_equal(send_err(addr), 0);
	assert_int_equal(rig_late_asked, 1);
	finish();
}

/* Nor does an old failure count: the peer may have come. */
static void test_old_failure(void **state)
{
	fi_addr_t addr = add(5);

	(void)state;
	rig_late = RIG_NOBODY;
	assert_int_equal(send_err(addr), EAGAIN);
	usleep(1000 * (2 * PATIENCE_MS + 10));
	assert_int_equal(send_err(addr), EAGAIN);
	assert_int_equal(rig_late_asked, 2);
	rig_late = RIG_THERE;
	assert_int_equal(send_err(addr), 0);
	finish();
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_comes), TEST(test_nobody), TEST(test_silence),     TEST(test_removed),
		TEST(test_many),  TEST(test_seldom), TEST(test_old_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
