/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output of fi_info --json: one object. */
#ifndef INFO_JSON_H
#define INFO_JSON_H

#include <rdma/fabric.h>

#include "info_options.h"
#include "json.h"

void info_json_query(struct json *json, const struct info_options *opts,
		     const struct fi_info *list);
void info_json_providers(struct json *json, const struct fi_info *list);
void info_json_params(struct json *json, const struct info_options *opts,
		      const struct fi_param *params, int count);
void info_json_version(struct json *json);
void info_json_error(struct json *json, int ret);

#endif
