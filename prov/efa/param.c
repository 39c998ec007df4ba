/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of FI_EFA_* parameters. */
#include "efa.h"

#include <limits.h>

#define INT(field_, def_, min_, max_, doc_)                                                 \
	{                                                                                   \
		.name = #field_, .type = FI_PARAM_INT, .def = (def_), .min = (min_),        \
		.max = (max_), .doc = (doc_), .offset = offsetof(struct vrb_params, field_) \
	}
/* Parameters of other releases that have no effect here. */
#define UNUSED(name_, type_, def_, max_, doc_)                                                    \
	{                                                                                         \
		.name = #name_, .type = FI_PARAM_##type_, .def = (def_), .min = 0, .max = (max_), \
		.doc = (doc_), .unused = true                                                     \
	}

const struct ofi_param efa_param_table[] = {
	INT(tx_size, 384, 1, INT_MAX, "Size of a transmit queue in operations if the hints say 0"),
	INT(rx_size, 384, 1, INT_MAX, "Size of a receive queue in operations if the hints say 0"),
	INT(tx_iov_limit, 4, 1, INT_MAX, "Buffers per transmit operation if the hints say 0"),
	INT(rx_iov_limit, 4, 1, INT_MAX, "Buffers per receive if the hints say 0"),
	UNUSED(rx_window_size, INT, 128, INT_MAX,
	       "Packets of long messages in flight from one endpoint; no effect, datagrams are one packet"),
	UNUSED(tx_queue_size, INT, 0, INT_MAX,
	       "Depth of the device's transmit queue; no effect on datagrams, FI_EFA_TX_SIZE sets it"),
	UNUSED(recvwin_size, INT, 16384, INT_MAX,
	       "Messages that the reorder buffer holds; no effect, datagrams have no order"),
	UNUSED(cq_size, INT, 8192, INT_MAX,
	       "Entries of a completion queue; no effect on datagrams, which have the size that the application asks for"),
	UNUSED(mr_cache_enable, BOOL, 1, 1,
	       "Cache registrations; no effect, applications register the memory of datagrams"),
	UNUSED(mr_max_cached_count, INT, 0, INT_MAX,
	       "Registrations in the cache; no effect, applications register the memory of datagrams"),
	UNUSED(mr_max_cached_size, SIZE_T, 0, LONG_MAX,
	       "Bytes in the cache; no effect, applications register the memory of datagrams"),
	UNUSED(max_memcpy_size, SIZE_T, 4096, LONG_MAX,
	       "Bytes up to which messages are copied; no effect, datagrams are not copied"),
	UNUSED(mtu_size, INT, 0, INT_MAX,
	       "MTU instead of that of the device; no effect on datagrams, which have the latter"),
	UNUSED(rx_copy_unexp, BOOL, 1, 1,
	       "Copy unexpected messages; no effect, a datagram without a receive is dropped by the device"),
	UNUSED(rx_copy_ooo, BOOL, 1, 1,
	       "Copy messages out of order; no effect, datagrams have no order"),
	INT(max_timeout, 1000000, 1, INT_MAX,
	    "Longest wait in microseconds before a packet of reliable datagrams is sent again whose receiver was not ready"),
	INT(timeout_interval, 0, 0, INT_MAX,
	    "First wait in microseconds after a receiver was not ready, doubled each time; 0 chooses one at random"),
	UNUSED(enable_shm_transfer, BOOL, 1, 1,
	       "Use shared memory between processes of one host; no effect, datagrams always use the device"),
	UNUSED(shm_av_size, INT, 128, INT_MAX,
	       "Addresses of processes on the same host; no effect, datagrams always use the device"),
	UNUSED(shm_max_medium_size, SIZE_T, 4096, LONG_MAX,
	       "Longest medium message in shared memory; no effect, datagrams always use the device"),
	UNUSED(inter_max_medium_message_size, SIZE_T, 65536, LONG_MAX,
	       "Longest medium message; no effect, a datagram is not longer than the MTU"),
	UNUSED(inter_min_read_message_size, SIZE_T, 1048576, LONG_MAX,
	       "Shortest message that the receiver reads; no effect, a datagram is not longer than the MTU"),
	UNUSED(inter_min_read_write_size, SIZE_T, 65536, LONG_MAX,
	       "Shortest RMA write that the target reads; no effect, datagrams have no RMA"),
	UNUSED(runt_size, SIZE_T, 307200, LONG_MAX,
	       "Bytes sent before the receiver reads the rest; no effect, a datagram is not longer than the MTU"),
	UNUSED(use_device_rdma, BOOL, 0, 1,
	       "Use the device's RDMA; no effect, datagrams have no RMA"),
	UNUSED(fork_safe, BOOL, 0, 1,
	       "Keep registered memory intact at fork; no effect, it is kept unless FI_FORK_UNSAFE is set"),
	UNUSED(set_cuda_sync_memops, BOOL, 1, 1,
	       "Synchronize operations on CUDA memory; no effect, datagrams do not use device memory"),
};

const size_t efa_param_count = sizeof(efa_param_table) / sizeof(efa_param_table[0]);

struct vrb_params efa_params;

int efa_params_init(void)
{
	return ofi_params_load(&efa_prov, efa_param_table, efa_param_count, &efa_params);
}
