/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The text output of fi_info, which is the same as that of the 1.17 tool. */
#ifndef INFO_TEXT_H
#define INFO_TEXT_H

#include <stdio.h>

#include <rdma/fabric.h>

#include "info_options.h"

void info_text_query(FILE *out, const struct info_options *opts, const struct fi_info *list);
void info_text_providers(FILE *out, const struct info_options *opts, const struct fi_info *list);
void info_text_params(FILE *out, const struct info_options *opts, const struct fi_param *params,
		      int count);
void info_text_version(FILE *out);

/* Returns false without a source address. */
bool info_text_address(const struct fi_info *info, char *text, size_t len);

/* Shared with the JSON output. */
bool info_selected(const struct info_options *opts, const struct fi_info *info);
bool info_param_selected(const struct info_options *opts, const struct fi_param *param);
const char *info_param_type(enum fi_param_type type);
const char *info_tool_version(void);
/* environment, configuration or default */
const char *info_param_origin(const struct fi_param *param);
/* Returns the value; for a secret it tells only that it is set. Returns NULL if it is not set. */
const char *info_param_shown(const struct fi_param *param);

#endif
