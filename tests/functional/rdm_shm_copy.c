/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Large messages between two processes of a host: the receiver copies them from the sender's
 * memory. Where the kernel does not permit that, or no longer does, they arrive all the same.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "rdm_node.h"

enum { TAG = 3, LARGEST = (8 << 20) + 3 };

static const size_t sizes[] = { 70000, 1 << 20, LARGEST, 65537 };
enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };

static int copies, permitted; /* calls: those that were made, and those that succeed */
static char buf[LARGEST];

/* The library's calls come here, because the program exports what the library imports. */
__attribute__((visibility("default"))) ssize_t
process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
		 const struct iovec *there, unsigned long there_count, unsigned long flags)
{
	if (copies++ >= permitted) {
		errno = EPERM;
		return -1;
	}
	return syscall(SYS_process_vm_readv, pid, here, here_count, there, there_count, flags);
}

/*
 * Both sides have mapped what the other offers once a message has gone there and back: an offer is
 * the first packet in each direction, and is answered before the next message.
 */
static void meet(struct node *node, fi_addr_t to, bool begins)
{
	int i;

	for (i = 0; i < 4; i++) {
		if (begins == !(i % 2))
			node_tsend(node, buf, 8, to, TAG);
		else
			node_trecv(node, buf, 8, TAG, NULL);
		node_wait(node);
	}
}

static void receive_all(struct node *node)
{
	int i;

	for (i = 0; i < COUNT; i++) {
		node_trecv(node, buf, sizes[i], TAG, NULL);
		node_wait(node);
		CHECK_FILLED(buf, sizes[i], i + 1);
	}
}

static void receiver(struct child *parent, void *arg)
{
	struct node_name name;
	struct node node;
	fi_addr_t to;
	char end;

	copies = 0;
	permitted = *(const int *)arg;
	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	child_say(parent, &node.name, sizeof(node.name));
	meet(&node, to, false);
	receive_all(&node);
	child_hear(parent, &end, 1);
	child_say(parent, &copies, sizeof(copies));
	node_close(&node);
}

/* Returns how often the receiver, which may do so `times` times, copied or tried to. */
static int send_all(int times)
{
	struct child child = child_start(receiver, &times);
	struct node_name name;
	struct node node;
	fi_addr_t to;
	int i, count;

	node_open(&node, NULL);
	child_say(&child, &node.name, sizeof(node.name));
	child_hear(&child, &name, sizeof(name));
	to = node_know(&node, &name);
	meet(&node, to, true);
	for (i = 0; i < COUNT; i++) {
		fill(buf, sizes[i], i + 1);
		node_tsend(&node, buf, sizes[i], to, TAG);
		node_wait(&node);
	}
	child_say(&child, "e", 1);
	child_hear(&child, &count, sizeof(count));
	child_end(&child);
	node_close(&node);
	return count;
}

static void check_copies(int times, int least)
{
	int n = send_all(times);

	if (n < least)
		FAIL("%d calls copied or tried to, not %d or more", n, least);
}

static void test(void)
{
	/* One call finds out whether it is possible, and a large message takes several. */
	check_copies(INT_MAX, COUNT + 1);
	RETURNS(send_all(0), 1);
	/* The second message begins to be copied, and is sent again. */
	check_copies(5, 6);
}

int main(void)
{
	setenv("FI_VERBS_SHM", "1", 1);
	need_env("WEFT_DEVICE");
	return run_test(test);
}
