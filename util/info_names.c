/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The names that fi_info takes on its command line. */
#include "info_names.h"

#include <stdio.h>
#include <string.h>

enum { BITS = 64, NUMBERS = 256, NAME_LEN = 64 };

#define NAME(symbol)                        \
	{                                   \
#symbol, (uint64_t)(symbol) \
	}
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Names that fi_tostr prints differently, or not at all. */
static const struct info_name caps[] = { NAME(FI_ATOMICS) };
static const struct info_name modes[] = { NAME(FI_NOTIFY_FLAGS_ONLY), NAME(FI_RESTRICTED_COMP) };
static const struct info_name ep_types[] = { NAME(FI_EP_SOCK_STREAM) };
static const struct info_name tclasses[] = {
	NAME(FI_TC_BEST_EFFORT), NAME(FI_TC_LOW_LATENCY), NAME(FI_TC_DEDICATED_ACCESS),
	NAME(FI_TC_BULK_DATA),	 NAME(FI_TC_SCAVENGER),	  NAME(FI_TC_NETWORK_CTRL),
};

const struct info_names info_caps = {
	"capability", FI_TYPE_CAPS, BITS, true, caps, COUNT(caps),
};
const struct info_names info_modes = {
	"mode", FI_TYPE_MODE, BITS, true, modes, COUNT(modes),
};
const struct info_names info_ep_types = {
	"endpoint type", FI_TYPE_EP_TYPE, NUMBERS, false, ep_types, COUNT(ep_types),
};
const struct info_names info_addr_formats = { .what = "address format",
					      .type = FI_TYPE_ADDR_FORMAT,
					      .values = NUMBERS };
const struct info_names info_tclasses = { .what = "traffic class",
					  .list = tclasses,
					  .count = COUNT(tclasses) };

/* Returns the name of the at-th value, "" if it has none, NULL after the last. */
static const char *name_at(const struct info_names *names, size_t at, char *text, uint64_t *value)
{
	if (at >= names->values) {
		at -= names->values;
		if (at >= names->count)
			return NULL;
		*value = names->list[at].value;
		return names->list[at].name;
	}
	*value = names->bits ? 1ULL << at : at;
	fi_tostr_r(text, NAME_LEN, value, names->type);
	return strncmp(text, "FI_", 3) ? "" : text;
}

static int find(const struct info_names *names, const char *wanted, size_t len, uint64_t *value)
{
	char text[NAME_LEN];
	const char *name;
	size_t i;

	for (i = 0; (name = name_at(names, i, text, value)); i++)
		if (strlen(name) == len && !strncasecmp(name, wanted, len))
			return 0;
	fprintf(stderr, "error: Unrecognized %s: %.*s\nThere are:", names->what, (int)len, wanted);
	for (i = 0; (name = name_at(names, i, text, value)); i++)
		if (*name)
			fprintf(stderr, " %s", name);
	fputc('\n', stderr);
	return -1;
}

int info_names_find(const struct info_names *names, const char *text, uint64_t *value)
{
	return find(names, text, strlen(text), value);
}

int info_names_parse(const struct info_names *names, const char *text, uint64_t *value)
{
	uint64_t one;
	size_t len;

	*value = 0;
	for (; *text; text += len + (text[len] == '|')) {
		len = strcspn(text, "|");
		if (!len)
			continue;
		if (find(names, text, len, &one))
			return -1;
		*value |= one;
	}
	return 0;
}
