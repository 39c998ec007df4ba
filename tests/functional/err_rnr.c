/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* With FI_VERBS_RNR_RETRY_COUNT limited, a send that finds no receive ends with FI_ENORX. */
#include <stdlib.h>
#include <string.h>
#include "steps.h"

static void test(struct pair *pair)
{
	struct part part = { .len = 64, .context = 3 };
	struct fi_cq_err_entry error;
	char text[512];

	post_send(&pair->client, &part);
	wait_error(pair->client.cq, &error);
	EQUAL(error.err, FI_ENORX);
	EQUAL(error.op_context, 3);
	fi_cq_strerror(pair->client.cq, error.prov_errno, error.err_data, text, sizeof(text));
	CHECK(strstr(text, "no receive"));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	setenv("FI_VERBS_RNR_RETRY_COUNT", "1", 1);
	return run_pair(argc, argv, &setup, test);
}
