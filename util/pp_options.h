/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_pingpong. */
#ifndef PP_OPTIONS_H
#define PP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <rdma/fabric.h>

#define PP_CTRL_PORT	  47592
#define PP_MAX_ITERATIONS 999999999u
#define PP_DEFAULT_WINDOW 64
#define PP_MAX_WINDOW	  65536

enum pp_sizes {
	PP_SIZES_DEFAULT,
	PP_SIZES_ALL,
	PP_SIZES_ONE,
};

enum pp_action { PP_RUN, PP_HELP, PP_VERSION };

struct pp_options {
	enum pp_action action;
	uint16_t src_port; /* 0 for the default of the side */
	uint16_t dst_port;
	const char *dst_addr; /* NULL on the server */
	const char *domain;
	const char *provider;
	enum fi_ep_type ep_type;
	uint64_t caps;		 /* FI_MSG or FI_TAGGED */
	bool cuda;		 /* buffers are in memory of a CUDA device */
	unsigned int iterations; /* 0 with rate: pp_size_count() */
	enum pp_sizes sizes;
	size_t size;
	unsigned int window; /* for rate; 0 for the default */
	bool percentiles;
	bool plot; /* with percentiles */
	bool rate;
	bool json;
	bool check;
	bool ipv6;
	bool verbose;
};

void pp_options_init(struct pp_options *opts);
/* Returns 0, or -1 after printing what is wrong. */
int pp_options_parse(struct pp_options *opts, int argc, char **argv);
void pp_options_usage(FILE *out);

#endif
