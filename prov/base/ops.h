/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Empty slots of ops tables. A provider names only the slots that do something; at its start
 * ofi_ops_fill() lets the others answer -FI_ENOSYS.
 */
#ifndef OFI_OPS_H
#define OFI_OPS_H

/*
 * Fills the NULL slots of an ops table, a size followed by function pointers. Every slot of the
 * public tables returns int or ssize_t, but for the strerror slots, which a table has to name.
 */
void ofi_ops_fill(void *ops);

/* Tables of what an endpoint was not asked to do; every slot is filled by ofi_ops_init(). */
extern struct fi_ops_cm ofi_no_cm_ops;
extern struct fi_ops_msg ofi_no_msg_ops;
extern struct fi_ops_rma ofi_no_rma_ops;
extern struct fi_ops_tagged ofi_no_tagged_ops;
extern struct fi_ops_atomic ofi_no_atomic_ops;
extern struct fi_ops_collective ofi_no_collective_ops;

void ofi_ops_init(void);

#endif
