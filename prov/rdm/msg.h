/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef OFI_RDM_MSG_H
#define OFI_RDM_MSG_H

#include "rdm.h"

/* The default flags or the way of completion changed. */
void ofi_rdm_set_modes(struct ofi_rdm_ep *ep);
/* What of it is of receives. */
void ofi_rdm_set_recv_modes(struct ofi_rdm_ep *ep);

#endif
