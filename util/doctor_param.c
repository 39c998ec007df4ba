/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parameters of the library as it takes them: from the environment or libfabric.conf. */
#include "doctor_param.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <rdma/fabric.h>

bool doctor_param(const char *name, char *value, size_t len)
{
	const char *text = getenv(name); /* if no provider has the parameter */
	struct fi_param *params = NULL;
	int i, count = 0;

	fi_getparams(&params, &count);
	for (i = 0; i < count; i++)
		if (!strcmp(params[i].name, name))
			text = params[i].value;
	snprintf(value, len, "%s", text ? text : "");
	fi_freeparams(params);
	return *value;
}

bool doctor_param_on(const char *name)
{
	char value[8];

	return doctor_param(name, value, sizeof(value)) &&
	       (!strcmp(value, "1") || !strcasecmp(value, "yes") || !strcasecmp(value, "true") ||
		!strcasecmp(value, "on"));
}

void doctor_param_fix(struct doctor *doctor, const char *name)
{
	doctor_fix(doctor, getenv(name) ? "unset %s" : "remove %s from libfabric.conf", name);
}
