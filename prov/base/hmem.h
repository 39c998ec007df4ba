/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Device memory: the interfaces of GPU runtimes. Their libraries are found with dlopen(3) when a
 * program asks for FI_HMEM, and stay open. The library touches device memory only by the calls
 * here.
 */
#ifndef OFI_HMEM_H
#define OFI_HMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>

/* A piece of device memory as a dma-buf. The caller closes fd. */
struct ofi_hmem_export {
	int fd;
	uint64_t offset; /* of the piece in it */
};

/* One interface. The calls return 0 or -FI_E*. */
struct ofi_hmem {
	enum fi_hmem_iface iface;
	const char *name;	  /* in FI_HMEM */
	const char *library;	  /* for dlopen(3) */
	const char *dmabuf_param; /* the parameter that keeps from exporting */
	/* Finds the functions and starts the runtime. -FI_ENODEV: it has no device. */
	int (*open)(void *library);
	/* Whether an address is of device memory. */
	bool (*owns)(const void *addr);
	int (*copy_to)(void *device, const void *host, size_t len);
	int (*copy_from)(void *host, const void *device, size_t len);
	/* Changes when the memory is freed and another is allocated at the address. */
	int (*buffer_id)(const void *addr, uint64_t *id);
	/* Makes the runtime's copies complete before they return: a NIC cannot wait for them. */
	int (*sync)(const void *addr);
	int (*export)(const void *addr, size_t len, struct ofi_hmem_export *to);
};

/* Whether any interface that FI_HMEM lets pass works; *why says what is missing. */
bool ofi_hmem_any(const struct fi_provider *prov, const char **why);
/* The interface; NULL when it does not work here, which *why explains. */
const struct ofi_hmem *ofi_hmem_get(const struct fi_provider *prov, enum fi_hmem_iface iface,
				    const char **why);
/* The interface whose memory is at the address, of those that are open; NULL: the system's. */
const struct ofi_hmem *ofi_hmem_of(const void *addr);
/* FI_HMEM_DISABLE_P2P. */
bool ofi_hmem_p2p_disabled(void);
/* Whether the interface may export its memory as dma-buf. */
bool ofi_hmem_may_export(const struct ofi_hmem *hmem);

/* Finds functions in a library. */
struct ofi_hmem_symbol {
	const char *name;
	void *to; /* a pointer to a function */
	bool optional;
};

/* False when one that is not optional is missing. */
bool ofi_hmem_resolve(void *library, const struct ofi_hmem_symbol *symbols, size_t count);

extern const struct ofi_hmem ofi_hmem_cuda;

/* Options of an endpoint with FI_HMEM. All 0 is the default. */
struct ofi_hmem_options {
	int p2p;       /* FI_HMEM_P2P_* */
	bool no_calls; /* FI_OPT_CUDA_API_PERMITTED is false: transfers do not copy device memory */
};

/* Whether an option is one of these, and the endpoint has them. */
bool ofi_hmem_has_option(const struct fi_info *info, int level, int name);
/* fi_getopt and fi_setopt of them. 0 or -FI_E*, logged. */
int ofi_hmem_getopt(const struct fi_provider *prov, const struct ofi_hmem_options *options,
		    int name, void *value, size_t *len);
int ofi_hmem_setopt(const struct fi_provider *prov, const struct fi_info *info,
		    struct ofi_hmem_options *options, int name, const void *value, size_t len);

#endif
