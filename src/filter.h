/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of names as environment variables hold them: "a,b", or "^a,b" for all but these. */
#ifndef OFI_FILTER_H
#define OFI_FILTER_H

#include <stdbool.h>
#include <stddef.h>

/* Cuts the next word off *list, which advances, at any character of `seps`. False at the end. */
bool ofi_word_next(const char **list, const char *seps, char *word, size_t len);
/* True when the list lets the name pass; an empty or missing list lets all pass. */
bool ofi_filter_pass(const char *list, const char *name);
/*
 * Provider names may be layered, "verbs;ofi_rxm". This library has no utility providers, so a
 * request passes when one part is the name and every other part a utility's ("ofi_..."), or when
 * all it has is a layer that the provider is itself.
 */
bool ofi_prov_name_pass(const char *request, const char *name);
bool ofi_prov_is_utility(const char *name);
/*
 * The layer in such a request that the provider of this name is itself: "ofi_rxm" of
 * "verbs;ofi_rxm"; or NULL.
 */
const char *ofi_prov_layer(const char *request, const char *name);
/* The same of FI_PROVIDER, where each request that the provider passes has the layer. */
const char *ofi_prov_filter_layer(const char *list, const char *name);
/* FI_PROVIDER: a list of such requests. */
bool ofi_prov_filter_pass(const char *list, const char *name);

#endif
