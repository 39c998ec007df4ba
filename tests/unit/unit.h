/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every unit test includes: cmocka with the headers that it wants before it. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
