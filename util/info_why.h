/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The reasons why candidates were not offered, for fi_info --why. */
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
	char *domain; /* NULL if no device was reached */
	char *attr;
	char *asked;
	char *has;
	uint32_t port;
	uint32_t ep_type;
	uint32_t misses;
	size_t order; /* order of arrival */
};

struct info_why {
	struct info_reject *rejects;
	size_t count;
	size_t room;
	bool failed; /* out of memory, so a reason is missing */
	struct fid *fid;
};

/* Collects the reasons of this thread's fi_getinfo calls until stopped. Returns 0 or -FI_E*. */
int info_why_start(struct info_why *why, uint32_t version);
/* Stops and sorts the reasons, nearest miss first. */
void info_why_stop(struct info_why *why);
void info_why_release(struct info_why *why);

void info_why_add(struct info_why *why, const struct fi_explain_entry *entry);
void info_why_sort(struct info_why *why);
/* Returns true if a candidate got as far as a device. */
bool info_why_reached_device(const struct info_why *why);
/* Returns true if the reasons are sufficient: a device was reached, or an address was unusable. */
bool info_why_is_plain(const struct info_why *why);
void info_why_text(const struct info_why *why, FILE *out);
void info_why_json(const struct info_why *why, struct json *json, const char *key);

#endif
