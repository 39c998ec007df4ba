/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Run-time parameters: one table per provider, used to define, read and check them. */
#ifndef OFI_PARAMS_H
#define OFI_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <rdma/providers/fi_prov.h>

struct ofi_param {
	const char *name; /* "tx_size" is FI_VERBS_TX_SIZE in the environment */
	enum fi_param_type type;
	long def, min, max; /* for integers, booleans and sizes */
	const char *doc;    /* one sentence with the unit */
	size_t offset;	    /* offset of the int, size_t or const char * field in the values */
	bool unused;	    /* has no effect, as the doc says; a value other than def is logged */
	const char *text;   /* default of a string, NULL for none */
	bool strict;	    /* an empty string is a value, not the same as none */
};

/* A table row whose value goes to the field of the same name in struct values_. */
#define OFI_PARAM(values_, field_, type_, def_, min_, max_, doc_)                        \
	{                                                                                \
		.name = #field_, .type = FI_PARAM_##type_, .def = (def_), .min = (min_), \
		.max = (max_), .doc = (doc_), .offset = offsetof(struct values_, field_) \
	}
/* A table row for a parameter of other releases whose feature does not exist here. */
#define OFI_PARAM_UNUSED(name_, type_, def_, max_, doc_)                                \
	{                                                                               \
		.name = #name_, .type = FI_PARAM_##type_, .def = (def_), .max = (max_), \
		.doc = (doc_), .unused = true                                           \
	}

/*
 * Defines every parameter with the core and stores its value. A value that is out of range or has
 * the wrong type logs a warning and leaves the default. An environment variable FI_<PROVIDER>_*
 * that is not in the table logs a warning with the most similar name.
 */
void ofi_params_load(struct fi_provider *prov, const struct ofi_param *table, size_t count,
		     void *values);

#endif
