/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remembers what was found out about devices. */
#include "known.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "src/ds/fork.h"

struct known {
	SLIST_ENTRY(known) next;
	char name[IBV_SYSFS_NAME_MAX];
	__be64 guid; /* another device may get the name */
	int what;
	char value[];
};

static SLIST_HEAD(, known) all = SLIST_HEAD_INITIALIZER(all);
OFI_FORK_MUTEX(lock, OFI_FORK_INNERMOST); /* guards all */

bool vrb_known_get(const char *name, __be64 guid, int what, void *value, size_t size)
{
	struct known *known;

	pthread_mutex_lock(&lock);
	SLIST_FOREACH (known, &all, next)
		if (known->what == what && known->guid == guid && !strcmp(known->name, name))
			break;
	if (known && size)
		memcpy(value, known->value, size);
	pthread_mutex_unlock(&lock);
	return known;
}

bool vrb_known_set(const char *name, __be64 guid, int what, const void *value, size_t size)
{
	struct known *known = calloc(1, sizeof(*known) + size);

	if (!known)
		return false;
	snprintf(known->name, sizeof(known->name), "%s", name);
	known->guid = guid;
	known->what = what;
	if (size)
		memcpy(known->value, value, size);
	pthread_mutex_lock(&lock);
	SLIST_INSERT_HEAD(&all, known, next);
	pthread_mutex_unlock(&lock);
	return true;
}

void vrb_known_forget(void)
{
	struct known *known;

	/* A thread may be in one of the others while the process exits. */
	if (pthread_mutex_trylock(&lock))
		return;
	while ((known = SLIST_FIRST(&all))) {
		SLIST_REMOVE_HEAD(&all, next);
		free(known);
	}
	pthread_mutex_unlock(&lock);
}
