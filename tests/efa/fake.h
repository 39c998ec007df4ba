/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between the files of the fake adapter: fake.c has packets, fake_read.c the reads. */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <infiniband/verbs.h>

enum { FAKE_MAX_READ = 200000 }; /* bytes; not a power of two, to be seen in the ends of reads */

/* Returns true if the device reads: the variable FAKE_EFA_READ is set. */
bool fake_reads(void);
/* Peers may read the region from now on if the access permits it; and no longer. */
void fake_region_add(const struct ibv_mr *mr, int access);
void fake_region_remove(const struct ibv_mr *mr);
/* The queue pair posts reads; and no longer. */
void fake_reader_open(struct ibv_qp *qp);
void fake_reader_close(const struct ibv_qp *qp);
/* Carries out some of the reads on that CQ. Returns the number of completions. */
int fake_reader_poll(const struct ibv_cq *cq, int count, struct ibv_wc *wc);

/* The queue pair, which is to be destroyed, leaves completions. */
void fake_add_stale(const struct ibv_qp *qp);
/* Returns true if polling must fail because of such a completion. */
bool fake_take_stale(const struct ibv_cq *cq);

/* Returns how many reads this process has carried out. */
unsigned long fake_reads_done(void);

/* Returns the Q_Key of the queue pair. */
uint32_t fake_qkey(uint32_t number);
/* Opens memory that the processes of a host share. */
void *fake_share(const char *name, size_t size);
/*
 * Stores the process that has the queue pair. Returns what is reported of what is sent to it: an
 * error if the queue pair is gone; IBV_WC_SUCCESS with *pid 0 if it is that of another host.
 */
enum ibv_wc_status fake_owner(uint32_t number, pid_t *pid);

/* Returns true if the process is in one of these states of proc(5); X if it does not exist. */
bool fake_is_in(pid_t pid, const char *states);
/*
 * Returns true if the packet to that queue pair, whose completion is to be like that, stays in the
 * queue for now.
 */
bool fake_keep(const struct ibv_qp *qp, const struct ibv_wc *wc, uint32_t to);
/* Reports packets that have stayed for long enough. Returns the number of completions. */
int fake_kept_poll(const struct ibv_cq *cq, int count, struct ibv_wc *wc);
/* The queue pair is destroyed. */
void fake_keep_none(const struct ibv_qp *qp);
/* Adds the device's code of an error. */
void fake_put_code(struct ibv_wc *wc);

#endif
