/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Device memory: the interfaces of GPU runtimes. Their libraries are opened with dlopen(3) when a
 * program asks for FI_HMEM, and stay open. The library accesses device memory only through these
 * calls.
 */
#ifndef OFI_HMEM_H
#define OFI_HMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>

/* A range of device memory as a dma-buf. The caller closes fd. */
struct ofi_hmem_export {
	int fd;
	uint64_t offset; /* offset of the range in it */
};

/* The reason why something does not work, as text. */
struct ofi_hmem_why {
	char text[200];
};

/* A function to be looked up in a library. */
struct ofi_hmem_symbol {
	const char *name;
	void *to; /* address of a function pointer */
	bool optional;
};

/* Maps an error of the runtime to FI_E*. */
struct ofi_hmem_error {
	int result, err;
};

/* One interface. The calls return 0 or -FI_E*. */
struct ofi_hmem {
	enum fi_hmem_iface iface;
	const char *name;		       /* name in FI_HMEM */
	const char *library;		       /* for dlopen(3) */
	const char *dmabuf_param;	       /* the parameter that disables exporting */
	const struct ofi_hmem_symbol *symbols; /* the last has no name */
	const struct ofi_hmem_error *errors;   /* the last is 0 */
	/* Starts the runtime. Returns false with the reason in *why. */
	bool (*start)(struct ofi_hmem_why *why);
	/* Returns true if the address is in device memory. */
	bool (*owns)(const void *addr);
	int (*copy_to)(void *device, const void *host, size_t len);
	int (*copy_from)(void *host, const void *device, size_t len);
	/*
	 * Makes the runtime's copies complete before they return, because a NIC cannot wait for
	 * them. If NULL, the runtime cannot do that, and the application must wait for its copies.
	 */
	int (*sync)(const void *addr);
	int (*export)(const void *addr, size_t len, struct ofi_hmem_export *to);
};

/*
 * Returns true if any interface allowed by FI_HMEM works; otherwise *why explains what is missing.
 */
bool ofi_hmem_any(const struct fi_provider *prov, const char **why);
/* Returns the interface, or NULL if it does not work here, with the reason in *why. */
const struct ofi_hmem *ofi_hmem_get(const struct fi_provider *prov, enum fi_hmem_iface iface,
				    const char **why);
/* Returns the open interface whose memory is at the address; NULL for system memory. */
const struct ofi_hmem *ofi_hmem_of(const void *addr);
/* Returns the value of FI_HMEM_DISABLE_P2P. */
bool ofi_hmem_p2p_disabled(void);
/* Returns true if the interface may export its memory as a dma-buf. */
bool ofi_hmem_may_export(const struct ofi_hmem *hmem);

/* Looks up the interface's functions and starts it. Returns false with the reason in *why. */
bool ofi_hmem_open(const struct ofi_hmem *hmem, void *library, struct ofi_hmem_why *why);
/* Returns NULL, or the name of the first missing function that is not optional. */
const char *ofi_hmem_resolve(void *library, const struct ofi_hmem_symbol *symbols);
/* Returns 0 for 0, or -FI_E* for an error of the runtime: -FI_EIO unless it is in the table. */
int ofi_hmem_errno(const struct ofi_hmem *hmem, int result);
/* Formats the reason. Returns false. */
bool ofi_hmem_cannot(struct ofi_hmem_why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

extern const struct ofi_hmem ofi_hmem_cuda, ofi_hmem_rocr, ofi_hmem_ze;

/* Options of an endpoint with FI_HMEM. The defaults are all 0. */
struct ofi_hmem_options {
	int p2p; /* FI_HMEM_P2P_* */
	/* FI_OPT_CUDA_API_PERMITTED is false: transfers must not copy device memory. */
	bool no_calls;
};

/* Returns true if this is one of the options and the endpoint supports them. */
bool ofi_hmem_has_option(const struct fi_info *info, int level, int name);
/*
 * Implement fi_getopt and fi_setopt for these options. Return 0, or log and return -FI_E*. The
 * caller decides whether FI_OPT_CUDA_API_PERMITTED may be false.
 */
int ofi_hmem_getopt(const struct fi_provider *prov, const struct ofi_hmem_options *options,
		    int name, void *value, size_t *len);
int ofi_hmem_setopt(const struct fi_provider *prov, const struct fi_info *info,
		    struct ofi_hmem_options *options, int name, const void *value, size_t len);

#endif
