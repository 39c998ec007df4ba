/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tools know of the terminal that they write to, if it is one. */
#include "term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool term_is(FILE *out)
{
	int fd = fileno(out);

	return fd >= 0 && isatty(fd);
}

bool term_is_screen(FILE *out)
{
	const char *name = getenv("TERM");

	return name && *name && strcmp(name, "dumb") && term_is(out);
}

bool term_has_colors(FILE *out)
{
	const char *refused = getenv("NO_COLOR");

	return !(refused && *refused) && term_is_screen(out);
}

void term_size(FILE *out, unsigned int *lines, unsigned int *columns)
{
	struct winsize size = { 0 };
	int fd = fileno(out);

	if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size))
		memset(&size, 0, sizeof(size));
	*lines = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}
