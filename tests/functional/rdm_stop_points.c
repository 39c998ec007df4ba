/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer is stopped at each step of the protocol and continues later: all operations succeed, and
 * others do not wait.
 */
#include "rdm_points.h"

int main(void)
{
	return points_run(false);
}
