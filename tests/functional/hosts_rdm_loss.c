/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reliable datagrams over a network that loses one packet in a hundred. */
#include <stdlib.h>
#include "rdm_lossy.h"

int main(void)
{
	/* As in hosts_loss. */
	setenv("FI_VERBS_ACK_TIMEOUT", "14", 1);
	setenv("FI_VERBS_RETRY_COUNT", "7", 1);
	return lossy_run("loss 1%");
}
