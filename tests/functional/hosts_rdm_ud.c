/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable datagrams on unreliable ones, over a network that loses one packet in a hundred,
 * duplicates two, and delays most of them, so that a third overtakes the others.
 */
#include <stdlib.h>
#include "rdm_lossy.h"

int main(void)
{
	setenv("FI_VERBS_RDM_TRANSPORT", "ud", 1);
	return lossy_run("delay 3ms reorder 30% loss 1% duplicate 2%");
}
