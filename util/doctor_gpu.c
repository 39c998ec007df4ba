/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks whether RDMA devices can reach the memory of GPUs: as a dma-buf, which the open driver of
 * NVIDIA, that of AMD and that of Intel export, or as peer memory by a module beside the driver.
 */
#include "doctor_gpu.h"

#include <string.h>

#include "doctor_tree.h"

static void check_nvidia(struct doctor *doctor)
{
	char version[256];
	bool open;

	open = tree_line(doctor->root, "NVRM version", version, sizeof(version),
			 "/proc/driver/nvidia/version") &&
	       strstr(version, "Open Kernel Module");
	if (tree_exists(doctor->root, "/sys/module/nvidia_peermem") ||
	    tree_exists(doctor->root, "/sys/module/nv_peer_mem")) {
		doctor_say(doctor, DOCTOR_OK,
			   "the driver nvidia and a module for peer memory are loaded");
	} else if (open) {
		doctor_say(doctor, DOCTOR_OK, "the driver nvidia is open: it exports dma-bufs");
	} else {
		doctor_fix(doctor, "modprobe nvidia-peermem");
		doctor_say(
			doctor, DOCTOR_WARN,
			"the driver nvidia is loaded, but neither nvidia_peermem nor its open variant: memory of GPUs cannot be registered");
	}
}

void doctor_gpu(struct doctor *doctor)
{
	bool nvidia = tree_exists(doctor->root, "/sys/module/nvidia");
	bool amd = tree_exists(doctor->root, "/sys/module/amdgpu") &&
		   tree_exists(doctor->root, "/sys/class/kfd");
	bool intel = tree_exists(doctor->root, "/sys/module/xe");

	doctor->topic = "gpu";
	if (nvidia)
		check_nvidia(doctor);
	if (amd)
		doctor_say(doctor, DOCTOR_OK, "the driver amdgpu exports dma-bufs");
	if (intel)
		doctor_say(doctor, DOCTOR_OK, "the driver xe exports dma-bufs");
	if (!nvidia && !amd && !intel)
		doctor_say(doctor, DOCTOR_OK, "no driver of a GPU for computing is loaded");
}
