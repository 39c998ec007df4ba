/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The list of providers in the order in which they are asked; one per name. */
#ifndef OFI_REGISTRY_H
#define OFI_REGISTRY_H

#include <stdbool.h>
#include <sys/queue.h>
#include <rdma/providers/fi_prov.h>

struct ofi_provider {
	TAILQ_ENTRY(ofi_provider) link;
	struct fi_provider *prov;
	void *handle;	    /* from dlopen, NULL for a built-in provider */
	const char *origin; /* path of the plug-in or "built in" */
	int rank;	    /* providers with a lower rank are asked first */
	/* Preallocated memory for an entry that must not fail; else NULL. */
	struct ofi_provider *place;
	bool preferred; /* wins over others with its name, whatever their version */
	bool excluded;	/* excluded by FI_PROVIDER */
};

TAILQ_HEAD(ofi_provider_list, ofi_provider);

struct ofi_registry {
	struct ofi_provider_list list;
	/* Offers that were refused or replaced, whose file or provider may be found again. */
	struct ofi_provider_list refused;
	const char *filter; /* FI_PROVIDER */
	bool first_wins;    /* the first of several with the same name wins, not the newest */
};

void ofi_registry_init(struct ofi_registry *reg, const char *filter, bool first_wins);
/*
 * Checks a provider and adds it, unless another one of the same name wins. The loser is cleaned up,
 * but not if the provider was offered before. Without a provider the offer is only remembered.
 * Returns 0, or a negative error if the provider was not added.
 */
int ofi_registry_add(struct ofi_registry *reg, const struct ofi_provider *offer);
/* Returns true if this file or this provider, of which one is NULL, was offered before. */
bool ofi_registry_knows(const struct ofi_registry *reg, const void *handle,
			const struct fi_provider *prov);
/* Closes what was refused, after the last offer. */
void ofi_registry_settle(struct ofi_registry *reg);
/* Cleans up all providers, last first, which are not used from then on. */
void ofi_registry_cleanup(const struct ofi_registry *reg);
/* Cleans up and removes all providers, last first. */
void ofi_registry_fini(struct ofi_registry *reg);

#endif
