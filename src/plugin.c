/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Providers in shared objects named *-fi.so: finding and opening them. */
#include "provider.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "filter.h"
#include "log.h"

static const char suffix[] = "-fi.so";

struct search {
	struct ofi_registry *reg;
	int (*rank)(const char *name);
};

bool ofi_plugin_first_wins(const char *path)
{
	return path && *path == '@';
}

/* Returns the path of the plug-in, which stays valid as long as the provider's handle. */
static const char *entry_origin(void *entry_point)
{
	Dl_info info;

	return dladdr(entry_point, &info) && info.dli_fname ? info.dli_fname : "plug-in";
}

static void plugin_load(const struct search *search, const char *path, bool preferred)
{
	struct ofi_provider offer = { .preferred = preferred };
	struct fi_provider *(*ini)(void);
	void *sym;

	offer.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!offer.handle) {
		FI_WARN(&ofi_core_prov, FI_LOG_CORE, "dlopen: %s\n", dlerror());
		return;
	}
	/* The same file may be found again under another path. */
	if (ofi_registry_knows(search->reg, offer.handle, NULL)) {
		dlclose(offer.handle);
		return;
	}
	sym = dlsym(offer.handle, "fi_prov_ini");
	if (sym) {
		memcpy(&ini, &sym, sizeof(ini));
		offer.origin = entry_origin(sym);
		offer.prov = ini();
		if (!offer.prov)
			FI_INFO(&ofi_core_prov, FI_LOG_CORE, "%s declined to start\n", path);
	} else {
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"%s has no fi_prov_ini, so it is not a provider: not loaded\n", path);
	}
	offer.rank = preferred || search->reg->first_wins || !offer.prov || !offer.prov->name
			     ? 0
			     : search->rank(offer.prov->name);
	ofi_registry_add(search->reg, &offer);
}

static int is_plugin(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > strlen(suffix) && !strcmp(entry->d_name + len - strlen(suffix), suffix);
}

static void load_dir(const struct search *search, const char *dir, bool must_exist)
{
	struct dirent **entries = NULL;
	char path[PATH_MAX];
	int i, n;

	n = scandir(dir, &entries, is_plugin, alphasort);
	if (n < 0) {
		if (must_exist || errno != ENOENT)
			FI_WARN(&ofi_core_prov, FI_LOG_CORE, "FI_PROVIDER_PATH: %s: %s\n", dir,
				strerror(errno));
		return;
	}
	for (i = 0; i < n; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name) <
		    (int)sizeof(path))
			plugin_load(search, path, false);
		free(entries[i]);
	}
	free(entries);
}

void ofi_plugin_load(struct ofi_registry *reg, const char *path, const char *libdir,
		     int (*rank)(const char *name))
{
	struct search search = { .reg = reg, .rank = rank };
	char word[PATH_MAX];
	const char *rest;

	if (ofi_plugin_first_wins(path))
		path++;
	rest = path;
	while (ofi_word_next(&rest, ":", word, sizeof(word))) {
		if (*word == '+')
			plugin_load(&search, word + 1, true);
	}
	rest = path;
	while (ofi_word_next(&rest, ":", word, sizeof(word))) {
		if (*word != '+')
			load_dir(&search, word, true);
	}
	load_dir(&search, libdir, false);
}
