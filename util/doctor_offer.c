/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asks libfabric what it offers, and registers memory with the first device. */
#include "doctor_offer.h"

#include <string.h>
#include <sys/mman.h>

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include "doctor_memory.h"
#include "doctor_time.h"
#include "doctor_tree.h"
#include "info_why.h"

#define ANY_MR_MODE (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

uint32_t doctor_api(void)
{
	uint32_t compiled = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

	return FI_VERSION_LT(fi_version(), compiled) ? fi_version() : compiled;
}

struct fi_info *doctor_hints(enum fi_ep_type type)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = FI_MSG;
	hints->mode = ~0ULL;
	hints->ep_attr->type = type;
	hints->domain_attr->mode = ~0ULL;
	hints->domain_attr->mr_mode = ANY_MR_MODE;
	return hints;
}

/* Describes the nearest miss. */
static void explain(const struct info_why *why, int ret, char *text, size_t len)
{
	const struct info_reject *reject = why->rejects;

	if (!why->count)
		snprintf(text, len, "%s", fi_strerror(-ret));
	else if (reject->asked[0] || reject->has[0])
		snprintf(text, len, "%s: asked for %s, has %s", reject->attr,
			 reject->asked[0] ? reject->asked : "nothing",
			 reject->has[0] ? reject->has : "nothing");
	else
		snprintf(text, len, "%s", reject->attr);
}

int doctor_getinfo(const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **list, char *text, size_t len)
{
	struct info_why why = { 0 };
	int ret;

	/* Other libfabric releases give no reasons. */
	if (info_why_start(&why, doctor_api()))
		why.fid = NULL;
	*list = NULL;
	ret = fi_getinfo(doctor_api(), node, service, flags, hints, list);
	info_why_stop(&why);
	if (ret)
		explain(&why, ret, text, len);
	info_why_release(&why);
	return ret;
}

static bool is_same(const struct fi_info *a, const struct fi_info *b)
{
	return !strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) &&
	       !strcmp(a->domain_attr->name, b->domain_attr->name) &&
	       a->ep_attr->protocol == b->ep_attr->protocol;
}

/* The entries of one device follow each other. */
static void say_offer(struct doctor *doctor, const struct fi_info *list)
{
	const struct fi_info *info, *next;
	char type[32], protocol[64];
	unsigned int count;

	for (info = list; info; info = next) {
		count = 0;
		for (next = info; next && is_same(info, next); next = next->next)
			count++;
		doctor_say(doctor, DOCTOR_OK, "%s offers %s on %s (%s), %u %s",
			   info->fabric_attr->prov_name,
			   fi_tostr_r(type, sizeof(type), &info->ep_attr->type, FI_TYPE_EP_TYPE),
			   info->domain_attr->name,
			   fi_tostr_r(protocol, sizeof(protocol), &info->ep_attr->protocol,
				      FI_TYPE_PROTOCOL),
			   count, count == 1 ? "entry" : "entries");
	}
}

static void check_type(struct doctor *doctor, enum fi_ep_type type, enum doctor_level missing,
		       struct fi_info **list)
{
	struct fi_info *hints = doctor_hints(type);
	char name[32], text[400] = "";
	int ret;

	*list = NULL;
	ret = hints ? doctor_getinfo(NULL, NULL, 0, hints, list, text, sizeof(text)) : -FI_ENOMEM;
	fi_freeinfo(hints);
	if (!ret) {
		say_offer(doctor, *list);
		return;
	}
	fi_tostr_r(name, sizeof(name), &type, FI_TYPE_EP_TYPE);
	doctor_fix(doctor, "fi_info --why -t %s", name);
	doctor_say(doctor, missing, "no %s: %s", name, text);
}

/* The device chose its MTU when its port came up; the interface's MTU may have changed since. */
static void check_link_mtu(struct doctor *doctor, const struct fi_info *info,
			   const struct doctor_ports *ports)
{
	const struct doctor_port *port;
	unsigned int room;

	if (!info->nic || !info->nic->link_attr || !info->nic->link_attr->mtu)
		return;
	STAILQ_FOREACH (port, ports, next) {
		if (strcmp(port->device, info->domain_attr->name) || !port->active ||
		    !port->ethernet || port->iwarp || !port->netdev[0])
			continue;
		room = doctor_roce_mtu(
			tree_number(doctor->root, 0, "/sys/class/net/%s/mtu", port->netdev));
		if (info->nic->link_attr->mtu >= room)
			continue;
		doctor_fix(doctor, "ip link set %s down && ip link set %s up", port->netdev,
			   port->netdev);
		doctor_say(doctor, DOCTOR_WARN, "%s sends %zu bytes a packet, %s has room for %u",
			   port->device, info->nic->link_attr->mtu, port->netdev, room);
		return;
	}
}

static int register_memory(struct fid_domain *domain, void *buf)
{
	struct fid_mr *mr;
	int ret;

	ret = fi_mr_reg(domain, buf, DOCTOR_REGISTER, FI_SEND | FI_RECV, 0, 0, 0, &mr, NULL);
	return ret ? ret : fi_close(&mr->fid);
}

static int try_domain(struct fi_info *info, void *buf)
{
	struct fid_domain *domain;
	struct fid_fabric *fabric;
	int ret;

	ret = fi_fabric(info->fabric_attr, &fabric, NULL);
	if (ret)
		return ret;
	ret = fi_domain(fabric, info, &domain, NULL);
	if (!ret) {
		ret = register_memory(domain, buf);
		fi_close(&domain->fid);
	}
	fi_close(&fabric->fid);
	return ret;
}

static void check_register(struct doctor *doctor, struct fi_info *info)
{
	const char *device = info->domain_attr->name;
	long start = doctor_usec();
	void *buf;
	int ret;

	buf = mmap(NULL, DOCTOR_REGISTER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	ret = buf == MAP_FAILED ? -FI_ENOMEM : try_domain(info, buf);
	if (buf != MAP_FAILED)
		munmap(buf, DOCTOR_REGISTER);
	doctor->usec = doctor_usec() - start;
	if (!ret) {
		doctor_say(doctor, DOCTOR_OK, "%s opened, 64 MiB registered, closed", device);
		return;
	}
	doctor_fix(doctor,
		   ret == -FI_ENOMEM ? "ulimit -l unlimited" : "FI_LOG_LEVEL=info fi_doctor");
	doctor_say(doctor, DOCTOR_FAIL, "%s: cannot be opened and register 64 MiB: %s", device,
		   fi_strerror(-ret));
}

void doctor_offer_check(struct doctor *doctor, const struct doctor_ports *ports)
{
	struct fi_info *list;
	uint32_t api = fi_version();

	doctor->topic = "library";
	doctor_say(doctor, DOCTOR_OK, "libfabric with API %u.%u", FI_MAJOR(api), FI_MINOR(api));
	check_type(doctor, FI_EP_MSG, DOCTOR_FAIL, &list);
	if (list) {
		check_link_mtu(doctor, list, ports);
		check_register(doctor, list);
	}
	fi_freeinfo(list);
	check_type(doctor, FI_EP_DGRAM, DOCTOR_NOTE, &list);
	fi_freeinfo(list);
	check_type(doctor, FI_EP_RDM, DOCTOR_NOTE, &list);
	fi_freeinfo(list);
}
