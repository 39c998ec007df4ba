/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a provider implements, and how it reads its run-time parameters.
 */

#ifndef FI_PROV_H
#define FI_PROV_H

#include <rdma/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A provider built as a shared object "<name>-fi.so" exports this function:
 *
 *	FI_EXT_INI
 *	{
 *		return &my_provider;
 *	}
 */
#define FI_EXT_INI                                                                    \
	__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void); \
	struct fi_provider *fi_prov_ini(void)

struct fi_provider {
	uint32_t version;
	uint32_t fi_version;	   /* API version the provider was written for */
	struct fi_context context; /* for the library */
	const char *name;
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	void (*cleanup)(void);
};

/*
 * Defines the parameter FI_<PROVIDER>_<PARAM_NAME>, all in upper case; FI_<PARAM_NAME> when
 * provider is NULL. The strings are copied.
 */
int fi_param_define(const struct fi_provider *provider, const char *param_name,
		    enum fi_param_type type, const char *help_string_fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * value is left alone on error: -FI_ENOENT when the parameter is not defined, -FI_ENODATA when
 * the variable is not set, -FI_EINVAL when it does not fit the type. A string belongs to the
 * library.
 */
int fi_param_get(struct fi_provider *provider, const char *param_name, void *value);

static inline int fi_param_get_str(struct fi_provider *provider, const char *param_name,
				   char **value)
{
	return fi_param_get(provider, param_name, value);
}

static inline int fi_param_get_int(struct fi_provider *provider, const char *param_name, int *value)
{
	return fi_param_get(provider, param_name, value);
}

static inline int fi_param_get_bool(struct fi_provider *provider, const char *param_name,
				    int *value)
{
	return fi_param_get(provider, param_name, value);
}

static inline int fi_param_get_size_t(struct fi_provider *provider, const char *param_name,
				      size_t *value)
{
	return fi_param_get(provider, param_name, value);
}

#ifdef __cplusplus
}
#endif

#endif /* FI_PROV_H */
