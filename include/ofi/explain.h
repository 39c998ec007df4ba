/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lets a provider tell the core why it does not offer a candidate. The core passes its collector in
 * fi_provider.context, so a provider built as a plug-in needs no symbol for it.
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
	/*
	 * Returns true if every rejection is of interest, even if others are offered; may be NULL.
	 */
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
 * Returns false if rejections matter only when the provider offers nothing. The provider may then
 * report them once it knows that.
 */
static inline bool ofi_explain_wanted(const struct fi_provider *prov)
{
	const struct ofi_prov_context *context = (const void *)&prov->context;

	return context->magic != OFI_PROV_CONTEXT_MAGIC || !context->wanted || context->wanted();
}

#endif
