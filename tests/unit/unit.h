/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Included by every unit test: cmocka with the headers that it requires. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
