/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The providers of this process. A built-in provider is a line OFI_BUILTIN(name) of the generated
 * ofi_builtin.h and has the entry point `struct fi_provider *fi_<name>_ini(void)`; a plug-in
 * exports fi_prov_ini.
 */
#ifndef OFI_PROVIDER_H
#define OFI_PROVIDER_H

#include <stdbool.h>
#include <rdma/providers/fi_log.h>
#include "registry.h"

/* Loads the providers on the first call. The list does not change afterward. */
const struct ofi_provider_list *ofi_providers(void);
/* Returns FI_PROVIDER as it was when they were loaded, or NULL. */
const char *ofi_providers_filter(void);
/* Returns true in the thread that loads them. */
bool ofi_providers_starting(void);

/*
 * Logs that there is no provider of this name, the available ones, and the one that was probably
 * meant. With `near`, logs only if one is similar. `by` names the caller.
 */
void ofi_provider_missing(enum fi_log_level level, const char *by, const char *word, bool near);

/* Loads the plug-ins in the directories of FI_PROVIDER_PATH and of the installation. */
void ofi_plugin_load(struct ofi_registry *reg, const char *path, const char *libdir,
		     int (*rank)(const char *name));
/* Returns true if the path begins with "@": the first provider found with a name wins. */
bool ofi_plugin_first_wins(const char *path);

#endif
