/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process on the host asks for shared memory on many connections, and never maps what it is
 * offered, as one of another user cannot. The victim's file descriptors stay bounded, and a genuine
 * peer that comes later gets shared memory.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hostile.h"

/* The victim's bell is a file, too. A peer maps a bell and a ring of its own and of the victim. */
enum { TAG = 1, FOES = 100, FILES = 64 + 1, MAPS = 4, SOON_MS = 12000 };

#define NAME "memfd:weft"

static struct foe foes[FOES];

static void serve(struct child *parent, void *arg)
{
	struct node node;
	uint32_t word;

	(void)arg;
	node_open(&node, NULL);
	child_say(parent, &node.name.in, sizeof(node.name.in));
	node_trecv(&node, &word, sizeof(word), TAG, NULL);
	node_wait(&node);
	child_hear(parent, &word, sizeof(word));
	node_close(&node);
}

/* Sends a message, and reports how long it took to share memory in both directions. */
static void come(struct child *parent, void *arg)
{
	struct fi_cq_tagged_entry entry;
	struct sockaddr_in name;
	uint32_t word = 77;
	struct node node;
	uint64_t start;
	int ms;

	(void)arg;
	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	start = now_ms();
	node_tsend(&node, &word, sizeof(word), node_know(&node, &name), TAG);
	node_wait(&node);
	while (count_maps(NAME) < MAPS && now_ms() < start + SOON_MS)
		RETURNS(fi_cq_read(node.cq, &entry, 1), -FI_EAGAIN);
	ms = (int)(now_ms() - start);
	child_say(parent, &ms, sizeof(ms));
	node_close(&node);
}

static bool join(struct foe *foe, const struct sockaddr_in *to, int port)
{
	struct sockaddr_in name = *to;
	struct ofi_rdm_cmwire cm;
	uint8_t data[256];

	name.sin_port = htons((uint16_t)port);
	cm = foe_claim(&name, (uint64_t)port, 1);
	cm.flags = OFI_RDM_CMWIRE_SHM;
	foe_open(foe, NULL);
	CHECK(foe_ask(foe, to, data, foe_pack(data, &cm), true));
	foe_listen_to(foe);
	return foe_await(foe, FOE_MS) == FOE_UP;
}

/* Returns the number of the victim's files of rings and bells. */
static int files(const struct child *server)
{
	char path[512], target[64];
	struct dirent *entry;
	int count = 0;
	ssize_t len;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)server->pid);
	CHECK(dir = opendir(path));
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)server->pid, entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		count += strstr(target, NAME) != NULL;
	}
	closedir(dir);
	return count;
}

/* A file that takes the place of another one may be missing in a count. */
static int most_files(const struct child *server)
{
	int i, count, most = 0;

	for (i = 0; i < 10; i++) {
		count = files(server);
		most = count > most ? count : most;
	}
	return most;
}

static void test(void)
{
	struct child server, newcomer;
	struct sockaddr_in name;
	int i, count, ms;

	setenv("FI_VERBS_SHM", "1", 1);
	server = child_start(serve, NULL);
	newcomer = child_start(come, NULL);
	child_hear(&server, &name, sizeof(name));
	for (i = 0; i < FOES; i++)
		CHECK(join(&foes[i], &name, 2000 + i));
	count = most_files(&server);
	printf("%d connections that answer no offer: %d files\n", FOES, count);
	EQUAL(count, FILES);
	child_say(&newcomer, &name, sizeof(name));
	child_hear(&newcomer, &ms, sizeof(ms));
	printf("a genuine peer shares memory after %d ms\n", ms);
	CHECK(ms < SOON_MS);
	CHECK(most_files(&server) <= FILES);
	child_end(&newcomer);
	child_say(&server, &i, sizeof(i));
	child_end(&server);
	for (i = 0; i < FOES; i++)
		foe_close(&foes[i]);
}

int main(void)
{
	return run_test(test);
}
