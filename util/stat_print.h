/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What fi_stat prints of an object. */
#ifndef STAT_PRINT_H
#define STAT_PRINT_H

#include <stdbool.h>
#include <stdio.h>
#include <rdma/fi_stats.h>

/*
 * One line: what it is, and its items but for those that are 0, or all. With before, which may be
 * NULL, how much each has grown a second in the time between.
 */
void stat_print_text(FILE *out, const struct fi_stats_object *object,
		     const struct fi_stats_object *before, double seconds, bool all);
/* Likewise of a peer: one line with its state, and one with what it waits for, if it does. */
void stat_print_peer(FILE *out, const struct fi_stats_peer *peer, bool all);
void stat_print_peer_json(FILE *out, const struct fi_stats_peer *peer);
/* An object of JSON, on one line, without its end. */
void stat_print_json(FILE *out, const struct fi_stats_object *object);

#endif
