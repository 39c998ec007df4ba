/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output of fi_stat. */
#ifndef STAT_PRINT_H
#define STAT_PRINT_H

#include <stdbool.h>
#include <stdio.h>
#include <rdma/fi_stats.h>

/*
 * Prints one line: the object and its items, without zeros unless `all` is set. If `before` is not
 * NULL, also prints the growth per second.
 */
void stat_print_text(FILE *out, const struct fi_stats_object *object,
		     const struct fi_stats_object *before, double seconds, bool all);
/* Prints the title of a table, and a line of it for each item: in total and per second. */
void stat_print_title(FILE *out);
void stat_print_table(FILE *out, const struct fi_stats_object *object,
		      const struct fi_stats_object *before, double seconds, bool all);
/* Prints a text that comes from another process. */
void stat_print_name(FILE *out, const char *name);
/* Prints a peer likewise: one line with its state, and one with what it waits for, if anything. */
void stat_print_peer(FILE *out, const struct fi_stats_peer *peer, bool all);
void stat_print_peer_json(FILE *out, const struct fi_stats_peer *peer);
/* Prints a JSON object on one line, without the closing brace. */
void stat_print_json(FILE *out, const struct fi_stats_object *object);

#endif
