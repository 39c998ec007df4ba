/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why candidates were not offered, for fi_info --why. */
#ifndef INFO_WHY_H
#define INFO_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <rdma/fabric.h>
#include <rdma/fi_explain.h>

#include "json.h"

struct info_reject {
	char *prov;
	char *domain; /* NULL when no device was reached */
	char *attr;
	char *asked;
	char *has;
	uint32_t port;
	uint32_t ep_type;
	uint32_t misses;
	size_t order; /* of arrival */
};

struct info_why {
	struct info_reject *rejects;
	size_t count;
	size_t room;
	bool failed; /* out of memory, a reason is missing */
	struct fid *fid;
};

/* Collects the reasons of this thread's fi_getinfo calls until it is stopped. 0 or -FI_E*. */
int info_why_start(struct info_why *why, uint32_t version);
/* Sorts what was collected: nearest miss first. */
void info_why_stop(struct info_why *why);
void info_why_release(struct info_why *why);

void info_why_add(struct info_why *why, const struct fi_explain_entry *entry);
void info_why_sort(struct info_why *why);
/* Did any candidate get as far as a device? */
bool info_why_reached_device(const struct info_why *why);
/* Do the reasons say all: was a device reached, or was it an address that was of no use? */
bool info_why_is_plain(const struct info_why *why);
void info_why_text(const struct info_why *why, FILE *out);
void info_why_json(const struct info_why *why, struct json *json, const char *key);

#endif
