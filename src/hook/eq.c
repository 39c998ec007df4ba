/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues and poll sets under hooks: they tell of the application's objects, not of the
 * provider's.
 */
#include <string.h>
#include <rdma/fi_errno.h>
#include "hook.h"

/* Events of the library begin with an object; others are the application's own. */
static void translate(uint32_t event, void *buf, ssize_t len)
{
	struct fid *fid;

	if (len < (ssize_t)sizeof(fid) || event > FI_JOIN_COMPLETE)
		return;
	memcpy(&fid, buf, sizeof(fid));
	fid = ofi_hook_find(fid);
	memcpy(buf, &fid, sizeof(fid));
}

static ssize_t eq_read(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_eq_read" };
	struct fid_eq *real = ofi_hook_real(eq);
	uint64_t start = ofi_hook_begin();
	ssize_t ret;

	ret = ofi_hook_end(&site, eq, start, real->ops->read(real, event, buf, len, flags),
			   "event %p, buf %p, len %zu, flags 0x%llx", (void *)event, buf, len,
			   (unsigned long long)flags);
	if (ret > 0)
		translate(*event, buf, ret);
	return ret;
}

static ssize_t eq_sread(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_eq_sread" };
	struct fid_eq *real = ofi_hook_real(eq);
	uint64_t start = ofi_hook_begin();
	ssize_t ret;

	ret = ofi_hook_end(&site, eq, start,
			   real->ops->sread(real, event, buf, len, timeout, flags),
			   "event %p, buf %p, len %zu, timeout %d, flags 0x%llx", (void *)event,
			   buf, len, timeout, (unsigned long long)flags);
	if (ret > 0)
		translate(*event, buf, ret);
	return ret;
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_eq_readerr" };
	struct fid_eq *real = ofi_hook_real(eq);
	uint64_t start = ofi_hook_begin();
	ssize_t ret;

	ret = ofi_hook_end(&site, eq, start, real->ops->readerr(real, buf, flags),
			   "buf %p, flags 0x%llx", (void *)buf, (unsigned long long)flags);
	if (ret > 0)
		buf->fid = ofi_hook_find(buf->fid);
	return ret;
}

static ssize_t eq_write(struct fid_eq *eq, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_eq_write" };
	struct fid_eq *real = ofi_hook_real(eq);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, eq, start, real->ops->write(real, event, buf, len, flags),
			    "event %u, buf %p, len %zu, flags 0x%llx", event, buf, len,
			    (unsigned long long)flags);
}

static const char *eq_strerror(struct fid_eq *eq, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	struct fid_eq *real = ofi_hook_real(eq);

	return real->ops->strerror(real, prov_errno, err_data, buf, len);
}

struct fi_ops_eq ofi_hook_eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

static int poll_poll(struct fid_poll *pollset, void **context, int count)
{
	static struct ofi_hook_site site = { .name = "fi_poll" };
	struct fid_poll *real = ofi_hook_real(pollset);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, pollset, start, real->ops->poll(real, context, count),
				 "context %p, count %d", (void *)context, count);
}

static int poll_add(struct fid_poll *pollset, struct fid *event_fid, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_poll_add" };
	struct fid_poll *real = ofi_hook_real(pollset);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(
		&site, pollset, start, real->ops->poll_add(real, ofi_hook_unwrap(event_fid), flags),
		"event_fid %p, flags 0x%llx", (void *)event_fid, (unsigned long long)flags);
}

static int poll_del(struct fid_poll *pollset, struct fid *event_fid, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_poll_del" };
	struct fid_poll *real = ofi_hook_real(pollset);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(
		&site, pollset, start, real->ops->poll_del(real, ofi_hook_unwrap(event_fid), flags),
		"event_fid %p, flags 0x%llx", (void *)event_fid, (unsigned long long)flags);
}

struct fi_ops_poll ofi_hook_poll_ops = {
	.size = sizeof(struct fi_ops_poll),
	.poll = poll_poll,
	.poll_add = poll_add,
	.poll_del = poll_del,
};
