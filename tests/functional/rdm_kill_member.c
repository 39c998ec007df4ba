/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A member of a collective group is killed or stopped while the others wait for it. If it is
 * killed, each of them gets one error in time, and messages between them continue; if it is
 * stopped, they wait, and all get the result when it continues.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "rdm_node.h"
#include "rdm_team.h"

enum { COUNT = 3, VICTIM = 2, TAG = 1 };

static struct team team;
static uint64_t in = 1, out;

/* Each process has an endpoint, which knows the others by their rank. */
static struct member *open_alone(const struct child *parent)
{
	struct member *member = &team.member[0];
	struct node_name names[COUNT], name;
	size_t len = sizeof(name), i;

	team_open(&team, 0, FI_COLLECTIVE);
	team.count = 1;
	member_open(&team, member);
	OK(fi_getname(&member->ep->fid, &name, &len));
	child_say(parent, &name, sizeof(name));
	child_hear(parent, names, sizeof(names));
	member->set = empty_set(member);
	for (i = 0; i < COUNT; i++) {
		RETURNS(fi_av_insert(member->av, &names[i], 1, &member->addr[i], 0, NULL), 1);
		OK(fi_av_set_insert(member->set, member->addr[i]));
	}
	team_join(&team);
	return member;
}

static void reduce(struct member *member)
{
	out = 0;
	OK(fi_allreduce(member->ep, &in, 1, NULL, &out, NULL, member->group, FI_UINT64, FI_SUM, 0,
			&team));
}

static void hear_end(const struct child *parent)
{
	char word;

	while (recv(parent->sock, &word, 1, MSG_DONTWAIT) < 0)
		fi_cq_read(team.member[0].cq, NULL, 0);
}

static void victim(struct child *parent, void *arg)
{
	struct member *member = open_alone(parent);

	(void)arg;
	reduce(member);
	EQUAL(team_wait(&team, &team), 0);
	EQUAL(out, COUNT);
	raise(SIGSTOP);
	reduce(member);
	EQUAL(team_wait(&team, &team), 0);
	EQUAL(out, COUNT);
	child_say(parent, "d", 1);
	hear_end(parent);
	team_close(&team);
}

/* The remaining members still reach each other. */
static void talk(struct member *member, fi_addr_t to)
{
	uint64_t end = deadline(), word = 1;
	struct fi_cq_tagged_entry entry;
	int left = 2;

	OK(fi_trecv(member->ep, &word, sizeof(word), NULL, to, TAG, 0, NULL));
	OK(fi_tsend(member->ep, &in, sizeof(in), NULL, to, TAG, NULL));
	while (left) {
		ssize_t ret = fi_cq_read(member->cq, &entry, 1);

		if (ret != -FI_EAGAIN)
			RETURNS(ret, 1);
		left -= ret == 1;
		pause_until(end, "a message");
	}
}

static void survivor(struct child *parent, void *arg)
{
	struct member *member = open_alone(parent);
	unsigned int rank = *(unsigned int *)arg;
	char killed;
	int err;

	reduce(member);
	EQUAL(team_wait(&team, &team), 0);
	EQUAL(out, COUNT);
	child_hear(parent, &killed, 1);
	reduce(member);
	child_say(parent, "r", 1);
	err = team_wait(&team, &team);
	CHECK(killed ? err != 0 : err == 0 && out == COUNT);
	talk(member, member->addr[!rank]);
	child_say(parent, "d", 1);
	hear_end(parent);
	team_close(&team);
}

static void wait_stopped(const struct child *child)
{
	int status;

	EQUAL(waitpid(child->pid, &status, WUNTRACED), child->pid);
	CHECK(WIFSTOPPED(status));
}

static void run(void *arg)
{
	struct node_name names[COUNT];
	struct child children[COUNT];
	char word, killed = *(char *)arg;
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		children[i] = child_start(i == VICTIM ? victim : survivor, &i);
	for (i = 0; i < COUNT; i++)
		child_hear(&children[i], &names[i], sizeof(names[i]));
	for (i = 0; i < COUNT; i++)
		child_say(&children[i], names, sizeof(names));
	wait_stopped(&children[VICTIM]);
	for (i = 0; i < VICTIM; i++)
		child_say(&children[i], &killed, 1);
	for (i = 0; i < VICTIM; i++)
		child_hear(&children[i], &word, 1);
	sleep_ms(30); /* the operation is in progress, as far as it can get */
	if (killed)
		child_kill(&children[VICTIM]);
	else
		CHECK(!kill(children[VICTIM].pid, SIGCONT));
	for (i = 0; i < COUNT - (unsigned int)killed; i++)
		child_hear(&children[i], &word, 1);
	for (i = 0; i < COUNT - (unsigned int)killed; i++)
		child_say(&children[i], "e", 1);
	for (i = 0; i < COUNT - (unsigned int)killed; i++)
		child_end(&children[i]);
}

int main(void)
{
	static char no = 0, yes = 1;
	int ret;

	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "3000", 1);
	setenv("FI_VERBS_RDM_RX_BUFFERS", "16", 1);
	ret = run_apart("stopped", run, &no);
	return ret ? ret : run_apart("killed", run, &yes);
}
