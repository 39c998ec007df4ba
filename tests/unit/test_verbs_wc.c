/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failed completions: the entry of fi_cq_readerr in all its ages, and the text of fi_cq_strerror.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "prov/verbs/provider/err.h"
#include "verbs_rig.h"

static char context[8], buf[4096];
static uint64_t word;

static void open_version(struct rig *rig, uint32_t version)
{
	struct sockaddr_in *peer;

	rig->info->fabric_attr->api_version = version;
	rig_connect(rig);
	peer = (struct sockaddr_in *)&vrb_ep(rig->ep)->conn.peer;
	peer->sin_family = AF_INET;
	peer->sin_port = htons(7471);
	peer->sin_addr.s_addr = inet_addr("10.0.0.2");
	vrb_ep(rig->ep)->peer_qp_num = 0x2b1;
}

static void fail_send(struct rig *rig, enum ibv_wc_status status)
{
	struct fi_cq_data_entry entry;

	assert_int_equal(fi_send(rig->ep, buf, 4096, NULL, 0, &context[1]), 0);
	fake_complete_sends(rig_qp(rig), 1, status);
	assert_int_equal(fi_cq_read(rig->cq[0], &entry, 1), -FI_EAVAIL);
}

/* Every status, of every kind of operation. */
static void test_content(void **state)
{
	struct fi_cq_err_entry error;
	enum ibv_wc_status status;
	struct rig *rig = *state;

	open_version(rig, FI_VERSION(1, 17));
	for (status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_GENERAL_ERR; status++) {
		fail_send(rig, status);
		memset(&error, 0, sizeof(error));
		assert_int_equal(fi_cq_readerr(rig->cq[0], &error, 0), 1);
		assert_ptr_equal(error.op_context, &context[1]);
		assert_int_equal(error.flags, FI_MSG | FI_SEND);
		assert_int_equal(error.prov_errno, status);
		assert_int_equal(error.err, vrb_wc_err(status, false));
		assert_int_equal(error.len + error.data + error.tag + error.olen, 0);
		assert_null(error.buf);

		assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, &context[2]), 0);
		fake_complete_recv(rig_qp(rig), status, IBV_WC_RECV, 0, NULL);
		error = rig_error(rig->cq[1]);
		assert_ptr_equal(error.op_context, &context[2]);
		assert_int_equal(error.flags, FI_MSG | FI_RECV);
		assert_int_equal(error.err, vrb_wc_err(status, true));
	}
}

static void test_operations(void **state)
{
	struct fi_cq_err_entry error;
	struct rig *rig = *state;
	struct fid_ep *ep;
	uint64_t flags;
	char text[256];
	int i;
	const struct {
		uint64_t flags;
		const char *name;
	} expected[] = {
		{ FI_RMA | FI_WRITE, "RMA write of 7 B" },
		{ FI_RMA | FI_READ, "RMA read of 8 B" },
		{ FI_ATOMIC | FI_WRITE, "atomic of 8 B" },
		{ FI_ATOMIC | FI_READ, "fetching atomic of 8 B" },
		{ FI_MSG | FI_SEND, "send of 9 B" },
	};

	open_version(rig, FI_VERSION(1, 17));
	ep = rig->ep;
	assert_int_equal(fi_write(ep, buf, 7, NULL, 0, 0, 0, NULL), 0);
	assert_int_equal(fi_read(ep, buf, 8, NULL, 0, 0, 0, NULL), 0);
	assert_int_equal(fi_atomic(ep, &word, 1, 0, 0, 0, 0, FI_UINT64, FI_SUM, 0), 0);
	assert_int_equal(fi_fetch_atomic(ep, &word, 1, 0, &word, 0, 0, 0, 0, FI_UINT64, FI_SUM, 0),
			 0);
	assert_int_equal(fi_inject(ep, buf, 9, 0), 0);
	fake_complete_sends(rig_qp(rig), 5, IBV_WC_RETRY_EXC_ERR);
	for (i = 0; i < 5; i++) {
		error = rig_error(rig->cq[0]);
		flags = error.flags;
		assert_int_equal(flags, expected[i].flags);
		fi_cq_strerror(rig->cq[0], error.prov_errno, error.err_data, text, sizeof(text));
		assert_non_null(strstr(text, expected[i].name));
	}
}

static void test_bad_calls(void **state)
{
	struct fi_cq_err_entry error = { 0 };
	struct rig *rig = *state;

	open_version(rig, FI_VERSION(1, 17));
	assert_int_equal(fi_cq_readerr(rig->cq[0], NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_cq_readerr(rig->cq[0], &error, FI_MORE), -FI_EBADFLAGS);
	assert_int_equal(fi_cq_readerr(rig->cq[0], &error, 0), -FI_EAGAIN);
}

/*
 * The structure of a caller: exactly its size, so that a byte too much is found by the address
 * sanitizer, and by what is behind it.
 */
struct caller {
	unsigned char *memory;
	struct fi_cq_err_entry *entry;
	size_t size;
};

static struct caller caller_new(size_t size)
{
	struct caller caller = { .memory = malloc(size), .size = size };

	assert_non_null(caller.memory);
	memset(caller.memory, 0, size);
	caller.entry = (struct fi_cq_err_entry *)(void *)caller.memory;
	return caller;
}

#define SIZE_1_4  offsetof(struct fi_cq_err_entry, err_data_size)
#define SIZE_1_5  offsetof(struct fi_cq_err_entry, src_addr)
#define SIZE_1_20 sizeof(struct fi_cq_err_entry)

/* Before API 1.5 and without room of the caller's, err_data points into the CQ. */
static void test_own_data(void **state)
{
	static const struct {
		uint32_t version;
		size_t size;
	} ages[] = {
		{ FI_VERSION(1, 0), SIZE_1_4 },	  { FI_VERSION(1, 4), SIZE_1_4 },
		{ FI_VERSION(1, 5), SIZE_1_5 },	  { FI_VERSION(1, 17), SIZE_1_5 },
		{ FI_VERSION(1, 20), SIZE_1_20 }, { FI_VERSION(2, 6), SIZE_1_20 },
	};
	const struct vrb_wc_detail *detail;
	struct rig *rig = *state;
	struct caller caller;
	char trash[4];
	unsigned int i;

	for (i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		open_version(rig, ages[i].version);
		fail_send(rig, IBV_WC_RNR_RETRY_EXC_ERR);
		caller = caller_new(ages[i].size);
		caller.entry->err_data = trash; /* ignored */
		assert_int_equal(fi_cq_readerr(rig->cq[0], caller.entry, 0), 1);
		assert_int_equal(caller.entry->err, FI_ENORX);
		detail = caller.entry->err_data;
		assert_ptr_equal(detail, &vrb_cq(rig->cq[0])->detail);
		assert_int_equal(detail->vendor_err, 0x87);
		if (ages[i].size > SIZE_1_4)
			assert_int_equal(caller.entry->err_data_size, sizeof(*detail));
		if (ages[i].size > SIZE_1_5)
			assert_true(caller.entry->src_addr == FI_ADDR_NOTAVAIL);
		free(caller.memory);
		rig_close(rig);
		rig_init(rig);
	}
}

/* Room of the caller's gets a copy, never more than it holds. */
static void test_callers_data(void **state)
{
	static const uint32_t versions[] = { FI_VERSION(1, 5), FI_VERSION(1, 17),
					     FI_VERSION(2, 6) };
	const size_t sizes[] = { 1, sizeof(struct vrb_wc_detail) - 1, sizeof(struct vrb_wc_detail),
				 4096 };
	struct fi_cq_err_entry error;
	struct rig *rig = *state;
	unsigned int i, j;
	void *data;

	for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		open_version(rig, versions[i]);
		for (j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			fail_send(rig, IBV_WC_RNR_RETRY_EXC_ERR);
			data = malloc(sizes[j]);
			assert_non_null(data);
			error = (struct fi_cq_err_entry){ .err_data = data };
			error.err_data_size = sizes[j];
			assert_int_equal(fi_cq_readerr(rig->cq[0], &error, 0), 1);
			assert_ptr_equal(error.err_data, data);
			assert_in_range(error.err_data_size, 0, sizes[j]);
			if (sizes[j] >= sizeof(struct vrb_wc_detail))
				assert_memory_equal(data, &vrb_cq(rig->cq[0])->detail,
						    sizeof(struct vrb_wc_detail));
			free(data);
		}
		rig_close(rig);
		rig_init(rig);
	}
}

/* A size and no buffer. */
static void test_null_data(void **state)
{
	struct fi_cq_err_entry error = { .err_data_size = 4096 };
	struct rig *rig = *state;

	open_version(rig, FI_VERSION(1, 17));
	fail_send(rig, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(fi_cq_readerr(rig->cq[0], &error, 0), 1);
	assert_ptr_equal(error.err_data, &vrb_cq(rig->cq[0])->detail);
	assert_int_equal(error.err_data_size, sizeof(struct vrb_wc_detail));
}

static void test_text(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_err_entry error = { 0 };
	char text[512], qp[32], small[12];
	const char *ret;

	open_version(rig, FI_VERSION(1, 17));
	fail_send(rig, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(fi_cq_readerr(rig->cq[0], &error, 0), 1);
	ret = fi_cq_strerror(rig->cq[0], error.prov_errno, error.err_data, text, sizeof(text));
	assert_ptr_equal(ret, text);
	snprintf(qp, sizeof(qp), "QP 0x%x to 0x2b1", rig_qp(rig)->qp_num);
	assert_non_null(strstr(text, ibv_wc_status_str(IBV_WC_RNR_RETRY_EXC_ERR)));
	assert_non_null(strstr(text, "(13)"));
	assert_non_null(strstr(text, "vendor 0x87"));
	assert_non_null(strstr(text, "send of 4096 B"));
	assert_non_null(strstr(text, "10.0.0.2:7471"));
	assert_non_null(strstr(text, qp));
	assert_non_null(strstr(text, "no receive posted"));

	memset(small, 'x', sizeof(small));
	fi_cq_strerror(rig->cq[0], error.prov_errno, error.err_data, small, sizeof(small) - 1);
	assert_int_equal(strlen(small), sizeof(small) - 2);
	assert_int_equal(small[sizeof(small) - 1], 'x');
	ret = fi_cq_strerror(rig->cq[0], error.prov_errno, error.err_data, NULL, 0);
	assert_string_equal(ret, text);
	ret = fi_cq_strerror(rig->cq[0], error.prov_errno, NULL, text, sizeof(text));
	assert_null(strstr(ret, "4096"));
	assert_non_null(strstr(ret, "no receive posted"));
	ret = fi_cq_strerror(rig->cq[0], 12345, NULL, text, 0);
	assert_non_null(strstr(ret, "12345"));
}

/* Data that is not ours, as after a short copy: only the status is told. */
static void test_text_foreign(void **state)
{
	uint32_t *foreign = calloc(1, sizeof(*foreign));
	struct rig *rig = *state;
	const char *ret;
	char text[128];

	assert_non_null(foreign);
	open_version(rig, FI_VERSION(1, 17));
	ret = fi_cq_strerror(rig->cq[0], IBV_WC_WR_FLUSH_ERR, foreign, text, sizeof(text));
	assert_non_null(strstr(ret, "(5)"));
	assert_null(strstr(ret, "vendor"));
	free(foreign);
}

/* Every status has a text that ends. */
static void test_all_texts(void **state)
{
	struct vrb_wc_detail detail = { .size = sizeof(detail), .flags = FI_MSG | FI_RECV };
	char text[512];
	int status;

	(void)state;
	memset(detail.peer, 'p', sizeof(detail.peer) - 1);
	for (status = -1; status < 64; status++) {
		assert_ptr_equal(vrb_wc_text(status, &detail, text, sizeof(text)), text);
		assert_in_range(strlen(text), 20, 400);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_content),
		RIG_TEST(test_operations),
		RIG_TEST(test_bad_calls),
		RIG_TEST(test_own_data),
		RIG_TEST(test_callers_data),
		RIG_TEST(test_null_data),
		RIG_TEST(test_text),
		RIG_TEST(test_text_foreign),
		cmocka_unit_test(test_all_texts),
	};

	return RIG_RUN("verbs_wc", tests);
}
