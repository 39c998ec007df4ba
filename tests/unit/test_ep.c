/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What endpoints of all types share: options, default operation flags, bindings. */
#include "unit.h"
#include "prov/base/ep.h"

static struct fi_provider prov = { .name = "test" };
static struct fid ep;

static int option(struct fid *fid, int name, size_t *value)
{
	assert_ptr_equal(fid, &ep);
	*value = 40 + name;
	return name < 3 ? 0 : -FI_ENOPROTOOPT;
}

static void get(void **state)
{
	uint64_t value = 0;
	size_t len = 8;

	(void)state;
	assert_int_equal(ofi_ep_getopt(&prov, &ep, option, FI_OPT_ENDPOINT, 2, &value, &len), 0);
	assert_int_equal(value, 42);
	assert_int_equal(len, sizeof(size_t));
	len = 4;
	assert_int_equal(ofi_ep_getopt(&prov, &ep, option, FI_OPT_ENDPOINT, 1, &value, &len),
			 -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(size_t));
	assert_int_equal(value, 42);
	assert_int_equal(ofi_ep_getopt(&prov, &ep, option, FI_OPT_ENDPOINT, 3, &value, &len),
			 -FI_ENOPROTOOPT);
	assert_int_equal(ofi_ep_getopt(&prov, &ep, option, FI_OPT_ENDPOINT + 1, 2, &value, &len),
			 -FI_ENOPROTOOPT);
	assert_int_equal(ofi_ep_getopt(&prov, &ep, option, FI_OPT_ENDPOINT, FI_OPT_XPU_TRIGGER,
				       &value, &len),
			 -FI_EOPNOTSUPP);
	/* What an unknown option gets does not depend on how large it is taken to be. */
	assert_int_equal(ofi_ep_getopt(&prov, &ep, option, FI_OPT_ENDPOINT, 3, NULL, NULL),
			 -FI_ENOPROTOOPT);
	assert_int_equal(ofi_ep_getopt(&prov, &ep, option, FI_OPT_ENDPOINT, 2, NULL, &len),
			 -FI_EINVAL);
	assert_int_equal(ofi_ep_getopt(&prov, &ep, option, FI_OPT_ENDPOINT, 2, &value, NULL),
			 -FI_EINVAL);
}

static int set_one(int name, const size_t *value, size_t len, size_t *to)
{
	return ofi_ep_setopt(&prov, &ep, option, FI_OPT_ENDPOINT, name, value, len, 1, to);
}

static void set(void **state)
{
	size_t value = 7, to = 0;

	(void)state;
	assert_int_equal(set_one(1, &value, sizeof(value), &to), 0);
	assert_int_equal(to, 7);
	assert_int_equal(set_one(2, &value, sizeof(value), &to), -FI_EOPNOTSUPP);
	assert_int_equal(set_one(3, &value, sizeof(value), &to), -FI_ENOPROTOOPT);
	assert_int_equal(set_one(3, &value, 1, &to), -FI_ENOPROTOOPT);
	assert_int_equal(set_one(3, NULL, 0, &to), -FI_ENOPROTOOPT);
	assert_int_equal(set_one(1, &value, sizeof(value) - 1, &to), -FI_EINVAL);
	assert_int_equal(set_one(1, NULL, sizeof(value), &to), -FI_EINVAL);
}

/* Exactly one direction, and nothing that is no default of it. */
static void op_flags(void **state)
{
	uint64_t tx = FI_COMPLETION, rx = 0, flags;
	const struct ofi_ep_op_flags of = { &tx, &rx, FI_COMPLETION | FI_INJECT, FI_MULTI_RECV };

	(void)state;
	flags = FI_TRANSMIT;
	assert_int_equal(ofi_ep_control(&prov, &of, FI_GETOPSFLAG, &flags, ""), 0);
	assert_int_equal(flags, FI_COMPLETION);
	flags = FI_RECV | FI_MULTI_RECV;
	assert_int_equal(ofi_ep_set_op_flags(&prov, &of, &flags), 0);
	assert_int_equal(rx, FI_MULTI_RECV);
	flags = FI_TRANSMIT | FI_MULTI_RECV;
	assert_int_equal(ofi_ep_set_op_flags(&prov, &of, &flags), -FI_EBADFLAGS);
	flags = FI_TRANSMIT | FI_RECV;
	assert_int_equal(ofi_ep_set_op_flags(&prov, &of, &flags), -FI_EINVAL);
	assert_int_equal(ofi_ep_control(&prov, &of, FI_GETOPSFLAG, &flags, ""), -FI_EINVAL);
	flags = FI_INJECT;
	assert_int_equal(ofi_ep_set_op_flags(&prov, &of, &flags), -FI_EINVAL);
	assert_int_equal(ofi_ep_control(&prov, &of, FI_GETOPSFLAG, &flags, ""), -FI_EINVAL);
	assert_int_equal(ofi_ep_set_op_flags(&prov, &of, NULL), -FI_EINVAL);
	assert_int_equal(ofi_ep_control(&prov, &of, FI_GETOPSFLAG, NULL, ""), -FI_EINVAL);
	assert_int_equal(tx, FI_COMPLETION);
}

/* A context has one direction, and says no to the other one. */
static void op_flags_of_one(void **state)
{
	uint64_t rx = FI_COMPLETION, flags = FI_TRANSMIT;
	const struct ofi_ep_op_flags of = { .rx = &rx, .rx_allowed = FI_COMPLETION };

	(void)state;
	assert_int_equal(ofi_ep_set_op_flags(&prov, &of, &flags), -FI_EINVAL);
	assert_int_equal(ofi_ep_control(&prov, &of, FI_GETOPSFLAG, &flags, ""), -FI_EINVAL);
	flags = FI_RECV;
	assert_int_equal(ofi_ep_control(&prov, &of, FI_GETOPSFLAG, &flags, ""), 0);
	assert_int_equal(flags, FI_COMPLETION);
	flags = FI_RECV;
	assert_int_equal(ofi_ep_set_op_flags(&prov, &of, &flags), 0);
	assert_int_equal(rx, 0);
}

static void event_queue(void **state)
{
	struct ofi_ref fabric = { 0 }, other = { 0 };
	struct ofi_eq eq = { .fid.fid.fclass = FI_CLASS_EQ, .parent = &fabric };
	struct ofi_eq *slot = NULL;

	(void)state;
	assert_int_equal(ofi_ep_bind_eq(&prov, &slot, &eq, &fabric, 1), -FI_EBADFLAGS);
	assert_int_equal(ofi_ep_bind_eq(&prov, &slot, &eq, &other, 0), -FI_EINVAL);
	assert_int_equal(eq.ref.children, 0);
	assert_int_equal(ofi_ep_bind_eq(&prov, &slot, &eq, &fabric, 0), 0);
	assert_ptr_equal(slot, &eq);
	assert_int_equal(eq.ref.children, 1);
	assert_int_equal(ofi_ep_bind_eq(&prov, &slot, &eq, &fabric, 0), -FI_EBUSY);
	assert_int_equal(eq.ref.children, 1);
}

static void completion_queue(void **state)
{
	static struct fi_ops fid_ops = { .size = sizeof(fid_ops), .control = ofi_cq_control };
	struct ofi_ref domain = { 0 }, other = { 0 };
	struct ofi_cq_slow slow = { .parent = &domain };
	struct ofi_cq cq = { .fid.fid = { .fclass = FI_CLASS_CQ, .ops = &fid_ops }, .slow = &slow };
	struct fid *fid = &cq.fid.fid;

	(void)state;
	assert_int_equal(ofi_ep_check_cq(&prov, fid, &domain, FI_RECV, FI_TRANSMIT), 0);
	assert_int_equal(ofi_ep_check_cq(&prov, fid, &domain, FI_RECV, FI_RECV), -FI_EBUSY);
	assert_int_equal(ofi_ep_check_cq(&prov, fid, &other, FI_RECV, 0), -FI_EINVAL);
	assert_int_equal(ofi_ep_check_cq(&prov, fid, &domain, 0, 0), -FI_EBADFLAGS);
	assert_int_equal(ofi_ep_check_cq(&prov, fid, &domain, FI_RECV | FI_READ, 0), -FI_EBADFLAGS);
	assert_int_equal(
		ofi_ep_check_cq(&prov, fid, &domain, FI_TRANSMIT | FI_SELECTIVE_COMPLETION, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get),	       cmocka_unit_test(set),
		cmocka_unit_test(op_flags),    cmocka_unit_test(op_flags_of_one),
		cmocka_unit_test(event_queue), cmocka_unit_test(completion_queue),
	};

	return cmocka_run_group_tests_name("ep", tests, NULL, NULL);
}
