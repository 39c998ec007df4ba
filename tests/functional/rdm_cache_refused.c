/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * If a container's seccomp profile refuses userfaultfd, large messages arrive, and the first one
 * logs once why they are slow. A program that sends none logs nothing.
 */
#define _GNU_SOURCE
#include "rdm.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEN = 1 << 20 };

#define NEW_USERFAULTFD _IO(0xAA, 0x00) /* of /dev/userfaultfd */

static void refuse_userfaultfd(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NEW_USERFAULTFD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(filter), filter };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
	CHECK(syscall(SYS_userfaultfd, 0) < 0 && errno == EPERM);
}

static void exchange(struct rdm_pair *pair, uint8_t *out, uint8_t *in, size_t len)
{
	fill(out, len, (unsigned int)len);
	OK(fi_trecv(pair->side[1].ep, in, len, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(pair->side[0].ep, out, len, NULL, pair->side[0].peer, 1, NULL));
	rdm_wait(pair, 1);
	CHECK_FILLED(in, len, (unsigned int)len);
	rdm_wait(pair, 0);
}

/* Returns how often the log, a file in memory, contains the word. */
static int logged(int fd, const char *word)
{
	static char text[65536];
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
	const char *at = text;
	int count = 0;

	CHECK(len >= 0);
	text[len] = '\0';
	while ((at = strstr(at, word))) {
		at += strlen(word);
		count++;
	}
	return count;
}

static void test(void)
{
	uint8_t *out = malloc(LEN), *in = malloc(LEN);
	int fd = memfd_create("log", 0), tty = dup(STDERR_FILENO), before, after, i;
	struct rdm_pair pair;

	CHECK(out && in && fd >= 0 && tty >= 0);
	refuse_userfaultfd();
	CHECK(dup2(fd, STDERR_FILENO) >= 0);
	rdm_open(&pair, RDM_PROV_KEYS);
	exchange(&pair, out, in, 100);
	before = logged(fd, "userfaultfd");
	for (i = 0; i < 3; i++)
		exchange(&pair, out, in, LEN);
	after = logged(fd, "userfaultfd: Operation not permitted");
	rdm_close(&pair);
	CHECK(dup2(tty, STDERR_FILENO) >= 0);
	EQUAL(before, 0);
	EQUAL(after, 1);
	free(out);
	free(in);
}

int main(void)
{
	return run_test(test);
}
