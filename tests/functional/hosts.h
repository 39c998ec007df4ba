/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tests between two hosts: each runs the program, one of them as the server. */
#ifndef HOSTS_H
#define HOSTS_H

#include "fixture.h"

/*
 * Implements main(): runs server on the first host and client on the second. Skips the test
 * elsewhere.
 */
int run_hosts(void (*server)(void), void (*client)(void));
/* Opens the end and accepts one connection. Tells the peer the address of the end's buf. */
void hosts_accept(struct end *end, const char *service);
/* Opens the end and connects it once the other host listens; sets end->peer. */
void hosts_connect(struct end *end, const char *service);

#endif
