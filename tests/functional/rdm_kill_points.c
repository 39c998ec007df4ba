/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer is killed at each step of the protocol: each operation to it completes once and in time,
 * with an error if it was not done. Another peer is not affected, and no queue pair remains.
 */
#include "rdm_points.h"

int main(void)
{
	return points_run(true);
}
