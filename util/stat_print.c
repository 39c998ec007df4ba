/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What fi_stat prints of an object. */
#include "stat_print.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* The receive queue of an endpoint has the number of its transmit queue. */
static const char *kind(const struct fi_stats_object *object)
{
	switch (object->fclass) {
	case FI_CLASS_DOMAIN:
		return "domain";
	case FI_CLASS_CQ:
		return "cq";
	case FI_CLASS_EP:
		return "ep";
	case FI_CLASS_TX_CTX:
		return "ep-tx";
	case FI_CLASS_RX_CTX:
		return "ep-rx";
	default:
		return "other";
	}
}

static uint32_t shown_number(const struct fi_stats_object *object)
{
	return object->group ? object->group : object->id;
}

/*
 * The name is another process's: nothing of it may reach a terminal or JSON as anything but text.
 */
static void print_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc(isprint((unsigned char)*name) && *name != '"' && *name != '\\' ? *name : '?',
		      out);
}

static double rate(const struct fi_stats_item *item, size_t i, const struct fi_stats_object *before,
		   double seconds)
{
	if (item->level || !before || i >= before->count || item->value < before->items[i].value)
		return 0;
	return (double)(item->value - before->items[i].value) / seconds;
}

void stat_print_text(FILE *out, const struct fi_stats_object *object,
		     const struct fi_stats_object *before, double seconds, bool all)
{
	const struct fi_stats_item *item;
	size_t i;

	fprintf(out, "%-6s %u ", kind(object), shown_number(object));
	print_name(out, object->name);
	if (object->cq)
		fprintf(out, " cq %u", object->cq);
	fputc(':', out);
	for (i = 0; i < object->count; i++) {
		item = &object->items[i];
		if (!item->value && !all)
			continue;
		fprintf(out, " %s %" PRIu64, item->name, item->value);
		if (before && !item->level)
			fprintf(out, " (%.0f/s)", rate(item, i, before, seconds));
	}
	fputc('\n', out);
}

void stat_print_json(FILE *out, const struct fi_stats_object *object)
{
	size_t i;

	fprintf(out, "{\"kind\": \"%s\", \"number\": %u, \"id\": %u, \"domain\": %u, \"cq\": %u",
		kind(object), shown_number(object), object->id, object->domain, object->cq);
	fputs(", \"name\": \"", out);
	print_name(out, object->name);
	fputs("\", \"items\": {", out);
	for (i = 0; i < object->count; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", object->items[i].name,
			object->items[i].value);
	fputs("}}", out);
}
