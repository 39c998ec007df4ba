/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_HOOK: the available hooks, reporting calls to them, and what all hooked objects share. */
#include "hook.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "src/conf.h"
#include "src/filter.h"
#include "src/hook.h"
#include "src/ds/fork.h"
#include "src/log.h"
#include "src/ds/suggest.h"
#include <rdma/fi_errno.h>
#include <rdma/fi_stats.h>
#include <rdma/fi_trigger.h>

enum { BUCKETS = 1024, TEXT = 512 };

static struct {
	bool active, perf, trace;
} hooks;
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

/* Guarded by lock. */
static LIST_HEAD(, ofi_hook) objects[BUCKETS];
static unsigned int fabrics;
OFI_FORK_MUTEX(lock, OFI_FORK_INNER);

static const char *const names[] = { "perf", "trace", "noop" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void hook_use(const char *word)
{
	static const char prefix[] = "ofi_hook_"; /* in the names of other releases */
	size_t skip = strncasecmp(word, prefix, strlen(prefix)) ? 0 : strlen(prefix), i;
	const char *name = word + skip;

	for (i = 0; i < COUNT(names) && strcasecmp(name, names[i]); i++)
		;
	if (i < COUNT(names)) {
		hooks.active = true;
		hooks.perf |= i == 0;
		hooks.trace |= i == 1;
		return;
	}
	FI_WARN(&ofi_core_prov, FI_LOG_CORE,
		"FI_HOOK=%s: no hook has this name%s; use perf, trace or noop, separated by ;\n",
		word, ofi_did_you_mean(name, names, COUNT(names)).text);
}

static void hook_start(void)
{
	const char *list = ofi_conf_get("FI_HOOK");
	char word[64];

	while (ofi_word_next(&list, ";", word, sizeof(word)))
		hook_use(word);
	if (!hooks.active)
		return;
	ofi_hook_out_open(hooks.trace, hooks.perf);
	if (hooks.perf)
		ofi_hook_perf_open();
}

bool ofi_hook_active(void)
{
	pthread_once(&hooks_once, hook_start);
	return hooks.active;
}

uint64_t ofi_hook_begin(void)
{
	return hooks.perf ? ofi_hook_perf_read() : 0;
}

ssize_t ofi_hook_end(struct ofi_hook_site *site, const void *object, uint64_t start, ssize_t ret,
		     const char *format, ...)
{
	uint64_t now = hooks.perf ? ofi_hook_perf_read() : 0;
	char text[TEXT];
	va_list args;

	if (hooks.perf)
		ofi_hook_perf_add(site, start, now, ret);
	if (hooks.trace && !ofi_hook_trace_again(site, object, ret)) {
		va_start(args, format);
		vsnprintf(text, sizeof(text), format, args);
		va_end(args);
		ofi_hook_trace(site, object, ret, text);
	}
	return ret;
}

static size_t bucket(const struct fid *real)
{
	return ((uintptr_t)real >> 6) % BUCKETS;
}

struct fid *ofi_hook_find(struct fid *real)
{
	struct fid *found = real;
	struct ofi_hook *hook;

	pthread_mutex_lock(&lock);
	LIST_FOREACH (hook, &objects[bucket(real)], link)
		if (hook->real == real)
			found = &hook->fid;
	pthread_mutex_unlock(&lock);
	return found;
}

static void insert(struct ofi_hook *hook)
{
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&objects[bucket(hook->real)], hook, link);
	fabrics += hook->fid.fclass == FI_CLASS_FABRIC;
	pthread_mutex_unlock(&lock);
}

/* Returns true if this was the last fabric. */
static bool drop(struct ofi_hook *hook)
{
	bool last, fabric = hook->fid.fclass == FI_CLASS_FABRIC;

	pthread_mutex_lock(&lock);
	LIST_REMOVE(hook, link);
	fabrics -= fabric;
	last = fabric && !fabrics;
	pthread_mutex_unlock(&lock);
	return last;
}

_Static_assert(offsetof(struct fid_cq, ops) == offsetof(struct fid_av, ops) &&
		       offsetof(struct fid_cq, ops) == offsetof(struct fid_cntr, ops) &&
		       offsetof(struct fid_cq, ops) == offsetof(struct fid_eq, ops) &&
		       offsetof(struct fid_cq, ops) == offsetof(struct fid_poll, ops),
	       "a fid, then its table");

static void *const simple_ops[] = {
	[FI_CLASS_AV] = &ofi_hook_av_ops,     [FI_CLASS_CNTR] = &ofi_hook_cntr_ops,
	[FI_CLASS_CQ] = &ofi_hook_cq_ops,     [FI_CLASS_EQ] = &ofi_hook_eq_ops,
	[FI_CLASS_POLL] = &ofi_hook_poll_ops,
};

/*
 * Fills the fields of the object that the application sees, except its fid. If the provider's
 * object lacks an ops table, the application's object lacks it, too.
 */
static void hook_fill(struct ofi_hook *hook)
{
	const struct ofi_hook *real = (const struct ofi_hook *)hook->real;
	size_t class = hook->fid.fclass;

	if (class < COUNT(simple_ops) && simple_ops[class]) {
		hook->cq.ops = simple_ops[class];
		return;
	}
	switch (class) {
	case FI_CLASS_FABRIC:
		hook->fabric.ops = &ofi_hook_fabric_ops;
		hook->fabric.api_version = real->fabric.api_version;
		break;
	case FI_CLASS_DOMAIN:
		hook->domain.ops = real->domain.ops ? &ofi_hook_domain_ops : NULL;
		hook->domain.mr = real->domain.mr ? &ofi_hook_mr_ops : NULL;
		break;
	case FI_CLASS_PEP:
		hook->pep.ops = real->pep.ops ? &ofi_hook_ep_ops : NULL;
		hook->pep.cm = real->pep.cm ? &ofi_hook_cm_ops : NULL;
		break;
	case FI_CLASS_MR:
		hook->mr.mem_desc = real->mr.mem_desc;
		hook->mr.key = real->mr.key;
		break;
	default:
		hook->ep.ops = real->ep.ops ? &ofi_hook_ep_ops : NULL;
		hook->ep.cm = real->ep.cm ? &ofi_hook_cm_ops : NULL;
		hook->ep.msg = real->ep.msg ? &ofi_hook_msg_ops : NULL;
		hook->ep.rma = real->ep.rma ? &ofi_hook_rma_ops : NULL;
		hook->ep.tagged = real->ep.tagged ? &ofi_hook_tagged_ops : NULL;
		hook->ep.atomic = real->ep.atomic ? &ofi_hook_atomic_ops : NULL;
		hook->ep.collective = real->ep.collective ? &ofi_hook_collective_ops : NULL;
	}
}

int ofi_hook_wrap(struct fid **object, void *context)
{
	struct ofi_hook *hook = calloc(1, sizeof(*hook));

	if (!hook) {
		(*object)->ops->close(*object);
		*object = NULL;
		return -FI_ENOMEM;
	}
	hook->real = *object;
	hook->fid = (struct fid){
		.fclass = hook->real->fclass,
		.context = context,
		.ops = &ofi_hook_fid_ops,
	};
	hook_fill(hook);
	insert(hook);
	if (hooks.trace)
		ofi_hook_trace_opened(&hook->fid);
	*object = &hook->fid;
	return 0;
}

/* Unlinks the object first, because once it is closed its address can be reused for another. */
static int hook_close(struct fid *fid)
{
	static struct ofi_hook_site site = { .name = "fi_close" };
	struct ofi_hook *hook = (struct ofi_hook *)fid;
	bool last = drop(hook);
	uint64_t begun = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(&site, fid, begun, hook->real->ops->close(hook->real),
				", class %zu", fid->fclass);
	if (ret) {
		insert(hook);
		return ret;
	}
	free(hook);
	if (last && hooks.perf)
		ofi_hook_perf_report("fi_close of the last fabric");
	return 0;
}

static struct ofi_hook_site *bind_site(size_t fclass)
{
	static struct ofi_hook_site other = { .name = "fi_bind" }, sites[] = {
		[FI_CLASS_DOMAIN] = { .name = "fi_domain_bind" },
		[FI_CLASS_EP] = { .name = "fi_ep_bind" },
		[FI_CLASS_SEP] = { .name = "fi_scalable_ep_bind" },
		[FI_CLASS_PEP] = { .name = "fi_pep_bind" },
		[FI_CLASS_MR] = { .name = "fi_mr_bind" },
		[FI_CLASS_AV] = { .name = "fi_av_bind" },
	};

	return fclass < COUNT(sites) && sites[fclass].name ? &sites[fclass] : &other;
}

static int hook_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct fid *real = ofi_hook_real(fid);
	uint64_t begun = ofi_hook_begin();

	return (int)ofi_hook_end(bind_site(fid->fclass), fid, begun,
				 real->ops->bind(real, ofi_hook_unwrap(bfid), flags),
				 ", bfid %p, flags 0x%llx", (void *)bfid,
				 (unsigned long long)flags);
}

void ofi_hook_trigger(void *context, uint64_t flags)
{
	struct fi_triggered_context *trigger = context;
	struct fid_cntr **cntr;

	if (!(flags & FI_TRIGGER) || !context || trigger->event_type != FI_TRIGGER_THRESHOLD)
		return;
	cntr = &trigger->trigger.threshold.cntr;
	*cntr = (struct fid_cntr *)ofi_hook_unwrap((struct fid *)*cntr);
}

static void set_op_flags(struct ofi_hook *hook, uint64_t flags)
{
	*(flags & FI_TRANSMIT ? &hook->tx_flags : &hook->rx_flags) = flags;
}

/* An alias begins with the default flags of the endpoint. Returns 0 or -FI_ENOMEM. */
static int wrap_alias(const struct ofi_hook *hook, const struct fi_alias *alias)
{
	int ret = ofi_hook_wrap(alias->fid, hook->fid.context);
	struct ofi_hook *made = (struct ofi_hook *)*alias->fid;

	if (ret)
		return ret;
	made->tx_flags = hook->tx_flags;
	made->rx_flags = hook->rx_flags;
	set_op_flags(made, alias->flags);
	return 0;
}

static int hook_control(struct fid *fid, int command, void *arg)
{
	static struct ofi_hook_site site = { .name = "fi_control" },
				    enable = { .name = "fi_enable" };
	struct fid *real = ofi_hook_real(fid);
	uint64_t begun;
	int ret;

	/* Deferred work contains objects that would have to be replaced when it runs. */
	if (command == FI_QUEUE_WORK || command == FI_CANCEL_WORK || command == FI_FLUSH_WORK)
		return -FI_ENOSYS;
	begun = ofi_hook_begin();
	ret = (int)ofi_hook_end(command == FI_ENABLE ? &enable : &site, fid, begun,
				real->ops->control(real, command, arg), ", command %d, arg %p",
				command, arg);
	if (fid->fclass == FI_CLASS_MR)
		hook_fill((struct ofi_hook *)fid); /* fi_mr_enable may have changed the key */
	if (!ret && command == FI_SETOPSFLAG)
		set_op_flags((struct ofi_hook *)fid, *(const uint64_t *)arg);
	return !ret && command == FI_ALIAS ? wrap_alias((struct ofi_hook *)fid, arg) : ret;
}

static ssize_t stats_read(struct fid *fid, struct fi_stats_item *items, size_t count)
{
	struct fid *real = ofi_hook_unwrap(fid);
	struct fi_ops_stats *ops;
	int ret;

	if (!real)
		return -FI_EINVAL;
	ret = real->ops->ops_open(real, FI_STATS_OPS, 0, (void **)&ops, NULL);
	return ret ? ret : ops->read(real, items, count);
}

static struct fi_ops_stats stats_ops = {
	.size = sizeof(stats_ops),
	.read = stats_read,
};

/* Named operations take the object as an argument, so unknown ones must not be handed out. */
static int hook_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			 void *context)
{
	struct fid *real = ofi_hook_real(fid);
	void *found;
	int ret;

	if (!name || !ops)
		return -FI_EINVAL;
	ret = real->ops->ops_open(real, name, flags, &found, context);
	if (ret)
		return ret;
	if (strcmp(name, FI_STATS_OPS))
		return -FI_ENOSYS;
	*ops = &stats_ops;
	return 0;
}

static int hook_tostr(const struct fid *fid, char *buf, size_t len)
{
	const struct fid *real = ((const struct ofi_hook *)fid)->real;

	return FI_CHECK_OP(real->ops, struct fi_ops, tostr) ? real->ops->tostr(real, buf, len)
							    : -FI_ENOSYS;
}

static int hook_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
	struct fid *real = ofi_hook_real(fid);

	return FI_CHECK_OP(real->ops, struct fi_ops, ops_set)
		       ? real->ops->ops_set(real, name, flags, ops, context)
		       : -FI_ENOSYS;
}

struct fi_ops ofi_hook_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = hook_close,
	.bind = hook_bind,
	.control = hook_control,
	.ops_open = hook_ops_open,
	.tostr = hook_tostr,
	.ops_set = hook_ops_set,
};

void ofi_hook_fini(void)
{
	if (hooks.perf)
		ofi_hook_perf_report("the end of the process");
	ofi_hook_perf_close();
	ofi_hook_trace_end();
	ofi_hook_out_close();
}
