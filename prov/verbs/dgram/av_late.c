/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses whose queue pair is queried when datagrams are sent to them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "av.h"
#include "prov/verbs/cm/sidr.h"
#include "prov/verbs/provider/prov.h"

enum {
	LATE_MAX = 256, /* addresses that are queried at once */
	PAUSE = 50,	/* milliseconds between two queries */
	PATIENCE = 5,	/* time during which sends return -FI_EAGAIN, in resolve_timeout */
};

struct vrb_late_addr {
	LIST_ENTRY(vrb_late_addr) next;
	fi_addr_t addr;
	struct sockaddr_in6 to; /* of either family; tells whether the address is still the same */
	struct vrb_sidr_lookup *lookup; /* pending, or NULL */
	uint64_t again;			/* ms: the earliest time of the next query */
	uint64_t until, used;		/* ms: when -FI_EAGAIN ends; the last send */
	int err;			/* of the last query, -FI_E* */
	bool told;
};

static uint64_t late_patience(void)
{
	return PATIENCE * (uint64_t)vrb_params.resolve_timeout;
}

void vrb_late_init(struct vrb_late *late)
{
	ofi_lock_init(&late->lock);
	LIST_INIT(&late->addrs);
}

static void late_end_lookup(struct vrb_late_addr *one)
{
	if (one->lookup)
		vrb_sidr_end(one->lookup);
	one->lookup = NULL;
}

static void late_free(struct vrb_late *late, struct vrb_late_addr *one)
{
	late_end_lookup(one);
	LIST_REMOVE(one, next);
	late->count--;
	free(one);
}

void vrb_late_fini(struct vrb_late *late)
{
	while (!LIST_EMPTY(&late->addrs))
		late_free(late, LIST_FIRST(&late->addrs));
}

/* Returns true if there was no recent send. */
static bool late_is_idle(const struct vrb_late_addr *one, uint64_t now)
{
	return now > one->used + 2 * late_patience();
}

/* Frees idle records and, in a full list, those whose -FI_EAGAIN time is over. */
static void late_sweep(struct vrb_late *late, uint64_t now)
{
	struct vrb_late_addr *one, *next;

	for (one = LIST_FIRST(&late->addrs); one; one = next) {
		next = LIST_NEXT(one, next);
		if (late_is_idle(one, now) || (late->count >= LATE_MAX && now > one->until))
			late_free(late, one);
	}
}

/* Starts the time of -FI_EAGAIN. */
static void late_begin(struct vrb_late_addr *one, uint64_t now)
{
	one->until = now + late_patience();
	one->err = -FI_ETIMEDOUT; /* until an answer says more */
	one->told = false;
}

/* Finds or adds the record of an address. Returns NULL if there is no room for it now. */
static struct vrb_late_addr *late_of(struct vrb_late *late, fi_addr_t addr,
				     const struct sockaddr_in6 *to, uint64_t now)
{
	struct vrb_late_addr *one;

	LIST_FOREACH (one, &late->addrs, next)
		if (one->addr == addr && !memcmp(&one->to, to, sizeof(*to)))
			return one;
	late_sweep(late, now);
	one = late->count < LATE_MAX ? calloc(1, sizeof(*one)) : NULL;
	if (!one)
		return NULL;
	one->addr = addr;
	one->to = *to;
	one->used = now;
	late_begin(one, now);
	LIST_INSERT_HEAD(&late->addrs, one, next);
	late->count++;
	return one;
}

/* Returns the entry of an address that still has no queue pair. The caller holds av->base.lock. */
static struct vrb_av_ip_entry *late_entry(const struct vrb_av *av, fi_addr_t addr)
{
	struct vrb_av_ip_entry *ip = ofi_av_entry(&av->base, addr);

	return ip && vrb_dest_is_late(&ip->dest) ? ip : NULL;
}

/* Sets the queue pair unless the entry has changed. Returns 0 or a positive FI_E*. */
static int late_fill(struct vrb_av *av, const struct vrb_late_addr *one,
		     const struct vrb_dest *dest)
{
	struct vrb_av_ip_entry *ip;
	int err = 0;

	ofi_lock(&av->base.lock);
	ip = late_entry(av, one->addr);
	if (ip && memcmp(&ip->addr, &one->to, sizeof(one->to)))
		ip = NULL;
	if (ip && !vrb_sources_put(&av->sources, &av->base.table, one->addr, &ip->dest, dest,
				   av->has_sources))
		err = FI_ENOMEM;
	ofi_unlock(&av->base.lock);
	return err;
}

static void late_start(struct vrb_av *av, struct vrb_late_addr *one, uint64_t now)
{
	struct sockaddr_storage to = { 0 };
	int err;

	memcpy(&to, &one->to, sizeof(one->to));
	one->again = now + PAUSE;
	err = vrb_sidr_start(av, "fi_send", &to, &one->lookup);
	if (err)
		one->err = err;
}

/* Returns the reason of the failure, and logs it once. */
static int late_give_up(struct vrb_late_addr *one)
{
	char text[OFI_ADDR_STRLEN];

	if (!one->told)
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_AV, "fi_send: %s: %s%s\n",
			       ofi_addr_str((const struct sockaddr *)&one->to, text, sizeof(text)),
			       fi_strerror(-one->err), vrb_sidr_advice(one->err));
	one->told = true;
	return -one->err;
}

/* Returns 0 if the queue pair is known, otherwise a positive FI_E*. */
static int late_ask(struct vrb_av *av, struct vrb_late_addr *one, uint64_t now)
{
	bool stale = late_is_idle(one, now);
	struct vrb_dest dest;
	int err;

	one->used = now;
	if (one->lookup && vrb_sidr_settled(one->lookup, &err, &dest)) {
		late_end_lookup(one);
		if (!err)
			return late_fill(av, one, &dest);
		one->err = err;
	}
	/* The peer may have come since an old failure. */
	if (stale)
		late_begin(one, now);
	if (!one->lookup && now >= one->again)
		late_start(av, one, now);
	return now < one->until ? FI_EAGAIN : late_give_up(one);
}

bool vrb_late_find(struct vrb_av *av, fi_addr_t addr)
{
	struct vrb_late *late = &av->late;
	struct vrb_late_addr *one;
	struct vrb_av_ip_entry *ip;
	struct sockaddr_in6 to;
	uint64_t now = ofi_now_ms();
	int err = FI_EAGAIN;

	ofi_lock(&av->base.lock);
	ip = late_entry(av, addr);
	if (ip)
		to = ip->addr;
	ofi_unlock(&av->base.lock);
	if (!ip)
		return true; /* another thread has set it or removed the address */
	ofi_lock(&late->lock);
	one = late_of(late, addr, &to, now);
	if (one)
		err = late_ask(av, one, now);
	if (one && !err)
		late_free(late, one);
	ofi_unlock(&late->lock);
	errno = err;
	return !err;
}
