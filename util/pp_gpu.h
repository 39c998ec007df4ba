/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of the first CUDA device for fi_pingpong; dlopen(3) loads the driver. */
#ifndef PP_GPU_H
#define PP_GPU_H

#include <stddef.h>

/*
 * Loads the driver and makes the primary context of the device that of the calling thread. Like the
 * others, prints what fails and returns 0 or -FI_E*.
 */
int pp_gpu_open(void);
void pp_gpu_close(void);
int pp_gpu_alloc(size_t len, char **buf);
void pp_gpu_free(char *buf);
/* Copies to the device. */
int pp_gpu_put(char *to, const char *from, size_t len);
/* Copies from the device. */
int pp_gpu_get(char *to, const char *from, size_t len);

#endif
