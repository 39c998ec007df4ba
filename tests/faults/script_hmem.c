/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two reliable-datagram endpoints with memory of the fake GPU: registration as the library exports
 * it and as the application does, each protocol of a message, RMA, an atomic.
 */
#include <string.h>
#include <unistd.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "ends.h"
#include "../functional/gpu.h"

struct hmem_script {
	struct ends ends;
	void *buf[2];
	struct fid_mr *mr[2], *own; /* own is of a dma-buf that the application exported */
};

static int reg(struct hmem_script *p, int i)
{
	struct iovec iov = { p->buf[i], ENDS_LEN };
	struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE,
		.requested_key = 20 + (uint64_t)i,
		.iface = gpu->iface(),
	};

	return ends_step(&p->ends, "fi_mr_regattr",
			 fi_mr_regattr(p->ends.domain, &attr, 0, &p->mr[i]));
}

static int reg_dmabuf(struct hmem_script *p)
{
	struct fi_mr_dmabuf dmabuf = { .fd = gpu->export(p->buf[0], 4096),
				       .len = 4096,
				       .base_addr = p->buf[0] };
	struct fi_mr_attr attr = {
		.dmabuf = &dmabuf,
		.iov_count = 1,
		.access = FI_SEND,
		.requested_key = 30,
		.iface = gpu->iface(),
	};
	int ret = ends_step(&p->ends, "fi_mr_regattr of a dma-buf",
			    fi_mr_regattr(p->ends.domain, &attr, FI_MR_DMABUF, &p->own));

	close(dmabuf.fd);
	return ret;
}

static int message(struct hmem_script *p, int from, size_t len)
{
	struct ends *s = &p->ends;

	return ends_step(s, "fi_trecv",
			 AGAIN(fi_trecv(s->ep[!from], p->buf[!from], ENDS_LEN,
					fi_mr_desc(p->mr[!from]), FI_ADDR_UNSPEC, len, 0, NULL))) ||
	       ends_step(s, "fi_tsend",
			 AGAIN(fi_tsend(s->ep[from], p->buf[from], len, fi_mr_desc(p->mr[from]),
					s->to[from], len, NULL))) ||
	       ends_complete(s, "waiting for a message", 1, 1);
}

static int memory(struct hmem_script *p)
{
	struct ends *s = &p->ends;
	void *desc = fi_mr_desc(p->mr[0]);

	return ends_step(s, "fi_write",
			 AGAIN(fi_write(s->ep[0], p->buf[0], ENDS_LEN, desc, s->to[0], 0, ENDS_KEY,
					NULL))) ||
	       ends_complete(s, "waiting for a write", 1, 0) ||
	       ends_step(s, "fi_read",
			 AGAIN(fi_read(s->ep[0], p->buf[0], 5000, desc, s->to[0], 8, ENDS_KEY,
				       NULL))) ||
	       ends_complete(s, "waiting for a read", 1, 0) ||
	       ends_step(s, "fi_fetch_atomic",
			 AGAIN(fi_fetch_atomic(s->ep[0], p->buf[0], 1, desc, (char *)p->buf[0] + 64,
					       desc, s->to[0], 0, ENDS_KEY, FI_UINT64, FI_SUM,
					       NULL))) ||
	       ends_complete(s, "waiting for an atomic", 1, 0);
}

static int transfer(struct hmem_script *p)
{
	return message(p, 0, 8) || message(p, 1, 30000) || message(p, 0, ENDS_LEN) ||
	       message(p, 1, ENDS_LEN) || memory(p);
}

static int open_all(struct ends *s)
{
	return ends_open_domain(s) || ends_open(s, 0) || ends_open(s, 1) || ends_introduce(s, 0) ||
	       ends_introduce(s, 1);
}

static void close_all(struct hmem_script *p)
{
	int i;

	/* Endpoints first: a receive may be posted to a region. */
	for (i = 0; i < 2; i++) {
		ends_close_one(&p->ends, p->ends.ep[i]);
		p->ends.ep[i] = NULL;
		ends_close_one(&p->ends, p->mr[i]);
	}
	ends_close_one(&p->ends, p->own);
	ends_close(&p->ends);
	for (i = 0; i < 2; i++)
		gpu->free(p->buf[i]);
}

void script_hmem(const char *addr, struct outcome *outcome)
{
	static struct hmem_script p;
	struct ends *s = &p.ends;
	int ret;

	(void)addr;
	memset(outcome, 0, sizeof(*outcome));
	memset(&p, 0, sizeof(p));
	s->outcome = outcome;
	p.buf[0] = gpu->alloc(ENDS_LEN);
	p.buf[1] = gpu->alloc(ENDS_LEN);
	ret = ends_open_fabric(s, FI_TAGGED | FI_RMA | FI_ATOMIC | FI_HMEM);
	if (!ret)
		script_begins();
	(void)(ret || open_all(s) || reg(&p, 0) || reg(&p, 1) || reg_dmabuf(&p) || transfer(&p));
	close_all(&p);
}
