/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that wraps fi_getinfo: it defines the symbol and calls the library's, of an older
 * version. The library does not call the wrapper in turn.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <rdma/fabric.h>

typedef int getinfo_call(uint32_t version, const char *node, const char *service, uint64_t flags,
			 const struct fi_info *hints, struct fi_info **info);

static int calls;

__attribute__((visibility("default"))) int fi_getinfo(uint32_t version, const char *node,
						      const char *service, uint64_t flags,
						      const struct fi_info *hints,
						      struct fi_info **info)
{
	getinfo_call *wrapped = (getinfo_call *)dlvsym(RTLD_NEXT, "fi_getinfo", "FABRIC_1.3");

	if (!wrapped || ++calls > 1)
		return -1;
	return wrapped(version, node, service, flags, hints, info);
}

int main(void)
{
	struct fi_info *info = NULL;

	fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, NULL, &info);
	fi_freeinfo(info);
	if (calls == 1)
		return 0;
	fprintf(stderr, "the wrapper was called %d times\n", calls);
	return 1;
}
