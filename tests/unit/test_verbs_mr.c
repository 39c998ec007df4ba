/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory regions: keys and descriptors, what is refused. */
#include "unit.h"
#include <unistd.h>
#include <stdlib.h>
#include <sched.h>
#include <pthread.h>
#include <sys/mman.h>

#include <errno.h>
#include <string.h>
#include "capture.h"
#include "verbs_rig.h"
#include "prov/base/desc.h"
#include "prov/base/reduce.h"
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/provider/prov.h"

static char buf[4096];

static struct fid_mr *reg(struct rig *rig, uint64_t access)
{
	struct fid_mr *mr;

	assert_int_equal(fi_mr_reg(rig->domain, buf, sizeof(buf), access, 0, 0, 0, &mr, rig), 0);
	return mr;
}

static void test_keys(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr;

	rig_open_domain(rig);
	mr = reg(rig, FI_SEND);
	assert_ptr_equal(fake.mr->addr, buf);
	assert_int_equal(fake.mr->length, sizeof(buf));
	assert_true(fi_mr_key(mr) == fake.mr->rkey);
	assert_int_equal(ofi_desc_lkey(fi_mr_desc(mr)), fake.mr->lkey);
	assert_true(ofi_desc_permits(fi_mr_desc(mr), false));
	assert_false(ofi_desc_permits(fi_mr_desc(mr), true));
	assert_int_equal(mr->fid.fclass, FI_CLASS_MR);
	assert_ptr_equal(mr->fid.context, rig);
	assert_int_equal(fi_mr_bind(mr, &rig_eq.fid.fid, 0), -FI_ENOSYS);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&mr->fid), 0);
}

static void test_refused(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr = NULL;
	struct fid_domain *domain;
	struct iovec iov[2] = { { buf, 1 }, { buf, 1 } };
	struct fid *fid;

	rig_open_domain(rig);
	domain = rig->domain;
	fid = &domain->fid;
	fake.calls = 0;
	assert_int_equal(fi_mr_reg(domain, buf, 1, FI_MULTICAST, 0, 0, 0, &mr, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_reg(domain, buf, 1, FI_SEND, 1, 0, 0, &mr, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_reg(domain, buf, 1, FI_SEND, 0, 0, FI_MORE, &mr, 0), -FI_EBADFLAGS);
	capture_start();
	assert_int_equal(fi_mr_reg(domain, NULL, 1, FI_SEND, 0, 0, 0, &mr, 0), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "NULL"));
	assert_int_equal(fi_mr_reg(domain, buf, 1, FI_SEND, 0, 0, 0, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_regv(domain, iov, 2, FI_SEND, 0, 0, 0, &mr, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_regv(domain, iov, 0, FI_SEND, 0, 0, 0, &mr, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_regv(domain, NULL, 1, FI_SEND, 0, 0, 0, &mr, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_regattr(domain, NULL, 0, &mr), -FI_EINVAL);
	assert_int_equal(domain->mr->regattr(fid, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(fake.calls, 0);
	assert_null(mr);
}

/* Devices refuse to register nothing, which the windows of some MPI processes are. */
static void test_empty(void **state)
{
	struct rig *rig = *state;
	struct vrb_domain *domain;
	struct fid_mr *mr, *other;

	rig->info->domain_attr->mr_mode = FI_MR_PROV_KEY;
	rig_open_domain(rig);
	domain = (struct vrb_domain *)rig->domain;
	domain->rdm = true;
	fake.calls = 0;
	assert_int_equal(fi_mr_reg(rig->domain, buf, 0, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL), 0);
	assert_int_equal(fi_mr_reg(rig->domain, NULL, 0, FI_REMOTE_READ, 0, 7, 0, &other, NULL), 0);
	assert_null(fi_mr_desc(mr));
	assert_int_equal(fi_mr_key(mr), 0);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fake.calls, 0);
	domain->rdm = false;
}

/* The kind of memory is a field of API 1.10: older callers' structures end before it. */
static void test_regattr(void **state)
{
	struct iovec iov = { buf, 64 };
	struct fi_mr_attr attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_RECV };
	struct rig *rig = *state;
	struct fid_mr *mr;

	rig->info->caps |= FI_HMEM;
	rig_open_domain(rig);
	attr.context = buf;
	assert_int_equal(fi_mr_regattr(rig->domain, &attr, 0, &mr), 0);
	assert_int_equal(fake.mr->length, 64);
	assert_ptr_equal(mr->fid.context, buf);
	assert_int_equal(fi_close(&mr->fid), 0);
	attr.iface = FI_HMEM_CUDA;
	assert_int_equal(fi_mr_regattr(rig->domain, &attr, 0, &mr), -FI_ENOSYS);
	assert_int_equal(fi_mr_regattr(rig->domain, &attr, FI_MR_DMABUF, &mr) < 0, 1);
	rig_close(rig);
	rig_init(rig);

	rig->info->caps |= FI_HMEM;
	rig->info->fabric_attr->api_version = FI_VERSION(1, 9);
	rig_open_domain(rig);
	assert_int_equal(fi_mr_regattr(rig->domain, &attr, 0, &mr), 0);
	assert_int_equal(fi_close(&mr->fid), 0);
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_ENABLED;
}

static void test_device_refuses(void **state)
{
	static const int errors[] = { EINVAL, ENOMEM, EFAULT, EPERM };
	struct rig *rig = *state;
	struct fid_mr *mr = NULL;
	unsigned int i;

	unsetenv("RDMAV_HUGEPAGES_SAFE");
	rig_open_domain(rig);
	capture_start();
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		fake.fail_at = fake.calls + 1;
		fake.fail_errno = errors[i];
		assert_int_equal(fi_mr_reg(rig->domain, buf, 1, FI_SEND, 0, 0, 0, &mr, NULL),
				 -errors[i]);
		assert_null(mr);
	}
	assert_non_null(strstr(capture_stop(), "RDMAV_HUGEPAGES_SAFE"));
	assert_int_equal(fake.mrs, 1); /* the domain's own */
}

/* A region that cannot be deregistered stays a region. */
static void test_close_fails(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr;

	rig_open_domain(rig);
	mr = reg(rig, FI_SEND);
	fake.dereg_err = EBUSY;
	assert_int_equal(fi_close(&mr->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
	fake.dereg_err = 0;
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* The kernel refuses calls for a device that was removed, and has freed what they would free. */
static void test_close_of_lost_device(void **state)
{
	struct rig *rig = *state;
	struct vrb_domain *domain;
	struct ibv_mr *ibv;
	struct fid_mr *mr;

	rig_open_domain(rig);
	domain = vrb_domain(rig->domain);
	mr = reg(rig, FI_SEND);
	ibv = fake.mr;
	fake.dereg_err = EIO;
	assert_int_equal(fi_close(&mr->fid), -FI_EIO);
	domain->dead = true;
	assert_int_equal(fi_close(&mr->fid), 0);
	fake.dereg_err = 0;
	assert_int_equal(ibv_dereg_mr(ibv), 0);
}

/* As in a domain of reliable datagrams, with FI_RMA_EVENT. */
static struct fid_mr *reg_rdm(struct rig *rig, struct fid_cntr **cntr)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct vrb_domain *domain;

	rig_open_domain(rig);
	domain = vrb_domain(rig->domain);
	domain->base.progress = (struct ofi_rdm_domain_progress *)rig; /* only passed on */
	domain->rdm = true;
	domain->base.info->caps |= FI_RMA_EVENT;
	fake_rdm_watch_most = 2;
	assert_int_equal(fi_cntr_open(rig->domain, &attr, cntr, NULL), 0);
	return reg(rig, FI_REMOTE_READ | FI_REMOTE_WRITE);
}

static void close_rdm(struct rig *rig, struct fid_mr *mr, struct fid_cntr *cntr)
{
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fake_rdm_watches, 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	vrb_domain(rig->domain)->base.progress = NULL;
}

static void test_bind(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	struct fid_mr *mr = reg_rdm(rig, &cntr);
	struct vrb_domain *domain = vrb_domain(rig->domain);

	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), 0);
	assert_int_equal(fake_rdm_watches, 1);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), -FI_EBUSY);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_READ | FI_REMOTE_WRITE), -FI_EBUSY);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	vrb_domain_callbacks.mr_count(&domain->base, fi_mr_key(mr), FI_REMOTE_READ);
	assert_int_equal(fi_cntr_read(cntr), 0);
	vrb_domain_callbacks.mr_count(&domain->base, fi_mr_key(mr), FI_REMOTE_WRITE);
	vrb_domain_callbacks.mr_count(&domain->base, fi_mr_key(mr) + 1, FI_REMOTE_WRITE);
	assert_int_equal(fi_cntr_read(cntr), 1);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_READ), 0);
	vrb_domain_callbacks.mr_count(&domain->base, fi_mr_key(mr), FI_REMOTE_READ);
	assert_int_equal(fi_cntr_read(cntr), 2);
	assert_int_equal(fi_mr_enable(mr), 0);
	close_rdm(rig, mr, cntr);
}

static void test_bind_refused(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	struct fid_mr *mr = reg_rdm(rig, &cntr);
	struct vrb_domain *domain = vrb_domain(rig->domain);
	struct ofi_cntr other = { .fid.fid.fclass = FI_CLASS_CNTR };

	assert_int_equal(fi_mr_bind(mr, &cntr->fid, 0), -FI_EBADFLAGS);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_READ | FI_SEND), -FI_EBADFLAGS);
	capture_start();
	assert_int_equal(fi_mr_bind(mr, NULL, FI_REMOTE_READ), -FI_EINVAL);
	assert_int_equal(fi_mr_bind(mr, &rig->domain->fid, FI_REMOTE_READ), -FI_EINVAL);
	assert_int_equal(fi_mr_bind(mr, &other.fid.fid, FI_REMOTE_READ), -FI_EINVAL);
	domain->base.info->caps &= ~FI_RMA_EVENT;
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_READ), -FI_EOPNOTSUPP);
	assert_non_null(strstr(capture_stop(), "FI_RMA_EVENT"));
	domain->base.info->caps |= FI_RMA_EVENT;
	/* Both or none. */
	fake_rdm_watch_most = 1;
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_READ | FI_REMOTE_WRITE), -FI_ENOMEM);
	assert_int_equal(fake_rdm_watches, 0);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_READ), 0);
	close_rdm(rig, mr, cntr);
}

/* Where the device chooses keys, regions that no peer can name may all have the same. */
static void test_local_only(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	struct fid_mr *remote = reg_rdm(rig, &cntr), *a, *b;
	struct vrb_domain *domain = vrb_domain(rig->domain);
	struct ofi_mr_place place;

	domain->base.info->domain_attr->mr_mode |= FI_MR_PROV_KEY;
	a = reg(rig, FI_SEND | FI_RECV);
	b = reg(rig, FI_SEND | FI_RECV);
	assert_int_equal(fi_mr_key(a), fi_mr_key(b));
	assert_int_equal(fi_close(&a->fid), 0);
	assert_int_equal(fi_close(&b->fid), 0);
	assert_true(vrb_domain_callbacks.mr_find(&domain->base, fi_mr_key(remote), 0, &place));
	close_rdm(rig, remote, cntr);
}

static void *close_mr(void *mr)
{
	int *ret = malloc(sizeof(*ret));

	*ret = fi_close(mr);
	return ret;
}

/* What another thread is about to do there for a peer is done when a region is closed. */
static void test_close_waits(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	struct fid_mr *mr = reg_rdm(rig, &cntr);
	struct vrb_domain *domain = vrb_domain(rig->domain);
	struct ofi_mr_place place;
	uint64_t key = fi_mr_key(mr);
	pthread_t thread;
	void *ret;

	ofi_atomics_lock();
	assert_int_equal(pthread_create(&thread, NULL, close_mr, &mr->fid), 0);
	while (vrb_domain_callbacks.mr_find(&domain->base, key, 0, &place))
		sched_yield();
	usleep(20000);
	assert_int_equal(pthread_tryjoin_np(thread, &ret), EBUSY);
	ofi_atomics_unlock();
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_int_equal(*(int *)ret, 0);
	free(ret);
	assert_int_equal(fi_close(&cntr->fid), 0);
	domain->base.progress = NULL;
}

/* Of a program that uses raw keys with all providers. */
static void test_raw_keys(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr;
	uint64_t base = 0, key = 0;
	uint8_t raw[16];
	size_t len = 2;

	rig_open_domain(rig);
	mr = reg(rig, FI_REMOTE_READ);
	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, &len, 0), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(uint32_t));
	len = sizeof(raw);
	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, &len, 0), 0);
	assert_int_equal(len, sizeof(uint32_t));
	assert_int_equal(base, (uintptr_t)buf);
	assert_int_equal(raw[0], (uint8_t)fi_mr_key(mr));
	assert_int_equal(fi_mr_map_raw(rig->domain, base, raw, len, &key, 0), 0);
	assert_int_equal(key, fi_mr_key(mr));
	assert_int_equal(fi_mr_unmap_key(rig->domain, key), 0);
	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_raw_attr(mr, &base, NULL, &len, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, &len, 1), -FI_EBADFLAGS);
	assert_int_equal(fi_mr_map_raw(rig->domain, base, raw, len + 1, &key, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_map_raw(rig->domain, base, NULL, len, &key, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_map_raw(rig->domain, base, raw, len, &key, 1), -FI_EBADFLAGS);
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* The device that pages on demand knows of other pages by itself; pinned ones stay. */
static void test_refresh(void **state)
{
	struct rig *rig = *state;
	struct iovec iov = { buf, sizeof(buf) };
	struct fid_mr *mr;

	rig_open_domain(rig);
	mr = reg(rig, FI_REMOTE_READ);
	assert_int_equal(fi_mr_refresh(mr, &iov, 1, 0), -FI_EOPNOTSUPP);
	assert_int_equal(fi_mr_refresh(mr, &iov, 1, 1), -FI_EBADFLAGS);
	((struct vrb_domain *)rig->domain)->odp = IBV_ODP_SUPPORT_READ;
	assert_int_equal(fi_mr_refresh(mr, &iov, 1, 0), 0);
	assert_int_equal(fi_mr_refresh(mr, NULL, 0, 0), 0);
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* A region whose close failed is only there to be closed again: its key may be another region's. */
static void test_close_again(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	struct fid_mr *plain = reg_rdm(rig, &cntr), *a, *b;
	struct vrb_domain *domain = vrb_domain(rig->domain);
	struct ofi_mr_place place;

	domain->base.info->domain_attr->mr_mode = 0;
	assert_int_equal(fi_mr_reg(rig->domain, buf, 8, FI_REMOTE_READ, 0, 9, 0, &a, NULL), 0);
	assert_int_equal(fi_mr_bind(a, &cntr->fid, FI_REMOTE_READ), 0);
	fake.dereg_err = EBUSY;
	assert_int_equal(fi_close(&a->fid), -FI_EBUSY);
	fake.dereg_err = 0;
	assert_false(vrb_domain_callbacks.mr_find(&domain->base, 9, 0, &place));
	assert_int_equal(fi_mr_reg(rig->domain, buf, 4, FI_REMOTE_READ, 0, 9, 0, &b, NULL), 0);
	assert_int_equal(fi_close(&a->fid), 0);
	assert_true(vrb_domain_callbacks.mr_find(&domain->base, 9, 0, &place));
	assert_int_equal(place.len, 4);
	assert_int_equal(fi_close(&b->fid), 0);
	assert_int_equal(fake.mrs, 2); /* the domain's own and `plain` */
	close_rdm(rig, plain, cntr);
}

static char more[2][64];

/* A limit of the kernel is an error only if all of the memory exists. */
static void reserved(struct rig *rig)
{
	static const int errors[] = { ENOMEM, EINVAL };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *room = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fid_mr *mr;
	int i;

	assert_ptr_not_equal(room, MAP_FAILED);
	assert_int_equal(mprotect(room, page, PROT_READ | PROT_WRITE), 0);
	for (i = 0; i < 2; i++) {
		fake.fail_errno = errors[i];
		fake.fail_at = fake.calls + 1;
		assert_int_equal(
			fi_mr_reg(rig->domain, room, 2 * page, FI_REMOTE_WRITE, 0, 9, 0, &mr, NULL),
			0);
		assert_int_equal(fake.mrs, 2);
		assert_int_equal(fi_close(&mr->fid), 0);
		fake.fail_at = fake.calls + 1;
		assert_int_equal(
			fi_mr_reg(rig->domain, room, page, FI_REMOTE_WRITE, 0, 9, 0, &mr, NULL),
			-errors[i]);
	}
	assert_int_equal(munmap(room, 2 * page), 0);
}

/* Where the application chooses keys, a region may have several buffers. */
static void test_buffers(void **state)
{
	struct iovec iov[OFI_MR_BUFFERS + 1] = { { more[1], 64 }, { more[0], 32 }, { buf, 8 } };
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	struct fid_mr *plain = reg_rdm(rig, &cntr), *mr;
	struct vrb_domain *domain = vrb_domain(rig->domain);
	struct ofi_mr_place place;

	domain->base.info->domain_attr->mr_mode = 0;
	assert_int_equal(fi_mr_regv(rig->domain, iov, 3, FI_REMOTE_READ, 0, 9, 0, &mr, NULL), 0);
	assert_int_equal(fi_mr_key(mr), 9);
	assert_null(fi_mr_desc(mr));
	assert_true(vrb_domain_callbacks.mr_find(&domain->base, 9, 1, &place));
	assert_int_equal(place.count, 3);
	assert_int_equal(place.start, (uintptr_t)more[0]);
	assert_int_equal(place.base + 64, (uintptr_t)more[0]);
	assert_true(vrb_domain_callbacks.mr_find(&domain->base, 9, 2, &place));
	assert_int_equal(place.base + 96, (uintptr_t)buf);
	assert_false(vrb_domain_callbacks.mr_find(&domain->base, 9, 3, &place));
	assert_int_equal(fi_close(&mr->fid), 0);
	/* What fails half way leaves nothing. */
	fake.fail_at = fake.calls + 3;
	fake.fail_errno = ENOMEM;
	assert_int_equal(fi_mr_regv(rig->domain, iov, 3, FI_REMOTE_READ, 0, 9, 0, &mr, NULL),
			 -FI_ENOMEM);
	assert_int_equal(fi_mr_regv(rig->domain, iov, 4, FI_REMOTE_READ, 0, 9, 0, &mr, NULL),
			 -FI_EINVAL);
	assert_int_equal(fi_mr_regv(rig->domain, iov, OFI_MR_BUFFERS + 1, FI_REMOTE_READ, 0, 9, 0,
				    &mr, NULL),
			 -FI_EINVAL);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EFAULT; /* although the memory is mapped */
	assert_int_equal(fi_mr_reg(rig->domain, buf, 8, FI_SEND, 0, 9, 0, &mr, NULL), -FI_EFAULT);
	reserved(rig);
	assert_int_equal(fake.mrs, 2); /* the domain's own and `plain` */
	domain->base.info->domain_attr->mr_mode = FI_MR_BASIC;
	assert_int_equal(fi_mr_regv(rig->domain, iov, 2, FI_REMOTE_READ, 0, 9, 0, &mr, NULL),
			 -FI_EINVAL);
	domain->base.info->domain_attr->mr_mode = 0;
	close_rdm(rig, plain, cntr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_keys),
		RIG_TEST(test_refused),
		RIG_TEST(test_empty),
		RIG_TEST(test_regattr),
		RIG_TEST(test_device_refuses),
		RIG_TEST(test_close_fails),
		RIG_TEST(test_close_of_lost_device),
		RIG_TEST(test_bind),
		RIG_TEST(test_bind_refused),
		RIG_TEST(test_close_waits),
		RIG_TEST(test_local_only),
		RIG_TEST(test_raw_keys),
		RIG_TEST(test_refresh),
		RIG_TEST(test_buffers),
		RIG_TEST(test_close_again),
	};

	return cmocka_run_group_tests_name("verbs_mr", tests, NULL, NULL);
}
