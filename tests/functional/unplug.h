/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Removes the device of the test and brings it back. */
#ifndef UNPLUG_H
#define UNPLUG_H

/* Begins the removal, which ends when no process has the device open any more. */
void remove_device(void);
/* Waits for the end of the removal and adds the device again. */
void bring_back(void);

#endif
