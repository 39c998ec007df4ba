/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two reliable-datagram endpoints that know each other. */
#include "ends.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fi_cm.h>

enum { WAIT_MS = 8000 };

int ends_step(struct ends *s, const char *name, ssize_t ret)
{
	if (s->outcome->err)
		return -1;
	snprintf(s->outcome->step, sizeof(s->outcome->step), "%s", name);
	if (ret >= 0)
		return 0;
	s->outcome->err = (int)ret;
	return -1;
}

long ends_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int ends_open_fabric(struct ends *s, uint64_t caps)
{
	s->hints = fi_allocinfo();
	if (ends_step(s, "fi_allocinfo", s->hints ? 0 : -FI_ENOMEM))
		return -1;
	snprintf(s->av_name, sizeof(s->av_name), "faults %d", (int)getpid());
	s->hints->caps = caps;
	s->hints->ep_attr->type = FI_EP_RDM;
	s->hints->addr_format = FI_SOCKADDR_IN;
	if (caps & FI_HMEM)
		s->hints->domain_attr->mr_mode = FI_MR_HMEM;
	s->hints->fabric_attr->prov_name = strdup("verbs");
	return ends_step(s, "fi_getinfo",
			 fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, s->hints, &s->info)) ||
	       ends_step(s, "fi_fabric", fi_fabric(s->info->fabric_attr, &s->fabric, NULL));
}

int ends_open_domain(struct ends *s)
{
	return ends_step(s, "fi_domain", fi_domain(s->fabric, s->info, &s->domain, NULL)) ||
	       ends_step(s, "fi_mr_reg",
			 fi_mr_reg(s->domain, s->target, ENDS_LEN, FI_REMOTE_READ | FI_REMOTE_WRITE,
				   0, ENDS_KEY, 0, &s->mr, NULL));
}

/* What failed can be tried again. */
static int enable(struct ends *s, int i)
{
	int ret = fi_enable(s->ep[i]);

	return (ret && ends_step(s, "another fi_enable", fi_enable(s->ep[i]))) ||
	       ends_step(s, "fi_enable", ret);
}

int ends_open(struct ends *s, int i)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD };
	/* One is shared with nobody. */
	struct fi_av_attr av = { .type = FI_AV_TABLE, .name = i ? s->av_name : NULL };

	return ends_step(s, "fi_cq_open", fi_cq_open(s->domain, &cq, &s->cq[i], NULL)) ||
	       ends_step(s, "fi_av_open", fi_av_open(s->domain, &av, &s->av[i], NULL)) ||
	       ends_step(s, "fi_endpoint", fi_endpoint(s->domain, s->info, &s->ep[i], NULL)) ||
	       ends_step(s, "fi_ep_bind",
			 fi_ep_bind(s->ep[i], &s->cq[i]->fid, FI_TRANSMIT | FI_RECV)) ||
	       ends_step(s, "fi_ep_bind", fi_ep_bind(s->ep[i], &s->av[i]->fid, 0)) || enable(s, i);
}

int ends_introduce(struct ends *s, int i)
{
	char name[64];
	size_t len = sizeof(name);
	int ret, err = FI_ENOMEM;

	if (ends_step(s, "fi_getname", fi_getname(&s->ep[!i]->fid, name, &len)))
		return -1;
	ret = fi_av_insert(s->av[i], name, 1, &s->to[i], FI_SYNC_ERR, &err);
	return ends_step(s, "fi_av_insert", ret == 1 ? 0 : ret < 0 ? ret : -err);
}

int ends_take(struct ends *s, int i, const char *name)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t ret = fi_cq_read(s->cq[i], &entry, 1);

	if (ret == -FI_EAGAIN)
		return 0;
	if (ret == -FI_EAVAIL) {
		ret = fi_cq_readerr(s->cq[i], &error, 0);
		s->outcome->by_event = ret > 0;
		return ends_step(s, name, ret > 0 ? -error.err : ret);
	}
	return ends_step(s, name, ret) ? -1 : 1;
}

int ends_time_out(struct ends *s, const char *name)
{
	s->outcome->timed_out = true;
	return ends_step(s, name, -FI_ETIMEDOUT);
}

int ends_receive(struct ends *s, int i, const char *name)
{
	long end = ends_now_ms() + WAIT_MS;
	int ret = 0;

	while (!ret) {
		ret = ends_take(s, i, name);
		if (!ret && ends_now_ms() > end) /* The sender may have the error. */
			return ends_take(s, !i, name) < 0 ? -1 : ends_time_out(s, name);
	}
	return ret < 0 ? -1 : 0;
}

int ends_complete(struct ends *s, const char *name, int first, int second)
{
	long end = ends_now_ms() + WAIT_MS;
	int ret = 0;

	while (first > 0 || second > 0) {
		ret = ends_take(s, 0, name);
		first -= ret > 0;
		if (ret >= 0)
			ret = ends_take(s, 1, name);
		second -= ret > 0;
		if (ret < 0)
			return -1;
		if (ends_now_ms() < end)
			continue;
		return ends_time_out(s, name);
	}
	return ends_step(s, name, 0);
}

void ends_close_one(struct ends *s, void *object)
{
	int ret = object ? fi_close(object) : 0;

	if (ret && !s->outcome->close_err)
		s->outcome->close_err = ret;
}

void ends_close(struct ends *s)
{
	int i;

	for (i = 0; i < 2; i++) {
		ends_close_one(s, s->ep[i]);
		ends_close_one(s, s->cq[i]);
		ends_close_one(s, s->av[i]);
	}
	ends_close_one(s, s->mr);
	ends_close_one(s, s->domain);
	ends_close_one(s, s->fabric);
	fi_freeinfo(s->info);
	fi_freeinfo(s->hints);
}
