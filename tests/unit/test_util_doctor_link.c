/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor's events of a connection while others ask for one, too, and what they say. */
#include "unit.h"

#include <string.h>

#include <rdma/fi_errno.h>

#include "util/doctor_link.h"

static uint32_t events[8];  /* what the event queue has, up to a 0 */
static const char *said[8]; /* what comes with them */
static int at, rejected;
static struct fid handle;

static ssize_t eq_sread(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct fi_eq_cm_entry *entry = buf;

	(void)eq;
	(void)timeout;
	(void)flags;
	assert_true(len >= sizeof(*entry));
	*event = events[at];
	if (!*event)
		return -FI_EAGAIN;
	len = said[at] ? strlen(said[at]) : 0;
	memcpy(entry->data, said[at], len);
	at++;
	entry->info = NULL;
	if (*event == FI_CONNREQ) {
		entry->info = fi_allocinfo();
		entry->info->handle = &handle;
	}
	return (ssize_t)(sizeof(*entry) + len);
}

static int pep_reject(struct fid_pep *pep, fid_t request, const void *param, size_t len)
{
	(void)pep;
	(void)param;
	(void)len;
	assert_ptr_equal(request, &handle);
	rejected++;
	return 0;
}

static struct fi_ops_eq eq_ops = { .size = sizeof(eq_ops), .sread = eq_sread };
static struct fi_ops_cm pep_ops = { .size = sizeof(pep_ops), .reject = pep_reject };
static struct fid_eq eq = { .ops = &eq_ops };
static struct fid_pep pep = { .cm = &pep_ops };

static void test_other_requests(void **state)
{
	static const uint32_t come[] = { FI_CONNREQ, FI_CONNREQ,  FI_CONNREQ, FI_CONNECTED,
					 FI_CONNREQ, FI_SHUTDOWN, FI_CONNREQ };
	struct doctor_link link = { .eq = &eq, .pep = &pep };
	struct fi_info *info;

	(void)state;
	memcpy(events, come, sizeof(come));
	assert_int_equal(doctor_link_event(&link, FI_CONNREQ, 1000), 0);
	info = link.info;
	assert_non_null(info);
	assert_int_equal(doctor_link_event(&link, FI_CONNECTED, 1000), 0);
	assert_int_equal(rejected, 2);
	assert_int_equal(doctor_link_event(&link, FI_SHUTDOWN, 1000), 0);
	assert_int_equal(doctor_link_event(&link, FI_SHUTDOWN, 10), -FI_ETIMEDOUT);
	assert_int_equal(rejected, 4);
	assert_ptr_equal(link.info, info);
	fi_freeinfo(info);
}

static void test_other_events(void **state)
{
	struct doctor_link link = { .eq = &eq, .pep = &pep };

	(void)state;
	at = 0;
	memcpy(events, (uint32_t[]){ FI_SHUTDOWN, FI_CONNECTED, 0 }, 3 * sizeof(events[0]));
	assert_int_equal(doctor_link_event(&link, FI_CONNECTED, 10), -FI_ECONNRESET);
	assert_int_equal(doctor_link_event(&link, FI_SHUTDOWN, 10), -FI_EOTHER);
	assert_string_equal(link.detail, "unexpected event FI_CONNECTED");
}

/* A fi_doctor that sends full packets says so when it connects, an older one says nothing. */
static void test_hello(void **state)
{
	struct fi_link_attr attr = { .mtu = 1024 };
	struct fid_nic nic = { .link_attr = &attr };
	struct fi_info info = { .nic = &nic };
	struct doctor_link link = { .eq = &eq, .pep = &pep, .info = &info };
	char hello[DOCTOR_HELLO];

	(void)state;
	at = 0;
	memcpy(events, (uint32_t[]){ FI_CONNREQ, FI_CONNECTED, FI_CONNECTED, FI_CONNECTED, 0 },
	       5 * sizeof(events[0]));
	said[0] = "packets of 2048";
	assert_int_equal(doctor_link_event(&link, FI_CONNECTED, 1000), 0);
	assert_int_equal(link.peer_mtu, 0);
	said[2] = "ackets";
	assert_int_equal(doctor_link_event(&link, FI_CONNECTED, 1000), 0);
	assert_int_equal(link.peer_mtu, 0);
	assert_int_equal(doctor_link_hello(&link, hello), strlen("packets of 1024"));
	said[3] = hello;
	assert_int_equal(doctor_link_event(&link, FI_CONNECTED, 1000), 0);
	assert_int_equal(link.peer_mtu, 1024);
	info.nic = NULL;
	assert_int_equal(doctor_link_mtu(&link), 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_requests),
		cmocka_unit_test(test_other_events),
		cmocka_unit_test(test_hello),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
