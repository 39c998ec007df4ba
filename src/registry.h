/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A list of providers in the order in which they are asked; one per name. */
#ifndef OFI_REGISTRY_H
#define OFI_REGISTRY_H

#include <stdbool.h>
#include <sys/queue.h>
#include <rdma/providers/fi_prov.h>

struct ofi_provider {
	TAILQ_ENTRY(ofi_provider) link;
	struct fi_provider *prov;
	void *handle;		    /* of dlopen, NULL when built in */
	const char *origin;	    /* path of the plug-in or "built in" */
	int rank;		    /* providers with a lower one are asked first */
	struct ofi_provider *place; /* memory for the entry, where it must not fail; else NULL */
	bool preferred;		    /* wins over others of its name whatever their version */
	bool excluded;		    /* FI_PROVIDER does not let it pass */
};

TAILQ_HEAD(ofi_provider_list, ofi_provider);

struct ofi_registry {
	struct ofi_provider_list list;
	const char *filter; /* FI_PROVIDER */
	bool first_wins;    /* of one name the first stays, else the newest */
};

void ofi_registry_init(struct ofi_registry *reg, const char *filter, bool first_wins);
/*
 * Checks a provider and takes it, or the one of its name that wins. The loser is cleaned up and
 * closed. 0, or a negative error when the provider was not taken.
 */
int ofi_registry_add(struct ofi_registry *reg, const struct ofi_provider *offer);
/* Cleans up and forgets all, last first. */
void ofi_registry_fini(struct ofi_registry *reg);

#endif
