/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of names, and layered provider names. */
#include "filter.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD_LEN = 128 };

bool ofi_word_next(const char **list, const char *seps, char *word, size_t len)
{
	size_t n;

	while (*list && **list) {
		while (isspace((unsigned char)**list))
			(*list)++;
		n = strcspn(*list, seps);
		if (n >= len)
			memcpy(word, *list, len - 1);
		else
			memcpy(word, *list, n);
		word[n < len ? n : len - 1] = '\0';
		*list += n + ((*list)[n] != '\0');
		for (n = strlen(word); n && isspace((unsigned char)word[n - 1]); n--)
			word[n - 1] = '\0';
		if (*word)
			return true;
	}
	return false;
}

static bool is_name(const char *word, const char *name)
{
	return !strcasecmp(word, name);
}

/* Negated names match exactly: "^verbs;ofi_rxm" excludes the layered provider, but not verbs. */
static bool list_pass(const char *list, const char *name,
		      bool (*match)(const char *word, const char *name))
{
	bool negated, listed = false, any = false;
	char word[WORD_LEN];

	negated = list && *list == '^';
	if (negated)
		list++;
	while (ofi_word_next(&list, ",", word, sizeof(word))) {
		any = true;
		listed |= negated ? is_name(word, name) : match(word, name);
	}
	return !any || listed != negated;
}

bool ofi_filter_pass(const char *list, const char *name)
{
	return list_pass(list, name, is_name);
}

bool ofi_prov_is_utility(const char *name)
{
	return !strncasecmp(name, "ofi_", 4);
}

/*
 * In other libfabric releases, ofi_rxm and ofi_rxd are layers that implement reliable datagrams
 * over connections and over datagrams; here the provider implements them itself.
 */
const char *ofi_prov_layer(const char *request, const char *name)
{
	static const char *const layers[] = { "ofi_rxm", "ofi_rxd" };
	char word[WORD_LEN];
	size_t i;

	if (strcasecmp(name, "verbs"))
		return NULL;
	while (ofi_word_next(&request, ";", word, sizeof(word)))
		for (i = 0; i < sizeof(layers) / sizeof(layers[0]); i++)
			if (!strcasecmp(word, layers[i]))
				return layers[i];
	return NULL;
}

const char *ofi_prov_filter_layer(const char *list, const char *name)
{
	const char *layer = NULL;
	char word[WORD_LEN];

	if (list && *list == '^')
		return NULL;
	while (ofi_word_next(&list, ",", word, sizeof(word))) {
		if (!ofi_prov_name_pass(word, name))
			continue;
		layer = ofi_prov_layer(word, name);
		if (!layer)
			return NULL;
	}
	return layer;
}

bool ofi_prov_name_pass(const char *request, const char *name)
{
	bool named = ofi_prov_layer(request, name), excluded = false, any = false;
	char word[WORD_LEN];

	while (ofi_word_next(&request, ";", word, sizeof(word))) {
		if (*word == '^') {
			excluded |= !strcasecmp(word + 1, name);
			continue;
		}
		any = true;
		if (!strcasecmp(word, name))
			named = true;
		else if (!ofi_prov_is_utility(word))
			return false;
	}
	return !excluded && (named || !any);
}

bool ofi_prov_filter_pass(const char *list, const char *name)
{
	return list_pass(list, name, ofi_prov_name_pass);
}
