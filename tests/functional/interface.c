/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes the table of doc/interface.md: each call, capability, mode and flag of the interface is
 * tried with endpoints of each type. What is refused has a reason here, and what works has none.
 */
#include "interface.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, MOST = 600, NAME_LEN = 48 };

struct row {
	const char *section;
	char name[NAME_LEN];
	long ret[COLUMNS];
	bool known[COLUMNS];
};

static const enum fi_ep_type kinds[COLUMNS] = { FI_EP_MSG, FI_EP_RDM, FI_EP_DGRAM };
static const char *const titles[COLUMNS] = { "MSG", "RDM", "DGRAM" };
static struct row rows[MOST];
static size_t count;
static int column;
static FILE *table;

enum fi_ep_type kind;

#define DEVICE_MEMORY "FI_EP_MSG and FI_EP_RDM support GPU memory"
#define OF_REGATTR    "a flag of fi_mr_regattr"
#define NO_XPU	      "no verbs device lets accelerators post operations"
#define MESSAGES      "FI_EP_DGRAM offers messages only"
#define OF_RDM	      "only FI_EP_RDM offers it"
#define NO_SHARING    "objects cannot be shared with other providers"
#define NOT_ASKED     "not needed from the application"
#define NO_VARIABLE   "objects of this provider define none"
#define ONE_CALL      "requests a single operation, with a context of its own"

/* The first row whose section and name match counts. */
static const struct {
	const char *section, *name, *why;
} reasons[] = {
	{ "*", "FI_HMEM", DEVICE_MEMORY },
	{ "*", "FI_MR_HMEM", DEVICE_MEMORY },
	{ "*", "FI_HMEM_*", OF_REGATTR },
	{ "*", "FI_MR_DMABUF", OF_REGATTR },
	{ "*", "*_xpu*", NO_XPU },
	{ "*", "*XPU*", NO_XPU },
	{ "*", "FI_PEER",
	  "completion queues can be peers (fi_cq_open with FI_PEER), other objects cannot" },
	{ "Calls", "fi_export_fid", NO_SHARING },
	{ "Calls", "fi_scalable_ep*", OF_RDM },
	{ "Calls", "fi_[tr]x_context", OF_RDM },
	{ "Calls", "fi_srx_context", "FI_EP_DGRAM cannot share a receive queue" },
	{ "Calls", "fi_stx_context", "only FI_EP_MSG and FI_EP_RDM offer it" },
	{ "Calls", "fi_t*", "only FI_EP_RDM matches tags" },
	{ "Calls", "fi_*auth_key",
	  "only connections of FI_EP_RDM prove that both ends have the same key" },
	{ "Calls", "fi_av_lookup2", "there are no flags for it; fi_av_lookup does the same" },
	{ "Calls", "fi_av_set*", OF_RDM },
	{ "Calls", "fi_mr_refresh", "not needed for pinned pages; works with on-demand paging" },
	{ "Calls", "fi_mr_*",
	  "the device does not report RMA to its target, and regions need not be enabled" },
	{ "Calls", "fi_[gs]et_val", NO_VARIABLE },
	{ "Calls", "fi_set_ops", NO_VARIABLE },
	{ "Calls", "fi_setopt", "FI_EP_DGRAM has no option that can be set" },
	{ "Calls", "fi_cancel", "the device cannot return a posted operation" },
	{ "Calls", "fi_join", "only FI_EP_DGRAM offers multicast" },
	{ "Calls", "fi_mc_addr",
	  "FI_EP_MSG has no groups; FI_EP_DGRAM knows the address once the group is joined" },
	{ "Calls", "fi_*atomic*", MESSAGES },
	{ "Calls", "fi_*read*", MESSAGES },
	{ "Calls", "fi_*write*", MESSAGES },
	{ "Calls", "fi_*collective", OF_RDM },
	{ "Calls", "fi_bar*", OF_RDM },
	{ "Calls", "fi_broadcast", OF_RDM },
	{ "Calls", "fi_all*", OF_RDM },
	{ "Calls", "fi_reduce*", OF_RDM },
	{ "Calls", "fi_scatter", OF_RDM },
	{ "Calls", "fi_gather", OF_RDM },
	{ "Calls", "fi_*", "only FI_EP_MSG endpoints are connected" },
	{ "Capabilities", "FI_RMA_PMEM", "the provider cannot tell whether memory is persistent" },
	{ "Capabilities", "FI_FIREWALL_ADDR", "connections are always direct" },
	{ "Capabilities", "FI_MULTICAST", "only FI_EP_DGRAM offers multicast" },
	{ "Capabilities", "FI_AV_USER_ID", "connected endpoints have no address vector" },
	{ "Capabilities", "FI_SOURCE*",
	  "FI_EP_MSG has a single source; FI_EP_DGRAM reports known sources only" },
	{ "Capabilities", "FI_RMA_EVENT", "the device does not report RMA to its target" },
	{ "Capabilities", "*READ", MESSAGES },
	{ "Capabilities", "*WRITE", MESSAGES },
	{ "Capabilities", "FI_RMA", MESSAGES },
	{ "Capabilities", "FI_ATOMIC", MESSAGES },
	{ "Capabilities", "FI_TRIGGER", "FI_EP_DGRAM sends at once" },
	{ "Capabilities", "FI_MULTI_RECV", "each datagram consumes a receive of the device" },
	{ "Capabilities", "*", OF_RDM },
	{ "*Modes", "*", NOT_ASKED },
	{ "Registration modes", "FI_MR_SCALABLE", "with FI_EP_MSG the device chooses the keys" },
	{ "Registration modes", "*", NOT_ASKED },
	{ "Flags of *", "FI_PRIORITY", "queues have no priorities" },
	{ "Flags of *", "FI_COMMIT_COMPLETE",
	  "the provider cannot tell whether memory is persistent" },
	{ "Flags of *", "FI_PEER_TRANSFER", NO_SHARING },
	{ "Flags of *", "FI_MULTI_RECV", "requires the capability FI_MULTI_RECV" },
	{ "Flags of transmit*", "FI_DELIVERY_COMPLETE", "datagrams are not acknowledged" },
	{ "Flags of transmit*", "FI_MATCH_COMPLETE",
	  "only FI_EP_RDM matches messages in software" },
	{ "Flags of receive*", "FI_FENCE", "receives are posted in order" },
	{ "Flags of transmit*", "FI_MULTICAST", "only FI_EP_DGRAM offers multicast" },
	{ "Flags of *", "FI_MORE", "every operation would be held back for the next" },
	{ "Flags of *", "FI_PEEK", ONE_CALL },
	{ "Flags of *", "FI_CLAIM", ONE_CALL },
	{ "Flags of *", "FI_DISCARD", ONE_CALL },
	{ "Flags of *", "FI_TRIGGER", ONE_CALL },
	{ "Flags of *", "FI_RESCAN", "a flag of fi_getinfo" },
	{ "Flags of *", "FI_PROV_ATTR_ONLY", "a flag of fi_getinfo" },
	{ "Flags of *", "FI_NUMERICHOST", "a flag of fi_getinfo" },
	{ "Flags of *", "FI_AFFINITY", "a flag of completion queues" },
	{ "Flags of *", "FI_AUTH_KEY", "a flag of fi_mr_regattr" },
	{ "Flags of *", "FI_AV_USER_ID", "a flag of address vectors" },
	{ "Flags of *", "FI_FIREWALL_ADDR", "a flag of address vectors" },
	{ "Flags of *", "*",
	  "applies to the other direction, or is a capability rather than a flag" },
	{ "Message order", "FI_ORDER_DATA", "it orders completions, not messages" },
	{ "Message order", "*", "neither the device nor the protocol guarantees it" },
	{ "Completion order", "*", "operations complete in the order in which they finish" },
	{ "Address formats", "FI_SOCKADDR_IB", "the port uses IP addresses" },
	{ "Address formats", "FI_ADDR_IB_UD", "only FI_EP_DGRAM uses these names" },
	{ "Contexts", "*receive", "FI_EP_DGRAM cannot share a receive queue" },
	{ "Contexts", "*transmit", "only FI_EP_MSG and FI_EP_RDM offer it" },
	{ "*atomics*", "*", "FI_EP_MSG: 64-bit operations of the device only; FI_EP_DGRAM: none" },
	{ NULL, NULL, NULL },
};

void tried(const char *section, const char *name, long ret)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(rows[i].section, section) && !strcmp(rows[i].name, name))
			break;
	if (i == count) {
		CHECK(count < MOST);
		rows[count].section = section;
		snprintf(rows[count++].name, NAME_LEN, "%s", name);
	}
	if (rows[i].known[column] && ret >= 0)
		return; /* one of several tries that failed is the result */
	rows[i].ret[column] = ret;
	rows[i].known[column] = true;
}

struct fi_info *hints_of_kind(void)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->ep_attr->type = kind;
	hints->mode = FI_RX_CQ_DATA;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	return hints;
}

void named(enum fi_type type, uint64_t value, try_value *try)
{
	char name[NAME_LEN];

	fi_tostr_r(name, sizeof(name), &value, type);
	if (!strncmp(name, "FI_", 3) && !strstr(name, "_UNSPEC"))
		try(value, name);
}

void each_bit(enum fi_type type, try_value *try)
{
	int i;

	for (i = 0; i < 64; i++)
		named(type, 1ULL << i, try);
}

void each_number(enum fi_type type, try_value *try)
{
	uint64_t i;

	for (i = 0; i < FI_COLLECTIVE_OFFSET; i++)
		named(type, i, try);
}

static bool works(const struct row *row, int at)
{
	return row->ret[at] >= 0 || row->ret[at] == -FI_EAGAIN;
}

static const char *reason_of(const struct row *row)
{
	size_t i;

	for (i = 0; reasons[i].why; i++)
		if (!fnmatch(reasons[i].section, row->section, 0) &&
		    !fnmatch(reasons[i].name, row->name, 0))
			return reasons[i].why;
	FAIL("%s, %s: refused, and nothing here says why", row->section, row->name);
}

static void print_row(const struct row *row)
{
	bool all = true;
	int i;

	fprintf(table, "| `%s` |", row->name);
	for (i = 0; i < COLUMNS; i++) {
		CHECK(row->known[i]);
		fprintf(table, " %s |", works(row, i) ? "yes" : "no");
		all &= works(row, i);
		if (!works(row, i) && getenv("INTERFACE_ERRORS"))
			fprintf(stderr, "%s %s: %s\n", row->name, titles[i],
				fi_strerror((int)-row->ret[i]));
	}
	fprintf(table, " %s |\n", all ? "" : reason_of(row));
}

static void print_rows(void)
{
	const char *section = "";
	size_t i, j;

	for (i = 0; i < count; i++) {
		if (!strcmp(rows[i].section, section))
			continue;
		section = rows[i].section;
		for (j = 0; j < i && strcmp(rows[j].section, section); j++)
			;
		if (j < i)
			continue;
		fprintf(table,
			"\n## %s\n\n| | MSG | RDM | DGRAM | reason |\n|---|---|---|---|---|\n",
			section);
		for (j = i; j < count; j++)
			if (!strcmp(rows[j].section, section))
				print_row(&rows[j]);
	}
}

static void write_table(void)
{
	fprintf(table,
		"# Which parts of the interface are supported\n\n"
		"Each call, capability, mode and flag of libfabric 2.6, tried with endpoints of type FI_EP_MSG, FI_EP_RDM\n"
		"and FI_EP_DGRAM on soft-RoCE. tests/functional/interface writes this table and checks it. For a mode,\n"
		"*yes* means that the provider uses it if the application offers it.\n");
	for (column = 0; column < COLUMNS; column++) {
		kind = kinds[column];
		try_attributes();
		try_calls();
		try_core();
	}
	print_rows();
}

/* Compares line by line: the first difference ends the test. */
static void compare(char *text)
{
	FILE *file = fopen(INTERFACE_TABLE, "r");
	char line[512], *end;
	unsigned int number;

	CHECK(file);
	for (number = 1; fgets(line, sizeof(line), file); number++, text = end + 1) {
		line[strcspn(line, "\n")] = '\0';
		end = strchr(text, '\n');
		if (end)
			*end = '\0';
		if (!end || strcmp(line, text))
			FAIL("doc/interface.md line %u is \"%s\", found \"%s\"; INTERFACE_WRITE=FILE writes it anew",
			     number, line, end ? text : "its end");
	}
	fclose(file);
	CHECK(!*text);
}

static void test(void)
{
	const char *path = getenv("INTERFACE_WRITE");
	char *text = NULL;
	size_t len = 0;

	need_env("WEFT_DEVICE");
	setenv("FI_LOG_LEVEL", "none", 1);
	table = path ? fopen(path, "w") : open_memstream(&text, &len);
	CHECK(table);
	write_table();
	fclose(table);
	if (!path)
		compare(text);
	free(text);
}

int main(void)
{
	return run_test(test);
}
