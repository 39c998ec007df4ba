/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opens, connects and closes one endpoint of a test connection. */
#include "doctor_link.h"

#include <stdio.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "doctor_time.h"

/* Announces that full packets are sent; a fi_doctor that does not know them says nothing. */
#define HELLO "packets of %u"

static int failed(struct doctor_link *link, const char *call, int ret)
{
	if (ret)
		link->call = call;
	return ret;
}

int doctor_link_fabric(struct doctor_link *link)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	int ret;

	ret = failed(link, "fi_fabric", fi_fabric(link->info->fabric_attr, &link->fabric, NULL));
	if (ret)
		return ret;
	return failed(link, "fi_eq_open", fi_eq_open(link->fabric, &attr, &link->eq, NULL));
}

static int open_domain(struct doctor_link *link)
{
	struct fi_cq_attr attr = { .size = 8,
				   .format = FI_CQ_FORMAT_MSG,
				   .wait_obj = FI_WAIT_UNSPEC };
	int ret;

	ret = failed(link, "fi_domain", fi_domain(link->fabric, link->info, &link->domain, NULL));
	if (!ret)
		ret = failed(link, "fi_cq_open", fi_cq_open(link->domain, &attr, &link->cq, NULL));
	if (!ret)
		ret = failed(link, "fi_mr_reg",
			     fi_mr_reg(link->domain, link->buffers, sizeof(link->buffers),
				       FI_SEND | FI_RECV, 0, 0, 0, &link->mr, NULL));
	return ret;
}

static int open_endpoint(struct doctor_link *link)
{
	int ret;

	ret = failed(link, "fi_endpoint", fi_endpoint(link->domain, link->info, &link->ep, NULL));
	if (!ret)
		ret = failed(link, "fi_ep_bind", fi_ep_bind(link->ep, &link->eq->fid, 0));
	if (!ret)
		ret = failed(link, "fi_ep_bind",
			     fi_ep_bind(link->ep, &link->cq->fid, FI_TRANSMIT | FI_RECV));
	if (!ret)
		ret = failed(link, "fi_enable", fi_enable(link->ep));
	return ret;
}

int doctor_link_endpoint(struct doctor_link *link)
{
	int ret, i;

	ret = open_domain(link);
	if (!ret)
		ret = open_endpoint(link);
	for (i = 1; !ret && i < 3; i++)
		ret = failed(link, "fi_recv",
			     (int)fi_recv(link->ep, link->buffers[i], DOCTOR_FULL,
					  fi_mr_desc(link->mr), 0, &link->contexts[i]));
	return ret;
}

static int event_error(struct doctor_link *link)
{
	struct fi_eq_err_entry entry = { 0 };
	const char *text;
	char buf[128] = "";
	ssize_t got;

	got = fi_eq_readerr(link->eq, &entry, 0);
	if (got < 0)
		return (int)got;
	text = fi_eq_strerror(link->eq, entry.prov_errno, entry.err_data, buf, sizeof(buf));
	snprintf(link->detail, sizeof(link->detail), "%s", text ? text : "");
	return entry.err ? -entry.err : -FI_EOTHER;
}

/* Returns the remaining time; negative means no limit. */
static int rest_ms(long start, int timeout_ms)
{
	long spent = (doctor_usec() - start) / 1000;

	if (timeout_ms < 0)
		return -1;
	return spent >= timeout_ms ? 0 : timeout_ms - (int)spent;
}

static int check_event(struct doctor_link *link, uint32_t want, uint32_t event,
		       struct fi_eq_cm_entry *entry)
{
	if (event != want) {
		snprintf(link->detail, sizeof(link->detail), "unexpected event %s",
			 fi_tostr(&event, FI_TYPE_EQ_EVENT));
		return event == FI_SHUTDOWN ? -FI_ECONNRESET : -FI_EOTHER;
	}
	if (event == FI_CONNREQ) {
		fi_freeinfo(link->info);
		link->info = entry->info;
	}
	sscanf((const char *)entry->data, HELLO, &link->peer_mtu);
	return 0;
}

/* Rejects a request that arrives while another one is served, so that the wait goes on. */
static ssize_t reject(struct doctor_link *link, struct fi_info *request)
{
	fi_reject(link->pep, request->handle, NULL, 0);
	fi_freeinfo(request);
	return -FI_EAGAIN;
}

int doctor_link_event(struct doctor_link *link, uint32_t want, int timeout_ms)
{
	union {
		struct fi_eq_cm_entry entry;
		char room[sizeof(struct fi_eq_cm_entry) + 256];
	} wide;
	long start = doctor_usec();
	uint32_t event;
	ssize_t got;
	int rest;

	link->call = "fi_eq_sread";
	do {
		rest = rest_ms(start, timeout_ms);
		got = fi_eq_sread(link->eq, &event, &wide, sizeof(wide) - 1, rest, 0);
		if (got > 0 && event == FI_CONNREQ && want != FI_CONNREQ)
			got = reject(link, wide.entry.info);
	} while ((got == -FI_EAGAIN || got == -FI_EINTR || got == -FI_ETIMEDOUT) && rest);
	if (got == -FI_EAVAIL)
		return event_error(link);
	if (got < 0)
		return got == -FI_EAGAIN ? -FI_ETIMEDOUT : (int)got;
	wide.room[got] = '\0';
	return check_event(link, want, event, &wide.entry);
}

static int completion_error(struct doctor_link *link)
{
	struct fi_cq_err_entry entry = { 0 };
	const char *text;
	char buf[128] = "";
	ssize_t got;

	got = fi_cq_readerr(link->cq, &entry, 0);
	if (got < 0)
		return (int)got;
	text = fi_cq_strerror(link->cq, entry.prov_errno, entry.err_data, buf, sizeof(buf));
	snprintf(link->detail, sizeof(link->detail), "%s", text ? text : "");
	return entry.err ? -entry.err : -FI_EOTHER;
}

/* Reads completions until `done` counts `want`. */
static int reap(struct doctor_link *link, const int *done, int want, int timeout_ms)
{
	long start = doctor_usec();
	struct fi_cq_msg_entry entry;
	ssize_t got;
	int rest;

	link->call = "fi_cq_sread";
	while (*done < want) {
		rest = rest_ms(start, timeout_ms);
		got = fi_cq_sread(link->cq, &entry, 1, NULL, rest);
		if (got == -FI_EAVAIL)
			return completion_error(link);
		if (got < 0 && got != -FI_EAGAIN && got != -FI_EINTR && got != -FI_ETIMEDOUT)
			return (int)got;
		if (got < 0 && !rest)
			return -FI_ETIMEDOUT;
		if (got == 1 && entry.op_context == &link->contexts[0])
			link->sent++;
		else if (got == 1)
			link->received++;
	}
	return 0;
}

unsigned int doctor_link_mtu(const struct doctor_link *link)
{
	const struct fid_nic *nic = link->info->nic;
	size_t mtu = nic && nic->link_attr ? nic->link_attr->mtu : 0;

	return mtu ? (unsigned int)mtu : DOCTOR_MTU_MAX;
}

size_t doctor_link_hello(const struct doctor_link *link, char text[DOCTOR_HELLO])
{
	return (size_t)snprintf(text, DOCTOR_HELLO, HELLO, doctor_link_mtu(link));
}

int doctor_link_send(struct doctor_link *link, char byte, size_t len, int timeout_ms)
{
	int ret;

	memset(link->buffers[0], byte, len);
	ret = (int)fi_send(link->ep, link->buffers[0], len, fi_mr_desc(link->mr), 0,
			   &link->contexts[0]);
	return ret ? failed(link, "fi_send", ret)
		   : reap(link, &link->sent, ++link->sends, timeout_ms);
}

int doctor_link_receive(struct doctor_link *link, char byte, int timeout_ms)
{
	int ret = reap(link, &link->received, ++link->receives, timeout_ms);
	char arrived = link->buffers[link->receives][0];

	if (ret || arrived == byte)
		return ret;
	snprintf(link->detail, sizeof(link->detail), "the byte is 0x%02x instead of 0x%02x",
		 (unsigned char)arrived, (unsigned char)byte);
	return -FI_EIO;
}

static void close_fid(struct fid *fid)
{
	if (fid)
		fi_close(fid);
}

void doctor_link_close(struct doctor_link *link)
{
	close_fid(link->ep ? &link->ep->fid : NULL);
	close_fid(link->pep ? &link->pep->fid : NULL);
	close_fid(link->mr ? &link->mr->fid : NULL);
	close_fid(link->cq ? &link->cq->fid : NULL);
	close_fid(link->domain ? &link->domain->fid : NULL);
	close_fid(link->eq ? &link->eq->fid : NULL);
	close_fid(link->fabric ? &link->fabric->fid : NULL);
	fi_freeinfo(link->info);
	memset(link, 0, sizeof(*link));
}
