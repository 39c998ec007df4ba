/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collects, sorts and prints the reasons why candidates were not offered. */
#include "info_why.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>

enum {
	COLUMN_PROVIDER,
	COLUMN_DEVICE,
	COLUMN_PORT,
	COLUMN_TYPE,
	COLUMN_ATTRIBUTE,
	COLUMN_MISSES,
	COLUMN_ASKED,
	COLUMN_HAS,
	COLUMNS,
};

static const char *const titles[COLUMNS] = {
	"PROVIDER", "DEVICE", "PORT", "TYPE", "ATTRIBUTE", "MISSES", "ASKED", "HAS",
};

struct row {
	const char *cells[COLUMNS];
	char port[16];
	char type[32];
	char misses[16];
};

static void on_reject(void *context, const struct fi_explain_entry *entry)
{
	info_why_add(context, entry);
}

int info_why_start(struct info_why *why, uint32_t version)
{
	struct fi_explain_attr attr = { .size = sizeof(attr), .reject = on_reject, .context = why };

	memset(why, 0, sizeof(*why));
	return fi_open(version, "explain", &attr, sizeof(attr), 0, &why->fid, NULL);
}

void info_why_stop(struct info_why *why)
{
	if (why->fid)
		fi_close(why->fid);
	why->fid = NULL;
	info_why_sort(why);
}

static char *copy(struct info_why *why, const char *text)
{
	char *dup = strdup(text ? text : "");

	if (!dup)
		why->failed = true;
	return dup;
}

static bool grow(struct info_why *why)
{
	size_t room = why->room ? 2 * why->room : 16;
	struct info_reject *rejects;

	if (why->count < why->room)
		return true;
	rejects = reallocarray(why->rejects, room, sizeof(*rejects));
	if (!rejects)
		return false;
	why->rejects = rejects;
	why->room = room;
	return true;
}

void info_why_add(struct info_why *why, const struct fi_explain_entry *entry)
{
	struct info_reject *reject;

	if (!grow(why)) {
		why->failed = true;
		return;
	}
	reject = &why->rejects[why->count];
	reject->order = why->count++;
	reject->prov = copy(why, entry->prov_name);
	reject->domain = entry->domain_name ? copy(why, entry->domain_name) : NULL;
	reject->attr = copy(why, entry->attr);
	reject->asked = copy(why, entry->asked);
	reject->has = copy(why, entry->has);
	reject->port = entry->port;
	reject->ep_type = entry->ep_type;
	reject->misses = entry->misses;
}

/* A candidate that never reached a device is farther than any that did. */
static int compare(const void *left, const void *right)
{
	const struct info_reject *a = left;
	const struct info_reject *b = right;

	if (!a->domain != !b->domain)
		return a->domain ? -1 : 1;
	if (a->misses != b->misses)
		return a->misses < b->misses ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void info_why_sort(struct info_why *why)
{
	if (why->count)
		qsort(why->rejects, why->count, sizeof(*why->rejects), compare);
}

void info_why_release(struct info_why *why)
{
	size_t i;

	for (i = 0; i < why->count; i++) {
		free(why->rejects[i].prov);
		free(why->rejects[i].domain);
		free(why->rejects[i].attr);
		free(why->rejects[i].asked);
		free(why->rejects[i].has);
	}
	free(why->rejects);
	memset(why, 0, sizeof(*why));
}

/* No candidate was examined because an address in the request is unusable. */
static bool is_address(const struct info_reject *reject)
{
	static const char *const attrs[] = { "node", "service", "src_addr", "dest_addr" };
	size_t i;

	for (i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
		if (!strcmp(reject->attr, attrs[i]))
			return true;
	return false;
}

bool info_why_reached_device(const struct info_why *why)
{
	size_t i;

	for (i = 0; i < why->count; i++) {
		if (why->rejects[i].domain)
			return true;
	}
	return false;
}

bool info_why_is_plain(const struct info_why *why)
{
	size_t i;

	for (i = 0; i < why->count; i++) {
		if (is_address(&why->rejects[i]))
			return true;
	}
	return info_why_reached_device(why);
}

/* The requested value is what is missing; the other flags of a set do not matter here. */
static const char *has_text(const struct info_reject *reject)
{
	static const char *const ends[] = { "caps", "op_flags", "msg_order", "comp_order" };
	size_t i, len = strlen(reject->attr), n;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]) && *reject->has; i++) {
		n = strlen(ends[i]);
		if (len >= n && !strcmp(reject->attr + len - n, ends[i]))
			return "not offered";
	}
	return reject->has;
}

static const char *cell(const char *text)
{
	return text && *text ? text : "-";
}

static const char *type_name(const struct info_reject *reject, char *buf, size_t len)
{
	enum fi_ep_type type = (enum fi_ep_type)reject->ep_type;

	if (type == FI_EP_UNSPEC)
		return NULL;
	return fi_tostr_r(buf, len, &type, FI_TYPE_EP_TYPE);
}

static void fill_row(const struct info_reject *reject, struct row *row)
{
	snprintf(row->port, sizeof(row->port), "%u", reject->port);
	if (reject->misses == UINT_MAX)
		snprintf(row->misses, sizeof(row->misses), "-"); /* it was not compared */
	else
		snprintf(row->misses, sizeof(row->misses), "%u", reject->misses);
	row->cells[COLUMN_PROVIDER] = cell(reject->prov);
	row->cells[COLUMN_DEVICE] = cell(reject->domain);
	row->cells[COLUMN_PORT] = reject->port ? row->port : "-";
	row->cells[COLUMN_TYPE] = cell(type_name(reject, row->type, sizeof(row->type)));
	row->cells[COLUMN_ATTRIBUTE] = cell(reject->attr);
	row->cells[COLUMN_MISSES] = row->misses;
	row->cells[COLUMN_ASKED] = cell(reject->asked);
	row->cells[COLUMN_HAS] = cell(has_text(reject));
}

static void print_row(FILE *out, const char *const *cells, const int *widths)
{
	int i;

	for (i = 0; i < COLUMNS - 1; i++)
		fprintf(out, "%-*s  ", widths[i], cells[i]);
	fprintf(out, "%s\n", cells[i]);
}

void info_why_text(const struct info_why *why, FILE *out)
{
	int widths[COLUMNS];
	struct row row;
	size_t n;
	int i;

	for (i = 0; i < COLUMNS; i++)
		widths[i] = (int)strlen(titles[i]);
	for (n = 0; n < why->count; n++) {
		fill_row(&why->rejects[n], &row);
		for (i = 0; i < COLUMNS; i++) {
			if ((int)strlen(row.cells[i]) > widths[i])
				widths[i] = (int)strlen(row.cells[i]);
		}
	}
	print_row(out, titles, widths);
	for (n = 0; n < why->count; n++) {
		fill_row(&why->rejects[n], &row);
		print_row(out, row.cells, widths);
	}
}

void info_why_json(const struct info_why *why, struct json *json, const char *key)
{
	const struct info_reject *reject;
	char type[32];
	size_t n;

	json_array(json, key);
	for (n = 0; n < why->count; n++) {
		reject = &why->rejects[n];
		json_object(json, NULL);
		json_string(json, "provider", reject->prov);
		json_string(json, "device", reject->domain);
		json_uint(json, "port", reject->port);
		json_string(json, "type", type_name(reject, type, sizeof(type)));
		json_string(json, "attribute", reject->attr);
		if (reject->misses == UINT_MAX)
			json_string(json, "misses", NULL);
		else
			json_uint(json, "misses", reject->misses);
		json_string(json, "asked", reject->asked);
		json_string(json, "has", reject->has);
		json_object_end(json);
	}
	json_array_end(json);
}
