/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each call of the interface, as a program makes it, on connected objects of one type. */
#include "interface.h"
#include "objects.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_stats.h>

enum { SIZE = 4096, LEN = 64, RECEIVES = 40 };

static struct fid_ep *peer; /* for FI_EP_MSG; otherwise an endpoint is its own peer */
static struct fid_mc *group;
static fi_addr_t to = FI_ADDR_UNSPEC;
static uint8_t buf[SIZE] __attribute__((aligned(64)));
static void *desc;
static uint64_t key, at; /* of buf, to the peer */
static struct iovec iov = { buf, LEN };
static struct fi_ioc ioc = { buf, 1 }, old_ioc = { buf + 512, 1 }, compare_ioc = { buf + 1024, 1 };

/* Makes progress until the operations are complete. */
static void settle(void)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	int i;

	for (i = 0; i < 20; i++) {
		if (fi_cq_read(cq, &entry, 1) != -FI_EAVAIL)
			continue;
		fi_cq_readerr(cq, &error, 0);
		if (getenv("INTERFACE_ERRORS") && error.err != FI_ECANCELED)
			fprintf(stderr, "completion: %s\n", fi_strerror(error.err));
	}
}

#define TRY(name, call) (tried("Calls", #name, (long)(call)), settle())
/* For calls that do not return a status. */
#define TRY_VALUE(name, condition) tried("Calls", #name, (condition) ? 0 : -FI_EOTHER)

static struct fi_info *find(uint64_t flags)
{
	struct fi_info *hints = hints_of_kind(), *found;

	if (kind == FI_EP_DGRAM) {
		hints->caps = FI_MSG | FI_MULTICAST | FI_SOURCE;
		hints->addr_format = FI_SOCKADDR_IN;
	}
	if (kind == FI_EP_MSG)
		hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_MULTI_RECV;
	if (kind == FI_EP_RDM)
		hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_COLLECTIVE |
			      FI_RMA_EVENT | FI_MULTI_RECV;
	OK(fi_getinfo(FI_VERSION(2, 6), need_env("WEFT_ADDR"), kind == FI_EP_MSG ? "47719" : NULL,
		      flags, hints, &found));
	fi_freeinfo(hints);
	return found;
}

static void bind_all(struct fid_ep *to_bind)
{
	TRY(fi_ep_bind, fi_ep_bind(to_bind, &cq->fid, FI_TRANSMIT | FI_RECV));
	if (kind == FI_EP_MSG)
		OK(fi_ep_bind(to_bind, &eq->fid, 0));
	else
		OK(fi_ep_bind(to_bind, &av->fid, 0));
	if (kind != FI_EP_MSG)
		OK(fi_ep_bind(to_bind, &eq->fid, 0));
	TRY(fi_enable, fi_enable(to_bind));
}

static struct fi_info *event(uint32_t wanted)
{
	struct fi_eq_cm_entry entry;
	uint32_t found = 0;

	CHECK(fi_eq_sread(eq, &found, &entry, sizeof(entry), WAIT_MS, 0) > 0);
	EQUAL(found, wanted);
	return entry.info;
}

static void connect_msg(void)
{
	struct fi_info *listener = find(FI_SOURCE), *request;
	struct sockaddr_storage name;
	size_t len = sizeof(name);

	TRY(fi_passive_ep, fi_passive_ep(fabric, listener, &pep, NULL));
	TRY(fi_pep_bind, fi_pep_bind(pep, &eq->fid, 0));
	TRY(fi_setname, fi_setname(&pep->fid, listener->src_addr, listener->src_addrlen));
	TRY(fi_listen, fi_listen(pep));
	TRY(fi_getname, fi_getname(&pep->fid, &name, &len));
	TRY(fi_connect, fi_connect(ep, &name, NULL, 0));
	request = event(FI_CONNREQ);
	TRY(fi_endpoint, fi_endpoint(domain, request, &peer, NULL));
	bind_all(peer);
	TRY(fi_accept, fi_accept(peer, NULL, 0));
	fi_freeinfo(request);
	event(FI_CONNECTED);
	event(FI_CONNECTED);
	len = sizeof(name);
	TRY(fi_getpeer, fi_getpeer(ep, &name, &len));
	fi_freeinfo(listener);
}

static void refuse_one(void)
{
	struct fid_ep *second;
	struct fi_info *request;
	struct sockaddr_storage name;
	size_t len = sizeof(name);

	OK(fi_getname(&pep->fid, &name, &len));
	OK(fi_endpoint(domain, info, &second, NULL));
	OK(fi_ep_bind(second, &cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(second, &eq->fid, 0));
	OK(fi_enable(second));
	OK(fi_connect(second, &name, NULL, 0));
	request = event(FI_CONNREQ);
	TRY(fi_reject, fi_reject(pep, request->handle, NULL, 0));
	fi_freeinfo(request);
	OK(fi_close(&second->fid));
}

/* Before it is enabled. */
static void try_setname(void)
{
	struct fid_ep *other;

	OK(fi_endpoint(domain, info, &other, NULL));
	TRY(fi_setname, fi_setname(&other->fid, info->src_addr, info->src_addrlen));
	OK(fi_close(&other->fid));
}

/* A datagram endpoint is its own peer. */
static void name_self(void)
{
	struct sockaddr_storage name;
	size_t len = sizeof(name);
	char text[128];

	TRY(fi_getname, fi_getname(&ep->fid, &name, &len));
	tried("Calls", "fi_av_insert", fi_av_insert(av, &name, 1, &to, 0, NULL) == 1 ? 0 : -1);
	len = sizeof(name);
	TRY(fi_av_lookup, fi_av_lookup(av, to, &name, &len));
	len = sizeof(text);
	TRY_VALUE(fi_av_straddr, fi_av_straddr(av, &name, text, &len));
	TRY(fi_av_set_user_id, fi_av_set_user_id(av, to, to, 0));
	peer = ep;
	TRY(fi_connect, fi_connect(ep, &name, NULL, 0));
	TRY(fi_accept, fi_accept(ep, NULL, 0));
	TRY(fi_getpeer, fi_getpeer(ep, &name, &len));
	try_setname();
	TRY(fi_shutdown, fi_shutdown(ep, 0));
	tried("Calls", "fi_passive_ep", fi_passive_ep(fabric, info, &pep, NULL));
	pep = NULL;
	tried("Calls", "fi_pep_bind", -FI_ENOSYS);
	tried("Calls", "fi_listen", -FI_ENOSYS);
	tried("Calls", "fi_reject", -FI_ENOSYS);
}

static void open_all(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC, .flags = FI_WRITE };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_UNSPEC };
	uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
	struct fid_domain *other;

	info = kind == FI_EP_MSG ? find(0) : find(FI_SOURCE);
	TRY_VALUE(fi_fabric, !fi_fabric(info->fabric_attr, &fabric, NULL));
	TRY_VALUE(fi_domain, !fi_domain(fabric, info, &domain, NULL));
	TRY_VALUE(fi_domain2, !fi_domain2(fabric, info, &other, 0, NULL));
	OK(fi_close(&other->fid));
	TRY_VALUE(fi_eq_open, !fi_eq_open(fabric, &eq_attr, &eq, NULL));
	cq_attr.wait_obj = FI_WAIT_UNSPEC;
	TRY_VALUE(fi_cq_open, !fi_cq_open(domain, &cq_attr, &cq, NULL));
	TRY(fi_cntr_open, fi_cntr_open(domain, &cntr_attr, &cntr, NULL));
	TRY(fi_av_open, fi_av_open(domain, &av_attr, &av, NULL));
	if (kind != FI_EP_DGRAM)
		access |= FI_REMOTE_READ | FI_REMOTE_WRITE;
	TRY(fi_mr_reg, fi_mr_reg(domain, buf, SIZE, access, 0, 1, 0, &mr, NULL));
	desc = fi_mr_desc(mr);
	key = fi_mr_key(mr);
	at = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)buf : 0;
	TRY_VALUE(fi_mr_desc, true);
	TRY_VALUE(fi_mr_key, key != FI_KEY_NOTAVAIL);
	TRY(fi_endpoint, fi_endpoint(domain, info, &ep, NULL));
	bind_all(ep);
}

static void try_receives(void)
{
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = FI_ADDR_UNSPEC
	};
	struct fi_msg_tagged tagged = { .msg_iov = &iov,
					.desc = &desc,
					.iov_count = 1,
					.addr = FI_ADDR_UNSPEC,
					.ignore = ~0ULL };
	int i;

	iov.iov_base = buf + 2048;
	iov.iov_len = 2048;
	for (i = 0; i < RECEIVES; i++)
		TRY(fi_recv, fi_recv(peer, buf + 2048, 2048, desc, FI_ADDR_UNSPEC, NULL));
	TRY(fi_recvv, fi_recvv(peer, &iov, &desc, 1, FI_ADDR_UNSPEC, NULL));
	TRY(fi_recvmsg, fi_recvmsg(peer, &msg, 0));
	for (i = 0; i < RECEIVES; i++)
		TRY(fi_trecv,
		    fi_trecv(peer, buf + 2048, 2048, desc, FI_ADDR_UNSPEC, 0, ~0ULL, NULL));
	TRY(fi_trecvv, fi_trecvv(peer, &iov, &desc, 1, FI_ADDR_UNSPEC, 0, ~0ULL, NULL));
	TRY(fi_trecvmsg, fi_trecvmsg(peer, &tagged, 0));
	iov = (struct iovec){ buf, LEN };
}

static void try_messages(void)
{
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = to };
	struct fi_msg_tagged tagged = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = to, .tag = 1
	};

	TRY(fi_send, fi_send(ep, buf, LEN, desc, to, NULL));
	TRY(fi_sendv, fi_sendv(ep, &iov, &desc, 1, to, NULL));
	TRY(fi_sendmsg, fi_sendmsg(ep, &msg, FI_COMPLETION));
	TRY(fi_inject, fi_inject(ep, buf, LEN, to));
	TRY(fi_senddata, fi_senddata(ep, buf, LEN, desc, 5, to, NULL));
	TRY(fi_injectdata, fi_injectdata(ep, buf, LEN, 5, to));
	TRY(fi_tsend, fi_tsend(ep, buf, LEN, desc, to, 1, NULL));
	TRY(fi_tsendv, fi_tsendv(ep, &iov, &desc, 1, to, 1, NULL));
	TRY(fi_tsendmsg, fi_tsendmsg(ep, &tagged, FI_COMPLETION));
	TRY(fi_tinject, fi_tinject(ep, buf, LEN, to, 1));
	TRY(fi_tsenddata, fi_tsenddata(ep, buf, LEN, desc, 5, to, 1, NULL));
	TRY(fi_tinjectdata, fi_tinjectdata(ep, buf, LEN, 5, to, 1));
	TRY_VALUE(fi_tag_mpi, fi_tag_mpi(3, 1) != fi_tag_mpi(4, 1));
}

static void try_rma(void)
{
	struct fi_rma_iov remote = { at, LEN, key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &desc,
				  .iov_count = 1,
				  .addr = to,
				  .rma_iov = &remote,
				  .rma_iov_count = 1 };

	TRY(fi_read, fi_read(ep, buf, LEN, desc, to, at, key, NULL));
	TRY(fi_readv, fi_readv(ep, &iov, &desc, 1, to, at, key, NULL));
	TRY(fi_readmsg, fi_readmsg(ep, &msg, FI_COMPLETION));
	TRY(fi_write, fi_write(ep, buf, LEN, desc, to, at, key, NULL));
	TRY(fi_writev, fi_writev(ep, &iov, &desc, 1, to, at, key, NULL));
	TRY(fi_writemsg, fi_writemsg(ep, &msg, FI_COMPLETION));
	TRY(fi_inject_write, fi_inject_write(ep, buf, LEN, to, at, key));
	TRY(fi_writedata, fi_writedata(ep, buf, LEN, desc, 5, to, at, key, NULL));
	TRY(fi_inject_writedata, fi_inject_writedata(ep, buf, LEN, 5, to, at, key));
}

static void try_atomics(void)
{
	struct fi_rma_ioc remote = { at, 1, key };
	struct fi_msg_atomic msg = { .msg_iov = &ioc,
				     .desc = &desc,
				     .iov_count = 1,
				     .addr = to,
				     .rma_iov = &remote,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_SUM };
	void *old = buf + 512, *than = buf + 1024;

	TRY(fi_atomic, fi_atomic(ep, buf, 1, desc, to, at, key, FI_UINT64, FI_SUM, NULL));
	TRY(fi_atomicv, fi_atomicv(ep, &ioc, &desc, 1, to, at, key, FI_UINT64, FI_SUM, NULL));
	TRY(fi_atomicmsg, fi_atomicmsg(ep, &msg, FI_COMPLETION));
	TRY(fi_inject_atomic, fi_inject_atomic(ep, buf, 1, to, at, key, FI_UINT64, FI_SUM));
	TRY(fi_fetch_atomic,
	    fi_fetch_atomic(ep, buf, 1, desc, old, desc, to, at, key, FI_UINT64, FI_SUM, NULL));
	TRY(fi_fetch_atomicv, fi_fetch_atomicv(ep, &ioc, &desc, 1, &old_ioc, &desc, 1, to, at, key,
					       FI_UINT64, FI_SUM, NULL));
	TRY(fi_fetch_atomicmsg, fi_fetch_atomicmsg(ep, &msg, &old_ioc, &desc, 1, FI_COMPLETION));
	msg.op = FI_CSWAP;
	TRY(fi_compare_atomic, fi_compare_atomic(ep, buf, 1, desc, than, desc, old, desc, to, at,
						 key, FI_UINT64, FI_CSWAP, NULL));
	TRY(fi_compare_atomicv,
	    fi_compare_atomicv(ep, &ioc, &desc, 1, &compare_ioc, &desc, 1, &old_ioc, &desc, 1, to,
			       at, key, FI_UINT64, FI_CSWAP, NULL));
	TRY(fi_compare_atomicmsg, fi_compare_atomicmsg(ep, &msg, &compare_ioc, &desc, 1, &old_ioc,
						       &desc, 1, FI_COMPLETION));
}

static void try_atomics_valid(void)
{
	struct fi_atomic_attr attr;
	size_t n;

	TRY(fi_atomicvalid, fi_atomicvalid(ep, FI_UINT64, FI_SUM, &n));
	TRY(fi_fetch_atomicvalid, fi_fetch_atomicvalid(ep, FI_UINT64, FI_SUM, &n));
	TRY(fi_compare_atomicvalid, fi_compare_atomicvalid(ep, FI_UINT64, FI_CSWAP, &n));
	TRY(fi_query_atomic, fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, 0));
	try_datatypes(domain);
}

static void await_join(void)
{
	uint64_t end = deadline();
	struct fi_eq_entry entry;
	uint32_t found = 0;

	while (fi_eq_read(eq, &found, &entry, sizeof(entry), 0) == -FI_EAGAIN) {
		settle();
		pause_until(end, "a group");
	}
	EQUAL(found, FI_JOIN_COMPLETE);
}

static void try_sets(void)
{
	struct fi_av_set_attr attr = { .count = 1, .start_addr = to, .end_addr = to, .stride = 1 };
	struct fid_av_set *set = NULL, *other = NULL;
	fi_addr_t all = FI_ADDR_NOTAVAIL;
	bool works = kind == FI_EP_RDM;

	TRY(fi_av_set, fi_av_set(av, &attr, &set, NULL));
	if (works)
		OK(fi_av_set(av, &attr, &other, NULL));
	TRY(fi_av_set_addr, works ? fi_av_set_addr(set, &all) : -FI_ENOSYS);
	TRY(fi_join_collective, fi_join_collective(ep, all, set, 0, &group, NULL));
	if (works)
		await_join();
	TRY(fi_av_set_union, works ? fi_av_set_union(other, set) : -FI_ENOSYS);
	TRY(fi_av_set_intersect, works ? fi_av_set_intersect(other, set) : -FI_ENOSYS);
	TRY(fi_av_set_diff, works ? fi_av_set_diff(other, set) : -FI_ENOSYS);
	TRY(fi_av_set_insert, works ? fi_av_set_insert(other, to) : -FI_ENOSYS);
	TRY(fi_av_set_remove, works ? fi_av_set_remove(other, to) : -FI_ENOSYS);
	if (other)
		OK(fi_close(&other->fid));
	if (set)
		OK(fi_close(&set->fid));
}

static void try_collectives(void)
{
	struct fi_collective_attr attr = { .op = FI_SUM, .datatype = FI_UINT64 };
	fi_addr_t mc = group ? fi_mc_addr(group) : to;
	void *in = buf, *out = buf + 512;

	TRY(fi_query_collective, fi_query_collective(domain, FI_ALLREDUCE, &attr, 0));
	TRY(fi_barrier, fi_barrier(ep, mc, NULL));
	TRY(fi_barrier2, fi_barrier2(ep, mc, 0, NULL));
	TRY(fi_broadcast, fi_broadcast(ep, in, 1, desc, mc, to, FI_UINT64, 0, NULL));
	TRY(fi_alltoall, fi_alltoall(ep, in, 1, desc, out, desc, mc, FI_UINT64, 0, NULL));
	TRY(fi_allreduce, fi_allreduce(ep, in, 1, desc, out, desc, mc, FI_UINT64, FI_SUM, 0, NULL));
	TRY(fi_allgather, fi_allgather(ep, in, 1, desc, out, desc, mc, FI_UINT64, 0, NULL));
	TRY(fi_reduce_scatter,
	    fi_reduce_scatter(ep, in, 1, desc, out, desc, mc, FI_UINT64, FI_SUM, 0, NULL));
	TRY(fi_reduce, fi_reduce(ep, in, 1, desc, out, desc, mc, to, FI_UINT64, FI_SUM, 0, NULL));
	TRY(fi_scatter, fi_scatter(ep, in, 1, desc, out, desc, mc, to, FI_UINT64, 0, NULL));
	TRY(fi_gather, fi_gather(ep, in, 1, desc, out, desc, mc, to, FI_UINT64, 0, NULL));
}

static void try_multicast(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	uint64_t end;

	inet_pton(AF_INET, "239.1.2.3", &in.sin_addr);
	if (group) {
		settle();
		OK(fi_close(&group->fid));
		group = NULL;
		TRY_VALUE(fi_mc_addr, true);
	}
	TRY(fi_join, fi_join(ep, &in, 0, &group, NULL));
	/* The address is known once the group is joined. */
	for (end = now_ms() + 5000; group && fi_mc_addr(group) == FI_ADDR_NOTAVAIL;)
		if (now_ms() > end)
			break;
	if (kind != FI_EP_RDM)
		TRY_VALUE(fi_mc_addr, group && fi_mc_addr(group) != FI_ADDR_NOTAVAIL);
	if (group)
		OK(fi_close(&group->fid));
	group = NULL;
}

static void try_scalable(void)
{
	struct fid_ep *sep = NULL, *tx = NULL, *rx = NULL;

	TRY(fi_scalable_ep, fi_scalable_ep(domain, info, &sep, NULL));
	TRY(fi_scalable_ep_bind, sep ? fi_scalable_ep_bind(sep, &av->fid, 0) : -FI_ENOSYS);
	TRY(fi_tx_context, sep ? fi_tx_context(sep, 0, NULL, &tx, NULL) : -FI_ENOSYS);
	TRY(fi_rx_context, sep ? fi_rx_context(sep, 0, NULL, &rx, NULL) : -FI_ENOSYS);
	if (!sep)
		return;
	OK(fi_close(&tx->fid));
	OK(fi_close(&rx->fid));
	OK(fi_close(&sep->fid));
}

static void try_endpoint(void)
{
	size_t value = 0, len = sizeof(value);
	struct fid_ep *other = NULL;
	struct fid_stx *stx = NULL;
	struct fid *alias = NULL;

	TRY(fi_getopt, fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MAX_MSG_SIZE, &value, &len));
	TRY(fi_setopt,
	    fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &len, sizeof(len)));
	TRY(fi_tx_size_left, fi_tx_size_left(ep));
	TRY(fi_rx_size_left, fi_rx_size_left(ep));
	TRY(fi_ep_alias, fi_ep_alias(ep, &other, FI_TRANSMIT | FI_COMPLETION));
	if (other)
		OK(fi_close(&other->fid));
	TRY(fi_alias, fi_alias(&ep->fid, &alias, FI_TRANSMIT | FI_COMPLETION));
	if (alias)
		OK(fi_close(alias));
	try_scalable();
	TRY(fi_stx_context, fi_stx_context(domain, NULL, &stx, NULL));
	if (stx)
		OK(fi_close(&stx->fid));
	other = NULL;
	TRY(fi_srx_context, fi_srx_context(domain, NULL, &other, NULL));
	if (other)
		OK(fi_close(&other->fid));
	other = NULL;
	TRY(fi_endpoint2, fi_endpoint2(domain, info, &other, 0, NULL));
	if (other)
		OK(fi_close(&other->fid));
	TRY(fi_ep_export_xpu, fi_ep_export_xpu(ep, 0, NULL));
}

static void try_cancel(void)
{
	static int mark;

	TRY(fi_cancel,
	    fi_recv(peer, buf, LEN, desc, FI_ADDR_UNSPEC, &mark) || fi_cancel(&peer->fid, &mark)
		    ? -FI_ENOENT
		    : 0);
}

static void try_memory(void)
{
	struct fi_mr_attr attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_SEND };
	uint64_t value = 0;
	uint8_t raw[64];
	size_t len = sizeof(raw);
	struct fid_mr *other;

	TRY(fi_mr_regv, fi_mr_regv(domain, &iov, 1, FI_SEND, 0, 2, 0, &other, NULL));
	OK(fi_close(&other->fid));
	attr.requested_key = 3;
	attr.access |= FI_REMOTE_WRITE;
	TRY(fi_mr_regattr,
	    fi_mr_regattr(domain, &attr, kind == FI_EP_RDM ? FI_RMA_EVENT : 0, &other));
	TRY(fi_mr_bind, fi_mr_bind(other, &cntr->fid, FI_REMOTE_WRITE));
	TRY(fi_mr_enable, fi_mr_enable(other));
	TRY(fi_mr_refresh, fi_mr_refresh(other, &iov, 1, 0));
	TRY(fi_mr_raw_attr, fi_mr_raw_attr(other, &value, raw, &len, 0));
	TRY(fi_mr_map_raw, fi_mr_map_raw(domain, 0, raw, len, &value, 0));
	EQUAL(value, fi_mr_key(other));
	TRY(fi_mr_unmap_key, fi_mr_unmap_key(domain, value));
	TRY(fi_mr_get_xpu_desc, fi_mr_get_xpu_desc(other, raw, &len, 0, NULL));
	OK(fi_close(&other->fid));
}

static void try_queues(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	struct fi_eq_err_entry eq_error = { 0 };
	struct fid *waited[] = { &cq->fid };
	fi_addr_t src;
	uint32_t found;

	TRY(fi_cq_read, fi_cq_read(cq, &entry, 1));
	TRY(fi_cq_readfrom, fi_cq_readfrom(cq, &entry, 1, &src));
	TRY(fi_cq_readerr, fi_cq_readerr(cq, &error, 0));
	TRY(fi_cq_sread, fi_cq_sread(cq, &entry, 1, NULL, 0));
	TRY(fi_cq_sreadfrom, fi_cq_sreadfrom(cq, &entry, 1, &src, NULL, 0));
	TRY(fi_cq_signal, fi_cq_signal(cq));
	TRY_VALUE(fi_cq_strerror, fi_cq_strerror(cq, 0, NULL, NULL, 0));
	TRY(fi_cq_export_xpu, fi_cq_export_xpu(cq, 0, NULL));
	TRY(fi_trywait, fi_trywait(fabric, waited, 1));
	TRY(fi_eq_write, fi_eq_write(eq, FI_NOTIFY, buf, 8, 0) == 8 ? 0 : -FI_EOTHER);
	TRY(fi_eq_read, fi_eq_read(eq, &found, buf, 256, 0));
	TRY(fi_eq_readerr, fi_eq_readerr(eq, &eq_error, 0));
	TRY(fi_eq_sread, fi_eq_sread(eq, &found, buf, 256, 0, 0));
	TRY_VALUE(fi_eq_strerror, fi_eq_strerror(eq, 0, NULL, NULL, 0));
}

static void try_address_vectors(void)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	const char *host = need_env("WEFT_ADDR");
	struct fid_av *other;
	uint8_t raw[128];
	size_t len = sizeof(raw);
	fi_addr_t one;

	OK(fi_av_open(domain, &attr, &other, NULL));
	TRY(fi_av_bind, fi_av_bind(other, &eq->fid, 0));
	if (kind != FI_EP_MSG) {
		tried("Calls", "fi_av_insertsvc",
		      fi_av_insertsvc(other, host, "47720", &one, 0, NULL) < 0 ? -1 : 0);
		TRY(fi_av_insertsym, fi_av_insertsym(other, host, 1, "47721", 1, &one, 0, NULL));
		TRY(fi_av_remove, fi_av_remove(av, &to, 1, 0));
	}
	TRY(fi_av_lookup2, fi_av_lookup2(other, 0, raw, &len, 0, NULL));
	try_auth_keys(fabric, domain);
	TRY_VALUE(fi_rx_addr, fi_rx_addr(0, 0, 0) == 0);
	TRY_VALUE(fi_group_addr, fi_group_addr(0, 0) == 0);
	OK(fi_close(&other->fid));
}

/* Connected endpoints can open address vectors, but cannot use them. */
static void no_addresses(void)
{
	static const char *const names[] = { "fi_av_insert",	"fi_av_lookup",
					     "fi_av_straddr",	"fi_av_set_user_id",
					     "fi_av_insertsvc", "fi_av_insertsym",
					     "fi_av_remove" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		tried("Calls", names[i], 0);
}

static void try_objects(void)
{
	struct fi_info *copy = fi_dupinfo(info);
	struct fid_fabric *other;
	uint64_t flags = FI_TRANSMIT;
	struct fid *out;
	int value;
	void *ops;

	TRY_VALUE(fi_dupinfo, copy);
	fi_freeinfo(copy);
	TRY_VALUE(fi_freeinfo, true);
	TRY_VALUE(fi_allocinfo, true);
	TRY_VALUE(fi_getinfo, true);
	TRY(fi_fabric2, fi_fabric2(info, &other, 0, NULL));
	TRY(fi_close, fi_close(&other->fid));
	TRY(fi_domain_bind, fi_domain_bind(domain, &eq->fid, 0));
	TRY(fi_control, fi_control(&ep->fid, FI_GETOPSFLAG, &flags));
	TRY(fi_open_ops, fi_open_ops(&domain->fid, FI_STATS_OPS, 0, &ops, NULL));
	TRY(fi_set_ops, fi_set_ops(&ep->fid, "ops", 0, NULL, NULL));
	TRY(fi_get_val, fi_get_val(&ep->fid, 1, &value));
	TRY(fi_set_val, fi_set_val(&ep->fid, 1, &value));
	TRY(fi_export_fid, fi_export_fid(&ep->fid, 0, &out, NULL));
}

static void close_all(void)
{
	if (kind == FI_EP_MSG) {
		refuse_one();
		TRY(fi_shutdown, fi_shutdown(ep, 0));
		OK(fi_close(&peer->fid));
	}
	close_objects();
	peer = NULL;
	to = FI_ADDR_UNSPEC;
}

void try_calls(void)
{
	open_all();
	if (kind == FI_EP_MSG)
		connect_msg();
	else
		name_self();
	if (kind == FI_EP_MSG)
		no_addresses();
	try_receives();
	try_messages();
	try_rma();
	try_atomics();
	try_atomics_valid();
	try_sets();
	try_collectives();
	try_multicast();
	try_endpoint();
	try_memory();
	try_queues();
	try_waits(fabric, domain, cq, cntr);
	try_objects();
	try_cancel();
	try_address_vectors();
	close_all();
}
