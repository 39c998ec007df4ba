/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Traffic classes by name; the provider's parameters determine the DSCP of a class. */
#include "info_tclass.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "info_names.h"

#define PREFIX	    "FI_TC_"
#define CODE_POINTS 64

static const char *class_name(uint32_t tclass)
{
	size_t i;

	for (i = 0; i < info_tclasses.count; i++)
		if (info_tclasses.list[i].value == tclass)
			return info_tclasses.list[i].name;
	return NULL;
}

int info_tclass_parse(const char *text, uint32_t *tclass)
{
	uint64_t value;
	char *end;
	long point = strtol(text, &end, 10);

	if (end > text && !*end && point >= 0 && point < CODE_POINTS) {
		*tclass = fi_tc_dscp_set((uint8_t)point);
		return 0;
	}
	if (info_names_find(&info_tclasses, text, &value)) {
		fprintf(stderr, "Or a DSCP, 0 to %d.\n", CODE_POINTS - 1);
		return -1;
	}
	*tclass = (uint32_t)value;
	return 0;
}

/* Returns the provider's parameter that maps a class, or NULL. */
static const struct fi_param *find_param(const struct fi_param *params, int count,
					 const struct fi_info *info, const char *name)
{
	const char *prov = info->fabric_attr->prov_name ? info->fabric_attr->prov_name : "";
	char wanted[96];
	int i;

	snprintf(wanted, sizeof(wanted), "FI_%.*s_TCLASS_%s", (int)strcspn(prov, ";"), prov,
		 name + strlen(PREFIX));
	for (i = 0; i < count; i++)
		if (!strcasecmp(params[i].name, wanted))
			return &params[i];
	return NULL;
}

/* Returns the value that is set, or else the default at the end of the parameter's text. */
static int value_of(const struct fi_param *param)
{
	const char *text = param->value ? param->value : strstr(param->help_string, "default: ");

	if (!text)
		return -1;
	return atoi(text + strcspn(text, "0123456789"));
}

static void print_named(FILE *out, const struct fi_info *info, const char *name)
{
	const struct fi_param *param;
	struct fi_param *params;
	int count;

	fprintf(out, "traffic_class: %s", name);
	if (!fi_getparams(&params, &count)) {
		param = find_param(params, count, info, name);
		if (param && value_of(param) >= 0)
			fprintf(out, ", DSCP %d by %s", value_of(param), param->name);
		fi_freeparams(params);
	}
	fputc('\n', out);
}

void info_tclass_print(FILE *out, const struct fi_info *info)
{
	uint32_t tclass = info->tx_attr && info->tx_attr->tclass ? info->tx_attr->tclass
			  : info->domain_attr			 ? info->domain_attr->tclass
								 : FI_TC_UNSPEC;
	const char *name = class_name(tclass);

	if (name)
		print_named(out, info, name);
	else if (tclass & FI_TC_DSCP)
		fprintf(out, "traffic_class: DSCP %u\n", fi_tc_dscp_get(tclass));
}
