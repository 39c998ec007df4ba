/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Errors on an event queue: none is lost, however many are unread, and each has the fid of its
 * endpoint.
 */
#include <stdio.h>
#include <string.h>
#include "steps.h"

#define EPS 12

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };

static size_t index_of(struct fid_ep **eps, const struct fid *fid)
{
	size_t i;

	for (i = 0; i < EPS; i++)
		if (&eps[i]->fid == fid)
			return i;
	FAIL("an error of an unknown endpoint");
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_eq_err_entry error;
	bool seen[EPS] = { false };
	struct fid_ep *eps[EPS];
	struct place place;
	struct fi_info *info;
	char text[256];
	size_t i, k;

	/* A port on which nobody listens any more. */
	end_listen(&end, local_addr(), &place);
	OK(fi_close(&end.pep->fid));
	end.pep = NULL;
	info = info_for(&setup, place.node, place.service, 0);
	for (i = 0; i < EPS; i++) {
		eps[i] = end_ep(&end, info);
		OK(fi_connect(eps[i], info->dest_addr, NULL, 0));
	}
	sleep_ms(500);
	for (i = 0; i < EPS; i++) {
		wait_event_error(end.eq, &error);
		EQUAL(error.err, FI_ECONNREFUSED);
		k = index_of(eps, error.fid);
		CHECK(!seen[k]);
		seen[k] = true;
		CHECK(!error.context); /* fi_connect has none */
		fi_eq_strerror(end.eq, error.prov_errno, error.err_data, text, sizeof(text));
		CHECK(strlen(text) > 5);
	}
	puts(text);
	no_event(end.eq, 20);
	for (i = 0; i < EPS; i++)
		OK(fi_close(&eps[i]->fid));
	fi_freeinfo(info);
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
