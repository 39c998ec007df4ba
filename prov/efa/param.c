/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of FI_EFA_* parameters. */
#include "efa.h"

#include <limits.h>

#define INT(field_, def_, min_, max_, doc_) \
	OFI_PARAM(vrb_params, field_, INT, def_, min_, max_, doc_)
#define BOOL(field_, def_, doc_) OFI_PARAM(vrb_params, field_, BOOL, def_, 0, BOOL_MAX, doc_)
#define SIZE(field_, def_, doc_) OFI_PARAM(vrb_params, field_, SIZE_T, def_, 0, SIZE_T_MAX, doc_)
#define BOOL_MAX		 1
#define SIZE_T_MAX		 LONG_MAX
#define UNUSED(name_, type_, def_, doc_, why_) \
	OFI_PARAM_UNUSED(name_, type_, def_, type_##_MAX, doc_ "; no effect, " why_)
#define CACHE  "FI_MR_CACHE_MAX_COUNT and FI_MR_CACHE_MAX_SIZE limit the cache of all providers"
#define COPIED "the receiver copies each packet once, into its message if that is known"
#define RINGS  "each pair of processes on a host has two rings of 64 KiB"

const struct ofi_param efa_param_table[] = {
	INT(tx_size, 384, 1, INT_MAX, "Size of a transmit queue in operations if the hints say 0"),
	INT(rx_size, 384, 1, INT_MAX, "Size of a receive queue in operations if the hints say 0"),
	INT(tx_iov_limit, 4, 1, INT_MAX, "Buffers per transmit operation if the hints say 0"),
	INT(rx_iov_limit, 4, 1, INT_MAX, "Buffers per receive if the hints say 0"),
	UNUSED(rx_window_size, INT, 128, "Packets of long messages in flight from one endpoint",
	       "there are up to 64 packets to each peer in flight"),
	UNUSED(tx_queue_size, INT, 0, "Depth of the device's transmit queue",
	       "FI_EFA_TX_SIZE sets it"),
	UNUSED(recvwin_size, INT, 16384, "Messages that the reorder buffer holds",
	       "it holds 64 packets of each peer"),
	UNUSED(cq_size, INT, 8192, "Entries of a completion queue",
	       "it has the size that the application asks for"),
	UNUSED(mr_cache_enable, BOOL, 1, "Cache registrations", CACHE),
	UNUSED(mr_max_cached_count, INT, 0, "Registrations in the cache", CACHE),
	UNUSED(mr_max_cached_size, SIZE_T, 0, "Bytes in the cache", CACHE),
	UNUSED(max_memcpy_size, SIZE_T, 4096, "Bytes up to which messages are copied", COPIED),
	UNUSED(mtu_size, INT, 0, "MTU instead of that of the device", "that of the device is used"),
	UNUSED(rx_copy_unexp, BOOL, 1, "Copy unexpected messages", COPIED),
	UNUSED(rx_copy_ooo, BOOL, 1, "Copy messages out of order", COPIED),
	INT(max_timeout, 1000000, 1, INT_MAX,
	    "Longest wait in microseconds before a packet of reliable datagrams is sent again whose receiver was not ready"),
	INT(timeout_interval, 0, 0, INT_MAX,
	    "First wait in microseconds after a receiver was not ready, doubled each time; 0 chooses one at random"),
	BOOL(enable_shm_transfer, 1,
	     "Exchange packets with processes of one user on one host through shared memory, unless they sleep, and copy large messages from each other's memory"),
	UNUSED(shm_av_size, INT, 128, "Addresses of processes on the same host", RINGS),
	UNUSED(shm_max_medium_size, SIZE_T, 4096, "Longest medium message in shared memory", RINGS),
	UNUSED(inter_max_medium_message_size, SIZE_T, 65536, "Longest medium message",
	       "shorter messages than those that are read have one protocol"),
	SIZE(inter_min_read_message_size, 1048576,
	     "Bytes of the shortest message that the receiver's device reads from the sender's memory"),
	SIZE(inter_min_read_write_size, 65536,
	     "Bytes of the shortest RMA read that the device carries out; RMA writes are sent"),
	UNUSED(runt_size, SIZE_T, 307200, "Bytes sent before the receiver reads the rest",
	       "the receiver reads all of such a message"),
	BOOL(use_device_rdma, 1,
	     "Let the device read long messages and the memory of peers, if it can"),
	UNUSED(fork_safe, BOOL, 0, "Keep registered memory intact at fork",
	       "it is kept unless FI_FORK_UNSAFE is set"),
	UNUSED(set_cuda_sync_memops, BOOL, 1, "Synchronize operations on CUDA memory",
	       "device memory is not supported"),
};

const size_t efa_param_count = sizeof(efa_param_table) / sizeof(efa_param_table[0]);

struct vrb_params efa_params;

void efa_params_init(void)
{
	ofi_params_load(&efa_prov, efa_param_table, efa_param_count, &efa_params);
	efa_params.shm = efa_params.enable_shm_transfer;
}
