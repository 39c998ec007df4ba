/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues and poll sets under hooks: they report the application's objects instead of the
 * provider's.
 */
#include <string.h>
#include "call.h"

/*
 * Replaces the object that an event of the library begins with; other events are the application's.
 */
static ssize_t translated(ssize_t ret, const uint32_t *event, void *buf)
{
	struct fid *fid;

	if (ret < (ssize_t)sizeof(fid) || *event > FI_JOIN_COMPLETE)
		return ret;
	memcpy(&fid, buf, sizeof(fid));
	fid = ofi_hook_find(fid);
	memcpy(buf, &fid, sizeof(fid));
	return ret;
}

static ssize_t translated_err(ssize_t ret, struct fi_eq_err_entry *buf)
{
	if (ret > 0)
		buf->fid = ofi_hook_find(buf->fid);
	return ret;
}

#define EQ_CALLS(CALL, OF...)                                                               \
	CALL(OF, UNTOLD, const char *, strerror, (D, int, prov_errno),                      \
	     (P, const void *, err_data), (P, char *, buf), A_LEN)                          \
	CALL(OF, THEN, ssize_t, read, "fi_eq_read", translated(ret, event, buf), A_EVENT,   \
	     A_BUF_OUT, A_LEN, A_FLAGS)                                                     \
	CALL(OF, THEN, ssize_t, readerr, "fi_eq_readerr", translated_err(ret, buf),         \
	     (P, struct fi_eq_err_entry *, buf), A_FLAGS)                                   \
	CALL(OF, PLAIN, ssize_t, write, "fi_eq_write", (U, uint32_t, event), A_BUF, A_LEN,  \
	     A_FLAGS)                                                                       \
	CALL(OF, THEN, ssize_t, sread, "fi_eq_sread", translated(ret, event, buf), A_EVENT, \
	     A_BUF_OUT, A_LEN, A_TIMEOUT, A_FLAGS)

HOOK_TABLE(fi_ops_eq, ofi_hook_eq_ops, fid_eq, ops, EQ_CALLS)

#define POLL_CALLS(CALL, OF...)                                                              \
	CALL(OF, PLAIN, int, poll, "fi_poll", (P, void **, context), (D, int, count))        \
	CALL(OF, PLAIN, int, poll_add, "fi_poll_add", (F, struct fid *, event_fid), A_FLAGS) \
	CALL(OF, PLAIN, int, poll_del, "fi_poll_del", (F, struct fid *, event_fid), A_FLAGS)

HOOK_TABLE(fi_ops_poll, ofi_hook_poll_ops, fid_poll, ops, POLL_CALLS)
