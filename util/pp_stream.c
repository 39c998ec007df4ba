/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The stream of --rate: the client sends, the server acknowledges each half window. */
#include "pp_stream.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "pp_log.h"

#define PP_ACK_SIZE 4
#define PP_BATCH    16

static int pp_post(struct pp_stream *stream, struct fi_context2 *context)
{
	struct pp_wait wait = { 0 };
	ssize_t ret;
	int bad;

	while ((ret = pp_recv_once(stream->ep, context)) == -FI_EAGAIN) {
		bad = pp_wait_spin(stream->ep, &wait);
		if (bad)
			return bad;
	}
	return ret ? pp_failed("fi_recv", (int)ret) : 0;
}

static int pp_window(const struct pp_ep *ep, unsigned int *window)
{
	size_t limit = ep->info->tx_attr->size;

	if (limit > ep->info->rx_attr->size)
		limit = ep->info->rx_attr->size;
	*window = ep->opts->window ? ep->opts->window : PP_DEFAULT_WINDOW;
	if (*window <= limit)
		return 0;
	if (ep->opts->window || !limit) {
		pp_error("-W %u is too much: the endpoint's queues have %zu entries", *window,
			 limit);
		return -FI_EINVAL;
	}
	*window = (unsigned int)limit;
	return 0;
}

int pp_stream_open(struct pp_stream *stream, struct pp_ep *ep)
{
	unsigned int i;
	int ret;

	memset(stream, 0, sizeof(*stream));
	stream->ep = ep;
	ret = pp_window(ep, &stream->room);
	if (ret)
		return ret;
	stream->window = stream->room;
	stream->idle = calloc(stream->room, sizeof(*stream->idle));
	stream->contexts = calloc(2 * (size_t)stream->room, sizeof(*stream->contexts));
	if (!stream->idle || !stream->contexts)
		return pp_failed("calloc", -FI_ENOMEM);
	for (i = 0; i < stream->room; i++)
		stream->idle[stream->idle_count++] = &stream->contexts[i];
	for (i = 1; i < stream->room && !ret; i++)
		ret = pp_post(stream, &stream->contexts[stream->room + i]);
	return ret;
}

void pp_stream_close(struct pp_stream *stream)
{
	free(stream->idle);
	free(stream->contexts);
	memset(stream, 0, sizeof(*stream));
}

/* Returns the number of completions, 0 if there are none. */
static int pp_read(struct fid_cq *cq, struct fi_cq_msg_entry entries[PP_BATCH], const char *what)
{
	ssize_t got = fi_cq_read(cq, entries, PP_BATCH);

	if (got == -FI_EAGAIN)
		return 0;
	if (got == -FI_EAVAIL)
		return pp_cq_error(cq, what);
	return got < 0 ? pp_failed("fi_cq_read", (int)got) : (int)got;
}

static int pp_reap_sends(struct pp_stream *stream)
{
	struct fi_cq_msg_entry entries[PP_BATCH];
	int count = pp_read(stream->ep->txcq, entries, "send");
	int i;

	for (i = 0; i < count; i++)
		stream->idle[stream->idle_count++] = entries[i].op_context;
	return count;
}

static int pp_reap_recvs(struct pp_stream *stream)
{
	struct fi_cq_msg_entry entries[PP_BATCH];
	int count = pp_read(stream->ep->rxcq, entries, "receive");
	int ret, i;

	for (i = 0; i < count; i++) {
		ret = pp_post(stream, entries[i].op_context);
		if (ret)
			return ret;
		stream->arrived++;
	}
	return count;
}

/* Reads what there is to read; notices after a while without anything that the peer has ended. */
static int pp_step(struct pp_stream *stream)
{
	int sends, recvs;

	sends = pp_reap_sends(stream);
	if (sends < 0)
		return sends;
	recvs = pp_reap_recvs(stream);
	if (recvs < 0)
		return recvs;
	if (!sends && !recvs)
		return pp_wait_spin(stream->ep, &stream->wait);
	stream->wait = (struct pp_wait){ 0 };
	return 0;
}

static unsigned int pp_half(const struct pp_stream *stream)
{
	return stream->window > 1 ? stream->window / 2 : 1;
}

/* Returns how many of count messages the server has acknowledged. */
static unsigned int pp_acked(const struct pp_stream *stream, unsigned int count)
{
	uint64_t acked = (uint64_t)stream->arrived * pp_half(stream);

	return acked < count ? (unsigned int)acked : count;
}

/* Returns 1 if it has sent a message, 0 if there is no room. */
static int pp_send_one(struct pp_stream *stream, size_t len)
{
	bool inject = len <= stream->ep->info->tx_attr->inject_size;
	ssize_t ret;

	if (inject) {
		ret = pp_inject_once(stream->ep, len);
	} else {
		if (!stream->idle_count)
			return 0;
		ret = pp_send_once(stream->ep, len, stream->idle[stream->idle_count - 1]);
		if (!ret)
			stream->idle_count--;
	}
	if (!ret)
		return 1;
	return ret == -FI_EAGAIN ? 0 : pp_failed(inject ? "fi_inject" : "fi_send", (int)ret);
}

static int pp_send_all(struct pp_stream *stream, size_t size, unsigned int count)
{
	unsigned int sent = 0;
	int ret;

	while (sent < count || pp_acked(stream, count) < count ||
	       stream->idle_count < stream->room) {
		ret = 0;
		if (sent < count && sent - pp_acked(stream, count) < stream->window)
			ret = pp_send_one(stream, size + stream->ep->prefix);
		if (ret > 0)
			sent++;
		else if (!ret)
			ret = pp_step(stream);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int pp_recv_all(struct pp_stream *stream, unsigned int count)
{
	unsigned int half = pp_half(stream);
	unsigned int acked = 0;
	int ret;

	while (acked < count) {
		ret = pp_step(stream);
		while (!ret && acked < count &&
		       (stream->arrived - acked >= half || stream->arrived >= count)) {
			ret = pp_tx(stream->ep, PP_ACK_SIZE);
			acked = count - acked > half ? acked + half : count;
		}
		if (ret)
			return ret;
	}
	return 0;
}

int pp_stream_run(struct pp_stream *stream, size_t size, unsigned int count)
{
	stream->arrived = 0;
	stream->wait = (struct pp_wait){ 0 };
	return stream->ep->ctrl->client ? pp_send_all(stream, size, count)
					: pp_recv_all(stream, count);
}
