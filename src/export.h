/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Marks the definitions of functions that the shared library exports; all others are hidden. */
#ifndef OFI_EXPORT_H
#define OFI_EXPORT_H

#define OFI_EXPORT __attribute__((visibility("default")))

#endif
