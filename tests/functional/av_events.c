/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An address vector opened with FI_EVENT reports to its event queue: an error with the index of
 * each address that failed, then one FI_AV_COMPLETE with the number of the others. Without an event
 * queue, insertion is refused.
 */
#include <string.h>
#include "steps.h"

static const struct setup setup = { .type = FI_EP_DGRAM, .buf_size = 65536 };

static void read_error(struct end *end, struct fid_av *av, size_t index, void *context)
{
	struct fi_eq_err_entry error = { 0 };

	wait_event_error(end->eq, &error);
	CHECK(error.fid == &av->fid);
	CHECK(error.context == context);
	EQUAL(error.data, index);
	EQUAL(error.err, FI_EINVAL);
}

static void read_done(struct end *end, struct fid_av *av, size_t count, void *context)
{
	struct fi_eq_entry entry;
	uint32_t event;

	EQUAL(fi_eq_sread(end->eq, &event, &entry, sizeof(entry), WAIT_MS, 0), sizeof(entry));
	EQUAL(event, FI_AV_COMPLETE);
	CHECK(entry.fid == &av->fid);
	CHECK(entry.context == context);
	EQUAL(entry.data, count);
}

static void test(void)
{
	struct fi_av_attr attr = { .flags = FI_EVENT };
	struct end end = { .name = "end", .setup = &setup };
	uint8_t names[3][32] = { { 0 } };
	struct fid_av *av;
	struct name name;
	fi_addr_t addr[3];
	int err;

	end_open(&end, own_info(&setup));
	end.ep = end_ep(&end, end.info);
	end_name(&end, &name);
	EQUAL(name.len, sizeof(names[0]));
	memcpy(names[1], name.bytes, name.len);
	OK(fi_av_open(end.domain, &attr, &av, NULL));
	RETURNS(fi_av_insert(av, names, 3, addr, 0, NULL), -FI_ENOEQ);
	RETURNS(fi_av_insertsvc(av, local_addr(), "1", addr, 0, NULL), -FI_ENOEQ);
	OK(fi_av_bind(av, &end.eq->fid, 0));
	RETURNS(fi_av_insert(av, names, 3, addr, FI_SYNC_ERR, &err), -FI_EBADFLAGS);
	OK(fi_av_insert(av, names, 3, addr, 0, &end));
	read_error(&end, av, 0, &end);
	read_error(&end, av, 2, &end);
	read_done(&end, av, 1, &end);
	CHECK(addr[0] == FI_ADDR_NOTAVAIL);
	EQUAL(addr[1], 1);
	OK(fi_av_insert(av, names, 1, addr, 0, av));
	read_error(&end, av, 0, av);
	read_done(&end, av, 0, av);
	OK(fi_close(&av->fid));
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
