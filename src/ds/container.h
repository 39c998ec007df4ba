/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds an object by the address of one of its members. */
#ifndef OFI_CONTAINER_H
#define OFI_CONTAINER_H

#include <stddef.h>

#define ofi_container(at, type, member) ((type *)((char *)(at)-offsetof(type, member)))

#endif
