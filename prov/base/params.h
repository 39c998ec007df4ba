/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Run-time parameters: one table per provider, from which defining, reading and checking derive. */
#ifndef OFI_PARAMS_H
#define OFI_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <rdma/providers/fi_prov.h>

struct ofi_param {
	const char *name; /* "tx_size", in the environment FI_VERBS_TX_SIZE */
	enum fi_param_type type;
	long def, min, max; /* of integers, booleans and sizes */
	const char *doc;    /* one sentence with the unit */
	size_t offset;	    /* of the int, size_t or const char * field in the values */
	bool unused;	    /* has no effect, as the doc says; a value other than def is reported */
	const char *text;   /* the def of such a string, NULL is none */
};

/*
 * Defines every row with the core and stores its value. A value out of range or not of its type
 * warns and leaves the default. A FI_<PROVIDER>_* variable of the environment that is not a row
 * warns, with the nearest name.
 */
int ofi_params_load(struct fi_provider *prov, const struct ofi_param *table, size_t count,
		    void *values);

#endif
