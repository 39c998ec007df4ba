/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections found by their numbers, in lists that hold about one each. */
#ifndef VRB_CONN_TABLE_H
#define VRB_CONN_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct vrb_rc_conn;

/* A zeroed table is empty and owns no memory. */
struct vrb_rc_table {
	struct vrb_rc_conn **lists;
	uint32_t size; /* number of lists: a power of 2, or 0 */
	uint32_t used;
};

/* Returns the list for a number. The size must not be 0. */
static inline struct vrb_rc_conn **vrb_rc_table_list(const struct vrb_rc_table *table,
						     uint32_t number)
{
	return &table->lists[number & (table->size - 1)];
}

/* Makes room for one more connection. Returns false when out of memory. */
bool vrb_rc_table_reserve(struct vrb_rc_table *table);
/* Adds a connection, for which there is room. */
void vrb_rc_table_add(struct vrb_rc_table *table, struct vrb_rc_conn *conn);
/* Does nothing if the connection was not added. */
void vrb_rc_table_remove(struct vrb_rc_table *table, struct vrb_rc_conn *conn);
/* Returns the connection after one, or the first one after NULL; NULL if there is none. */
struct vrb_rc_conn *vrb_rc_table_next(const struct vrb_rc_table *table,
				      const struct vrb_rc_conn *conn);

#endif
