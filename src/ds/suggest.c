/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the nearest name by edit distance; swapping two neighbors counts as one edit. */
#include "suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 63 };

static bool same_char(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

static unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2], *spare;
	size_t i, j;

	for (j = 0; j <= nb; j++)
		last[j] = (unsigned)j;
	for (i = 1; i <= na; i++) {
		row[0] = (unsigned)i;
		for (j = 1; j <= nb; j++) {
			row[j] = min3(last[j] + 1, row[j - 1] + 1,
				      last[j - 1] + !same_char(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same_char(a[i - 1], b[j - 2]) &&
			    same_char(a[i - 2], b[j - 1]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[nb];
}

const char *ofi_suggest_within(const char *word, const char *const *names, size_t count,
			       unsigned edits)
{
	const char *best = NULL;
	unsigned least = edits + 1, d;
	size_t len, n, i;

	if (!word || !names)
		return NULL;
	len = strlen(word);
	if (!len || len > WORD_MAX)
		return NULL;
	for (i = 0; i < count; i++) {
		n = names[i] ? strlen(names[i]) : 0;
		if (!n || n > WORD_MAX)
			continue;
		d = edit_distance(word, len, names[i], n);
		if (d < least && d < n) {
			least = d;
			best = names[i];
		}
	}
	return best;
}

const char *ofi_suggest(const char *word, const char *const *names, size_t count)
{
	if (!word)
		return NULL;
	return ofi_suggest_within(word, names, count, (unsigned)(strlen(word) + 2) / 3);
}

struct ofi_hint ofi_did_you_mean(const char *word, const char *const *names, size_t count)
{
	const char *nearest = ofi_suggest(word, names, count);
	struct ofi_hint hint = { "" };

	if (nearest)
		snprintf(hint.text, sizeof(hint.text), ", did you mean %s?", nearest);
	return hint;
}
