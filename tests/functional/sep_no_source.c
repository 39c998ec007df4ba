/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A scalable endpoint of an fi_info without a source address takes the domain's. */
#include <netinet/in.h>
#include "sep.h"

static void test(void)
{
	struct sockaddr_in name, offered;
	size_t len = sizeof(name);
	struct sep_pair pair;
	struct fi_info info;
	struct fid_ep *sep;

	sep_open(&pair, FI_THREAD_SAFE);
	offered = *(struct sockaddr_in *)pair.info->src_addr;
	info = *pair.info;
	info.src_addr = NULL;
	info.src_addrlen = 0;
	OK(fi_scalable_ep(pair.domain, &info, &sep, NULL));
	OK(fi_getname(&sep->fid, &name, &len));
	EQUAL(name.sin_addr.s_addr, offered.sin_addr.s_addr);
	CHECK(name.sin_port);
	OK(fi_close(&sep->fid));
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
