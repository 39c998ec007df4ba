/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a provider tells the core why a candidate was not offered. The core passes its collector
 * in fi_provider.context, so a provider built as a plug-in needs no symbol for it.
 */
#ifndef OFI_EXPLAIN_H
#define OFI_EXPLAIN_H

#include <stdbool.h>
#include <rdma/providers/fi_prov.h>
#include <rdma/fi_explain.h>

#define OFI_PROV_CONTEXT_MAGIC ((void *)0x77656674) /* "weft" */

/* The core's use of fi_provider.context.internal[]. */
struct ofi_prov_context {
	void *magic;
	void (*reject)(const struct fi_explain_entry *entry);
	/* NULL, or whether somebody hears of each one, also when others are offered. */
	bool (*wanted)(void);
	void *core[1];
};

static inline void ofi_explain(const struct fi_provider *prov, const struct fi_explain_entry *entry)
{
	const struct ofi_prov_context *context = (const void *)&prov->context;

	if (context->magic == OFI_PROV_CONTEXT_MAGIC && context->reject)
		context->reject(entry);
}

/*
 * False: what is rejected matters only if the provider offers nothing, and may be told when that is
 * known.
 */
static inline bool ofi_explain_wanted(const struct fi_provider *prov)
{
	const struct ofi_prov_context *context = (const void *)&prov->context;

	return context->magic != OFI_PROV_CONTEXT_MAGIC || !context->wanted || context->wanted();
}

#endif
