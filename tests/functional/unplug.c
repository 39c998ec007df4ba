/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Removes the device of the test and brings it back. */
#include "unplug.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "steps.h"

void remove_device(void)
{
	char command[128];

	/* The device returns when nobody has it open any more. */
	snprintf(command, sizeof(command), "rdma link del %s &", need_env("WEFT_DEVICE"));
	shell(command);
}

void bring_back(void)
{
	uint64_t limit = deadline();
	char text[256];

	snprintf(text, sizeof(text), "/sys/class/infiniband/%s", need_env("WEFT_DEVICE"));
	while (!access(text, F_OK))
		pause_until(limit, "the end of the removal");
	snprintf(text, sizeof(text), "rdma link add %s type rxe netdev %s", need_env("WEFT_DEVICE"),
		 local_interface());
	shell(text);
}
