/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The application with the verbs provider as a plug-in, which FI_PROVIDER_PATH prefers to the
 * built-in one.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <rdma/fabric.h>
#include "tests/abi/app.h"

/* One that is loaded but not taken is unloaded at once. */
static int is_taken(void)
{
	void *handle = dlopen(VERBS_PLUGIN, RTLD_NOW | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle != NULL;
}

int main(void)
{
	if (!getenv("WEFT_DEVICE")) {
		printf("WEFT_DEVICE is not set: run this with tests/vm/run\n");
		return 77;
	}
	setenv("FI_PROVIDER_PATH", "+" VERBS_PLUGIN, 1);
	if (app_run(FI_VERSION(2, 6)))
		return 1;
	if (!is_taken()) {
		fprintf(stderr, VERBS_PLUGIN " was not taken\n");
		return 1;
	}
	return 0;
}
