/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Orders devices by their distance to the process. */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "affinity.h"
#include "prov/verbs/provider/prov.h"

#define MANUAL	"manual:"
#define CPU_MAX 8192 /* the most that Linux can have; a smaller set is refused if it has more */

/* Variables in which launchers store the rank of a process on its host. */
static const char *const rank_names[] = {
	"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",	  "PMI_LOCAL_RANK",
	"MV2_COMM_WORLD_LOCAL_RANK",  "PALS_LOCAL_RANKID",	  "SLURM_LOCALID",
	"FLUX_TASK_LOCAL_ID",	      "JSM_NAMESPACE_LOCAL_RANK",
};

/* Returns 0 if none is set. */
static size_t local_rank(void)
{
	const char *text;
	char *end;
	size_t i;
	long rank;

	for (i = 0; i < sizeof(rank_names) / sizeof(rank_names[0]); i++) {
		text = getenv(rank_names[i]);
		rank = text ? strtol(text, &end, 10) : -1;
		if (rank >= 0 && end > text && !*end)
			return (size_t)rank;
	}
	return 0;
}

static bool read_cpus(const struct vrb_device *dev, char *text, size_t len)
{
	char path[PATH_MAX];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "%s/device/local_cpulist", dev->path);
	file = fopen(path, "re");
	if (!file)
		return false;
	good = fgets(text, (int)len, file);
	fclose(file);
	if (good)
		text[strcspn(text, "\n")] = '\0';
	return good && text[0];
}

/* Returns true if a list like "0-3,8" contains the CPU. */
static bool is_listed(const char *list, long cpu)
{
	long first, last;
	char *end;

	for (;;) {
		first = last = strtol(list, &end, 10);
		if (end == list)
			return false;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		if (*end != ',')
			return false;
		list = end + 1;
	}
}

static enum vrb_nearness nearness_of(const struct vrb_device *dev)
{
	char list[1024];
	bool some = false, all = true, local;
	cpu_set_t set[CPU_MAX / CPU_SETSIZE];
	int cpu;

	if (!read_cpus(dev, list, sizeof(list)) || sched_getaffinity(0, sizeof(set), set))
		return VRB_NEAR_UNKNOWN;
	for (cpu = 0; cpu < CPU_MAX; cpu++) {
		if (!CPU_ISSET_S(cpu, sizeof(set), set))
			continue;
		local = is_listed(list, cpu);
		some = some || local;
		all = all && local;
	}
	return all ? VRB_NEAR_ALL : some ? VRB_NEAR_SOME : VRB_NEAR_NONE;
}

/* Returns the speed of the device's fastest port, for comparison. */
static uint64_t speed_of(const struct vrb_device *dev)
{
	uint64_t speed, most = 0;
	int i;

	for (i = 0; i < dev->num_ports; i++) {
		speed = (uint64_t)dev->ports[i].attr.active_speed * dev->ports[i].attr.active_width;
		if (dev->ports[i].attr.state == IBV_PORT_ACTIVE && speed > most)
			most = speed;
	}
	return most;
}

/* Returns the subnet of the first active port, 0 for iWARP, whose GIDs are MAC addresses. */
static __be64 subnet_of(const struct vrb_device *dev)
{
	int i;

	for (i = 0; i < dev->num_ports && dev->transport != IBV_TRANSPORT_IWARP; i++)
		if (dev->ports[i].attr.state == IBV_PORT_ACTIVE)
			return dev->ports[i].subnet;
	return 0;
}

/* Returns the device's position in the parameter's list, INT_MAX if it is not listed. */
static int place_in(const char *list, const char *name)
{
	size_t len;
	int place;

	for (place = 0; *list; place++, list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		if (len == strlen(name) && !strncmp(list, name, len))
			return place;
	}
	return INT_MAX;
}

static int affinity_compare(const struct vrb_ranked *a, const struct vrb_ranked *b)
{
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->nearness != b->nearness)
		return a->nearness < b->nearness ? -1 : 1;
	return a->speed == b->speed ? 0 : a->speed > b->speed ? -1 : 1;
}

/* Inserts a device after those of equal rank, so equal devices keep their order. */
static void affinity_insert(struct vrb_affinity *affinity, const struct vrb_ranked *ranked)
{
	size_t at = affinity->count++;

	for (; at && affinity_compare(ranked, &affinity->devices[at - 1]) < 0; at--)
		affinity->devices[at] = affinity->devices[at - 1];
	affinity->devices[at] = *ranked;
}

/*
 * Rotates the best devices of the first one's subnet, so that the processes of a host start with
 * different ones, but can connect to any process of another host.
 */
static void take_turns(struct vrb_affinity *affinity)
{
	struct vrb_ranked old[VRB_AFFINITY_MAX], *best = affinity->devices;
	size_t at[VRB_AFFINITY_MAX], i, equals = 0, first;

	for (i = 0; i < affinity->count && !affinity_compare(&best[i], &best[0]); i++) {
		if (subnet_of(best[i].dev) != subnet_of(best[0].dev))
			continue;
		at[equals] = i;
		old[equals++] = best[i];
	}
	if (!equals || best[0].nearness == VRB_NEAR_UNKNOWN)
		return;
	first = local_rank() % equals;
	for (i = 0; i < equals; i++)
		best[at[i]] = old[(first + i) % equals];
}

/* Returns the list of a manual order, or NULL; sets *none if the order must not be changed. */
static const char *read_policy(bool *none)
{
	const char *policy =
		vrb_params.nic_affinity ? vrb_params.nic_affinity : vrb_params.nic_affinity_policy;

	*none = policy && !strcmp(policy, "none");
	if (policy && !strncmp(policy, MANUAL, strlen(MANUAL)))
		return policy + strlen(MANUAL);
	if (policy && !*none && strcmp(policy, "auto"))
		FI_WARN_ONCE(
			&vrb_prov, FI_LOG_FABRIC,
			"FI_VERBS_NIC_AFFINITY%s=%s is not valid, using auto; it takes auto, none, or manual: followed by device names separated by commas\n",
			vrb_params.nic_affinity ? "" : "_POLICY", policy);
	return NULL;
}

/* Returns true if there are several usable devices. To rank only one, no file need be read. */
static bool has_several(const struct vrb_snapshot *snapshot)
{
	const struct vrb_device *dev;
	int count = 0;

	STAILQ_FOREACH (dev, snapshot, next)
		count += !dev->err;
	return count > 1;
}

void vrb_affinity_rank(struct vrb_affinity *affinity, const struct vrb_snapshot *snapshot)
{
	const struct vrb_device *dev;
	struct vrb_ranked ranked;
	bool none, several;
	const char *list;

	affinity->count = 0;
	list = read_policy(&none);
	affinity->by_nearness = !none && !list;
	if (none)
		return;
	several = has_several(snapshot);
	STAILQ_FOREACH (dev, snapshot, next) {
		if (dev->err || affinity->count == VRB_AFFINITY_MAX)
			continue;
		ranked = (struct vrb_ranked){ .dev = dev };
		if (list) {
			ranked.place = place_in(list, dev->name);
		} else {
			ranked.nearness = several ? nearness_of(dev) : VRB_NEAR_UNKNOWN;
			ranked.speed = ranked.nearness == VRB_NEAR_UNKNOWN ? 0 : speed_of(dev);
		}
		affinity_insert(affinity, &ranked);
	}
	if (affinity->by_nearness)
		take_turns(affinity);
}

int vrb_affinity_place(const struct vrb_affinity *affinity, const struct vrb_device *dev)
{
	size_t i;

	for (i = 0; i < affinity->count; i++)
		if (affinity->devices[i].dev == dev)
			break;
	return (int)i;
}

bool vrb_affinity_is_far(const struct vrb_affinity *affinity, const struct vrb_device *dev,
			 struct ofi_miss *miss)
{
	int place = vrb_affinity_place(affinity, dev);
	const struct vrb_ranked *best = &affinity->devices[0];
	char list[64] = "";

	if (!affinity->by_nearness || !affinity->count || place >= (int)affinity->count ||
	    affinity->devices[place].nearness != VRB_NEAR_NONE || best->nearness == VRB_NEAR_NONE)
		return false;
	read_cpus(dev, list, sizeof(list));
	miss->attr = "FI_VERBS_NIC_AFFINITY";
	snprintf(miss->asked, sizeof(miss->asked), "near the process's CPUs");
	snprintf(miss->has, sizeof(miss->has), "near CPUs %s; offered behind %s", list,
		 best->dev->name);
	return true;
}
