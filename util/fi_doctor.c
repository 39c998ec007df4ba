/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor: finds what keeps RDMA from working on this host, and the commands that fix it. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fabric.h>

#include "doctor.h"
#include "doctor_access.h"
#include "doctor_addr.h"
#include "doctor_gid.h"
#include "doctor_gpu.h"
#include "doctor_kernel.h"
#include "doctor_launch.h"
#include "doctor_memory.h"
#include "doctor_net.h"
#include "doctor_offer.h"
#include "doctor_options.h"
#include "doctor_peer.h"
#include "doctor_port.h"
#include "doctor_roce.h"
#include "doctor_summary.h"
#include "tool.h"

enum { EXIT_WELL, EXIT_ILL, EXIT_USAGE };

/* Rules for the user of other hosts, and for root, whom no limit concerns, are not looked at. */
static const char *user_name(const char *root)
{
	const struct passwd *user = *root || !getuid() ? NULL : getpwuid(getuid());

	return user ? user->pw_name : NULL;
}

static void check_host(struct doctor *doctor, const struct doctor_ports *ports,
		       const struct doctor_addrs *addrs)
{
	doctor_kernel(doctor);
	doctor_access(doctor);
	doctor_memory(doctor);
	doctor_launch(doctor, user_name(doctor->root));
	doctor_ports_check(doctor, ports);
	doctor_gids_check(doctor, ports);
	doctor_net_check(doctor, ports, addrs);
	doctor_roce_check(doctor, ports);
	doctor_gpu(doctor);
	if (!*doctor->root)
		doctor_offer_check(doctor, ports);
}

/* If some of this cannot be read, the checks report that. */
static void read_host(struct doctor *doctor, struct doctor_ports *ports, struct doctor_addrs *addrs)
{
	doctor->topic = "host";
	if (!doctor_ports_read(ports, doctor->root)) {
		doctor_fix(doctor, "free -m");
		doctor_say(doctor, DOCTOR_FAIL, "not all ports could be read: %s",
			   strerror(ENOMEM));
	}
	if (!doctor_addrs_read(addrs, doctor->root)) {
		doctor_fix(doctor, "ip -o addr show >%s/ip-addr", doctor->root);
		doctor_say(doctor, DOCTOR_NOTE, "the IP addresses are unknown: %s",
			   strerror(errno));
	}
}

static int run(const struct doctor_options *opts)
{
	struct doctor doctor = { .root = opts->root, .as_json = opts->json, .quiet = opts->quiet };
	struct doctor_ports ports;
	struct doctor_addrs addrs;

	doctor_start(&doctor, stdout);
	read_host(&doctor, &ports, &addrs);
	check_host(&doctor, &ports, &addrs);
	if (opts->peer)
		doctor_peer_connect(&doctor, opts, &ports, &addrs);
	if (opts->listen)
		doctor_peer_listen(&doctor, opts);
	doctor_summary(&doctor, &ports, *opts->root ? NULL : fi_tostr("", FI_TYPE_VERSION));
	doctor_end(&doctor);
	doctor_ports_free(&ports);
	doctor_addrs_free(&addrs);
	return doctor.counts[DOCTOR_FAIL] ? EXIT_ILL : EXIT_WELL;
}

int main(int argc, char **argv)
{
	struct doctor_options opts;

	tool_start(argv);
	if (!doctor_options_parse(&opts, argc, argv))
		return EXIT_USAGE;
	if (opts.help) {
		doctor_options_usage(stdout);
		return tool_end(EXIT_WELL);
	}
	if (opts.version) {
		tool_version(stdout);
		return tool_end(EXIT_WELL);
	}
	return tool_end(run(&opts));
}
