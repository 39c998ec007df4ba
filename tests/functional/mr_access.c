/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registering memory: the three calls, their errors, and the check of local access. */
#include <sys/mman.h>
#include <unistd.h>
#include "steps.h"

static void test_calls(struct end *end)
{
	static uint8_t memory[8192];
	struct iovec iov[2] = { { memory, sizeof(memory) }, { memory, 1 } };
	struct fi_mr_attr attr = {
		.mr_iov = iov, .iov_count = 1, .access = FI_SEND | FI_REMOTE_READ, .context = end
	};
	struct fid_mr *mr, *other;

	OK(fi_mr_regattr(end->domain, &attr, 0, &mr));
	CHECK(mr->fid.context == end && mr->fid.fclass == FI_CLASS_MR);
	OK(fi_mr_regv(end->domain, iov, 1, FI_RECV, 0, 4711, 0, &other, NULL));
	CHECK(fi_mr_key(mr) != fi_mr_key(other));
	CHECK(fi_mr_desc(mr) && fi_mr_desc(mr) != fi_mr_desc(other));
	CHECK(!(fi_mr_key(mr) >> 32));
	OK(fi_close(&mr->fid));
	OK(fi_close(&other->fid));
}

/* Memory that allows no access yet. */
static void test_none(struct end *end)
{
	static uint8_t memory[64];
	struct fid_mr *mr = NULL;

	OK(fi_mr_reg(end->domain, memory, sizeof(memory), 0, 0, 0, 0, &mr, NULL));
	OK(fi_close(&mr->fid));
}

static void test_refused(struct end *end)
{
	static uint8_t memory[8192];
	struct iovec iov[2] = { { memory, 100 }, { memory + 200, 100 } };
	struct fid_domain *domain = end->domain;
	struct fi_mr_attr attr = { .mr_iov = iov, .iov_count = 1, .access = FI_SEND };
	struct fid_mr *mr = NULL;

	RETURNS(fi_mr_reg(domain, NULL, 100, FI_SEND, 0, 0, 0, &mr, NULL), -FI_EINVAL);
	RETURNS(fi_mr_reg(domain, memory, 100, FI_SEND, 0, 0, 0, NULL, NULL), -FI_EINVAL);
	CHECK(fi_mr_reg(domain, memory, 100, 1ULL << 60, 0, 0, 0, &mr, NULL) < 0);
	CHECK(fi_mr_reg(domain, memory, 100, FI_SEND, 5, 0, 0, &mr, NULL) < 0);
	CHECK(fi_mr_reg(domain, memory, 100, FI_SEND, 0, 0, 1ULL << 60, &mr, NULL) < 0);
	CHECK(fi_mr_regv(domain, iov, 2, FI_SEND, 0, 0, 0, &mr, NULL) < 0);
	CHECK(fi_mr_regv(domain, iov, 0, FI_SEND, 0, 0, 0, &mr, NULL) < 0);
	CHECK(fi_mr_regv(domain, NULL, 1, FI_SEND, 0, 0, 0, &mr, NULL) < 0);
	CHECK(fi_mr_regattr(domain, NULL, 0, &mr) < 0);
	CHECK(!mr);
	/* Without FI_HMEM nobody looks at it. */
	attr.iface = FI_HMEM_CUDA;
	OK(fi_mr_regattr(domain, &attr, 0, &mr));
	OK(fi_close(&mr->fid));
}

/* Memory that is not mapped, or is read-only. */
static void test_unmapped(struct end *end)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fid_mr *mr = NULL;

	CHECK(memory != MAP_FAILED);
	CHECK(!munmap(memory + page, page));
	RETURNS(fi_mr_reg(end->domain, memory, 2 * page, FI_RECV, 0, 0, 0, &mr, NULL), -FI_EFAULT);
	CHECK(!mprotect(memory, page, PROT_READ));
	CHECK(fi_mr_reg(end->domain, memory, page, FI_RECV, 0, 0, 0, &mr, NULL) < 0);
	CHECK(!mr);
	munmap(memory, page);
}

/* A region registered only for sending cannot receive. */
static void test_local(struct pair *pair)
{
	struct end *client = &pair->client;
	struct fi_cq_err_entry error;
	struct part part = { .len = 64, .context = 1 };
	struct fid_mr *mr;

	end_reg(client, client->buf + 4096, 4096, FI_SEND, &mr);
	OK(fi_recv(client->ep, client->buf + 4096, 64, fi_mr_desc(mr), 0, client));
	at(&pair->server, post_send, &part, sizeof(part));
	wait_error(client->rxcq, &error);
	EQUAL(error.op_context, client);
	CHECK(error.err == FI_EFAULT || (error.err == FI_EINVAL && on_soft_roce(client)));
	OK(fi_close(&mr->fid));
}

static void test(struct pair *pair)
{
	test_calls(&pair->client);
	test_none(&pair->client);
	test_refused(&pair->client);
	test_unmapped(&pair->client);
	test_local(pair);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
