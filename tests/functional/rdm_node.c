/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One reliable-datagram endpoint, and processes with one each. */
#include "rdm_node.h"
#include "rdm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/fi_stats.h>

const char *node_auth_key;
bool node_av_keys;
uint32_t node_tclass;
int node_mr_mode = RDM_PROV_KEYS;
enum fi_wait_obj node_wait_obj = FI_WAIT_NONE;

static struct fi_info *get_info(const char *service)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	CHECK(hints);
	rdm_hint_device(hints);
	if (service)
		hints->addr_format = FI_FORMAT_UNSPEC; /* that of WEFT_ADDR */
	hints->domain_attr->mr_mode = node_mr_mode;
	hints->tx_attr->tclass = node_tclass;
	if (node_auth_key) {
		hints->ep_attr->auth_key = (uint8_t *)strdup(node_auth_key);
		hints->ep_attr->auth_key_size = strlen(node_auth_key);
	}
	if (node_av_keys)
		hints->domain_attr->auth_key_size = FI_AV_AUTH_KEY;
	OK(fi_getinfo(FI_VERSION(1, 17), service ? need_env("WEFT_ADDR") : NULL, service,
		      service ? FI_SOURCE : 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void open_all(struct node *node, const char *service, struct fi_av_attr *av)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = node_wait_obj };
	size_t len = sizeof(node->name);

	memset(node, 0, sizeof(*node));
	node->info = get_info(service);
	OK(fi_fabric(node->info->fabric_attr, &node->fabric, NULL));
	OK(fi_domain(node->fabric, node->info, &node->domain, NULL));
	OK(fi_endpoint(node->domain, node->info, &node->ep, NULL));
	OK(fi_cq_open(node->domain, &cq, &node->cq, NULL));
	OK(fi_av_open(node->domain, av, &node->av, NULL));
	OK(fi_ep_bind(node->ep, &node->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(node->ep, &node->av->fid, 0));
	OK(fi_enable(node->ep));
	OK(fi_getname(&node->ep->fid, &node->name, &len));
}

void node_open(struct node *node, const char *service)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	open_all(node, service, &av);
}

void node_open_av(struct node *node, struct fi_av_attr *av)
{
	open_all(node, NULL, av);
}

void node_close(struct node *node)
{
	OK(fi_close(&node->ep->fid));
	OK(fi_close(&node->cq->fid));
	OK(fi_close(&node->av->fid));
	OK(fi_close(&node->domain->fid));
	OK(fi_close(&node->fabric->fid));
	fi_freeinfo(node->info);
}

fi_addr_t node_know(struct node *node, const void *name)
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;

	RETURNS(fi_av_insert(node->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

fi_addr_t node_open_host(struct node *node, const char *service)
{
	struct sockaddr_in peer = { .sin_family = AF_INET };

	node_open(node, service);
	peer.sin_port = node->name.in.sin_port;
	EQUAL(inet_pton(AF_INET, need_env("WEFT_PEER_ADDRS"), &peer.sin_addr), 1);
	return node_know(node, &peer);
}

bool node_poll(struct node *node, struct fi_cq_tagged_entry *entry, int *err)
{
	struct fi_cq_err_entry error = { 0 };
	ssize_t ret = fi_cq_read(node->cq, entry, 1);

	*err = 0;
	if (ret == -FI_EAGAIN)
		return false;
	if (ret == 1)
		return true;
	RETURNS(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(node->cq, &error, 0), 1);
	*entry =
		(struct fi_cq_tagged_entry){ .op_context = error.op_context, .flags = error.flags };
	*err = error.err;
	CHECK(error.err);
	return true;
}

struct fi_cq_tagged_entry node_wait(struct node *node)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	int err;

	while (!node_poll(node, &entry, &err))
		pause_until(end, "a completion");
	EQUAL(err, 0);
	return entry;
}

void node_reap(struct node *node, unsigned int count, unsigned int *failed)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	unsigned int done;
	int err;

	for (done = 0; done < count; done++) {
		while (!node_poll(node, &entry, &err))
			pause_until(end, "the completion of every operation");
		(*failed) += !!err;
	}
}

void node_silent(struct node *node, int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;
	struct fi_cq_tagged_entry entry;

	while (now_ms() < end)
		RETURNS(fi_cq_read(node->cq, &entry, 1), -FI_EAGAIN);
}

void node_tsend(struct node *node, const void *buf, size_t len, fi_addr_t to, uint64_t tag)
{
	OK(fi_tsend(node->ep, buf, len, NULL, to, tag, NULL));
}

void node_trecv(struct node *node, void *buf, size_t len, uint64_t tag, void *context)
{
	OK(fi_trecv(node->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, context));
}

unsigned int count_qps(void)
{
	FILE *file = popen("rdma resource show qp | grep -c 'type RC'", "r");
	unsigned int count = 0;

	CHECK(file && fscanf(file, "%u", &count) == 1);
	pclose(file);
	return count;
}

bool has_peer_on(const char *transport)
{
	struct fi_stats_attr attr = { .size = sizeof(attr) };
	struct fi_stats_peer peer = { 0 };
	struct fi_ops_stats_process *ops;
	bool found = false;
	struct fid *fid;
	int ret;

	OK(fi_open(FI_VERSION(2, 6), "stats", &attr, sizeof(attr), 0, &fid, NULL));
	OK(fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL));
	while ((ret = ops->next_peer(fid, peer.id, &peer)) == 1)
		found |= !strcmp(peer.transport, transport);
	RETURNS(ret, 0);
	OK(fi_close(fid));
	return found;
}

struct child child_start(void (*run)(struct child *parent, void *arg), void *arg)
{
	struct child child;
	int socks[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks));
	child.pid = fork();
	CHECK(child.pid >= 0);
	close(socks[!!child.pid]);
	child.sock = socks[!child.pid];
	if (child.pid)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(TEST_S);
	run(&child, arg);
	exit(0);
}

void child_say(const struct child *child, const void *data, size_t len)
{
	EQUAL(send(child->sock, data, len, MSG_NOSIGNAL), len);
}

void child_hear(const struct child *child, void *data, size_t len)
{
	EQUAL(recv(child->sock, data, len, MSG_WAITALL), len);
}

void child_kill(struct child *child)
{
	CHECK(!kill(child->pid, SIGKILL));
	EQUAL(waitpid(child->pid, NULL, 0), child->pid);
	close(child->sock);
}

void child_end(struct child *child)
{
	int status;

	EQUAL(waitpid(child->pid, &status, 0), child->pid);
	EQUAL(status, 0);
	close(child->sock);
}

void node_stop(struct node *node, struct child *parent)
{
	char byte;

	raise(SIGSTOP);
	node_wait(node);
	child_say(parent, "d", 1);
	child_hear(parent, &byte, 1);
	node_close(node);
}

void node_outwait(struct node *node, struct child *child, int ms)
{
	char byte;

	node_silent(node, ms);
	CHECK(!kill(child->pid, SIGCONT));
	node_wait(node);
	child_hear(child, &byte, 1);
	child_say(child, "e", 1);
	child_end(child);
	node_close(node);
}
