/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parameters of efa: defaults, those without effect, values that are not permitted. */
#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "prov/efa/efa.h"
#include "prov/rdm/seq.h"

static const char *load(void)
{
	memset(&efa_params, 0xff, sizeof(efa_params));
	capture_start();
	efa_params_init();
	return capture_stop();
}

static const char *load_with(const char *name, const char *value)
{
	const char *text;

	setenv(name, value, 1);
	text = load();
	unsetenv(name);
	return text;
}

static void test_defaults(void **state)
{
	(void)state;
	/* Under valgrind it is run like a functional test. */
	unsetenv("FI_EFA_ENABLE_SHM_TRANSFER");
	assert_string_equal(load(), "");
	assert_int_equal(efa_params.tx_size, 384);
	assert_int_equal(efa_params.rx_size, 384);
	assert_int_equal(efa_params.tx_iov_limit, 4);
	assert_int_equal(efa_params.rx_iov_limit, 4);
	assert_int_equal(efa_params.max_timeout, 1000000);
	assert_int_equal(efa_params.timeout_interval, 0);
	assert_int_equal(efa_params.shm, 1);
	assert_int_equal(efa_params.use_device_rdma, 1);
	assert_int_equal(efa_params.inter_min_read_message_size, 1 << 20);
	assert_int_equal(efa_params.inter_min_read_write_size, 1 << 16);
}

static void test_values(void **state)
{
	(void)state;
	assert_string_equal(load_with("FI_EFA_TX_SIZE", "100"), "");
	assert_int_equal(efa_params.tx_size, 100);
	assert_string_equal(load_with("FI_EFA_RX_IOV_LIMIT", "1"), "");
	assert_int_equal(efa_params.rx_iov_limit, 1);
	assert_string_equal(load_with("FI_EFA_ENABLE_SHM_TRANSFER", "0"), "");
	assert_int_equal(efa_params.shm, 0);
	assert_string_equal(load_with("FI_EFA_USE_DEVICE_RDMA", "no"), "");
	assert_int_equal(efa_params.use_device_rdma, 0);
	assert_string_equal(load_with("FI_EFA_INTER_MIN_READ_MESSAGE_SIZE", "0"), "");
	assert_int_equal(efa_params.inter_min_read_message_size, 0);
	assert_string_equal(load_with("FI_EFA_INTER_MIN_READ_WRITE_SIZE", "5000000000"), "");
	assert_int_equal(efa_params.inter_min_read_write_size, 5000000000);
}

/* Each name of fi_efa(7) is known; one without effect says so unless it is the default. */
static void test_unused(void **state)
{
	static const char *const names[] = {
		"rx_window_size",
		"tx_queue_size",
		"recvwin_size",
		"cq_size",
		"mr_cache_enable",
		"mr_max_cached_count",
		"mr_max_cached_size",
		"max_memcpy_size",
		"mtu_size",
		"rx_copy_unexp",
		"rx_copy_ooo",
		"shm_av_size",
		"shm_max_medium_size",
		"fork_safe",
		"inter_max_medium_message_size",
		"runt_size",
		"set_cuda_sync_memops",
	};
	size_t i, at, unused = 0;
	char window[32];

	(void)state;
	for (i = 0; i < efa_param_count; i++) {
		unused += efa_param_table[i].unused;
		assert_true(!efa_param_table[i].unused ||
			    strstr(efa_param_table[i].doc, "no effect"));
	}
	assert_int_equal(unused, sizeof(names) / sizeof(names[0]));
	for (i = 0; i < unused; i++) {
		for (at = 0; strcmp(efa_param_table[at].name, names[i]); at++)
			assert_true(at < efa_param_count - 1);
		assert_true(efa_param_table[at].unused);
	}
	snprintf(window, sizeof(window), " %d packets", OFI_RDM_SEQ_WINDOW);
	assert_non_null(strstr(load_with("FI_EFA_RX_WINDOW_SIZE", "1"), window));
	assert_non_null(strstr(load_with("FI_EFA_RECVWIN_SIZE", "1"), window));
	assert_non_null(strstr(load_with("FI_EFA_RUNT_SIZE", "4096"), "FI_EFA_RUNT_SIZE is set"));
	assert_string_equal(load_with("FI_EFA_RUNT_SIZE", "307200"), "");
	assert_string_equal(load_with("FI_EFA_RX_COPY_OOO", "yes"), "");
}

/* One line names the permitted values, or the name that is meant. */
static void test_wrong(void **state)
{
	(void)state;
	assert_non_null(strstr(load_with("FI_EFA_TX_SIZE", "0"),
			       "FI_EFA_TX_SIZE=0 is out of range (1 to 2147483647)"));
	assert_int_equal(efa_params.tx_size, 384);
	assert_non_null(strstr(load_with("FI_EFA_TX_SIZE", "many"), "FI_EFA_TX_SIZE"));
	assert_int_equal(efa_params.tx_size, 384);
	assert_non_null(strstr(load_with("FI_EFA_TX_SIZ", "1"), "FI_EFA_TX_SIZE"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_unused),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
