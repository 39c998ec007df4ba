/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The data path of fi_pingpong: receives are posted ahead, small messages are injected. */
#include "pp_data.h"

#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "pp_gpu.h"
#include "pp_log.h"

#define PP_TAG	     1234
#define PP_SPINS     (1u << 16)
#define PP_GRACE_SEC 1 /* time for messages in flight from a peer that has ended */
#define PP_DGRAM_SEC 5

static const char pp_fin[] = "fin";
static const char pp_alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
#define PP_LETTERS (sizeof(pp_alphabet) - 1)

static time_t pp_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static int pp_wait_check(struct pp_ep *ep, struct pp_wait *wait)
{
	time_t now = pp_now();

	wait->spins = 0;
	if (!wait->start)
		wait->start = now;
	if (!wait->gone && pp_ctrl_peer_gone(ep->ctrl))
		wait->gone = now;
	if (wait->gone && now - wait->gone > PP_GRACE_SEC) {
		pp_error("the peer has gone away during the test");
		return -FI_ECONNABORTED;
	}
	if (ep->opts->ep_type == FI_EP_DGRAM && now - wait->start > PP_DGRAM_SEC) {
		pp_error("no message for %d seconds: a datagram was lost", PP_DGRAM_SEC);
		return -FI_ETIMEDOUT;
	}
	return 0;
}

int pp_wait_spin(struct pp_ep *ep, struct pp_wait *wait)
{
	return ++wait->spins == PP_SPINS ? pp_wait_check(ep, wait) : 0;
}

int pp_cq_error(struct fid_cq *cq, const char *what)
{
	struct fi_cq_err_entry entry = { 0 };
	char text[256] = "";
	const char *detail;
	ssize_t got;

	got = fi_cq_readerr(cq, &entry, 0);
	if (got < 0)
		return pp_failed("fi_cq_readerr", (int)got);
	detail = fi_cq_strerror(cq, entry.prov_errno, entry.err_data, text, sizeof(text));
	pp_error("%s failed: %s (%s)", what, fi_strerror(entry.err), detail ? detail : "");
	return entry.err ? -entry.err : -FI_EIO;
}

static int pp_cq_wait(struct pp_ep *ep, struct fid_cq *cq, const char *what,
		      struct fi_cq_msg_entry *entry)
{
	struct pp_wait wait = { 0 };
	ssize_t got;
	int ret;

	for (;;) {
		got = fi_cq_read(cq, entry, 1);
		if (got == 1)
			return 0;
		if (got == -FI_EAVAIL)
			return pp_cq_error(cq, what);
		if (got != -FI_EAGAIN && got)
			return pp_failed("fi_cq_read", (int)got);
		if (++wait.spins == PP_SPINS) {
			ret = pp_wait_check(ep, &wait);
			if (ret)
				return ret;
		}
	}
}

/*
 * The queue is full: lets the provider make progress, as FI_PROGRESS_MANUAL requires. Every send
 * was waited for, so the transmit queue has no completion to lose; the receive queue may have one.
 */
static int pp_progress(struct pp_ep *ep, struct pp_wait *wait)
{
	struct fi_cq_msg_entry entry;

	if (fi_cq_read(ep->txcq, &entry, 1) == -FI_EAVAIL)
		return pp_cq_error(ep->txcq, "send");
	if (fi_cq_read(ep->rxcq, NULL, 0) == -FI_EAVAIL)
		return pp_cq_error(ep->rxcq, "receive");
	return pp_wait_spin(ep, wait);
}

inline ssize_t pp_recv_once(struct pp_ep *ep, void *context)
{
	if (ep->opts->caps == FI_TAGGED)
		return fi_trecv(ep->ep, ep->rx_buf, ep->buf_size, ep->mr_desc, FI_ADDR_UNSPEC,
				PP_TAG, 0, context);
	return fi_recv(ep->ep, ep->rx_buf, ep->buf_size, ep->mr_desc, FI_ADDR_UNSPEC, context);
}

inline ssize_t pp_inject_once(struct pp_ep *ep, size_t len)
{
	if (ep->opts->caps == FI_TAGGED)
		return fi_tinject(ep->ep, ep->tx_buf, len, ep->peer, PP_TAG);
	return fi_inject(ep->ep, ep->tx_buf, len, ep->peer);
}

inline ssize_t pp_send_once(struct pp_ep *ep, size_t len, void *context)
{
	if (ep->opts->caps == FI_TAGGED)
		return fi_tsend(ep->ep, ep->tx_buf, len, ep->mr_desc, ep->peer, PP_TAG, context);
	return fi_send(ep->ep, ep->tx_buf, len, ep->mr_desc, ep->peer, context);
}

int pp_post_recv(struct pp_ep *ep)
{
	struct pp_wait wait = { 0 };
	ssize_t ret;

	while ((ret = pp_recv_once(ep, &ep->rx_context)) == -FI_EAGAIN) {
		ret = pp_progress(ep, &wait);
		if (ret)
			return (int)ret;
	}
	return ret ? pp_failed("fi_recv", (int)ret) : 0;
}

static int pp_inject(struct pp_ep *ep, size_t len)
{
	struct pp_wait wait = { 0 };
	ssize_t ret;

	while ((ret = pp_inject_once(ep, len)) == -FI_EAGAIN) {
		ret = pp_progress(ep, &wait);
		if (ret)
			return (int)ret;
	}
	return ret ? pp_failed("fi_inject", (int)ret) : 0;
}

int pp_tx(struct pp_ep *ep, size_t size)
{
	struct fi_cq_msg_entry entry;
	struct pp_wait wait = { 0 };
	size_t len = size + ep->prefix;
	ssize_t ret;

	if (len <= ep->info->tx_attr->inject_size)
		return pp_inject(ep, len);
	while ((ret = pp_send_once(ep, len, &ep->tx_context)) == -FI_EAGAIN) {
		ret = pp_progress(ep, &wait);
		if (ret)
			return (int)ret;
	}
	if (ret)
		return pp_failed("fi_send", (int)ret);
	return pp_cq_wait(ep, ep->txcq, "send", &entry);
}

int pp_rx(struct pp_ep *ep, size_t size)
{
	struct fi_cq_msg_entry entry;
	int ret;

	ret = pp_cq_wait(ep, ep->rxcq, "receive", &entry);
	if (ret)
		return ret;
	if (ep->opts->check && entry.len != size && entry.len != size + ep->prefix) {
		pp_error("data check error: message of %zu bytes, expected %zu", entry.len, size);
		return -FI_EIO;
	}
	return pp_post_recv(ep);
}

static ssize_t pp_send_fin(struct pp_ep *ep, size_t len)
{
	struct iovec iov = { .iov_base = ep->tx_buf, .iov_len = len };
	uint64_t flags = FI_COMPLETION | FI_TRANSMIT_COMPLETE;
	struct fi_msg msg = { 0 };
	struct fi_msg_tagged tmsg = { 0 };

	if (ep->opts->caps == FI_TAGGED) {
		tmsg.msg_iov = &iov;
		tmsg.desc = &ep->mr_desc;
		tmsg.iov_count = 1;
		tmsg.addr = ep->peer;
		tmsg.tag = PP_TAG;
		tmsg.context = &ep->tx_context;
		return fi_tsendmsg(ep->ep, &tmsg, flags);
	}
	msg.msg_iov = &iov;
	msg.desc = &ep->mr_desc;
	msg.iov_count = 1;
	msg.addr = ep->peer;
	msg.context = &ep->tx_context;
	return fi_sendmsg(ep->ep, &msg, flags);
}

/* Returns where the processor writes the message that pp_written() then passes on. */
static char *pp_to_write(const struct pp_ep *ep)
{
	return ep->stage ? ep->stage : ep->tx_buf + ep->prefix;
}

static int pp_written(const struct pp_ep *ep, size_t len)
{
	return ep->stage ? pp_gpu_put(ep->tx_buf + ep->prefix, ep->stage, len) : 0;
}

/* Returns the bytes of the message that has arrived, or NULL if they cannot be copied. */
static const char *pp_to_read(const struct pp_ep *ep, size_t len)
{
	if (!ep->stage)
		return ep->rx_buf + ep->prefix;
	return pp_gpu_get(ep->stage, ep->rx_buf + ep->prefix, len) ? NULL : ep->stage;
}

/* Other tools write it over the prefix of a datagram, which is not sent. */
static int pp_check_fin(const struct pp_ep *ep)
{
	const char *data = pp_to_read(ep, sizeof(pp_fin));

	if (!data)
		return -FI_EIO;
	if (ep->prefix || !memcmp(data, pp_fin, sizeof(pp_fin)))
		return 0;
	pp_error("unexpected closing message from the peer");
	return -FI_EOTHER;
}

int pp_finish(struct pp_ep *ep)
{
	struct fi_cq_msg_entry entry;
	struct pp_wait wait = { 0 };
	ssize_t ret;

	memcpy(pp_to_write(ep), pp_fin, sizeof(pp_fin));
	ret = pp_written(ep, sizeof(pp_fin));
	if (ret)
		return (int)ret;
	while ((ret = pp_send_fin(ep, sizeof(pp_fin) + ep->prefix)) == -FI_EAGAIN) {
		ret = pp_progress(ep, &wait);
		if (ret)
			return (int)ret;
	}
	if (ret)
		return pp_failed("fi_sendmsg", (int)ret);
	ret = pp_cq_wait(ep, ep->txcq, "send", &entry);
	if (!ret)
		ret = pp_cq_wait(ep, ep->rxcq, "receive", &entry);
	return ret ? (int)ret : pp_check_fin(ep);
}

int pp_fill(struct pp_ep *ep, size_t size, unsigned int iteration)
{
	size_t letter = 7ul * iteration % PP_LETTERS;
	char *data = pp_to_write(ep);
	size_t i;

	for (i = 0; i < size; i++) {
		data[i] = pp_alphabet[letter];
		letter = letter + 1 == PP_LETTERS ? 0 : letter + 1;
	}
	return pp_written(ep, size);
}

int pp_verify(const struct pp_ep *ep, size_t size, unsigned int iteration)
{
	size_t letter = 7ul * iteration % PP_LETTERS;
	const char *data = pp_to_read(ep, size);
	size_t i;

	if (!data)
		return -FI_EIO;
	for (i = 0; i < size; i++) {
		if (data[i] != pp_alphabet[letter]) {
			pp_error(
				"data check error at byte %zu of %zu, iteration %u: expected '%c', got 0x%02x",
				i, size, iteration, pp_alphabet[letter], (unsigned char)data[i]);
			return -FI_EIO;
		}
		letter = letter + 1 == PP_LETTERS ? 0 : letter + 1;
	}
	return 0;
}
