/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With 64 KiB of lockable memory a user gets -FI_ENOMEM and a message about the limit; what fits is
 * registered.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "steps.h"

#define BIG  (8 << 20)
#define USER 65534

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };

static FILE *log_file;

/* The library logs to a file. */
static void catch_log(void)
{
	log_file = tmpfile();
	CHECK(log_file);
	CHECK(dup2(fileno(log_file), STDERR_FILENO) >= 0);
}

static void check_log(const char *what)
{
	char line[1024];

	rewind(log_file);
	while (fgets(line, sizeof(line), log_file)) {
		fputs(line, stdout);
		if (strstr(line, "memlock") || strstr(line, "ulimit"))
			return;
	}
	printf("%s failed without a word about the limit of locked memory\n", what);
	exit(1);
}

static void limit_user(void)
{
	struct rlimit limit = { 64 << 10, 64 << 10 };

	if (geteuid())
		skip("has to begin as root");
	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK(!setgid(USER) && !setuid(USER));
	if (access("/dev/infiniband/rdma_cm", R_OK | W_OK))
		skip("/dev/infiniband/rdma_cm is for root only");
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct fid_mr *mr = NULL;
	void *big;
	int ret;

	catch_log();
	limit_user();
	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	end.ep = end_ep(&end, end.info);

	big = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(big != MAP_FAILED);
	ret = fi_mr_reg(end.domain, big, BIG, FI_SEND, 0, 0, 0, &mr, NULL);
	CHECK(!mr);
	if (ret != -FI_ENOMEM) {
		printf("fi_mr_reg gives %d\n", ret);
		exit(1);
	}
	check_log("fi_mr_reg");
	/* The other regions still work. */
	end_reg(&end, big, 4096, FI_SEND | FI_RECV, &mr);
	OK(fi_close(&mr->fid));
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
