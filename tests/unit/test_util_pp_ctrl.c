/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_pingpong's control connection byte by byte, and the texts of its table. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/pp_ctrl.h"
#include "util/pp_size.h"

struct pair {
	struct pp_ctrl ctrl;
	int peer;
};

static struct pair open_pair(bool client)
{
	struct pair pair = { .ctrl = { .client = client, .listener = -1 } };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pair.ctrl.fd = fds[0];
	pair.peer = fds[1];
	return pair;
}

static void close_pair(struct pair *pair)
{
	pp_ctrl_close(&pair->ctrl);
	if (pair->peer >= 0)
		close(pair->peer);
}

static void peer_sends(struct pair *pair, const void *buf, size_t len)
{
	assert_int_equal(write(pair->peer, buf, len), len);
}

static void peer_gets(struct pair *pair, const void *want, size_t len)
{
	char got[64];

	assert_true(len <= sizeof(got));
	assert_int_equal(recv(pair->peer, got, len, MSG_WAITALL), len);
	assert_memory_equal(got, want, len);
}

static void test_sync(void **state)
{
	struct pair pair = open_pair(true);

	(void)state;
	peer_sends(&pair, "a", 2);
	assert_int_equal(pp_ctrl_sync(&pair.ctrl), 0);
	peer_gets(&pair, "q", 2);
	close_pair(&pair);
	pair = open_pair(false);
	peer_sends(&pair, "q", 2);
	assert_int_equal(pp_ctrl_sync(&pair.ctrl), 0);
	peer_gets(&pair, "a", 2);
	peer_sends(&pair, "x", 2);
	assert_int_equal(pp_ctrl_sync(&pair.ctrl), -EPROTO);
	close_pair(&pair);
}

static void test_count(void **state)
{
	struct pair pair = open_pair(true);
	unsigned int peer = 0;

	(void)state;
	peer_sends(&pair, "cnt ok", 7);
	assert_int_equal(pp_ctrl_count(&pair.ctrl, 11111, &peer), 0);
	peer_gets(&pair, "11111\0\0\0\0\0", 10);
	assert_int_equal(peer, 11111);
	close_pair(&pair);
	pair = open_pair(false);
	peer_sends(&pair, "999999999\0", 10);
	assert_int_equal(pp_ctrl_count(&pair.ctrl, 1, &peer), 0);
	peer_gets(&pair, "cnt ok", 7);
	assert_int_equal(peer, 999999999);
	peer_sends(&pair, "nonsense\0\0", 10);
	assert_int_equal(pp_ctrl_count(&pair.ctrl, 1, &peer), -EPROTO);
	close_pair(&pair);
}

static void peer_agrees(struct pair *pair, const char *text)
{
	char padded[64] = "";

	strcpy(padded, text);
	peer_sends(pair, "r", 2);
	peer_sends(pair, padded, sizeof(padded));
}

/* The window is the smaller one, and both ends transfer the same. */
static void test_agree(void **state)
{
	static const char *const bad[] = { "64 99 8", "64 100 9", "0 100 8", "64 100", "nonsense" };
	struct pp_agree agree = { 64, 100, 8 };
	struct pair pair = open_pair(true);
	size_t i;

	(void)state;
	peer_agrees(&pair, "16 100 8");
	assert_int_equal(pp_ctrl_agree(&pair.ctrl, &agree), 0);
	peer_gets(&pair,
		  "r\0"
		  "64 100 8\0\0",
		  12);
	assert_int_equal(agree.window, 16);
	close_pair(&pair);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pair = open_pair(i % 2);
		peer_agrees(&pair, bad[i]);
		assert_int_equal(pp_ctrl_agree(&pair.ctrl, &agree), -EPROTO);
		close_pair(&pair);
	}
	assert_int_equal(agree.window, 16);
}

/* One end has --rate, the other one has not. */
static void test_agree_alone(void **state)
{
	struct pp_agree agree = { 64, 100, 8 };
	struct pair pair = open_pair(false);

	(void)state;
	peer_sends(&pair, "q", 2);
	assert_int_equal(pp_ctrl_agree(&pair.ctrl, &agree), -EPROTO);
	close_pair(&pair);
	pair = open_pair(true);
	peer_agrees(&pair, "64 100 8");
	assert_int_equal(pp_ctrl_sync(&pair.ctrl), -EPROTO);
	close_pair(&pair);
}

static void test_name(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(44139) };
	struct pp_name name = { .format = FI_SOCKADDR_IN, .len = sizeof(in) };
	struct pp_name got;
	struct pair pair = open_pair(false);
	uint32_t format = FI_SOCKADDR_IN;

	(void)state;
	in.sin_addr.s_addr = htonl(0xc0000202);
	memcpy(name.addr, &in, sizeof(in));
	assert_int_equal(pp_ctrl_send_name(&pair.ctrl, &name), 0);
	peer_gets(&pair, "\0\0\0\x10", 4);
	peer_gets(&pair, &format, 4);
	peer_gets(&pair, &in, sizeof(in));
	peer_sends(&pair, "\0\0\0\x10", 4);
	peer_sends(&pair, &format, 4);
	peer_sends(&pair, &in, sizeof(in));
	assert_int_equal(pp_ctrl_recv_name(&pair.ctrl, &got), 0);
	assert_int_equal(got.format, format);
	assert_int_equal(got.len, sizeof(in));
	assert_memory_equal(got.addr, &in, sizeof(in));
	close_pair(&pair);
}

static void test_bad_name(void **state)
{
	static const char *const lengths[] = { "\0\0\0\0", "\0\0\2\1", "\xff\xff\xff\xff" };
	const uint32_t format = FI_ADDR_STR;
	struct pp_name got;
	struct pair pair;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		pair = open_pair(true);
		peer_sends(&pair, lengths[i], 4);
		assert_int_equal(pp_ctrl_recv_name(&pair.ctrl, &got), -EPROTO);
		close_pair(&pair);
	}
	/* An address vector would take the text for pointers. */
	pair = open_pair(true);
	peer_sends(&pair, "\0\0\0\x10", 4);
	peer_sends(&pair, &format, 4);
	peer_sends(&pair, "fi_sockaddr_in:/", 16);
	assert_int_equal(pp_ctrl_recv_name(&pair.ctrl, &got), -EPROTO);
	close_pair(&pair);
}

static void test_peer_gone(void **state)
{
	struct pair pair = open_pair(true);

	(void)state;
	assert_false(pp_ctrl_peer_gone(&pair.ctrl));
	peer_sends(&pair, "a", 2);
	assert_false(pp_ctrl_peer_gone(&pair.ctrl));
	close(pair.peer);
	pair.peer = -1;
	assert_int_equal(pp_ctrl_sync(&pair.ctrl), -EPIPE);
	assert_int_equal(pp_ctrl_count(&pair.ctrl, 1, &(unsigned int){ 0 }), -EPIPE);
	close_pair(&pair);
	pair = open_pair(false);
	close(pair.peer);
	pair.peer = -1;
	assert_true(pp_ctrl_peer_gone(&pair.ctrl));
	assert_int_equal(pp_ctrl_sync(&pair.ctrl), -ECONNABORTED);
	close_pair(&pair);
}

/* Over TCP a wildcard address becomes that of the connection. */
static void test_wildcard(void **state)
{
	struct pp_options server = { .src_port = 47593 };
	struct pp_options client = { .dst_addr = "127.0.0.1", .dst_port = 47593 };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(7) };
	struct pp_name name = { .format = FI_SOCKADDR_IN, .len = sizeof(in) };
	struct pp_ctrl a, b;
	struct pp_name got;

	(void)state;
	memcpy(name.addr, &in, sizeof(in));
	assert_int_equal(pp_ctrl_listen(&a, &server), 0);
	assert_int_equal(pp_ctrl_listen(&b, &client), 0);
	assert_int_equal(pp_ctrl_open(&b, &client), 0);
	assert_int_equal(pp_ctrl_open(&a, &server), 0);
	assert_int_equal(pp_ctrl_send_name(&a, &name), 0);
	assert_int_equal(pp_ctrl_recv_name(&b, &got), 0);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_memory_equal(got.addr, &in, sizeof(in));
	pp_ctrl_close(&a);
	pp_ctrl_close(&b);
	assert_int_equal(pp_ctrl_open(&b, &client), -ECONNREFUSED);
	pp_ctrl_close(&b);
}

static void test_sizes(void **state)
{
	struct pp_options opts = { .sizes = PP_SIZES_ALL };
	unsigned int index;
	size_t last = 0;
	size_t size;

	(void)state;
	for (index = 0; pp_size_at(&opts, SIZE_MAX, index, &size); index++) {
		assert_true(!index || size > last);
		last = size;
	}
	assert_int_equal(index, 46);
	assert_int_equal(last, 6 << 20);
	assert_int_equal(pp_size_max(&opts, 1472), 1024);
	opts.sizes = PP_SIZES_DEFAULT;
	assert_int_equal(pp_size_max(&opts, SIZE_MAX), 1 << 20);
	assert_int_equal(pp_size_max(&opts, 63), 0);
	assert_false(pp_size_at(&opts, 63, 0, &size));
	opts.sizes = PP_SIZES_ONE;
	opts.size = 100;
	assert_true(pp_size_at(&opts, 100, 0, &size));
	assert_int_equal(size, 100);
	assert_false(pp_size_at(&opts, 99, 0, &size));
	assert_false(pp_size_at(&opts, 100, 1, &size));
}

/* Values and texts are those of the 1.17 tool. */
static void test_texts(void **state)
{
	static const struct {
		uint64_t value;
		const char *text;
	} sizes[] = { { 0, "0" },	   { 64, "64" },	  { 1024, "1k" },
		      { 1280, "1.2k" },	   { 1536, "1.5k" },	  { 2049, "2k" },
		      { 12000, "11k" },	   { 20990, "20k" },	  { 1024000, "1000k" },
		      { 1 << 20, "1m" },   { 3000001, "2.8m" },	  { 10000000, "9.5m" },
		      { 57 << 20, "57m" }, { 1572864000, "1.4g" } },
	  counts[] = { { 10, "10" },	 { 999, "999" },    { 1500, "1k" },
		       { 12345, "12k" }, { 1234567, "1m" }, { 300000, "300k" } };
	char text[PP_TEXT_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_string_equal(pp_size_text(text, sizes[i].value), sizes[i].text);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		assert_string_equal(pp_count_text(text, counts[i].value), counts[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sync),	  cmocka_unit_test(test_count),
		cmocka_unit_test(test_name),	  cmocka_unit_test(test_bad_name),
		cmocka_unit_test(test_peer_gone), cmocka_unit_test(test_wildcard),
		cmocka_unit_test(test_sizes),	  cmocka_unit_test(test_texts),
		cmocka_unit_test(test_agree),	  cmocka_unit_test(test_agree_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
