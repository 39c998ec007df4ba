/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs the examples of the manual pages that need no device. */
#include "tests/man/snippet.h"

int main(void)
{
	const struct example *example;
	int failed = 0, count = 0, ret;

	for (example = examples; example->page; example++) {
		if (strcmp(example->where, "here") != 0)
			continue;
		count++;
		ret = example->run();
		if (ret) {
			printf("%s: the example returned %d, %s\n", example->page, ret,
			       fi_strerror(ret));
			failed = 1;
		}
	}
	printf("%d examples\n", count);
	return failed;
}
