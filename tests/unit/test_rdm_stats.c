/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The record of a reliable-datagram endpoint: how it is published, and how the application reads
 * it.
 */
#include "unit.h"
#include <arpa/inet.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_stats.h>
#include "capture.h"
#include "prov/verbs/provider/prov.h"
#include "prov/rdm/ep.h"
#include "prov/rdm/stats.h"
#include "prov/verbs/provider/stats.h"

static struct ofi_rdm_ep ep;
static struct ofi_domain domain;
static struct fi_domain_attr attr;
static struct fi_info info = { .domain_attr = &attr };
static struct ofi_stats domain_record;
static char name[] = "rxe0";
struct fi_provider vrb_prov = { .name = "verbs" };

bool ofi_rdm_is_ep(const struct fid *fid)
{
	return fid->fclass == FI_CLASS_EP;
}

static int begin(void **state)
{
	(void)state;
	memset(&ep, 0, sizeof(ep));
	attr.name = name;
	domain_record.id = 41;
	domain.info = &info;
	domain.stats = &domain_record;
	ep.fid.fid.fclass = FI_CLASS_EP;
	ep.endpoint = &ep;
	ep.domain = &domain;
	ep.self.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(5000) };
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &ep.self.in.sin_addr), 1);
	return 0;
}

static struct fi_ops_stats *open_ops(void)
{
	void *ops = NULL;

	assert_int_equal(ofi_rdm_stats_open_ops(&ep.fid.fid, FI_STATS_OPS, 0, &ops, NULL), 0);
	assert_int_equal(((struct fi_ops_stats *)ops)->size, sizeof(struct fi_ops_stats));
	return ops;
}

static uint64_t item_of(const struct fi_stats_item *items, ssize_t n, const char *which)
{
	ssize_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(items[i].name, which))
			return items[i].value;
	fail_msg("no item %s", which);
	return 0;
}

static void it_is_shown_by_its_address(void **state)
{
	(void)state;
	ofi_rdm_stats_show(&ep);
	assert_true(ep.stats.id);
	assert_int_equal(ep.stats.fclass, FI_CLASS_EP);
	assert_int_equal(ep.stats.domain, 41);
	assert_string_equal(ep.stats.name, "rxe0 192.0.2.1:5000");
}

static void calls_are_counted(void **state)
{
	(void)state;
	ofi_rdm_count(&ep, OFI_STATS_WRITES, OFI_STATS_WRITE_BYTES, 100);
	ofi_rdm_count(&ep, OFI_STATS_WRITES, OFI_STATS_WRITE_BYTES, 20);
	ofi_rdm_count_result(&ep, -FI_EAGAIN);
	ofi_rdm_count_result(&ep, -FI_EINVAL);
	ofi_rdm_count_result(&ep, 0);
	assert_int_equal(ep.stats.value[OFI_STATS_WRITES], 2);
	assert_int_equal(ep.stats.value[OFI_STATS_WRITE_BYTES], 120);
	assert_int_equal(ep.stats.value[OFI_STATS_EAGAIN], 1);
}

static void it_can_be_read(void **state)
{
	struct fi_stats_item items[FI_STATS_MAX], few[2];
	struct fi_ops_stats *ops = open_ops();
	ssize_t n;

	(void)state;
	ofi_rdm_stats_show(&ep);
	ofi_rdm_count(&ep, OFI_STATS_WRITES, OFI_STATS_WRITE_BYTES, 100);
	n = ops->read(&ep.fid.fid, items, FI_STATS_MAX);
	assert_true(n > 2 && n <= FI_STATS_MAX);
	assert_int_equal(item_of(items, n, "writes"), 1);
	assert_int_equal(item_of(items, n, "write_bytes"), 100);
	/* It says how many there are, and gives as many as there is room for. */
	memset(few, 0, sizeof(few));
	assert_int_equal(ops->read(&ep.fid.fid, few, 1), n);
	assert_string_equal(few[0].name, items[0].name);
	assert_null(few[1].name);
	assert_int_equal(ops->read(&ep.fid.fid, NULL, 0), n);
}

/* Whose record is the endpoint's. */
static void an_alias_will_do(void **state)
{
	struct ofi_rdm_fid alias = { .fid.fid.fclass = FI_CLASS_EP, .endpoint = &ep };
	struct fi_stats_item items[FI_STATS_MAX];
	struct fi_ops_stats *ops = open_ops();
	ssize_t n;

	(void)state;
	ofi_rdm_stats_show(&ep);
	ofi_rdm_count(&ep, OFI_STATS_READS, OFI_STATS_READ_BYTES, 9);
	n = ops->read(&alias.fid.fid, items, FI_STATS_MAX);
	assert_true(n > 0);
	assert_int_equal(item_of(items, n, "read_bytes"), 9);
}

static void wrong_calls_are_refused(void **state)
{
	struct fid another = { .fclass = FI_CLASS_CQ };
	struct fi_stats_item items[1];
	struct fi_ops_stats *ops = open_ops();
	void *none = NULL;

	(void)state;
	assert_int_equal(ops->read(NULL, items, 1), -FI_EINVAL);
	capture_start();
	assert_int_equal(ops->read(&another, items, 1), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "class"));
	assert_int_equal(ops->read(&ep.fid.fid, NULL, 1), -FI_EINVAL);
	assert_int_equal(ops->read(&ep.fid.fid, items, 1), -FI_EOPBADSTATE); /* not enabled */
	assert_int_equal(ofi_rdm_stats_open_ops(&ep.fid.fid, "name", 0, &none, NULL), -FI_ENOSYS);
	assert_int_equal(ofi_rdm_stats_open_ops(&ep.fid.fid, FI_STATS_OPS, 3, &none, NULL),
			 -FI_EBADFLAGS);
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_is_shown_by_its_address, begin),
		cmocka_unit_test_setup(calls_are_counted, begin),
		cmocka_unit_test_setup(it_can_be_read, begin),
		cmocka_unit_test_setup(an_alias_will_do, begin),
		cmocka_unit_test_setup(wrong_calls_are_refused, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
