/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef VRB_RDM_MSG_H
#define VRB_RDM_MSG_H

#include "rdm.h"

/* With locks or without, as is for the endpoint. */
struct fi_ops_msg *vrb_rdm_msg_table(const struct vrb_rdm *ep);
struct fi_ops_tagged *vrb_rdm_tagged_table(const struct vrb_rdm *ep);

/* The default flags or the way of completion changed. */
void vrb_rdm_set_modes(struct vrb_rdm *ep);

#endif
