/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_OPT_EFA_RNR_RETRY of a reliable-datagram endpoint: which device has it, and its values. */
#include "unit.h"
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include "capture.h"
#include "prov/rdm/domain_progress.h"
#include "prov/rdm/ep.h"

static struct fi_provider prov = { .name = "test" };
static struct ofi_domain domain;
static struct ofi_rdm_ep ep;
static struct fid_ep *fid;
static struct fi_info *info;

static int xport_open(struct ofi_rdm_ep *of)
{
	assert_ptr_equal(of, &ep);
	return 0;
}

static void nothing(struct ofi_rdm_ep *of)
{
	assert_ptr_equal(of, &ep);
}

static const struct ofi_rdm_xport_ops ops = {
	.open = xport_open,
	.disconnect = nothing,
	.close = nothing,
	.free = nothing,
};

static const struct ofi_rdm_xport xport = {
	.ops = &ops,
	.props = { .ordered = true,
		   .reliable = true,
		   .can_read = true,
		   .window = OFI_RDM_WIRE_WINDOW,
		   .max_packet = 4096,
		   .max_read = 1 << 20,
		   .reads = 1 },
};

static int setup(void **state)
{
	static const struct ofi_rdm_proto_config config = { .segmented = 4096, .unexpected = 4096 };

	(void)state;
	memset(&ep, 0, sizeof(ep));
	info = fi_allocinfo();
	info->ep_attr->type = FI_EP_RDM;
	domain = (struct ofi_domain){ .prov = &prov, .info = info, .packet = 4096 };
	ofi_triggers_init(&domain.triggers);
	assert_int_equal(ofi_rdm_domain_progress_open(&domain, false), 0);
	assert_int_equal(ofi_rdm_ep_open(&ep, &domain, info, &xport, &config, &fid, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(fi_close(&fid->fid), 0);
	ofi_rdm_domain_progress_close(domain.progress);
	fi_freeinfo(info);
	return 0;
}

static int get(size_t *value)
{
	size_t len = sizeof(*value);

	return fi_getopt(&fid->fid, FI_OPT_ENDPOINT, FI_OPT_EFA_RNR_RETRY, value, &len);
}

static int set(size_t value)
{
	return fi_setopt(&fid->fid, FI_OPT_ENDPOINT, FI_OPT_EFA_RNR_RETRY, &value, sizeof(value));
}

/* Other devices do not have the option. */
static void test_rnr_elsewhere(void **state)
{
	size_t value = 0;

	(void)state;
	assert_int_equal(get(&value), -FI_ENOPROTOOPT);
	assert_int_equal(set(7), -FI_ENOPROTOOPT);
}

/* On an Elastic Fabric Adapter it has one value. */
static void test_rnr(void **state)
{
	uint32_t narrow = 7;
	size_t value = 0;

	(void)state;
	ep.info->ep_attr->protocol = FI_PROTO_EFA;
	assert_int_equal(get(&value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(set(7), 0);
	capture_start();
	assert_int_equal(set(0), -FI_EOPNOTSUPP);
	assert_int_equal(set(6), -FI_EOPNOTSUPP);
	assert_int_equal(fi_setopt(&fid->fid, FI_OPT_ENDPOINT, FI_OPT_EFA_RNR_RETRY, &narrow,
				   sizeof(narrow)),
			 -FI_EINVAL);
	ep.begun = true;
	assert_int_equal(set(7), -FI_EOPBADSTATE);
	assert_non_null(
		strstr(capture_stop(), "FI_OPT_EFA_RNR_RETRY takes 7, for ever, before fi_enable"));
	assert_int_equal(get(&value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(ep.min_multi_recv, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rnr_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rnr, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
