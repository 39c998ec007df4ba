/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of fi_info: a line for each device and address, with the endpoint types that it has. */
#include "info_table.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "info_text.h"

#define TYPES 8 /* more than there are endpoint types */

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

enum column { PROVIDER, DEVICE, ADDRESS, ENDPOINTS, SPEED, STATE, COLUMNS };

static const char *const titles[COLUMNS] = {
	"PROVIDER", "DEVICE", "ADDRESS", "ENDPOINTS", "SPEED", "STATE",
};

struct row {
	char text[COLUMNS][128];
	bool types[TYPES]; /* indexed by enum fi_ep_type */
	enum fi_link_state state;
};

struct table {
	struct row *rows;
	size_t count;
	size_t width[COLUMNS];
	bool providers; /* the rows have different ones, so that column is shown */
};

static void set(struct row *row, enum column column, const char *text)
{
	snprintf(row->text[column], sizeof(row->text[column]), "%s", text && *text ? text : "-");
}

/* Sets the address without its scheme and without a port of 0; one without text by its format. */
static void set_address(struct row *row, const struct fi_info *info)
{
	char text[128], *start, *end, *port;

	if (!info_text_address(info, text, sizeof(text))) {
		set(row, ADDRESS, NULL);
		return;
	}
	start = strstr(text, "://");
	if (!start) {
		set(row, ADDRESS, fi_tostr(&info->addr_format, FI_TYPE_ADDR_FORMAT));
		return;
	}
	start += 3;
	port = strrchr(start, ':');
	if (port && !strcmp(port, ":0")) {
		*port = '\0';
		end = port - 1;
		if (*start == '[' && end > start && *end == ']') {
			start++;
			*end = '\0';
		}
	}
	set(row, ADDRESS, start);
}

static void set_speed(struct row *row, const struct fi_link_attr *link)
{
	char text[32];

	snprintf(text, sizeof(text), "%.4g Gb/s", (double)link->speed / 1e9);
	set(row, SPEED, link->speed ? text : NULL);
}

static void set_link(struct row *row, const struct fi_link_attr *link)
{
	row->state = link ? link->state : FI_LINK_UNKNOWN;
	set(row, STATE,
	    row->state == FI_LINK_UP	 ? "up"
	    : row->state == FI_LINK_DOWN ? "down"
					 : NULL);
	if (link)
		set_speed(row, link);
	else
		set(row, SPEED, NULL);
}

static void fill(struct row *row, const struct fi_info *info)
{
	const struct fid_nic *nic = info->nic;
	const char *device = nic && nic->device_attr ? nic->device_attr->name : NULL;

	*row = (struct row){ 0 };
	set(row, PROVIDER, info->fabric_attr->prov_name);
	set(row, DEVICE, device ? device : info->domain_attr->name);
	set_address(row, info);
	set_link(row, nic ? nic->link_attr : NULL);
}

static bool same(const struct row *one, const struct row *other)
{
	int i;

	for (i = 0; i < COLUMNS; i++)
		if (strcmp(one->text[i], other->text[i]))
			return false;
	return true;
}

/* Returns the row that shows the same as the last one: an earlier one, or the last one itself. */
static struct row *merge(struct table *table)
{
	struct row *last = &table->rows[table->count];
	size_t i;

	for (i = 0; i < table->count && !same(&table->rows[i], last); i++)
		;
	table->count += i == table->count;
	return &table->rows[i];
}

static void collect(struct table *table, const struct info_options *opts,
		    const struct fi_info *list)
{
	const struct fi_info *info;
	struct row *row;

	for (info = list; info; info = info->next) {
		if (!info_selected(opts, info))
			continue;
		fill(&table->rows[table->count], info);
		row = merge(table);
		if ((size_t)info->ep_attr->type < TYPES)
			row->types[info->ep_attr->type] = true;
	}
}

static void name_types(struct row *row)
{
	char all[sizeof(row->text[ENDPOINTS])] = "", name[48];
	size_t len = 0;
	enum fi_ep_type type;

	for (type = 0; type < TYPES; type++) {
		if (!row->types[type] || len >= sizeof(all))
			continue;
		fi_tostr_r(name, sizeof(name), &type, FI_TYPE_EP_TYPE);
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", len ? " " : "",
					strncmp(name, "FI_EP_", 6) ? name : name + 6);
	}
	set(row, ENDPOINTS, all);
}

static void measure(struct table *table)
{
	size_t i, len;
	int column;

	for (column = 0; column < COLUMNS; column++)
		table->width[column] = strlen(titles[column]);
	for (i = 0; i < table->count; i++) {
		name_types(&table->rows[i]);
		if (strcmp(table->rows[i].text[PROVIDER], table->rows[0].text[PROVIDER]))
			table->providers = true;
		for (column = 0; column < COLUMNS; column++) {
			len = strlen(table->rows[i].text[column]);
			if (table->width[column] < len)
				table->width[column] = len;
		}
	}
}

static enum column first_column(const struct table *table)
{
	return table->providers ? PROVIDER : DEVICE;
}

/* Returns the spaces between two columns: fewer if the table is too wide. */
static int gap(const struct table *table, unsigned int columns)
{
	size_t width = 0;
	int column;

	for (column = first_column(table); column < COLUMNS; column++)
		width += table->width[column] + (column + 1 < COLUMNS ? 2 : 0);
	return width <= columns ? 2 : 1;
}

static void print_line(FILE *out, const struct table *table, int space, const char *const *text)
{
	int column;

	for (column = first_column(table); column < STATE; column++)
		fprintf(out, "%-*s", (int)table->width[column] + space, text[column]);
}

static void print_title(FILE *out, const struct table *table, int space, bool colors)
{
	fputs(colors ? BOLD : "", out);
	print_line(out, table, space, titles);
	fprintf(out, "%s%s\n", titles[STATE], colors ? PLAIN : "");
}

static void print_row(FILE *out, const struct table *table, int space, const struct row *row,
		      bool colors)
{
	const char *text[COLUMNS], *color = "";
	int column;

	for (column = 0; column < COLUMNS; column++)
		text[column] = row->text[column];
	if (colors && row->state != FI_LINK_UNKNOWN)
		color = row->state == FI_LINK_UP ? GREEN : RED;
	print_line(out, table, space, text);
	fprintf(out, "%s%s%s\n", color, row->text[STATE], *color ? PLAIN : "");
}

static size_t length(const struct fi_info *list)
{
	size_t count = 0;

	for (; list; list = list->next)
		count++;
	return count;
}

int info_table_print(FILE *out, const struct info_table_style *style,
		     const struct info_options *opts, const struct fi_info *list)
{
	struct table table = { 0 };
	size_t i;
	int space;

	table.rows = calloc(length(list) + 1, sizeof(*table.rows));
	if (!table.rows)
		return -FI_ENOMEM;
	collect(&table, opts, list);
	measure(&table);
	space = gap(&table, style->columns);
	if (table.count)
		print_title(out, &table, space, style->colors);
	for (i = 0; i < table.count; i++)
		print_row(out, &table, space, &table.rows[i], style->colors);
	free(table.rows);
	return 0;
}
