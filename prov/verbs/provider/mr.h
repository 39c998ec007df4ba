/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keys of memory regions, and lookup by key for operations that the library performs itself. */
#ifndef VRB_MR_H
#define VRB_MR_H

#include <errno.h>
#include <stdbool.h>
#include <rdma/fabric.h>
#include "domain.h"

/* Returns true if the domain has this bit of mr_mode. */
bool vrb_mr_has_mode(const struct vrb_domain *domain, int bit);
/* Returns true if memory need not exist when it is registered. */
bool vrb_mr_may_be_unbacked(const struct vrb_domain *domain);
/* These return 0 if the arguments of a registration are valid, or log and return -FI_E*. */
int vrb_mr_check(const struct vrb_domain *domain, const struct iovec *iov, size_t count,
		 uint64_t access, uint64_t offset, uint64_t flags);
int vrb_mr_check_key(const struct vrb_domain *domain, const struct fi_mr_attr *attr);
/* Returns true if the device chooses keys, false if the application does. */
bool vrb_mr_prov_key(const struct vrb_domain *domain);
/*
 * Returns true if peers use virtual addresses, false if they use offsets. If the domain was opened
 * for messages only, they use virtual addresses unless mr_mode is FI_MR_SCALABLE.
 */
bool vrb_mr_is_virtual(const struct vrb_domain *domain);
/* Returns the number of bytes of a key, which is mr_key_size of the domain. */
size_t vrb_mr_key_size(const struct vrb_domain *domain);
/* Implements FI_GET_RAW_MR: `size` bytes of the key, and the start of the region for peers. */
int vrb_mr_raw_get(uint64_t key, size_t size, uint64_t base, const struct fi_mr_raw_attr *raw);
/*
 * Implement FI_MAP_RAW_MR and FI_UNMAP_KEY for a domain whose keys have `size` bytes. Return 0 or
 * -FI_E*.
 */
int vrb_mr_raw_map(size_t size, const struct fi_mr_map_raw *map);
int vrb_mr_raw_unmap(const uint64_t *key);
/* Returns the IBV_ACCESS_* flags of peers, for the device and the library. */
int vrb_mr_remote_access(uint64_t access);
/*
 * Returns the flags to register memory with. Remote write includes atomics if the device has them,
 * and requires local write. Access without a local right includes local write, too, since programs
 * receive into what they registered for peers to read. An iWARP read arrives as a write. Memory
 * that the device cannot page on demand is pinned.
 */
int vrb_mr_access(const struct vrb_domain *domain, uint64_t access);
/*
 * Registers memory with that access; read-only memory, if the access permits that, without local
 * write. Returns NULL with errno on failure. *writable tells if the region has local write.
 */
struct ibv_mr *vrb_mr_reg(struct vrb_domain *domain, const struct iovec *iov, uint64_t access,
			  bool *writable);
/*
 * Called after registering failed with the errno `err`. Returns true if the buffers are mapped for
 * that access, or if the kernel cannot tell. After EFAULT, pages that were never touched are
 * allocated, as registering them does.
 */
bool vrb_mr_is_mapped(const struct iovec *iov, size_t count, uint64_t access, int err);
/*
 * Called after ibv_reg_mr failed with these arguments. If the limit of locked memory or of
 * registrations is reached, cached registrations that nobody uses make room. Returns NULL, with
 * errno, if that does not help.
 */
struct ibv_mr *vrb_mr_again(struct vrb_domain *domain, void *addr, size_t len, int access);
/* Registers memory like ibv_reg_mr, and tries again. */
static inline struct ibv_mr *vrb_mr_new(struct vrb_domain *domain, void *addr, size_t len,
					int access)
{
	struct ibv_mr *mr;

	/* A driver may fail without setting it, and EAGAIN would have the application try again. */
	errno = 0;
	mr = ibv_reg_mr(domain->pd, addr, len, access);
	return mr ? mr : vrb_mr_again(domain, addr, len, access);
}
/* Its callbacks for regions are for RDM domains only. */
extern const struct ofi_domain_ops vrb_domain_callbacks;

#endif
