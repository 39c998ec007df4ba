/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A listener rejects with as much private data as the protocol has room for, and with a wrong
 * length in its first byte: the error data is no longer than max_err_data, nor than what was sent.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <rdma/fi_errno.h>
#include "hostile.h"
#include "steps.h"

enum { REJECT_MAX = 148 };

static struct sockaddr_in door;

static void is_rejected(struct foe *foe, uint8_t said)
{
	static const struct setup setup = { .buf_size = 4096 };
	uint8_t data[REJECT_MAX] = { said };
	struct fi_eq_err_entry error;
	struct rdma_cm_id *id;
	struct place place = { 0 };
	struct end end = { .setup = &setup };

	CHECK(inet_ntop(AF_INET, &door.sin_addr, place.node, sizeof(place.node)));
	snprintf(place.service, sizeof(place.service), "%u", ntohs(door.sin_port));
	end_aim(&end, &place);
	OK(fi_connect(end.ep, end.info->dest_addr, NULL, 0));
	id = foe_request(foe, 10000);
	CHECK(id);
	EQUAL(rdma_reject(id, data, sizeof(data)), 0);
	EQUAL(rdma_destroy_id(id), 0);
	wait_event_error(end.eq, &error);
	EQUAL(error.err, FI_ECONNREFUSED);
	EQUAL(error.err_data_size, said < sizeof(data) ? said : sizeof(data) - 1);
	CHECK(error.err_data_size <= end.info->domain_attr->max_err_data);
	end_close(&end);
}

int main(void)
{
	struct foe foe;

	foe_lurk(&foe, &door);
	is_rejected(&foe, 0);
	is_rejected(&foe, 9);
	is_rejected(&foe, REJECT_MAX - 1);
	is_rejected(&foe, UINT8_MAX);
	foe_close(&foe);
	return 0;
}
