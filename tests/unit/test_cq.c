/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues of any provider: opening, blocking reads, errors, and their owners. */
#include "unit.h"
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/providers/fi_peer.h>
#include "prov/base/cq.h"
#include "prov/base/cq_peer.h"

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref domain, other;
static struct ofi_cq cq;
static struct ofi_cq_slow slow;
static int ready, tries, errors;
static bool stopped; /* the thread gets no processor after its next read */

enum { TIMEOUT = 20 }; /* ms */

static ssize_t read_one(struct fid_cq *fid, void *buf, size_t count)
{
	struct fi_cq_entry *entry = buf;

	assert_ptr_equal(fid, &cq.fid);
	if (stopped) {
		usleep(2 * TIMEOUT * 1000);
		ready++;
		stopped = false;
		return -FI_EAGAIN;
	}
	if (!ready || !count)
		return -FI_EAGAIN;
	entry->op_context = &ready;
	ready--;
	return 1;
}

/* A completion comes before the second sleep. */
static int cq_trywait(struct ofi_cq *of)
{
	assert_ptr_equal(of, &cq);
	if (++tries == 2)
		ready++;
	return ready ? -FI_EAGAIN : 0;
}

static bool take_error(struct ofi_cq *of, struct fi_cq_err_entry *entry)
{
	assert_ptr_equal(of, &cq);
	entry->err = FI_EIO;
	return errors-- > 0;
}

static const struct ofi_cq_ops base_ops = { .trywait = cq_trywait, .take_error = take_error };
static struct fi_ops fid_ops = { .size = sizeof(fid_ops), .control = ofi_cq_control };
static struct fi_ops_cq cq_ops = { .size = sizeof(cq_ops),
				   .read = read_one,
				   .readerr = ofi_cq_readerr,
				   .sread = ofi_cq_sread,
				   .signal = ofi_cq_signal };

static void open_cq(enum fi_wait_obj obj)
{
	const struct fi_cq_attr attr = { .wait_obj = obj };

	cq = (struct ofi_cq){ 0 };
	slow = (struct ofi_cq_slow){ 0 };
	ready = tries = errors = 0;
	assert_int_equal(ofi_cq_init(&cq, NULL, &slow, &base_ops, &domain, &attr), 0);
	cq.fid = (struct fid_cq){ .fid = { .fclass = FI_CLASS_CQ, .ops = &fid_ops },
				  .ops = &cq_ops };
	assert_int_equal(cq.format, FI_CQ_FORMAT_CONTEXT);
}

static int check(enum fi_wait_obj obj)
{
	const struct fi_cq_attr attr = { .wait_obj = obj };

	return ofi_cq_check_attr(&prov, &attr);
}

static void attributes(void **state)
{
	struct fi_cq_attr attr = { .flags = FI_AFFINITY, .signaling_vector = -1 };

	(void)state;
	assert_int_equal(check(FI_WAIT_FD), 0);
	assert_int_equal(check(FI_WAIT_SET), 0);
	assert_int_equal(check(FI_WAIT_MUTEX_COND), -FI_ENOSYS);
	assert_int_equal(ofi_cq_check_attr(&prov, &attr), -FI_EINVAL);
	attr = (struct fi_cq_attr){ .flags = FI_MORE };
	assert_int_equal(ofi_cq_check_attr(&prov, &attr), -FI_EBADFLAGS);
	attr = (struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED + 1 };
	assert_int_equal(ofi_cq_check_attr(&prov, &attr), -FI_EINVAL);
	attr = (struct fi_cq_attr){ .wait_cond = FI_CQ_COND_THRESHOLD + 1 };
	assert_int_equal(ofi_cq_check_attr(&prov, &attr), 0); /* nobody waits */
	attr.wait_obj = FI_WAIT_FD;
	assert_int_equal(ofi_cq_check_attr(&prov, &attr), -FI_EINVAL);
}

static void nobody_waits(void **state)
{
	struct fi_cq_entry entry;

	(void)state;
	open_cq(FI_WAIT_NONE);
	ready = 1;
	assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_signal(&cq.fid), -FI_ENOSYS);
	assert_int_equal(ofi_cq_trywait(&cq.fid.fid), -FI_EINVAL);
	assert_int_equal(ofi_cq_watch(&cq, 0), 0);
	ofi_cq_fini(&cq);
}

/* It looks again when trywait says so, and sleeps until what is watched is readable. */
static void sleeps(void **state)
{
	int fd = eventfd(1, EFD_CLOEXEC), wait;
	struct fi_cq_entry entry;

	(void)state;
	open_cq(FI_WAIT_FD);
	assert_int_equal(ofi_cq_watch(&cq, fd), 0);
	assert_int_equal(fi_control(&cq.fid.fid, FI_GETWAIT, &wait), 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = wait, .events = POLLIN }, 1, 0), 1);
	assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, 5000), 1);
	assert_ptr_equal(entry.op_context, &ready);
	assert_int_equal(tries, 2);
	ofi_cq_unwatch(&cq, fd);
	assert_int_equal(poll(&(struct pollfd){ .fd = wait, .events = POLLIN }, 1, 0), 0);
	assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_signal(&cq.fid), 0);
	assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, -1), -FI_EAGAIN);
	ofi_cq_fini(&cq);
	close(fd);
}

static void *read_canceled(void *arg)
{
	struct fi_cq_entry entry;

	pthread_cancel(pthread_self());
	fi_cq_sread(arg, &entry, 1, NULL, -1);
	return NULL;
}

/* Later signals can be taken back, although that thread does not look for what they are for. */
static void forgets_a_canceled_thread(void **state)
{
	struct fi_cq_entry entry;
	pthread_t thread;
	void *ret;

	(void)state;
	open_cq(FI_WAIT_FD);
	tries = 2;
	assert_int_equal(pthread_create(&thread, NULL, read_canceled, &cq.fid), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
	assert_int_equal(fi_cq_signal(&cq.fid), 0);
	assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, -1), -FI_EAGAIN);
	assert_true(ofi_wait_clear(&slow.wait));
	ofi_cq_fini(&cq);
}

static void yields(void **state)
{
	struct fi_cq_entry entry;

	(void)state;
	open_cq(FI_WAIT_YIELD);
	assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, 1), -FI_EAGAIN);
	ready = 1;
	assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, 1), 1);
	ofi_cq_fini(&cq);
}

/* A completion that comes after the timeout, but before the call has noticed, is read. */
static void reads_before_it_times_out(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_FD, FI_WAIT_YIELD };
	struct fi_cq_entry entry;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		open_cq(kinds[i]);
		tries = 2;
		stopped = true;
		assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, TIMEOUT), 1);
		assert_int_equal(fi_cq_sread(&cq.fid, &entry, 1, NULL, TIMEOUT), -FI_EAGAIN);
		ofi_cq_fini(&cq);
	}
}

static void reads_errors(void **state)
{
	struct fi_cq_err_entry entry = { 0 };

	(void)state;
	open_cq(FI_WAIT_NONE);
	errors = 1;
	assert_int_equal(fi_cq_readerr(&cq.fid, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_cq_readerr(&cq.fid, &entry, 1), -FI_EBADFLAGS);
	assert_int_equal(fi_cq_readerr(&cq.fid, &entry, 0), 1);
	assert_int_equal(entry.err, FI_EIO);
	assert_int_equal(fi_cq_readerr(&cq.fid, &entry, 0), -FI_EAGAIN);
	ofi_cq_fini(&cq);
}

static void whose(void **state)
{
	struct fi_ops foreign = { .size = sizeof(foreign) };

	(void)state;
	open_cq(FI_WAIT_NONE);
	assert_ptr_equal(ofi_cq_of(&cq.fid.fid, &domain), &cq);
	assert_ptr_equal(ofi_cq_of(&cq.fid.fid, NULL), &cq);
	assert_null(ofi_cq_of(&cq.fid.fid, &other));
	assert_null(ofi_cq_of(NULL, NULL));
	cq.fid.fid.ops = &foreign;
	assert_null(ofi_cq_of(&cq.fid.fid, NULL));
	ofi_cq_fini(&cq);
}

/* What a peer queue has: so many entries, then so many errors. */
static int entries_left, errors_left;
static int written, failures;
static ssize_t owner_error;

static ssize_t peer_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct fi_cq_tagged_entry *entry = buf;
	size_t i;

	assert_ptr_equal(fid, &cq.fid);
	for (i = 0; i < count && entries_left; i++, entries_left--) {
		entry[i] = (struct fi_cq_tagged_entry){ .len = (size_t)entries_left, .tag = 5 };
		src[i] = 3;
	}
	if (i)
		return (ssize_t)i;
	return errors_left ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t peer_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	(void)fid;
	(void)flags;
	entry->err = FI_EIO;
	errors_left--;
	return 1;
}

static int open_own(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **to,
		    void *context)
{
	static struct fi_ops_cq own = { .size = sizeof(own),
					.readfrom = peer_readfrom,
					.readerr = peer_readerr };

	(void)fid;
	(void)context;
	assert_int_equal(attr->flags, FI_AFFINITY);
	assert_int_equal(attr->format, FI_CQ_FORMAT_TAGGED);
	assert_int_equal(attr->signaling_vector, 7);
	assert_null(attr->xpu_ctx);
	open_cq(FI_WAIT_NONE);
	cq.fid.ops = &own;
	*to = &cq.fid;
	return 0;
}

static ssize_t owner_write(struct fid_peer_cq *owner, void *context, uint64_t flags, size_t len,
			   void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	(void)owner;
	(void)context;
	(void)flags;
	(void)buf;
	(void)data;
	assert_int_equal(len, 40 - written);
	assert_int_equal(tag, 5);
	assert_int_equal(src, 3);
	written++;
	return owner_error ? owner_error : 1;
}

static ssize_t owner_writeerr(struct fid_peer_cq *owner, const struct fi_cq_err_entry *entry)
{
	(void)owner;
	assert_int_equal(entry->err, FI_EIO);
	failures++;
	return 1;
}

/* All that there is goes to the owner in one call; the owner's error comes back. */
static void test_peer(void **state)
{
	struct fi_ops_cq_owner ops = { sizeof(ops), owner_write, owner_writeerr };
	struct fid_peer_cq owner = { .owner_ops = &ops };
	struct fi_peer_cq_context lent = { sizeof(lent), &owner };
	/* The structure of a program for API 2.5 ends before xpu_ctx. */
	struct fi_cq_attr attr = { .flags = FI_PEER | FI_AFFINITY,
				   .wait_obj = FI_WAIT_FD,
				   .signaling_vector = 7,
				   .xpu_ctx = (void *)1 };
	struct fid_cq *fid;

	(void)state;
	assert_int_equal(ofi_cq_peer_open(&prov, open_own, NULL, &attr, &fid, NULL), -FI_EINVAL);
	assert_int_equal(ofi_cq_peer_open(&prov, open_own, NULL, &attr, &fid, &lent), 0);
	assert_int_equal(fi_cq_read(fid, NULL, 0), -FI_EAGAIN);
	entries_left = 40;
	errors_left = 2;
	assert_int_equal(fi_cq_read(fid, NULL, 0), 0);
	assert_int_equal(written, 40 - entries_left);
	while (fi_cq_read(fid, NULL, 0) != -FI_EAGAIN)
		;
	assert_int_equal(written, 40);
	assert_int_equal(failures, 2);
	assert_int_equal(fi_cq_read(fid, &attr, 1), -FI_ENOSYS);
	written = 0;
	entries_left = 40;
	owner_error = -FI_ENOSPC;
	assert_int_equal(fi_cq_read(fid, NULL, 0), -FI_ENOSPC);
	owner_error = 0;
	ofi_cq_fini(&cq);
}

enum { READS = 20000 };

/* What the owner's queue in the next tests has been asked to take. */
static struct fid_cq *lent_cq;
static unsigned int calls, refuse_at, errors_refused;
static uintptr_t next_out, next_in;
static int writing, overlaps;

/* Numbered entries, eight in a read. */
static ssize_t numbered_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct fi_cq_tagged_entry *entry = buf;
	size_t i;

	(void)fid;
	assert_true(count >= 8);
	if (!entries_left)
		return errors_left ? -FI_EAVAIL : -FI_EAGAIN;
	for (i = 0; i < 8; i++) {
		entry[i] = (struct fi_cq_tagged_entry){ .op_context = (void *)next_out++ };
		src[i] = 3;
	}
	entries_left--;
	return 8;
}

static int open_numbered(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **to,
			 void *context)
{
	static struct fi_ops_cq own = { .size = sizeof(own),
					.readfrom = numbered_readfrom,
					.readerr = peer_readerr };

	(void)fid;
	(void)attr;
	(void)context;
	open_cq(FI_WAIT_NONE);
	cq.fid.ops = &own;
	*to = &cq.fid;
	return 0;
}

static ssize_t numbered_write(struct fid_peer_cq *owner, void *context, uint64_t flags, size_t len,
			      void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	(void)owner, (void)flags, (void)len, (void)buf, (void)data, (void)tag, (void)src;
	if (__atomic_fetch_add(&writing, 1, __ATOMIC_SEQ_CST))
		__atomic_add_fetch(&overlaps, 1, __ATOMIC_SEQ_CST);
	if (++calls % 5 == 0)
		assert_int_equal(fi_cq_read(lent_cq, NULL, 0), -FI_EAGAIN);
	overlaps += (uintptr_t)context != next_in;
	next_in += calls != refuse_at;
	__atomic_sub_fetch(&writing, 1, __ATOMIC_SEQ_CST);
	return calls == refuse_at ? -FI_ENOSPC : 1;
}

static ssize_t numbered_writeerr(struct fid_peer_cq *owner, const struct fi_cq_err_entry *entry)
{
	if (errors_refused && errors_refused--)
		return -FI_ENOSPC;
	return owner_writeerr(owner, entry);
}

static void open_lent(void)
{
	static struct fi_ops_cq_owner ops = { sizeof(ops), numbered_write, numbered_writeerr };
	static struct fid_peer_cq owner = { .owner_ops = &ops };
	struct fi_peer_cq_context lent = { sizeof(lent), &owner };
	struct fi_cq_attr attr = { .flags = FI_PEER };

	calls = refuse_at = 0;
	next_in = next_out = 0;
	failures = errors_left = overlaps = 0;
	assert_int_equal(ofi_cq_peer_open(&prov, open_numbered, NULL, &attr, &lent_cq, &lent), 0);
}

/* The owner sees what it refused again, and first. */
static void test_peer_refused(void **state)
{
	(void)state;
	open_lent();
	entries_left = 2;
	errors_left = 1;
	refuse_at = 2;
	errors_refused = 1;
	assert_int_equal(fi_cq_read(lent_cq, NULL, 0), -FI_ENOSPC);
	assert_int_equal(next_in, 1);
	assert_int_equal(fi_cq_read(lent_cq, NULL, 0), 0);
	assert_int_equal(next_in, 16);
	assert_int_equal(fi_cq_read(lent_cq, NULL, 0), -FI_ENOSPC);
	assert_int_equal(failures, 0);
	assert_int_equal(fi_cq_read(lent_cq, NULL, 0), -FI_EAGAIN);
	assert_int_equal(failures, 1);
	assert_int_equal(overlaps, 0);
	ofi_cq_fini(&cq);
}

static void *read_lent(void *arg)
{
	int i;

	for (i = 0; i < READS; i++)
		fi_cq_read(lent_cq, NULL, 0);
	return arg;
}

/* Threads that read a peer write one at a time and in order. */
static void test_peer_threads(void **state)
{
	pthread_t threads[2];
	int i;

	(void)state;
	open_lent();
	entries_left = 2 * READS;
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_lent, NULL), 0);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(overlaps, 0);
	assert_int_equal(next_in, next_out);
	assert_true(next_in > 0);
	ofi_cq_fini(&cq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes),
		cmocka_unit_test(nobody_waits),
		cmocka_unit_test(sleeps),
		cmocka_unit_test(yields),
		cmocka_unit_test(forgets_a_canceled_thread),
		cmocka_unit_test(reads_before_it_times_out),
		cmocka_unit_test(reads_errors),
		cmocka_unit_test(whose),
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_peer_refused),
		cmocka_unit_test(test_peer_threads),
	};

	return cmocka_run_group_tests_name("cq", tests, NULL, NULL);
}
