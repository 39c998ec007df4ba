/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the fake adapter reports of packets: the codes of errors, and hosts that do not answer. With
 * FAKE_DEAD_MS set, a process that is stopped stands for such a host: the device tries for so long.
 */
#include <stdlib.h>
#include <time.h>
#include "fake.h"

enum { KEPT = 4096 };

static struct {
	const struct ibv_qp *qp; /* NULL: the place is free */
	struct ibv_wc wc;
	uint64_t until;
} kept[KEPT];

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool fake_keep(const struct ibv_qp *qp, const struct ibv_wc *wc, uint32_t to)
{
	const char *ms = getenv("FAKE_DEAD_MS");
	pid_t pid;
	int i;

	if (!ms || fake_owner(to, &pid) || !pid || !fake_is_in(pid, "T"))
		return false;
	for (i = 0; i < KEPT && kept[i].qp; i++)
		;
	if (i == KEPT)
		abort();
	kept[i].qp = qp;
	kept[i].wc = *wc;
	kept[i].wc.status = IBV_WC_RESP_TIMEOUT_ERR;
	kept[i].until = now_ms() + strtoull(ms, NULL, 10);
	return true;
}

int fake_kept_poll(const struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	uint64_t now = getenv("FAKE_DEAD_MS") ? now_ms() : 0;
	int i, n = 0;

	for (i = 0; now && i < KEPT && n < count; i++) {
		if (!kept[i].qp || kept[i].qp->send_cq != cq || kept[i].until > now)
			continue;
		wc[n++] = kept[i].wc;
		kept[i].qp = NULL;
	}
	return n;
}

void fake_keep_none(const struct ibv_qp *qp)
{
	int i;

	for (i = 0; i < KEPT; i++)
		if (kept[i].qp == qp)
			kept[i].qp = NULL;
}

/*
 * The codes are in efa_io_defs.h of Linux. libefa 44, which FAKE_LIBEFA44 stands for, has a general
 * status for some of them.
 */
void fake_put_code(struct ibv_wc *wc)
{
	static const uint8_t codes[] = {
		[IBV_WC_WR_FLUSH_ERR] = 1,	 [IBV_WC_LOC_PROT_ERR] = 5,
		[IBV_WC_REM_ACCESS_ERR] = 7,	 [IBV_WC_REM_INV_RD_REQ_ERR] = 9,
		[IBV_WC_RNR_RETRY_EXC_ERR] = 10, [IBV_WC_RESP_TIMEOUT_ERR] = 15,
		[IBV_WC_GENERAL_ERR] = 0,
	};

	wc->vendor_err = codes[wc->status];
	if ((wc->vendor_err == 7 || wc->vendor_err == 15) && getenv("FAKE_LIBEFA44"))
		wc->status = IBV_WC_GENERAL_ERR;
}
