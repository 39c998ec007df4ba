/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output of fi_stat. */
#include "stat_print.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* The receive queue of an endpoint has the same number as its transmit queue. */
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

/* The name comes from another process: it must reach a terminal or JSON only as text. */
void stat_print_name(FILE *out, const char *name)
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
	stat_print_name(out, object->name);
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

void stat_print_title(FILE *out)
{
	fprintf(out, "%-31s %-19s %13s %13s\n", "OBJECT", "ITEM", "TOTAL", "PER SECOND");
}

/* Prints the object to the width of its column. */
static void print_object(FILE *out, const struct fi_stats_object *object)
{
	char text[128] = "", cq[16] = "";
	FILE *name = fmemopen(text, sizeof(text) - 1, "w");

	if (object->cq)
		snprintf(cq, sizeof(cq), " cq %u", object->cq);
	if (name) {
		fprintf(name, "%s %u ", kind(object), shown_number(object));
		stat_print_name(name, object->name);
		fputs(cq, name);
		fclose(name);
	}
	fprintf(out, "%-31.31s", text);
}

void stat_print_table(FILE *out, const struct fi_stats_object *object,
		      const struct fi_stats_object *before, double seconds, bool all)
{
	const struct fi_stats_item *item;
	bool first = true;
	size_t i;

	for (i = 0; i < object->count; i++) {
		item = &object->items[i];
		if (!item->value && !all)
			continue;
		if (first)
			print_object(out, object);
		else
			fprintf(out, "%31s", "");
		fprintf(out, " %-19s %13" PRIu64, item->name, item->value);
		if (before && !item->level)
			fprintf(out, " %13.0f", rate(item, i, before, seconds));
		fputc('\n', out);
		first = false;
	}
}

void stat_print_peer(FILE *out, const struct fi_stats_peer *peer, bool all)
{
	const struct fi_stats_item *item;
	size_t i;

	fprintf(out, "peer   %u ", peer->id);
	stat_print_name(out, peer->address);
	fprintf(out, " ep %u ", peer->ep);
	stat_print_name(out, peer->transport);
	fputc(' ', out);
	stat_print_name(out, peer->state);
	fprintf(out, " for %.3f s", (double)peer->age_ms / 1000);
	if (*peer->cause) {
		fputs(" (", out);
		stat_print_name(out, peer->cause);
		fputc(')', out);
	}
	fputc(':', out);
	for (i = 0; i < peer->count; i++) {
		item = &peer->items[i];
		if (item->value || all)
			fprintf(out, " %s %" PRIu64, item->name, item->value);
	}
	if (*peer->waits) {
		fputs("\n       waits for ", out);
		stat_print_name(out, peer->waits);
	}
	fputc('\n', out);
}

static void print_items(FILE *out, const struct fi_stats_item *items, size_t count)
{
	size_t i;

	fputs("\"items\": {", out);
	for (i = 0; i < count; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", items[i].name, items[i].value);
	fputs("}}", out);
}

static void print_member(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": \"", name);
	stat_print_name(out, text);
	fputs("\", ", out);
}

void stat_print_peer_json(FILE *out, const struct fi_stats_peer *peer)
{
	fprintf(out, "{\"id\": %u, \"ep\": %u, ", peer->id, peer->ep);
	print_member(out, "address", peer->address);
	print_member(out, "transport", peer->transport);
	print_member(out, "state", peer->state);
	print_member(out, "cause", peer->cause);
	print_member(out, "waits", peer->waits);
	fprintf(out, "\"age_ms\": %" PRIu64 ", ", peer->age_ms);
	print_items(out, peer->items, peer->count);
}

void stat_print_json(FILE *out, const struct fi_stats_object *object)
{
	fprintf(out, "{\"kind\": \"%s\", \"number\": %u, \"id\": %u, \"domain\": %u, \"cq\": %u, ",
		kind(object), shown_number(object), object->id, object->domain, object->cq);
	print_member(out, "name", object->name);
	print_items(out, object->items, object->count);
}
