/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Logging for the library and its providers.
 */

#ifndef FI_LOG_H
#define FI_LOG_H

#include <rdma/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fi_provider;

enum fi_log_subsys {
	FI_LOG_CORE,
	FI_LOG_FABRIC,
	FI_LOG_DOMAIN,
	FI_LOG_EP_CTRL,
	FI_LOG_EP_DATA,
	FI_LOG_AV,
	FI_LOG_CQ,
	FI_LOG_EQ,
	FI_LOG_MR,
	FI_LOG_CNTR,
};

enum fi_log_level {
	FI_LOG_WARN,
	FI_LOG_TRACE,
	FI_LOG_INFO,
	FI_LOG_DEBUG,
};

#define FI_LOG_SUBSYS_MAX 10
#define FI_LOG_MAX	  4

/* fi_ops_log flag: the provider is excluded by the provider filter */
#define FI_LOG_PROV_FILTERED (1ULL << 0)

int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		   enum fi_log_subsys subsys);

/*
 * Like fi_log_enabled, but true only once per interval: showtime, 0 at first, is the caller's
 * record of when it may speak again.
 */
int fi_log_ready(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys,
		 uint64_t *showtime);

void fi_log(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys,
	    const char *func, int line, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The arguments of a message that is not going to be written are not evaluated. */
#define FI_LOG(prov, level, subsystem, ...)                                              \
	do {                                                                             \
		if (fi_log_enabled(prov, level, subsystem))                              \
			fi_log(prov, level, subsystem, __func__, __LINE__, __VA_ARGS__); \
	} while (0)

#define FI_LOG_SPARSE(prov, level, subsystem, ...)                                       \
	do {                                                                             \
		static uint64_t fi_log_showtime_;                                        \
		if (fi_log_ready(prov, level, subsystem, &fi_log_showtime_))             \
			fi_log(prov, level, subsystem, __func__, __LINE__, __VA_ARGS__); \
	} while (0)

#define FI_WARN(prov, subsystem, ...) FI_LOG(prov, FI_LOG_WARN, subsystem, __VA_ARGS__)
#define FI_WARN_SPARSE(prov, subsystem, ...) \
	FI_LOG_SPARSE(prov, FI_LOG_WARN, subsystem, __VA_ARGS__)

/* Once per call site and process */
#define FI_WARN_ONCE(prov, subsystem, ...)                                      \
	do {                                                                    \
		static int fi_log_warned_;                                      \
		if (!__atomic_exchange_n(&fi_log_warned_, 1, __ATOMIC_RELAXED)) \
			FI_WARN(prov, subsystem, __VA_ARGS__);                  \
	} while (0)

#define FI_TRACE(prov, subsystem, ...) FI_LOG(prov, FI_LOG_TRACE, subsystem, __VA_ARGS__)
#define FI_INFO(prov, subsystem, ...)  FI_LOG(prov, FI_LOG_INFO, subsystem, __VA_ARGS__)

#if defined(ENABLE_DEBUG) && ENABLE_DEBUG
#define FI_DBG(prov, subsystem, ...) FI_LOG(prov, FI_LOG_DEBUG, subsystem, __VA_ARGS__)
#else
/* Checked by the compiler, never written */
#define FI_DBG(prov, subsystem, ...)                                                            \
	do {                                                                                    \
		if (0)                                                                          \
			fi_log(prov, FI_LOG_DEBUG, subsystem, __func__, __LINE__, __VA_ARGS__); \
	} while (0)
#endif

#ifdef __cplusplus
}
#endif

#endif /* FI_LOG_H */
