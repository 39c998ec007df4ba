/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The objects that examples of the manual pages use: open where a test opened them. */
#include "tests/man/snippet.h"

struct fi_info *hints, *info;
struct fid_fabric *fabric;
struct fid_domain *domain;
struct fid_eq *eq;
struct fid_cq *cq;
struct fid_av *av;
struct fid_ep *ep;
fi_addr_t peer, self;
struct fid_cntr *cntr;
struct fid_mr *mr;
char *buf;
size_t len = SNIPPET_LEN;
void *desc;
struct fid_ep *peer_ep;
struct fid_cq *peer_cq;
char *peer_buf;
void *peer_desc;
uint64_t remote_addr, remote_key;
