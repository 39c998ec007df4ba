/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Aliases under hooks: their default flags may have FI_TRIGGER, so that contexts name counters. */
#include "unit.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include "fake_prov.h"
#include "src/hook.h"
#include "src/hook/hook.h"

static struct fid_cntr cntr;
static struct fi_triggered_context trigger;
static struct fid *alias_of;  /* what FI_ALIAS returns */
static struct fid_cntr *seen; /* the counter that the provider finds in the trigger */

/* All calls have at most 16 arguments, and none of them is of floating point. */
static long probe(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
		  long k, long l, long m, long n, long o, long p)
{
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
	(void)i, (void)j, (void)k, (void)l, (void)m, (void)n, (void)o, (void)p;
	seen = trigger.trigger.threshold.cntr;
	return 0;
}

static int control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	if (command == FI_ALIAS)
		*((struct fi_alias *)arg)->fid = alias_of;
	return 0;
}

static int closed(struct fid *fid)
{
	(void)fid;
	return 0;
}

static struct fi_ops fid_ops = { .size = sizeof(fid_ops), .close = closed, .control = control };
static struct fi_ops_msg msg = { .size = sizeof(msg) };
static struct fi_ops_tagged tagged = { .size = sizeof(tagged) };
static struct fi_ops_rma rma = { .size = sizeof(rma) };
static struct fi_ops_atomic atomic = { .size = sizeof(atomic) };

static struct fid_ep ep_new(size_t class)
{
	return (struct fid_ep){ .fid = { class, NULL, &fid_ops },
				.msg = &msg,
				.tagged = &tagged,
				.rma = &rma,
				.atomic = &atomic };
}

static void fill(void *table)
{
	void **slot = (void **)((size_t *)table + 1);
	void **end = (void **)((char *)table + *(size_t *)table);

	while (slot < end)
		*slot++ = (void *)probe;
}

static int start(void **state)
{
	(void)state;
	setenv("FI_HOOK", "noop", 1);
	cntr.fid = (struct fid){ FI_CLASS_CNTR, NULL, &fid_ops };
	fill(&msg);
	fill(&tagged);
	fill(&rma);
	fill(&atomic);
	return !ofi_hook_active();
}

/* Puts an object under hooks, and returns what the application has of it. */
static void *hooked(void *object)
{
	struct fid *fid = object;

	assert_int_equal(ofi_hook_wrap(&fid, NULL), 0);
	return fid;
}

static struct fid_cntr *app_cntr;

static void *armed(void)
{
	trigger.event_type = FI_TRIGGER_THRESHOLD;
	trigger.trigger.threshold.cntr = app_cntr;
	seen = NULL;
	return &trigger;
}

/* After a call: the provider has found its own counter, or an ordinary context untouched. */
#define FINDS(call, counter) ((void)(call), assert_ptr_equal(seen, counter))

static void expect_sends(struct fid_ep *ep, const struct fid_cntr *found)
{
	FINDS(fi_send(ep, NULL, 0, NULL, 0, armed()), found);
	FINDS(fi_sendv(ep, NULL, NULL, 0, 0, armed()), found);
	FINDS(fi_senddata(ep, NULL, 0, NULL, 0, 0, armed()), found);
	FINDS(fi_tsend(ep, NULL, 0, NULL, 0, 0, armed()), found);
	FINDS(fi_tsendv(ep, NULL, NULL, 0, 0, 0, armed()), found);
	FINDS(fi_tsenddata(ep, NULL, 0, NULL, 0, 0, 0, armed()), found);
	FINDS(fi_read(ep, NULL, 0, NULL, 0, 0, 0, armed()), found);
	FINDS(fi_readv(ep, NULL, NULL, 0, 0, 0, 0, armed()), found);
	FINDS(fi_write(ep, NULL, 0, NULL, 0, 0, 0, armed()), found);
	FINDS(fi_writev(ep, NULL, NULL, 0, 0, 0, 0, armed()), found);
	FINDS(fi_writedata(ep, NULL, 0, NULL, 0, 0, 0, 0, armed()), found);
	FINDS(fi_atomic(ep, NULL, 1, NULL, 0, 0, 0, FI_UINT64, FI_SUM, armed()), found);
	FINDS(fi_atomicv(ep, NULL, NULL, 1, 0, 0, 0, FI_UINT64, FI_SUM, armed()), found);
	FINDS(fi_fetch_atomic(ep, NULL, 1, NULL, NULL, NULL, 0, 0, 0, FI_UINT64, FI_SUM, armed()),
	      found);
	FINDS(fi_fetch_atomicv(ep, NULL, NULL, 1, NULL, NULL, 1, 0, 0, 0, FI_UINT64, FI_SUM,
			       armed()),
	      found);
	FINDS(fi_compare_atomic(ep, NULL, 1, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, FI_UINT64,
				FI_CSWAP, armed()),
	      found);
	FINDS(fi_compare_atomicv(ep, NULL, NULL, 1, NULL, NULL, 1, NULL, NULL, 1, 0, 0, 0,
				 FI_UINT64, FI_CSWAP, armed()),
	      found);
}

static void expect_receives(struct fid_ep *ep, const struct fid_cntr *found)
{
	FINDS(fi_recv(ep, NULL, 0, NULL, 0, armed()), found);
	FINDS(fi_recvv(ep, NULL, NULL, 0, 0, armed()), found);
	FINDS(fi_trecv(ep, NULL, 0, NULL, 0, 0, 0, armed()), found);
	FINDS(fi_trecvv(ep, NULL, NULL, 0, 0, 0, 0, armed()), found);
}

static void check_alias(size_t class)
{
	struct fid_ep real = ep_new(class), real_alias = ep_new(FI_CLASS_EP),
		      real_again = ep_new(FI_CLASS_EP), *ep = hooked(&real), *alias = NULL,
		      *again = NULL;
	uint64_t flags = FI_RECV | FI_TRIGGER;

	app_cntr = hooked(&cntr);
	expect_sends(ep, app_cntr);
	expect_receives(ep, app_cntr);
	alias_of = &real_alias.fid;
	assert_int_equal(fi_ep_alias(ep, &alias, FI_TRANSMIT | FI_TRIGGER), 0);
	assert_ptr_equal(ofi_hook_unwrap(&alias->fid), &real_alias);
	assert_ptr_not_equal(alias, &real_alias);
	expect_sends(alias, &cntr);
	expect_receives(alias, app_cntr);
	expect_sends(ep, app_cntr);
	alias_of = &real_again.fid;
	assert_int_equal(fi_ep_alias(alias, &again, FI_RECV | FI_TRIGGER), 0);
	expect_sends(again, &cntr);
	expect_receives(again, &cntr);
	assert_int_equal(fi_control(&alias->fid, FI_SETOPSFLAG, &flags), 0);
	expect_receives(alias, &cntr);
	flags = FI_TRANSMIT;
	assert_int_equal(fi_control(&alias->fid, FI_SETOPSFLAG, &flags), 0);
	expect_sends(alias, app_cntr);
	expect_receives(alias, &cntr);
	fi_close(&again->fid);
	fi_close(&alias->fid);
	fi_close(&ep->fid);
	fi_close(&app_cntr->fid);
}

static void test_endpoint(void **state)
{
	(void)state;
	check_alias(FI_CLASS_EP);
}

static void test_contexts(void **state)
{
	(void)state;
	check_alias(FI_CLASS_TX_CTX);
	check_alias(FI_CLASS_RX_CTX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoint),
		cmocka_unit_test(test_contexts),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
