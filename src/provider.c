/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider registry of this process, which starts on first use and ends when the library is
 * unloaded.
 */
#include "provider.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "conf.h"
#include <ofi/explain.h>
#include "filter.h"
#include "hook.h"
#include "log.h"
#include "param.h"
#include "reject.h"
#include "src/ds/suggest.h"

#define OFI_BUILTIN(name) struct fi_provider *fi_##name##_ini(void);
#include "ofi_builtin.h"
#undef OFI_BUILTIN

static const struct {
	const char *name;
	struct fi_provider *(*ini)(void);
} builtin[] = {
#define OFI_BUILTIN(name) { #name, fi_##name##_ini },
#include "ofi_builtin.h"
#undef OFI_BUILTIN
	{ NULL, NULL },
};

enum { RANK_OTHERS = 1000 };

static struct ofi_registry registry = { .list = TAILQ_HEAD_INITIALIZER(registry.list),
					.refused = TAILQ_HEAD_INITIALIZER(registry.refused) };
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
/* Code that runs while the registry starts, such as fi_prov_ini, may call the library. */
static _Thread_local bool starting;
static char *filter;

static int rank_of(const char *name)
{
	int i;

	for (i = 0; builtin[i].name; i++) {
		if (!strcasecmp(builtin[i].name, name))
			return 1 + i;
	}
	return RANK_OTHERS;
}

/*
 * The entries are in static memory: a provider without memory for its entry would be missing for
 * good, with no explanation.
 */
static void load_builtin(void)
{
	static struct ofi_provider places[sizeof(builtin) / sizeof(builtin[0])];
	struct ofi_provider offer = { .origin = "built in" };
	int i;

	for (i = 0; builtin[i].name; i++) {
		offer.prov = builtin[i].ini();
		offer.rank = 1 + i;
		offer.place = &places[i];
		if (offer.prov)
			ofi_registry_add(&registry, &offer);
		else
			FI_INFO(&ofi_core_prov, FI_LOG_CORE, "provider %s declined to start\n",
				builtin[i].name);
	}
}

static void give_context(void)
{
	struct ofi_prov_context context = { .magic = OFI_PROV_CONTEXT_MAGIC,
					    .reject = ofi_reject,
					    .wanted = ofi_reject_wanted };
	struct ofi_provider *entry;

	TAILQ_FOREACH (entry, &registry.list, link)
		memcpy(&entry->prov->context, &context, sizeof(context));
}

static bool names_any(const char *request)
{
	struct ofi_provider *entry;

	TAILQ_FOREACH (entry, &registry.list, link) {
		if (ofi_prov_name_pass(request, entry->prov->name))
			return true;
	}
	return ofi_prov_is_utility(request);
}

static size_t list_names(const char **names, size_t most, char *text, size_t len)
{
	size_t count = 0, used = 0;
	struct ofi_provider *entry;

	snprintf(text, len, "none");
	TAILQ_FOREACH (entry, &registry.list, link) {
		if (count < most)
			names[count++] = entry->prov->name;
		if (used < len)
			used += (size_t)snprintf(text + used, len - used, "%s%s", used ? ", " : "",
						 entry->prov->name);
	}
	return count;
}

void ofi_provider_missing(enum fi_log_level level, const char *by, const char *word, bool near)
{
	const char *names[16];
	char text[256];
	size_t count = list_names(names, sizeof(names) / sizeof(names[0]), text, sizeof(text));
	struct ofi_hint hint = ofi_did_you_mean(word, names, count);

	if (near && !*hint.text)
		return;
	FI_LOG(&ofi_core_prov, level, FI_LOG_CORE,
	       "%s: there is no provider %s%s%s fi_info -l lists the available ones (%s); plug-ins of other libfabric builds are loaded from the directories of FI_PROVIDER_PATH\n",
	       by, word, hint.text, *hint.text ? "" : ";", text);
}

/* Warns of words in FI_PROVIDER that match nothing, which are most likely mistakes. */
static void check_filter(void)
{
	const char *list = filter;
	char word[128], by[160];
	bool negated;

	negated = list && *list == '^';
	if (negated)
		list++;
	snprintf(by, sizeof(by), "FI_PROVIDER=%s", filter ? filter : "");
	while (ofi_word_next(&list, ",", word, sizeof(word)))
		if (!names_any(word))
			ofi_provider_missing(FI_LOG_WARN, by, word, negated);
}

static void check_file(void)
{
	struct ofi_provider *entry;

	TAILQ_FOREACH (entry, &registry.list, link)
		ofi_param_check_file(entry->prov->name);
}

static void provider_start(void)
{
	const char *path = ofi_conf_get_secure("FI_PROVIDER_PATH"),
		   *list = ofi_conf_get("FI_PROVIDER");

	starting = true;
	ofi_param_init();
	filter = list && *list ? strdup(list) : NULL;
	ofi_registry_init(&registry, filter, ofi_plugin_first_wins(path));
	ofi_plugin_load(&registry, path, PROVDLDIR, rank_of);
	load_builtin();
	ofi_registry_settle(&registry);
	give_context();
	check_filter();
	check_file();
	starting = false;
}

bool ofi_providers_starting(void)
{
	return starting;
}

const struct ofi_provider_list *ofi_providers(void)
{
	if (!starting)
		pthread_once(&registry_once, provider_start);
	return &registry.list;
}

const char *ofi_providers_filter(void)
{
	return filter;
}

/*
 * The directory of a process's threads has one link for each of them, besides its own two. Without
 * it, such as in a chroot without /proc, there may be some.
 */
static bool other_threads_run(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) || st.st_nlink > 3;
}

/* Other threads may still call and log while the process exits: what they use stays then. */
__attribute__((destructor)) static void end(void)
{
	ofi_hook_fini();
	if (other_threads_run()) {
		ofi_registry_cleanup(&registry);
		return;
	}
	ofi_registry_fini(&registry);
	free(filter);
	filter = NULL;
	ofi_param_fini();
	ofi_log_fini();
	ofi_conf_fini();
}
