/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The trace hook: a line for each call. Repeated polls that find nothing are only counted. */
#include <sys/syscall.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "hook.h"

/* Counts this thread's identical calls that returned -FI_EAGAIN after the one that was printed. */
static _Thread_local struct {
	const struct ofi_hook_site *site;
	const void *object;
	unsigned long more;
} last;

/* A child of fork() is another thread. */
static int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

void ofi_hook_trace_end(void)
{
	if (last.more)
		ofi_hook_out(FI_LOG_TRACE, "%d %s(%p) = %d, %lu times more", thread_id(),
			     last.site->name, last.object, -FI_EAGAIN, last.more);
	last.more = 0;
}

bool ofi_hook_trace_again(const struct ofi_hook_site *site, const void *object, ssize_t ret)
{
	if (ret == -FI_EAGAIN && last.site == site && last.object == object) {
		last.more++;
		return true;
	}
	ofi_hook_trace_end();
	last.site = ret == -FI_EAGAIN ? site : NULL;
	last.object = object;
	return false;
}

void ofi_hook_trace_opened(const struct fid *fid)
{
	ofi_hook_out(FI_LOG_TRACE, "%d   opened %p, class %zu", thread_id(), (const void *)fid,
		     fid->fclass);
}

void ofi_hook_trace(const struct ofi_hook_site *site, const void *object, ssize_t ret,
		    const char *args)
{
	if (ret < 0)
		ofi_hook_out(FI_LOG_TRACE, "%d %s(%p%s) = %zd (%s)", thread_id(), site->name,
			     object, args, ret, fi_strerror((int)-ret));
	else
		ofi_hook_out(FI_LOG_TRACE, "%d %s(%p%s) = %zd", thread_id(), site->name, object,
			     args, ret);
}
