/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Why fi_getinfo did not offer a candidate. An extension of weft, opened by name:
 *
 *	struct fi_explain_attr attr = { .size = sizeof(attr), .reject = callback, .context = ctx };
 *	fi_open(FI_VERSION(2, 6), "explain", &attr, sizeof(attr), 0, &fid, NULL);
 *
 * Until fi_close(fid), each fi_getinfo call of the thread that opened it calls reject once per
 * rejected candidate. Strings are valid during the callback only.
 */
#ifndef FI_EXPLAIN_H
#define FI_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fi_explain_entry {
	const char *prov_name;
	const char *domain_name; /* NULL when no device was reached */
	uint32_t port;		 /* device port, 0 when unknown */
	uint32_t ep_type;	 /* enum fi_ep_type, FI_EP_UNSPEC when not reached */
	/* Attributes that did not match: 1 is the nearest, UINT32_MAX was not looked into. */
	uint32_t misses;
	const char *attr; /* first that did not match, e.g. "domain_attr->mr_mode" */
	const char *asked;
	const char *has;
};

struct fi_explain_attr {
	size_t size;
	void (*reject)(void *context, const struct fi_explain_entry *entry);
	void *context;
};

#ifdef __cplusplus
}
#endif

#endif
