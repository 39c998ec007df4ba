/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints what a bug report should say about a host: versions, system, devices, GPUs. */
#include "doctor_summary.h"

#include <string.h>

#include "doctor_tree.h"

static void print_system(const struct doctor *doctor)
{
	char release[128], name[160];
	size_t len;

	tree_line(doctor->root, "", release, sizeof(release), "/proc/sys/kernel/osrelease");
	if (!tree_line(doctor->root, "PRETTY_NAME=", name, sizeof(name), "/etc/os-release"))
		strcpy(name, "PRETTY_NAME=unknown");
	len = strlen(name);
	if (name[len - 1] == '"')
		name[len - 1] = '\0';
	fprintf(doctor->json.out, "  system    Linux %s, %s\n", release[0] ? release : "unknown",
		name + strlen("PRETTY_NAME=") + (name[strlen("PRETTY_NAME=")] == '"'));
}

static void print_port(const struct doctor *doctor, const struct doctor_port *port)
{
	char driver[64], firmware[64], rate[64];
	const char *root = doctor->root;

	if (!tree_link(root, driver, sizeof(driver), "/sys/class/infiniband/%s/device/driver",
		       port->device))
		strcpy(driver, tree_exists(root, "/sys/class/infiniband/%s/parent", port->device)
				       ? "software"
				       : "unknown driver");
	tree_line(root, "", firmware, sizeof(firmware), "/sys/class/infiniband/%s/fw_ver",
		  port->device);
	tree_line(root, "", rate, sizeof(rate), "/sys/class/infiniband/%s/ports/%s/rate",
		  port->device, port->num);
	fprintf(doctor->json.out, "  device    %s port %s: %s%s%s, %s%s%s, %s%s%s\n", port->device,
		port->num, driver, firmware[0] ? " " : "", firmware,
		port->state[0] ? port->state : "unknown state", rate[0] ? ", " : "", rate,
		port->layer[0] ? port->layer : "unknown link", port->netdev[0] ? " " : "",
		port->netdev);
}

void doctor_summary(struct doctor *doctor, const struct doctor_ports *ports, const char *library)
{
	const struct doctor_port *port;
	FILE *out = doctor->json.out;
	const char *root = doctor->root;
	bool nvidia = tree_exists(root, "/sys/module/nvidia");
	bool amd = tree_exists(root, "/sys/module/amdgpu");
	bool intel = tree_exists(root, "/sys/module/xe");

	if (doctor->as_json || doctor->quiet)
		return;
	fprintf(out, "\nfor a bug report, with the lines above:\n");
	fprintf(out, "  versions  fi_doctor of weft %s, libfabric %s\n", PACKAGE_VERSION,
		library ? library : "not used");
	print_system(doctor);
	STAILQ_FOREACH (port, ports, next)
		print_port(doctor, port);
	if (STAILQ_EMPTY(ports))
		fprintf(out, "  device    none\n");
	fprintf(out, "  GPU       %s%s%s%s\n", nvidia ? "nvidia" : "", amd ? " amdgpu" : "",
		intel ? " xe" : "", nvidia || amd || intel ? "" : "none");
}
