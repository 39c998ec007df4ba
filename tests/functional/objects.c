/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One object of each class, opened in the way that the program specifies. */
#include "objects.h"

#include "check.h"

struct fi_info *info;
struct fid_fabric *fabric;
struct fid_domain *domain;
struct fid_eq *eq;
struct fid_cq *cq;
struct fid_cntr *cntr;
struct fid_av *av;
struct fid_mr *mr;
struct fid_pep *pep;
struct fid_ep *ep;

void close_objects(void)
{
	if (pep)
		OK(fi_close(&pep->fid));
	pep = NULL;
	OK(fi_close(&ep->fid));
	OK(fi_close(&mr->fid));
	OK(fi_close(&av->fid));
	OK(fi_close(&cntr->fid));
	OK(fi_close(&cq->fid));
	OK(fi_close(&domain->fid));
	OK(fi_close(&eq->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}
