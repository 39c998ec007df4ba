/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The available interfaces of device memory: loaded once, when the first program asks. */
#include "hmem.h"
#include "hmem_copy.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

enum { WHY_LEN = 160 };

static const struct ofi_hmem *const known[] = { &ofi_hmem_cuda };

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* The state of each interface. Constant once `loaded` is true. */
static struct {
	pthread_mutex_t lock;
	bool loaded; /* atomic */
	bool works[KNOWN];
	char why[KNOWN][WHY_LEN];
	char summary[KNOWN * WHY_LEN * 2];
	bool p2p_disabled;
	bool may_export[KNOWN];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool ofi_hmem_resolve(void *library, const struct ofi_hmem_symbol *symbols, size_t count)
{
	void *found;
	size_t i;

	for (i = 0; i < count; i++) {
		found = dlsym(library, symbols[i].name);
		if (!found && !symbols[i].optional)
			return false;
		memcpy(symbols[i].to, &found, sizeof(found));
	}
	return true;
}

/* Returns true if FI_HMEM names the interface; all are named by default. */
static bool is_named(const char *list, const char *name)
{
	size_t len;

	if (!list || !*list || !strcasecmp(list, "all"))
		return true;
	for (; *list; list += len + (list[len] != '\0')) {
		len = strcspn(list, ",;: ");
		if (len == strlen(name) && !strncasecmp(list, name, len))
			return true;
	}
	return false;
}

static int try_one(const struct ofi_hmem *hmem, const char *list, char *why)
{
	void *library;
	int ret;

	if (!is_named(list, hmem->name)) {
		snprintf(why, WHY_LEN, "FI_HMEM does not name it");
		return -FI_ENOSYS;
	}
	library = dlopen(hmem->library, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(why, WHY_LEN, "%s is not installed", hmem->library);
		return -FI_ENOSYS;
	}
	ret = hmem->open(library);
	if (!ret)
		return 0;
	snprintf(why, WHY_LEN, "%s: %s", hmem->library,
		 ret == -FI_ENOSYS ? "too old, functions are missing"
				   : "the runtime finds no device that works");
	dlclose(library);
	return ret;
}

static bool param_is(const char *name, bool def)
{
	int value;

	return fi_param_get(NULL, name, &value) ? def : value;
}

static void add_iface(const char *name, const char *why)
{
	size_t len = strlen(state.summary);

	snprintf(state.summary + len, sizeof(state.summary) - len, "%s%s: %s", len ? "; " : "",
		 name, why);
}

static void load_runtimes(const struct fi_provider *prov)
{
	char *list = NULL;
	size_t i;

	fi_param_get(NULL, "hmem", &list);
	state.p2p_disabled = param_is("hmem_disable_p2p", false);
	for (i = 0; i < KNOWN; i++) {
		state.works[i] = !try_one(known[i], list, state.why[i]);
		state.may_export[i] = param_is(known[i]->dmabuf_param, true);
		FI_INFO(prov, FI_LOG_CORE, "device memory, %s: %s\n", known[i]->name,
			state.works[i] ? "works" : state.why[i]);
		if (state.works[i])
			__atomic_store_n(&ofi_hmem_finder, ofi_hmem_of, __ATOMIC_RELAXED);
		else
			add_iface(known[i]->name, state.why[i]);
	}
	__atomic_store_n(&state.loaded, true, __ATOMIC_RELEASE);
}

static bool is_loaded(void)
{
	return __atomic_load_n(&state.loaded, __ATOMIC_ACQUIRE);
}

static void load_once(const struct fi_provider *prov)
{
	if (is_loaded())
		return;
	pthread_mutex_lock(&state.lock);
	if (!is_loaded())
		load_runtimes(prov);
	pthread_mutex_unlock(&state.lock);
}

bool ofi_hmem_any(const struct fi_provider *prov, const char **why)
{
	size_t i;

	load_once(prov);
	for (i = 0; i < KNOWN; i++)
		if (state.works[i])
			return true;
	*why = state.summary;
	return false;
}

const struct ofi_hmem *ofi_hmem_get(const struct fi_provider *prov, enum fi_hmem_iface iface,
				    const char **why)
{
	size_t i;

	load_once(prov);
	*why = "there is no such interface here";
	for (i = 0; i < KNOWN; i++) {
		if (known[i]->iface != iface)
			continue;
		*why = state.why[i];
		return state.works[i] ? known[i] : NULL;
	}
	return NULL;
}

const struct ofi_hmem *ofi_hmem_of(const void *addr)
{
	size_t i;

	if (!is_loaded())
		return NULL;
	for (i = 0; i < KNOWN; i++)
		if (state.works[i] && known[i]->owns(addr))
			return known[i];
	return NULL;
}

bool ofi_hmem_p2p_disabled(void)
{
	return state.p2p_disabled;
}

bool ofi_hmem_may_export(const struct ofi_hmem *hmem)
{
	size_t i;

	for (i = 0; i < KNOWN; i++)
		if (known[i] == hmem)
			return state.may_export[i];
	return false;
}
