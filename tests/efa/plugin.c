/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The efa provider as a plug-in, even if it is built in. */
#include <rdma/providers/fi_prov.h>

struct fi_provider *fi_efa_ini(void);

FI_EXT_INI
{
	return fi_efa_ini();
}
