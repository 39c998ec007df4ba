/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer is killed at each step of the protocol: each operation to it completes once and in time,
 * those that were not done with an error. Another peer notices nothing, and no queue pair is left.
 */
#include "rdm_points.h"

int main(void)
{
	return points_run(true);
}
