/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tests between two hosts: each runs the program, one of them is the server. */
#ifndef HOSTS_H
#define HOSTS_H

#include "fixture.h"

/*
 * main() of such a test: runs server on the first host and client on the second. Skips elsewhere.
 */
int run_hosts(void (*server)(void), void (*client)(void));
/* Opens the end and takes one connection. The peer learns where the end's buf is. */
void hosts_accept(struct end *end, const char *service);
/* Opens the end and connects it, as soon as the other host listens; fills in end->peer. */
void hosts_connect(struct end *end, const char *service);

#endif
