/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Draws a text over the previous one on a terminal. */
#include "stat_screen.h"

#include <string.h>

#define HOME	   "\033[H"
#define CLEAR	   "\033[2J"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

#define INDENT 7u /* of the rest of a line that was folded */

struct row {
	const char *text;
	int len;
	int indent;
};

/* Returns how much of a line fits, to its last space if there is one. */
static size_t fold(const char *text, size_t len, size_t room)
{
	size_t at = room;

	if (len <= room)
		return len;
	while (at && text[at] != ' ')
		at--;
	return at ? at : room;
}

/* Returns the row that begins at *next, and moves *next behind it. */
static struct row next_row(const char **next, unsigned int columns, int indent)
{
	struct row row = { .text = *next, .indent = indent };
	size_t len = strcspn(row.text, "\n");
	size_t room = columns > INDENT + 1 ? columns - 1 - (unsigned int)indent : 1;

	row.len = (int)fold(row.text, len, room);
	*next = row.text + row.len;
	if ((size_t)row.len < len)
		*next += **next == ' ';
	else
		*next += **next == '\n';
	return row;
}

static bool is_folded(const char *text, const char *next)
{
	return next != text && next[-1] != '\n';
}

static unsigned int count_rows(const char *text, unsigned int columns)
{
	const char *next = text;
	unsigned int rows = 0;

	while (*next) {
		next_row(&next, columns, is_folded(text, next) ? (int)INDENT : 0);
		rows++;
	}
	return rows;
}

void stat_screen_draw(struct stat_screen *screen, const char *text)
{
	unsigned int rows = count_rows(text, screen->columns);
	unsigned int room = screen->lines > 2 ? screen->lines - 1 : 2; /* the cursor has the last */
	unsigned int shown = rows <= room ? rows : room - 1;
	const char *next = text;
	struct row row;
	unsigned int i;

	fputs(screen->drawn ? HOME : HOME CLEAR, screen->out);
	for (i = 0; i < shown; i++) {
		row = next_row(&next, screen->columns, is_folded(text, next) ? (int)INDENT : 0);
		fprintf(screen->out, "%*s%.*s" CLEAR_LINE "\n", row.indent, "", row.len, row.text);
	}
	if (shown < rows)
		fprintf(screen->out, "... %u more lines" CLEAR_LINE "\n", rows - shown);
	fputs(CLEAR_REST, screen->out);
	fflush(screen->out);
	screen->drawn = true;
}
