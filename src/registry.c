/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Selects providers by their version, their name and FI_PROVIDER, and resolves duplicates. */
#include "registry.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <ofi/explain.h>
#include "filter.h"
#include "log.h"
#include <rdma/fi_errno.h>

/* Older providers return attribute structures that cannot be widened reliably. */
#define OLDEST_FI_VERSION FI_VERSION(1, 9)

_Static_assert(sizeof(struct ofi_prov_context) <= sizeof(struct fi_context),
	       "the core's use of fi_provider.context has to fit");

void ofi_registry_init(struct ofi_registry *reg, const char *filter, bool first_wins)
{
	TAILQ_INIT(&reg->list);
	TAILQ_INIT(&reg->refused);
	reg->filter = filter;
	reg->first_wins = first_wins;
}

static struct ofi_provider *entry_new(const struct ofi_provider *offer)
{
	struct ofi_provider *entry = offer->place ? offer->place : malloc(sizeof(*entry));

	if (entry)
		*entry = *offer;
	return entry;
}

static void entry_cleanup(const struct ofi_provider *entry)
{
	if (entry->prov && entry->prov->cleanup)
		entry->prov->cleanup();
}

static void entry_free(struct ofi_provider *entry)
{
	if (entry->handle)
		dlclose(entry->handle);
	if (!entry->place)
		free(entry);
}

static int registry_check(const struct ofi_provider *offer)
{
	const struct fi_provider *prov = offer->prov;

	if (!prov->name || !*prov->name || !prov->getinfo || !prov->fabric) {
		FI_WARN(&ofi_core_prov, FI_LOG_CORE, "provider %s (%s) is incomplete, not loaded\n",
			prov->name ? prov->name : "without a name", offer->origin);
		return -FI_EINVAL;
	}
	if (ofi_prov_is_utility(prov->name)) {
		FI_INFO(&ofi_core_prov, FI_LOG_CORE,
			"provider %s (%s) is a layer, which this library has no use for: not loaded\n",
			prov->name, offer->origin);
		return -FI_ENOSYS;
	}
	if (FI_VERSION_LT(fi_version(), prov->fi_version) ||
	    FI_VERSION_LT(prov->fi_version, OLDEST_FI_VERSION)) {
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"provider %s (%s) is built for libfabric %u.%u, this is %u.%u: not loaded, rebuild it\n",
			prov->name, offer->origin, FI_MAJOR(prov->fi_version),
			FI_MINOR(prov->fi_version), FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
		return -FI_ENOSYS;
	}
	return 0;
}

static bool lists(const struct ofi_provider_list *list, const void *handle,
		  const struct fi_provider *prov)
{
	const struct ofi_provider *entry;

	TAILQ_FOREACH (entry, list, link) {
		if ((handle && entry->handle == handle) || (prov && entry->prov == prov))
			return true;
	}
	return false;
}

bool ofi_registry_knows(const struct ofi_registry *reg, const void *handle,
			const struct fi_provider *prov)
{
	return lists(&reg->list, handle, prov) || lists(&reg->refused, handle, prov);
}

static struct ofi_provider *registry_find(struct ofi_registry *reg, const char *name)
{
	struct ofi_provider *entry;

	TAILQ_FOREACH (entry, &reg->list, link) {
		if (!strcasecmp(entry->prov->name, name))
			return entry;
	}
	return NULL;
}

static bool offer_beats(const struct ofi_registry *reg, const struct ofi_provider *offer,
			const struct ofi_provider *old)
{
	if (offer->preferred != old->preferred)
		return offer->preferred;
	if (reg->first_wins || offer->preferred)
		return false;
	return FI_VERSION_LT(old->prov->version, offer->prov->version);
}

static void registry_insert(struct ofi_registry *reg, struct ofi_provider *entry)
{
	struct ofi_provider *next;

	TAILQ_FOREACH (next, &reg->list, link) {
		if (next->rank > entry->rank) {
			TAILQ_INSERT_BEFORE(next, entry, link);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&reg->list, entry, link);
}

static void registry_refuse(struct ofi_registry *reg, struct ofi_provider *entry)
{
	entry_cleanup(entry);
	TAILQ_INSERT_TAIL(&reg->refused, entry, link);
}

static void log_taken(const struct ofi_provider *entry)
{
	FI_INFO(&ofi_core_prov, FI_LOG_CORE, "provider %s %u.%u (%s)%s\n", entry->prov->name,
		FI_MAJOR(entry->prov->version), FI_MINOR(entry->prov->version), entry->origin,
		entry->excluded ? " excluded by FI_PROVIDER" : "");
}

/* Two files may return the same provider, which is cleaned up once. */
static int registry_admit(struct ofi_registry *reg, struct ofi_provider *entry)
{
	struct ofi_provider *old;
	int ret;

	if (ofi_registry_knows(reg, NULL, entry->prov)) {
		FI_INFO(&ofi_core_prov, FI_LOG_CORE, "the provider of %s is that of another file\n",
			entry->origin);
		entry->prov = NULL;
		return -FI_EALREADY;
	}
	ret = registry_check(entry);
	if (ret)
		return ret;
	old = registry_find(reg, entry->prov->name);
	if (old && !offer_beats(reg, entry, old)) {
		FI_INFO(&ofi_core_prov, FI_LOG_CORE,
			"provider %s (%s) is replaced by the one from %s\n", entry->prov->name,
			entry->origin, old->origin);
		return -FI_EALREADY;
	}
	if (old) {
		TAILQ_REMOVE(&reg->list, old, link);
		registry_refuse(reg, old);
	}
	return 0;
}

int ofi_registry_add(struct ofi_registry *reg, const struct ofi_provider *offer)
{
	struct ofi_provider *entry = entry_new(offer);
	int ret;

	if (!entry) {
		if (offer->handle)
			dlclose(offer->handle);
		return -FI_ENOMEM;
	}
	ret = entry->prov ? registry_admit(reg, entry) : -FI_ENODEV;
	if (ret) {
		registry_refuse(reg, entry);
		return ret;
	}
	entry->excluded = !ofi_prov_filter_pass(reg->filter, entry->prov->name);
	registry_insert(reg, entry);
	log_taken(entry);
	return 0;
}

void ofi_registry_settle(struct ofi_registry *reg)
{
	struct ofi_provider *entry;

	while ((entry = TAILQ_FIRST(&reg->refused))) {
		TAILQ_REMOVE(&reg->refused, entry, link);
		entry_free(entry);
	}
}

void ofi_registry_cleanup(const struct ofi_registry *reg)
{
	const struct ofi_provider *entry;

	TAILQ_FOREACH_REVERSE(entry, &reg->list, ofi_provider_list, link)
	entry_cleanup(entry);
}

void ofi_registry_fini(struct ofi_registry *reg)
{
	struct ofi_provider *entry;

	while ((entry = TAILQ_LAST(&reg->list, ofi_provider_list))) {
		TAILQ_REMOVE(&reg->list, entry, link);
		entry_cleanup(entry);
		entry_free(entry);
	}
	ofi_registry_settle(reg);
}
