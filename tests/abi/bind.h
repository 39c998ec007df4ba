/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Binds a program to NODE, a symbol version, as a build of that time did. The calls keep their
 * names in the source.
 */
#ifndef BIND_H
#define BIND_H

#ifdef NODE
__asm__(".symver fi_getinfo, fi_getinfo@FABRIC_" NODE);
__asm__(".symver fi_dupinfo, fi_dupinfo@FABRIC_" NODE);
__asm__(".symver fi_freeinfo, fi_freeinfo@FABRIC_" NODE);
__asm__(".symver fi_fabric, fi_fabric@FABRIC_" NODE_OF_FABRIC);
#endif

#endif
