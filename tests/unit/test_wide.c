/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Structures of older programs end in front of memory that cannot be read. */
#include "unit.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <ofi/wide.h>

enum { FILL = 0x5a };

static size_t page;
static char *room[4]; /* each is a page, and one behind it that cannot be read */

static int setup(void **state)
{
	size_t i;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	for (i = 0; i < 4; i++) {
		room[i] = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		if (room[i] == MAP_FAILED || mprotect(room[i] + page, page, PROT_NONE))
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		munmap(room[i], 2 * page);
	return 0;
}

static void *guarded(unsigned int i, size_t size)
{
	return memset(room[i] + page - size, FILL, size);
}

/* Checks that the part has the first `size` bytes of what the program passed, and then zeros. */
static void has(const void *part, size_t size, size_t full)
{
	const unsigned char *at = part;
	size_t i;

	for (i = 0; i < full; i++)
		assert_int_equal(at[i], i < size ? FILL : 0);
}

static void widens(uint32_t version, size_t info_size, size_t tx, size_t ep, size_t domain)
{
	struct fi_info *info = guarded(0, info_size), *full;
	struct ofi_wide wide;

	memset(&wide, 1, sizeof(wide));
	info->tx_attr = guarded(1, tx);
	info->ep_attr = guarded(2, ep);
	info->domain_attr = guarded(3, domain);
	full = ofi_widen(version, info, &wide);
	assert_ptr_equal(full, &wide.info);
	assert_memory_equal(&full->caps, &info->caps,
			    offsetof(struct fi_info, tx_attr) - offsetof(struct fi_info, caps));
	assert_ptr_equal(full->rx_attr, info->rx_attr);
	assert_ptr_equal(full->nic, info_size == sizeof(*info) ? info->nic : NULL);
	has(full->tx_attr, tx, sizeof(*full->tx_attr));
	has(full->ep_attr, ep, sizeof(*full->ep_attr));
	has(full->domain_attr, domain, sizeof(*full->domain_attr));
}

static void short_ones_become_current(void **state)
{
	(void)state;
	widens(FI_VERSION(1, 0), 112, 72, 80, 120);
	widens(FI_VERSION(1, 4), 112, 72, 80, 120);
	widens(FI_VERSION(1, 5), 112, 72, 96, 184);
	widens(FI_VERSION(1, 8), 120, 72, 96, 184);
	widens(FI_VERSION(1, 9), 120, 80, 96, 192);
	widens(FI_VERSION(1, 17), 120, 80, 96, 192);
	widens(FI_VERSION(1, 20), 120, 80, 96, 200);
	widens(FI_VERSION(2, 5), 120, 80, 96, 200);
}

static void current_ones_stay(void **state)
{
	struct fi_info info = { .caps = FI_MSG };
	struct ofi_wide wide;

	(void)state;
	assert_ptr_equal(ofi_widen(FI_VERSION(2, 6), &info, &wide), &info);
	assert_ptr_equal(ofi_widen(0, &info, &wide), &info);
	assert_null(ofi_widen(FI_VERSION(1, 0), NULL, &wide));
	assert_ptr_equal(ofi_widen(FI_VERSION(1, 0), &info, &wide), &wide.info);
	assert_null(wide.info.tx_attr);
	assert_null(wide.info.ep_attr);
	assert_null(wide.info.domain_attr);
}

/* The application made the attributes of its fabric, and has those of an fi_info. */
static void a_fabric_without_version(void **state)
{
	struct fi_fabric_attr fabric = { .api_version = FI_VERSION(1, 5) };
	struct fi_info info = { .fabric_attr = &fabric };
	struct ofi_wide wide;

	(void)state;
	assert_ptr_equal(ofi_widen(0, &info, &wide), &wide.info);
	fabric.api_version = 0;
	assert_ptr_equal(ofi_widen(0, &info, &wide), &info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(short_ones_become_current, setup, teardown),
		cmocka_unit_test(current_ones_stay),
		cmocka_unit_test(a_fabric_without_version),
	};

	return cmocka_run_group_tests_name("wide", tests, NULL, NULL);
}
