/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of names as in environment variables: "a,b", or "^a,b" for all but these. */
#ifndef OFI_FILTER_H
#define OFI_FILTER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Copies the next word of *list, which ends at any character of `seps`, and advances *list. Returns
 * false at the end.
 */
bool ofi_word_next(const char **list, const char *seps, char *word, size_t len);
/* Returns true if the list includes the name; an empty or missing list includes all names. */
bool ofi_filter_pass(const char *list, const char *name);
/*
 * Matches a request, which may name a layered provider such as "verbs;ofi_rxm". This library has no
 * utility providers, so a request matches if one part is the name and every other part is a utility
 * provider ("ofi_..."), or if it names only a layer that the provider implements itself.
 */
bool ofi_prov_name_pass(const char *request, const char *name);
bool ofi_prov_is_utility(const char *name);
/*
 * Returns the layer in such a request that the provider implements itself: "ofi_rxm" in
 * "verbs;ofi_rxm", "ofi_rxd" likewise; NULL if there is none.
 */
const char *ofi_prov_layer(const char *request, const char *name);
/* The same for FI_PROVIDER, if every request in it that matches the provider names such a layer. */
const char *ofi_prov_filter_layer(const char *list, const char *name);
/* Matches FI_PROVIDER, a list of such requests. */
bool ofi_prov_filter_pass(const char *list, const char *name);

#endif
