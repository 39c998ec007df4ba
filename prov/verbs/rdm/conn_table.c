/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections found by their numbers: of those with one number, the one that was added last. */

#include <stdlib.h>
#include "rc_conn.h"

#define FEWEST 64u

static void insert(struct vrb_rc_conn **at, struct vrb_rc_conn *conn)
{
	conn->qp_next = *at;
	*at = conn;
}

/* Returns the end of the list for the connection. */
static struct vrb_rc_conn **end_for(const struct vrb_rc_table *table,
				    const struct vrb_rc_conn *conn)
{
	struct vrb_rc_conn **at = vrb_rc_table_list(table, conn->qp_num);

	while (*at)
		at = &(*at)->qp_next;
	return at;
}

/* If there is no memory for more lists, the existing ones become longer. Lists keep their order. */
bool vrb_rc_table_reserve(struct vrb_rc_table *table)
{
	struct vrb_rc_table more = { .size = table->size ? 2 * table->size : FEWEST,
				     .used = table->used };
	struct vrb_rc_conn *conn, *next;

	if (table->used < table->size)
		return true;
	more.lists = calloc(more.size, sizeof(*more.lists));
	if (!more.lists)
		return table->size;
	for (conn = vrb_rc_table_next(table, NULL); conn; conn = next) {
		next = vrb_rc_table_next(table, conn);
		insert(end_for(&more, conn), conn);
	}
	free(table->lists);
	*table = more;
	return true;
}

void vrb_rc_table_add(struct vrb_rc_table *table, struct vrb_rc_conn *conn)
{
	insert(vrb_rc_table_list(table, conn->qp_num), conn);
	table->used++;
}

void vrb_rc_table_remove(struct vrb_rc_table *table, struct vrb_rc_conn *conn)
{
	struct vrb_rc_conn **at = table->size ? vrb_rc_table_list(table, conn->qp_num) : NULL;

	while (at && *at && *at != conn)
		at = &(*at)->qp_next;
	if (!at || !*at)
		return;
	*at = conn->qp_next;
	if (--table->used)
		return;
	free(table->lists);
	*table = (struct vrb_rc_table){ .size = 0 };
}

struct vrb_rc_conn *vrb_rc_table_next(const struct vrb_rc_table *table,
				      const struct vrb_rc_conn *conn)
{
	uint32_t i = conn ? (conn->qp_num & (table->size - 1)) + 1 : 0;

	if (conn && conn->qp_next)
		return conn->qp_next;
	while (i < table->size && !table->lists[i])
		i++;
	return i < table->size ? table->lists[i] : NULL;
}
