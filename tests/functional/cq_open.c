/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening a CQ: each wait object works or is refused, vectors and sizes are bounded, and invalid
 * attributes are refused.
 */
#include <poll.h>
#include <stdio.h>
#include "steps.h"

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };

static int open_close(struct end *end, const struct fi_cq_attr *attr)
{
	struct fi_cq_attr copy = *attr;
	struct fid_cq *cq = NULL;
	int ret = fi_cq_open(end->domain, &copy, &cq, NULL);

	if (ret) {
		CHECK(!cq);
		return ret;
	}
	OK(fi_close(&cq->fid));
	return 0;
}

static void check_wait_obj(struct end *end, enum fi_wait_obj obj, enum fi_wait_obj served)
{
	struct fi_cq_attr attr = { .wait_obj = obj };
	struct fid_cq *cq = end_cq(end, &attr);
	struct pollfd pollfd = { .fd = -1 };
	struct fi_wait_pollfd set = { .nfds = 0 };
	enum fi_wait_obj found = FI_WAIT_NONE;
	uint64_t index;
	int fd = -1;

	printf("wait object %d\n", (int)obj);
	OK(fi_control(&cq->fid, FI_GETWAITOBJ, &found));
	EQUAL(found, served);
	if (served == FI_WAIT_FD) {
		OK(fi_control(&cq->fid, FI_GETWAIT, &fd));
		CHECK(fd >= 0);
	} else if (served == FI_WAIT_POLLFD) {
		RETURNS(fi_control(&cq->fid, FI_GETWAIT, &set), -FI_ETOOSMALL);
		EQUAL(set.nfds, 1);
		index = set.change_index;
		set.fd = &pollfd;
		OK(fi_control(&cq->fid, FI_GETWAIT, &set));
		EQUAL(set.change_index, index);
		CHECK(pollfd.fd >= 0 && (pollfd.events & POLLIN));
	} else {
		CHECK(fi_control(&cq->fid, FI_GETWAIT, &fd) < 0);
	}
	CHECK(fi_control(&cq->fid, FI_GETWAIT, NULL) < 0);
	CHECK(fi_control(&cq->fid, 9999, &fd) < 0);
	OK(fi_close(&cq->fid));
}

static void test_wait_objs(struct end *end)
{
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_MUTEX_COND };
	int ret;

	check_wait_obj(end, FI_WAIT_NONE, FI_WAIT_NONE);
	check_wait_obj(end, FI_WAIT_UNSPEC, FI_WAIT_FD);
	check_wait_obj(end, FI_WAIT_FD, FI_WAIT_FD);
	check_wait_obj(end, FI_WAIT_POLLFD, FI_WAIT_POLLFD);
	check_wait_obj(end, FI_WAIT_YIELD, FI_WAIT_YIELD);
	ret = open_close(end, &attr);
	CHECK(ret == 0 || ret == -FI_ENOSYS);
	attr.wait_obj = FI_WAIT_SET; /* and there is none */
	RETURNS(open_close(end, &attr), -FI_EINVAL);
	attr.wait_obj = 99;
	CHECK(open_close(end, &attr) < 0);
}

static void test_bounds(struct end *end)
{
	struct fi_cq_attr attr = { .flags = FI_AFFINITY };

	OK(open_close(end, &attr));
	attr.signaling_vector = -1;
	RETURNS(open_close(end, &attr), -FI_EINVAL);
	attr.signaling_vector = 100000; /* of a processor: the nearest vector serves it */
	OK(open_close(end, &attr));
	attr.flags = 0; /* the vector has no meaning then */
	OK(open_close(end, &attr));

	attr = (struct fi_cq_attr){ .size = 1 };
	OK(open_close(end, &attr));
	attr.size = SIZE_MAX;
	CHECK(open_close(end, &attr) < 0);
	attr = (struct fi_cq_attr){ .format = 77 };
	RETURNS(open_close(end, &attr), -FI_EINVAL);
	attr = (struct fi_cq_attr){ .flags = 1ULL << 60 };
	RETURNS(open_close(end, &attr), -FI_EBADFLAGS);
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_cq_attr attr = { 0 };
	struct fid_cq *cq;

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	test_wait_objs(&end);
	test_bounds(&end);
	OK(fi_cq_open(end.domain, NULL, &cq, NULL));
	OK(fi_close(&cq->fid));
	RETURNS(fi_cq_open(end.domain, &attr, NULL, NULL), -FI_EINVAL);
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
