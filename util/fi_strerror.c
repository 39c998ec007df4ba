/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_strerror: the text of an error number. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include "tool.h"

static void usage(FILE *out)
{
	fprintf(out, "Usage: fi_strerror FI_ERROR_CODE\n\n"
		     "Displays the error string for the given numeric FI_ERROR_CODE.\n"
		     "FI_ERROR_CODE may be a hexadecimal, octal, or decimal constant.\n"
		     "For convenience, the absolute value of FI_ERROR_CODE will be used.\n"
		     "  -h, --help     display this help and exit\n"
		     "  -V, --version  print version info and exit\n");
}

static int parse(const char *text, int *code)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 0);
	if (end == text || *end) {
		fprintf(stderr, "ERROR: unable to parse '%s'\n", text);
		return -1;
	}
	if (errno || value > INT_MAX || value < -INT_MAX) {
		fprintf(stderr, "ERROR: '%s' is out of range\n", text);
		return -1;
	}
	*code = abs((int)value);
	return 0;
}

int main(int argc, char **argv)
{
	int code;

	tool_start(argv);
	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		usage(stdout);
		return tool_end(EXIT_SUCCESS);
	}
	if (argc == 2 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
		tool_version(stdout);
		return tool_end(EXIT_SUCCESS);
	}
	if (argc != 2)
		fprintf(stderr, "ERROR: not one error number\n");
	if (argc != 2 || parse(argv[1], &code)) {
		fprintf(stderr, "Try 'fi_strerror --help'.\n");
		return EXIT_FAILURE;
	}
	puts(fi_strerror(code));
	return tool_end(EXIT_SUCCESS);
}
