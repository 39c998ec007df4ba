/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The application compiled with the system's headers, or with our own if there are none. */
#include <stdio.h>
#include <stdlib.h>
#include <rdma/fabric.h>
#include "tests/abi/app.h"

int main(void)
{
	if (!getenv("WEFT_DEVICE")) {
		printf("WEFT_DEVICE is not set: run this with tests/vm/run\n");
		return 77;
	}
	printf("compiled with headers of %d.%d\n", FI_MAJOR_VERSION, FI_MINOR_VERSION);
	return app_run(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION));
}
