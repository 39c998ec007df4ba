/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Compiled, never run: the public headers in a C++ program, and what only C++ is strict about.
 */

#include "header_c.c"

#ifndef ALONE
enum fi_mr_mode cxx_mr_mode(bool basic);
enum fi_datatype cxx_last_datatype();
enum fi_op cxx_last_op();
enum fi_ep_type cxx_ep_type(bool stream);

enum fi_mr_mode cxx_mr_mode(bool basic)
{
	return basic ? FI_MR_BASIC : FI_MR_SCALABLE;
}

enum fi_datatype cxx_last_datatype()
{
	return FI_DATATYPE_LAST;
}

enum fi_op cxx_last_op()
{
	return FI_ATOMIC_OP_LAST;
}

enum fi_ep_type cxx_ep_type(bool stream)
{
	return stream ? FI_EP_SOCK_STREAM : FI_EP_SOCK_DGRAM;
}

static_assert(sizeof(struct fi_eq_cm_entry) == 16, "flexible array");
static_assert(sizeof(struct fi_info) == 120, "size of fi_info");
#endif
