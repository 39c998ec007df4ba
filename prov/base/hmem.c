/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The available interfaces of device memory, which are loaded when they are first needed. */
#include "hmem.h"
#include "hmem_copy.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

static const struct ofi_hmem *const known[] = { &ofi_hmem_cuda, &ofi_hmem_rocr, &ofi_hmem_ze };

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* The state of each interface. Constant once `loaded` is true. */
static struct {
	pthread_mutex_t lock;
	bool loading;
	bool interrupted; /* a fork found another thread loading */
	bool loaded;	  /* atomic */
	bool works[KNOWN];
	struct ofi_hmem_why why[KNOWN];
	char summary[KNOWN * sizeof(struct ofi_hmem_why) * 2];
	bool p2p_disabled;
	bool may_export[KNOWN];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A name in FI_HMEM. */
struct word {
	const char *text;
	size_t len;
};

/* Moves to the next name of the list. Returns false at the end of it. */
static bool next_word(const char **list, struct word *word)
{
	static const char separators[] = ",;: ";

	*list += strspn(*list, separators);
	*word = (struct word){ *list, strcspn(*list, separators) };
	*list += word->len;
	return word->len;
}

static bool is_word(const struct word *word, const char *name)
{
	return word->len == strlen(name) && !strncasecmp(word->text, name, word->len);
}

/* Returns true if FI_HMEM names the interface; all are named by default. */
static bool is_named(const char *list, const char *name)
{
	struct word word;
	bool any = false;

	while (list && next_word(&list, &word)) {
		any = true;
		if (is_word(&word, name) || is_word(&word, "all"))
			return true;
	}
	return !any;
}

static bool is_permitted(const struct word *word)
{
	size_t i;

	for (i = 0; i < KNOWN; i++)
		if (is_word(word, known[i]->name))
			return true;
	return is_word(word, "all") || is_word(word, "system");
}

/* Warns of the first name in FI_HMEM that is not the name of an interface. */
static void check_list(const struct fi_provider *prov, const char *list)
{
	char names[64] = "";
	struct word word;
	size_t i, len;

	for (i = 0; i < KNOWN; i++) {
		len = strlen(names);
		snprintf(names + len, sizeof(names) - len, "%s, ", known[i]->name);
	}
	while (list && next_word(&list, &word)) {
		if (is_permitted(&word))
			continue;
		FI_WARN(prov, FI_LOG_CORE,
			"FI_HMEM: there is no interface \"%.*s\"; permitted are %ssystem and all\n",
			(int)word.len, word.text, names);
		return;
	}
}

static bool try_one(const struct ofi_hmem *hmem, const char *list, struct ofi_hmem_why *why)
{
	void *library;

	if (state.interrupted)
		return ofi_hmem_cannot(why, "the process was forked while it was loaded");
	if (!is_named(list, hmem->name))
		return ofi_hmem_cannot(why, "FI_HMEM=%s does not name it", list);
	library = dlopen(hmem->library, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return ofi_hmem_cannot(why, "%s", dlerror());
	if (ofi_hmem_open(hmem, library, why))
		return true;
	dlclose(library);
	return false;
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

	state.loading = true;
	state.summary[0] = '\0';
	fi_param_get(NULL, "hmem", &list);
	check_list(prov, list);
	state.p2p_disabled = param_is("hmem_disable_p2p", false);
	for (i = 0; i < KNOWN; i++) {
		state.works[i] = try_one(known[i], list, &state.why[i]);
		state.may_export[i] = param_is(known[i]->dmabuf_param, true);
		FI_INFO(prov, FI_LOG_CORE, "device memory, %s: %s\n", known[i]->name,
			state.works[i] ? "works" : state.why[i].text);
		if (state.works[i])
			__atomic_store_n(&ofi_hmem_finder, ofi_hmem_of, __ATOMIC_RELAXED);
		else
			add_iface(known[i]->name, state.why[i].text);
	}
	__atomic_store_n(&state.loaded, true, __ATOMIC_RELEASE);
}

static bool is_loaded(void)
{
	return __atomic_load_n(&state.loaded, __ATOMIC_ACQUIRE);
}

/*
 * Loading takes seconds, and a driver may fork meanwhile, so fork does not wait for it. What a
 * driver holds in the middle of it stays held in the child, which gives the interfaces up.
 */
static void in_child(void)
{
	state.interrupted |= state.loading && !is_loaded();
	pthread_mutex_init(&state.lock, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
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

/* Returns the reason why an interface is not supported. */
static const char *why_not(enum fi_hmem_iface iface)
{
	return iface == FI_HMEM_NEURON
		       ? "the library does not support Neuron, whose runtime copies to memory at an address, but not from there"
		       : "the library does not support this interface";
}

const struct ofi_hmem *ofi_hmem_get(const struct fi_provider *prov, enum fi_hmem_iface iface,
				    const char **why)
{
	size_t i;

	load_once(prov);
	*why = why_not(iface);
	for (i = 0; i < KNOWN; i++) {
		if (known[i]->iface != iface)
			continue;
		*why = state.why[i].text;
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
