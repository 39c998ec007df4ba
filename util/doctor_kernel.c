/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks the kernel's modules, its RDMA devices and the versions of its interfaces. */
#include "doctor_kernel.h"

#include <string.h>

#include "doctor_tree.h"

/* Versions that rdma-core supports. */
enum { UVERBS_ABI_MIN = 3, UVERBS_ABI_MAX = 6, CM_ABI_MAX = 4 };

static const struct {
	long vendor;
	const char *driver;
} adapters[] = {
	{ 0x15b3, "mlx5_ib" },	      { 0x14e4, "bnxt_re" },  { 0x8086, "irdma" },
	{ 0x1077, "qedr" },	      { 0x1425, "iw_cxgb4" }, { 0x1d0f, "efa" },
	{ 0x19e5, "hns_roce_hw_v2" }, { 0x1ded, "erdma" },
};

/* A built-in module has no directory in /sys/module, but leaves a trace elsewhere. */
static bool check_module(struct doctor *doctor, const char *module, const char *trace)
{
	if (tree_exists(doctor->root, "/sys/module/%s", module) ||
	    tree_exists(doctor->root, "%s", trace)) {
		doctor_say(doctor, DOCTOR_OK, "the kernel has %s", module);
		return true;
	}
	doctor_fix(doctor, "modprobe %s", module);
	doctor_say(doctor, DOCTOR_FAIL, "the kernel module %s is not loaded", module);
	return false;
}

static void check_abi(struct doctor *doctor, const char *what, const char *path, long min, long max)
{
	long abi = tree_number(doctor->root, -1, "%s", path);

	if (abi < 0) {
		doctor_fix(doctor, "ls -l %s", path);
		doctor_say(doctor, DOCTOR_NOTE, "the version of %s is unknown", what);
	} else if (abi < min || abi > max) {
		doctor_fix(
			doctor,
			"apt-get install --only-upgrade rdma-core libibverbs1 librdmacm1 (those that belong to this kernel)");
		doctor_say(doctor, DOCTOR_FAIL, "%s has version %ld, %ld to %ld are supported",
			   what, abi, min, max);
	} else {
		doctor_say(doctor, DOCTOR_OK, "%s has version %ld", what, abi);
	}
}

/* Returns the driver for an adapter on the PCI bus, NULL if no adapter supports RDMA. */
static const char *find_adapter(const char *root)
{
	const char *driver = NULL;
	struct dirent **names;
	long vendor, class;
	int count, i;
	size_t n;

	count = tree_list(root, &names, "/sys/bus/pci/devices");
	for (i = 0; i < count && !driver; i++) {
		vendor = tree_number(root, 0, "/sys/bus/pci/devices/%s/vendor", names[i]->d_name);
		class = tree_number(root, 0, "/sys/bus/pci/devices/%s/class", names[i]->d_name);
		if (class >> 16 != 0x02)
			continue;
		for (n = 0; n < sizeof(adapters) / sizeof(adapters[0]); n++) {
			if (adapters[n].vendor == vendor)
				driver = adapters[n].driver;
		}
	}
	tree_free(names, count);
	return driver;
}

/* Finds an interface that could carry soft-RoCE; uses "eth0" if there is none. */
static void find_netdev(const char *root, char *buf, size_t len)
{
	struct dirent **names;
	int count, i;

	snprintf(buf, len, "eth0");
	count = tree_list(root, &names, "/sys/class/net");
	for (i = 0; i < count; i++) {
		if (tree_number(root, 0, "/sys/class/net/%s/type", names[i]->d_name) == 1 &&
		    tree_exists(root, "/sys/class/net/%s/device", names[i]->d_name)) {
			snprintf(buf, len, "%.15s", names[i]->d_name);
			break;
		}
	}
	tree_free(names, count);
}

static void no_device(struct doctor *doctor)
{
	const char *driver = find_adapter(doctor->root);
	char netdev[16];

	if (driver) {
		doctor_fix(doctor, "modprobe %s", driver);
		doctor_say(doctor, DOCTOR_FAIL,
			   "no RDMA device, but a network adapter that %s may drive", driver);
		return;
	}
	find_netdev(doctor->root, netdev, sizeof(netdev));
	doctor_fix(doctor, "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev %s", netdev);
	doctor_say(doctor, DOCTOR_FAIL,
		   "no RDMA device and no adapter known to be one; soft-RoCE needs none");
}

static void check_devices(struct doctor *doctor)
{
	struct dirent **names;
	char driver[64];
	int count, i;

	count = tree_list(doctor->root, &names, "/sys/class/infiniband");
	for (i = 0; i < count; i++) {
		if (tree_link(doctor->root, driver, sizeof(driver),
			      "/sys/class/infiniband/%s/device/driver", names[i]->d_name))
			doctor_say(doctor, DOCTOR_OK, "device %s, driver %s", names[i]->d_name,
				   driver);
		else if (tree_line(doctor->root, "", driver, sizeof(driver),
				   "/sys/class/infiniband/%s/parent", names[i]->d_name))
			doctor_say(doctor, DOCTOR_OK, "device %s, software on %s", names[i]->d_name,
				   driver);
		else
			doctor_say(doctor, DOCTOR_OK, "device %s", names[i]->d_name);
	}
	tree_free(names, count);
	if (!count)
		no_device(doctor);
}

void doctor_kernel(struct doctor *doctor)
{
	doctor->topic = "kernel";
	if (check_module(doctor, "ib_uverbs", "/sys/class/infiniband_verbs"))
		check_abi(doctor, "the verbs interface", "/sys/class/infiniband_verbs/abi_version",
			  UVERBS_ABI_MIN, UVERBS_ABI_MAX);
	if (check_module(doctor, "rdma_ucm", "/sys/class/misc/rdma_cm"))
		check_abi(doctor, "the connection manager's interface",
			  "/sys/class/misc/rdma_cm/abi_version", 1, CM_ABI_MAX);
	check_devices(doctor);
}
