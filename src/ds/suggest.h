/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the name that a user probably meant. */
#ifndef OFI_SUGGEST_H
#define OFI_SUGGEST_H

#include <stddef.h>

/* Returns the nearest of count names by edit distance (ignoring case), or NULL if none is near. */
const char *ofi_suggest(const char *word, const char *const *names, size_t count);
/* The same with at most `edits` edits. */
const char *ofi_suggest_within(const char *word, const char *const *names, size_t count,
			       unsigned edits);

/* Text for the end of a sentence of a message: ", did you mean NAME?", or "" if none is near. */
struct ofi_hint {
	char text[96];
};

struct ofi_hint ofi_did_you_mean(const char *word, const char *const *names, size_t count);

#endif
