/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Regions of length 0, of which peers can write and read no byte. */
#include "rdm.h"

static void test(int mr_mode)
{
	const uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct fid_mr *mr[2];
	struct rdm_pair pair;
	uint8_t byte = 0;
	size_t i;

	rdm_open(&pair, mr_mode);
	OK(fi_mr_reg(pair.domain, NULL, 0, access, 0, 5, 0, &mr[0], NULL));
	OK(fi_mr_reg(pair.domain, &byte, 0, access, 0, 6, 0, &mr[1], NULL));
	for (i = 0; i < ARRAY_SIZE(mr); i++) {
		OK(fi_write(pair.side[0].ep, &byte, 0, NULL, pair.side[0].peer, 0, fi_mr_key(mr[i]),
			    mr));
		CHECK(rdm_wait(&pair, 0).op_context == mr);
		OK(fi_read(pair.side[0].ep, &byte, 0, NULL, pair.side[0].peer, 0, fi_mr_key(mr[i]),
			   &byte));
		CHECK(rdm_wait(&pair, 0).op_context == &byte);
		if (mr_mode == RDM_PROV_KEYS)
			continue;
		OK(fi_read(pair.side[0].ep, &byte, 1, NULL, pair.side[0].peer, 0, fi_mr_key(mr[i]),
			   &byte));
		EQUAL(rdm_wait_error(&pair, 0).err, FI_EKEYREJECTED);
	}
	for (i = 0; i < ARRAY_SIZE(mr); i++)
		OK(fi_close(&mr[i]->fid));
	rdm_close(&pair);
}

int main(void)
{
	test(RDM_PROV_KEYS);
	test(0);
	test(FI_MR_ALLOCATED);
	return 0;
}
