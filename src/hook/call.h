/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Generates hooked calls from lists of them. A list has a row for each call of an ops table:
 *
 * 	CALL(OF, PLAIN, ssize_t, recv, "fi_recv", (P, void *, buf), (Z, size_t, len), ...)
 *
 * OF stands for the object and the name of its table, which the list receives as arguments. Then
 * follow the kind of call, its return type, the operation, its API name, and its arguments after
 * the object, each with its format, type and name. The kinds of calls:
 *
 * 	PLAIN      nothing special
 * 	FID        the object is a fid_t, of an endpoint of any type
 * 	TX, RX     with default flags of the endpoint: context may name a counter
 * 	TRIGGERED  msg->context may name a counter
 * 	OPTIONAL   the provider's ops table may lack it
 * 	THEN       before the arguments, an expression of ret that is returned
 * 	OPENED     before the arguments, an expression that puts the new object under hooks
 * 	UNTOLD     not reported to hooks; has no name
 *
 * FID_OPENED and OPTIONAL_OPENED combine two kinds; domain.c adds ENDPOINT.
 *
 * The formats of arguments: P a pointer, F an object (the provider's is passed), S a string or
 * NULL, Z a size_t, X hexadecimal, D an int or enum, U a uint32_t.
 */
#ifndef HOOK_CALL_H
#define HOOK_CALL_H

#include <rdma/fi_errno.h>
#include "hook.h"

/*
 * Each format of arguments has a printf conversion, the value printed, and the value passed on.
 */
#define HOOK_P(part, name) part("%p", (const void *)name, name)
#define HOOK_F(part, name) part("%p", (const void *)name, ofi_hook_unwrap(name))
#define HOOK_S(part, name) part("%s", name ? name : "NULL", name)
#define HOOK_Z(part, name) part("%zu", name, name)
#define HOOK_X(part, name) part("0x%llx", (unsigned long long)name, name)
#define HOOK_D(part, name) part("%d", (int)name, name)
#define HOOK_U(part, name) part("%u", name, name)

#define HOOK_1ST(a, b, c) a
#define HOOK_2ND(a, b, c) b
#define HOOK_3RD(a, b, c) c

/* Arguments that many calls have. */
#define A_BUF	  (P, const void *, buf)
#define A_BUF_OUT (P, void *, buf)
#define A_LEN	  (Z, size_t, len)
#define A_COUNT	  (Z, size_t, count)
#define A_DESC	  (P, void *, desc)
#define A_DESCS	  (P, void **, desc)
#define A_IOV	  (P, const struct iovec *, iov)
#define A_RESULT  (P, void *, result), (P, void *, result_desc)
#define A_RESULTS \
	(P, struct fi_ioc *, resultv), (P, void **, result_desc), (Z, size_t, result_count)
#define A_COMPARE (P, const void *, compare), (P, void *, compare_desc)
#define A_COMPARES \
	(P, const struct fi_ioc *, comparev), (P, void **, compare_desc), (Z, size_t, compare_count)
#define A_DEST	   (X, fi_addr_t, dest_addr)
#define A_SRC	   (X, fi_addr_t, src_addr)
#define A_SRCS	   (P, fi_addr_t *, src_addr)
#define A_COLL	   (X, fi_addr_t, coll_addr)
#define A_ROOT	   (X, fi_addr_t, root_addr)
#define A_FI_ADDR  (X, fi_addr_t, fi_addr)
#define A_FI_ADDRS (P, fi_addr_t *, fi_addr)
#define A_ADDR	   (X, uint64_t, addr)
#define A_KEY	   (X, uint64_t, key)
#define A_TAG	   (X, uint64_t, tag)
#define A_DATA	   (X, uint64_t, data)
#define A_FLAGS	   (X, uint64_t, flags)
#define A_VALUE	   (X, uint64_t, value)
#define A_TYPE	   (D, enum fi_datatype, datatype)
#define A_TIMEOUT  (D, int, timeout)
#define A_COND	   (P, const void *, cond)
#define A_EVENT	   (P, uint32_t *, event)
#define A_INFO	   (P, struct fi_info *, info)
#define A_NODE	   (S, const char *, node)
#define A_SERVICE  (S, const char *, service)
#define A_PARAM	   (P, const void *, param), (Z, size_t, paramlen)
#define A_CONTEXT  (P, void *, context)

/* Arguments that occur together. */
#define A_SENT	     A_BUF, A_LEN, A_DESC
#define A_RECEIVED   A_BUF_OUT, A_LEN, A_DESC
#define A_IOVS	     A_IOV, A_DESCS, A_COUNT
#define A_IOCV	     (P, const struct fi_ioc *, iov), A_DESCS, A_COUNT
#define A_OPERANDS   A_BUF, A_COUNT, A_DESC
#define A_TO	     A_DEST, A_ADDR, A_KEY
#define A_FROM	     A_SRC, A_ADDR, A_KEY
#define A_TYPE_OP    A_TYPE, (D, enum fi_op, op)
#define A_SELECTOR   A_TAG, (X, uint64_t, ignore)
#define A_ACCESS     (X, uint64_t, access), (X, uint64_t, offset), A_KEY, A_FLAGS
#define A_GROUP	     A_OPERANDS, A_RESULT, A_COLL
#define A_MSG(type)  (P, const struct type *, msg)
#define A_ATTR(type) (P, struct type *, attr)
#define A_NEW(name)  (P, struct fid_##name **, name)
#define A_XPU(name)  A_FLAGS, (P, struct fid_xpu_##name *, xpu_##name)

/* Expand to parts of an argument, after a comma. */
#define HOOK_PARAMETER(how, type, name) , type name
#define HOOK_PASSED(how, type, name)	, HOOK_##how(HOOK_3RD, name)
#define HOOK_TOLD(how, type, name)	, HOOK_##how(HOOK_2ND, name)
#define HOOK_FORMAT(how, type, name)	", " #name " " HOOK_##how(HOOK_1ST, name)

#define HOOK_EACH_1(m, a)	m a
#define HOOK_EACH_2(m, a, ...)	m a HOOK_EACH_1(m, __VA_ARGS__)
#define HOOK_EACH_3(m, a, ...)	m a HOOK_EACH_2(m, __VA_ARGS__)
#define HOOK_EACH_4(m, a, ...)	m a HOOK_EACH_3(m, __VA_ARGS__)
#define HOOK_EACH_5(m, a, ...)	m a HOOK_EACH_4(m, __VA_ARGS__)
#define HOOK_EACH_6(m, a, ...)	m a HOOK_EACH_5(m, __VA_ARGS__)
#define HOOK_EACH_7(m, a, ...)	m a HOOK_EACH_6(m, __VA_ARGS__)
#define HOOK_EACH_8(m, a, ...)	m a HOOK_EACH_7(m, __VA_ARGS__)
#define HOOK_EACH_9(m, a, ...)	m a HOOK_EACH_8(m, __VA_ARGS__)
#define HOOK_EACH_10(m, a, ...) m a HOOK_EACH_9(m, __VA_ARGS__)
#define HOOK_EACH_11(m, a, ...) m a HOOK_EACH_10(m, __VA_ARGS__)
#define HOOK_EACH_12(m, a, ...) m a HOOK_EACH_11(m, __VA_ARGS__)
#define HOOK_EACH_13(m, a, ...) m a HOOK_EACH_12(m, __VA_ARGS__)
#define HOOK_EACH_14(m, a, ...) m a HOOK_EACH_13(m, __VA_ARGS__)
#define HOOK_EACH_15(m, a, ...) m a HOOK_EACH_14(m, __VA_ARGS__)

/* Applies m to each of at most 15 arguments. */
#define HOOK_COUNTED(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, count, ...) HOOK_EACH_##count
#define HOOK_EACH(m, ...)                                                                       \
	__VA_OPT__(HOOK_COUNTED(__VA_ARGS__, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, \
				unused)(m, __VA_ARGS__))

#define HOOK_CALL_NAME(object_, table_, op_) object_##_##table_##_##op_
#define HOOK_CALL_HEAD(object_, at_, table_, ret_, op_, ...) \
	static ret_ HOOK_CALL_NAME(object_, table_,          \
				   op_)(at_ object HOOK_EACH(HOOK_PARAMETER, __VA_ARGS__))
/*
 * Calls the provider's function and reports the call to the hooks. `ahead_` runs before the
 * measurement begins; `then_` is the expression to be returned, in which ret is the provider's
 * result.
 */
#define HOOK_CALL(object_, at_, table_, ret_, op_, name_, self_, ahead_, then_, ...)           \
	HOOK_CALL_HEAD(object_, at_, table_, ret_, op_, __VA_ARGS__)                           \
	{                                                                                      \
		static struct ofi_hook_site site = { .name = name_ };                          \
		struct object_ *real = ofi_hook_real(object);                                  \
		uint64_t start;                                                                \
		ret_ ret;                                                                      \
                                                                                               \
		ahead_;                                                                        \
		start = ofi_hook_begin();                                                      \
		ret = (ret_)ofi_hook_end(                                                      \
			&site, object, start,                                                  \
			(ssize_t)real->table_->op_(self_ HOOK_EACH(HOOK_PASSED, __VA_ARGS__)), \
			HOOK_EACH(HOOK_FORMAT, __VA_ARGS__) "%s" HOOK_EACH(HOOK_TOLD,          \
									   __VA_ARGS__),       \
			"");                                                                   \
		return then_;                                                                  \
	}

#define HOOK_THEN(object_, table_, ret_, op_, name_, then_, ...)                             \
	HOOK_CALL(object_, struct object_ *, table_, ret_, op_, name_, real, (void)0, then_, \
		  __VA_ARGS__)
#define HOOK_PLAIN(object_, table_, ret_, op_, name_, ...) \
	HOOK_THEN(object_, table_, ret_, op_, name_, ret, __VA_ARGS__)
#define HOOK_OPENED(object_, table_, ret_, op_, name_, wrap_, ...) \
	HOOK_THEN(object_, table_, ret_, op_, name_, ret ? ret : wrap_, __VA_ARGS__)
#define HOOK_WRAP(name) ofi_hook_wrap((struct fid **)name, context)

#define HOOK_FID_OPENED(object_, table_, ret_, op_, name_, wrap_, ...)           \
	HOOK_CALL(object_, fid_t, table_, ret_, op_, name_, &real->fid, (void)0, \
		  ret ? ret : wrap_, __VA_ARGS__)
#define HOOK_FID(object_, table_, ret_, op_, name_, ...) \
	HOOK_FID_OPENED(object_, table_, ret_, op_, name_, ret, __VA_ARGS__)

#define HOOK_DEFAULT(flags_, object_, table_, ret_, op_, name_, ...)                   \
	HOOK_CALL(object_, struct object_ *, table_, ret_, op_, name_, real,           \
		  ofi_hook_trigger(context, ((struct ofi_hook *)object)->flags_), ret, \
		  __VA_ARGS__)
#define HOOK_TX(...) HOOK_DEFAULT(tx_flags, __VA_ARGS__)
#define HOOK_RX(...) HOOK_DEFAULT(rx_flags, __VA_ARGS__)

#define HOOK_TRIGGERED(object_, table_, ret_, op_, name_, ...)                                 \
	HOOK_CALL(object_, struct object_ *, table_, ret_, op_, name_, real,                   \
		  if (msg && (flags & FI_TRIGGER)) ofi_hook_trigger(msg->context, flags), ret, \
		  __VA_ARGS__)

#define HOOK_IF_THERE(table_, op_)                                      \
	if (!FI_CHECK_OP(real->table_, __typeof__(*real->table_), op_)) \
	return -FI_ENOSYS
#define HOOK_OPTIONAL_OPENED(object_, table_, ret_, op_, name_, wrap_, ...)  \
	HOOK_CALL(object_, struct object_ *, table_, ret_, op_, name_, real, \
		  HOOK_IF_THERE(table_, op_), ret ? ret : wrap_, __VA_ARGS__)
#define HOOK_OPTIONAL(object_, table_, ret_, op_, name_, ...) \
	HOOK_OPTIONAL_OPENED(object_, table_, ret_, op_, name_, ret, __VA_ARGS__)

#define HOOK_UNTOLD(object_, table_, ret_, op_, ...)                                \
	HOOK_CALL_HEAD(object_, struct object_ *, table_, ret_, op_, __VA_ARGS__)   \
	{                                                                           \
		struct object_ *real = ofi_hook_real(object);                       \
                                                                                    \
		return real->table_->op_(real HOOK_EACH(HOOK_PASSED, __VA_ARGS__)); \
	}

/* Defines the call of a row for the object and table of its list. */
#define HOOK_DEFINE(object_, table_, how_, ...) HOOK_##how_(object_, table_, __VA_ARGS__)
#define HOOK_SLOT(object_, table_, how_, ret_, op_, ...) \
	, .op_ = HOOK_CALL_NAME(object_, table_, op_)

/* Defines the calls of a list, and the ops table with all of them. */
#define HOOK_TABLE(type_, name_, object_, table_, LIST) \
	LIST(HOOK_DEFINE, object_, table_)              \
	struct type_ name_ = { .size = sizeof(struct type_) LIST(HOOK_SLOT, object_, table_) };

#endif
