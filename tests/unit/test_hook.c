/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects under hooks: each call reaches the provider's object; the hooks report it. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_stats.h>
#include <rdma/fi_tagged.h>
#include "src/hook.h"
#include "fake_prov.h"
#include "src/hook/hook.h"

enum { ARGS = 16, ANSWER = 7 };

/* All arguments and results are integers or pointers: this type serves for any function. */
typedef long any_fn(long, long, long, long, long, long, long, long, long, long, long, long, long,
		    long, long, long);

static long seen[ARGS], answer;

static long probe(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
		  long k, long l, long m, long n, long o, long p)
{
	memcpy(seen, (long[ARGS]){ a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p }, sizeof(seen));
	return answer;
}

#define TABLE(type) static struct type real_##type = { .size = sizeof(struct type) }
TABLE(fi_ops);
TABLE(fi_ops_fabric);
TABLE(fi_ops_domain);
TABLE(fi_ops_mr);
TABLE(fi_ops_ep);
TABLE(fi_ops_cm);
TABLE(fi_ops_msg);
TABLE(fi_ops_rma);
TABLE(fi_ops_tagged);
TABLE(fi_ops_atomic);
TABLE(fi_ops_collective);
TABLE(fi_ops_cq);
TABLE(fi_ops_eq);
TABLE(fi_ops_cntr);
TABLE(fi_ops_av);
TABLE(fi_ops_poll);

static void fill(void *table)
{
	any_fn **slot = (any_fn **)((size_t *)table + 1);
	any_fn **end = (any_fn **)((char *)table + *(size_t *)table);

	while (slot < end)
		*slot++ = probe;
}

/* The provider's objects. */
static struct fid_fabric fabric = { .fid = { FI_CLASS_FABRIC, NULL, &real_fi_ops },
				    .ops = &real_fi_ops_fabric };
static struct fid_domain domain = { .fid = { FI_CLASS_DOMAIN, NULL, &real_fi_ops },
				    .ops = &real_fi_ops_domain,
				    .mr = &real_fi_ops_mr };
static struct fid_ep ep = { .fid = { FI_CLASS_EP, NULL, &real_fi_ops },
			    .ops = &real_fi_ops_ep,
			    .cm = &real_fi_ops_cm,
			    .msg = &real_fi_ops_msg,
			    .rma = &real_fi_ops_rma,
			    .tagged = &real_fi_ops_tagged,
			    .atomic = &real_fi_ops_atomic,
			    .collective = &real_fi_ops_collective };
static struct fid_pep pep = { .fid = { FI_CLASS_PEP, NULL, &real_fi_ops },
			      .ops = &real_fi_ops_ep,
			      .cm = &real_fi_ops_cm };
static struct fid_cq cq = { .fid = { FI_CLASS_CQ, NULL, &real_fi_ops }, .ops = &real_fi_ops_cq };
static struct fid_eq eq = { .fid = { FI_CLASS_EQ, NULL, &real_fi_ops }, .ops = &real_fi_ops_eq };
static struct fid_cntr cntr = { .fid = { FI_CLASS_CNTR, NULL, &real_fi_ops },
				.ops = &real_fi_ops_cntr };
static struct fid_av av = { .fid = { FI_CLASS_AV, NULL, &real_fi_ops }, .ops = &real_fi_ops_av };
static struct fid_poll pollset = { .fid = { FI_CLASS_POLL, NULL, &real_fi_ops },
				   .ops = &real_fi_ops_poll };
static struct fid_mr mr = { .fid = { FI_CLASS_MR, NULL, &real_fi_ops },
			    .mem_desc = &mr,
			    .key = 77 };

/* What the application has of them. */
static struct {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_pep *pep;
	struct fid_cq *cq;
	struct fid_eq *eq;
	struct fid_cntr *cntr;
	struct fid_av *av;
	struct fid_poll *poll;
	struct fid_mr *mr;
} app;

static char out_dir[] = "/tmp/test_hook.XXXXXX";
static const void *opened; /* what the next opening call returns */

static int open_third(void *parent, void *attr, void **object, void *context)
{
	(void)parent;
	(void)attr;
	(void)context;
	*object = (void *)(uintptr_t)opened;
	return 0;
}

static int prov_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fid, void *context)
{
	(void)attr;
	(void)context;
	*fid = &fabric;
	return 0;
}

static int reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
	       uint64_t key, uint64_t flags, struct fid_mr **out, void *context)
{
	(void)probe((long)fid, (long)buf, (long)len, (long)access, (long)offset, (long)key,
		    (long)flags, 0, (long)context, 0, 0, 0, 0, 0, 0, 0);
	*out = &mr;
	return 0;
}

#define OPEN(call, object) (opened = (object), assert_int_equal((call), 0))

static void open_all(void)
{
	static struct fi_provider prov;
	struct fi_fabric_attr attr = { .prov_name = (char *)"verbs" };
	struct fi_info info = { 0 };

	prov = fake_prov("verbs", 1);
	prov.fabric = prov_fabric;
	ofi_registry_init(&fake_registry, NULL, false);
	assert_int_equal(fake_add(&prov, 1, false), 0);
	OPEN(fi_fabric(&attr, &app.fabric, &app), &fabric);
	OPEN(fi_domain(app.fabric, &info, &app.domain, &app), &domain);
	OPEN(fi_passive_ep(app.fabric, &info, &app.pep, &app), &pep);
	OPEN(fi_eq_open(app.fabric, NULL, &app.eq, &app), &eq);
	OPEN(fi_endpoint(app.domain, &info, &app.ep, &app), &ep);
	OPEN(fi_cq_open(app.domain, NULL, &app.cq, &app), &cq);
	OPEN(fi_cntr_open(app.domain, NULL, &app.cntr, &app), &cntr);
	OPEN(fi_av_open(app.domain, NULL, &app.av, &app), &av);
	OPEN(fi_poll_open(app.domain, NULL, &app.poll), &pollset);
	OPEN(fi_mr_reg(app.domain, &app, 5, 1, 2, 3, 0, &app.mr, &app), &mr);
}

static int start(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(out_dir));
	setenv("FI_HOOK", "perf;trace", 1);
	setenv("FI_HOOK_FILE", out_dir, 1);
	fill(&real_fi_ops);
	fill(&real_fi_ops_fabric);
	fill(&real_fi_ops_domain);
	fill(&real_fi_ops_mr);
	fill(&real_fi_ops_ep);
	fill(&real_fi_ops_cm);
	fill(&real_fi_ops_msg);
	fill(&real_fi_ops_rma);
	fill(&real_fi_ops_tagged);
	fill(&real_fi_ops_atomic);
	fill(&real_fi_ops_collective);
	fill(&real_fi_ops_cq);
	fill(&real_fi_ops_eq);
	fill(&real_fi_ops_cntr);
	fill(&real_fi_ops_av);
	fill(&real_fi_ops_poll);
	real_fi_ops_fabric.domain = (void *)open_third;
	real_fi_ops_fabric.passive_ep = (void *)open_third;
	real_fi_ops_fabric.eq_open = (void *)open_third;
	real_fi_ops_domain.endpoint = (void *)open_third;
	real_fi_ops_domain.srx_ctx = (void *)open_third;
	real_fi_ops_domain.cq_open = (void *)open_third;
	real_fi_ops_domain.cntr_open = (void *)open_third;
	real_fi_ops_domain.av_open = (void *)open_third;
	real_fi_ops_domain.poll_open = (void *)open_third;
	real_fi_ops_mr.reg = reg;
	open_all();
	return 0;
}

/* The text that hooks have written. */
static const char *written(void)
{
	static char text[1 << 20];
	char path[128];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/ofi_hook_%d.log", out_dir, (int)getpid());
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	assert_true(len >= 0);
	text[len] = '\0';
	close(fd);
	return text;
}

/* Calls each slot of the table. counts: the number of arguments of each slot; 0 skips it. */
static void check_table(void *object, void *real, void *table, const int *counts)
{
	any_fn **slot = (any_fn **)((size_t *)table + 1);
	any_fn **end = (any_fn **)((char *)table + *(size_t *)table);
	long arg[ARGS];
	int i;

	assert_ptr_not_equal(object, real);
	for (i = 0; i < ARGS; i++)
		arg[i] = 100 + i;
	for (; slot < end; slot++, counts++) {
		if (!*counts)
			continue;
		memset(seen, 0, sizeof(seen));
		answer = ANSWER;
		assert_int_equal((int)(*slot)((long)object, arg[1], arg[2], arg[3], arg[4], arg[5],
					      arg[6], arg[7], arg[8], arg[9], arg[10], arg[11],
					      arg[12], arg[13], arg[14], arg[15]),
				 ANSWER);
		assert_ptr_equal(seen[0], real);
		for (i = 1; i < *counts; i++)
			assert_int_equal((int)seen[i], arg[i]);
		answer = -FI_EBUSY;
		assert_int_equal(
			(int)(*slot)((long)object, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			-FI_EBUSY);
	}
}

static void test_tables(void **state)
{
	(void)state;
	check_table(app.ep, &ep, app.ep->msg, (int[]){ 6, 6, 3, 6, 6, 3, 4, 7, 5 });
	check_table(app.ep, &ep, app.ep->tagged, (int[]){ 8, 8, 3, 7, 7, 3, 5, 8, 6 });
	check_table(app.ep, &ep, app.ep->rma, (int[]){ 8, 8, 3, 8, 8, 3, 6, 9, 7 });
	check_table(app.ep, &ep, app.ep->atomic,
		    (int[]){ 10, 10, 3, 8, 12, 13, 6, 14, 16, 9, 4, 4, 4 });
	check_table(app.ep, &ep, app.ep->collective,
		    (int[]){ 3, 9, 10, 11, 10, 11, 12, 11, 11, 6, 4 });
	check_table(app.ep, &ep, app.ep->ops, (int[]){ 2, 5, 5, 5, 5, 1, 1, 3 });
	check_table(app.ep, &ep, app.ep->cm, (int[]){ 3, 3, 3, 4, 1, 3, 0, 2, 5 });
	check_table(app.pep, &pep, app.pep->cm, (int[]){ 3, 3, 3, 4, 1, 3, 4, 2, 5 });
	check_table(app.pep, &pep, app.pep->ops, (int[]){ 2, 5, 5, 0, 0, 0, 0, 0 });
	check_table(app.cq, &cq, app.cq->ops, (int[]){ 3, 4, 3, 5, 6, 1, 0, 3 });
	check_table(app.cntr, &cntr, app.cntr->ops, (int[]){ 1, 1, 2, 2, 3, 2, 2, 3 });
	check_table(app.poll, &pollset, app.poll->ops, (int[]){ 3, 0, 0 });
	check_table(app.domain, &domain, app.domain->ops,
		    (int[]){ 0, 0, 0, 4, 0, 0, 4, 0, 5, 4, 0, 4 });
}

/* Their arguments are texts, or they return one. */
static void test_texts(void **state)
{
	size_t len = 3;
	char buf[8];

	(void)state;
	answer = ANSWER;
	assert_int_equal(fi_av_insertsvc(app.av, "node", NULL, NULL, 5, NULL), ANSWER);
	assert_string_equal((const char *)seen[1], "node");
	assert_int_equal(fi_av_insertsym(app.av, "node", 1, "service", 2, NULL, 5, NULL), ANSWER);
	assert_string_equal((const char *)seen[3], "service");
	assert_ptr_equal(fi_av_straddr(app.av, buf, buf, &len), ANSWER);
	assert_ptr_equal(seen[0], &av);
	assert_ptr_equal(fi_cq_strerror(app.cq, 5, buf, buf, 8), ANSWER);
	assert_ptr_equal(seen[0], &cq);
	assert_ptr_equal(fi_eq_strerror(app.eq, 5, buf, buf, 8), ANSWER);
	assert_ptr_equal(seen[0], &eq);
}

/* Objects as arguments are the provider's; what is no object of hooks passes as it is. */
static void test_arguments(void **state)
{
	struct fid *fids[2] = { &app.cq->fid, &app.eq->fid };
	struct fid foreign = { .ops = &real_fi_ops };

	(void)state;
	answer = 0;
	assert_int_equal(fi_ep_bind(app.ep, &app.cq->fid, FI_RECV), 0);
	assert_ptr_equal(seen[0], &ep);
	assert_ptr_equal(seen[1], &cq);
	assert_int_equal(seen[2], FI_RECV);
	assert_int_equal(app.ep->fid.ops->bind(&app.ep->fid, &foreign, 0), 0);
	assert_ptr_equal(seen[1], &foreign);
	assert_int_equal(app.ep->fid.ops->bind(&app.ep->fid, NULL, 0), 0);
	assert_ptr_equal(seen[1], NULL);
	assert_int_equal(fi_poll_add(app.poll, &app.cq->fid, 0), 0);
	assert_ptr_equal(seen[1], &cq);
	assert_int_equal(fi_poll_del(app.poll, &app.cntr->fid, 0), 0);
	assert_ptr_equal(seen[1], &cntr);
	assert_int_equal(fi_trywait(app.fabric, NULL, 0), 0);
	assert_ptr_equal(seen[1], NULL);
	assert_int_equal(fi_trywait(app.fabric, fids, 2), 0);
	assert_ptr_equal(seen[0], &fabric);
	assert_int_equal(seen[2], 2);
	assert_ptr_equal(fids[0], &app.cq->fid);
}

static long check_handle(long parent, long info, long object, long context)
{
	assert_ptr_equal(parent, &domain);
	assert_ptr_equal(((struct fi_info *)info)->handle, &pep.fid);
	(void)object;
	(void)context;
	return -FI_EBUSY;
}

static void test_handle(void **state)
{
	struct fi_info info = { .handle = &app.pep->fid };
	struct fid_ep *none;

	(void)state;
	real_fi_ops_domain.endpoint = (void *)check_handle;
	assert_int_equal(fi_endpoint(app.domain, &info, &none, NULL), -FI_EBUSY);
	assert_ptr_equal(info.handle, &app.pep->fid);
	answer = ANSWER;
	assert_int_equal(fi_endpoint2(app.domain, &info, &none, 1, NULL), ANSWER);
	real_fi_ops_domain.endpoint = (void *)open_third;
}

static struct fid *event_fid;
static uint32_t event_type;

static ssize_t give_event(struct fid_eq *fid, uint32_t *event, void *buf, size_t len)
{
	assert_ptr_equal(fid, &eq);
	assert_true(len >= sizeof(struct fi_eq_cm_entry));
	*event = event_type;
	memset(buf, 0, len);
	memcpy(buf, &event_fid, sizeof(event_fid));
	return sizeof(struct fi_eq_cm_entry);
}

static ssize_t give_error(struct fid_eq *fid, struct fi_eq_err_entry *entry, uint64_t flags)
{
	(void)fid;
	(void)flags;
	entry->fid = event_fid;
	return sizeof(*entry);
}

static void test_events(void **state)
{
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_cm_entry entry;
	uint32_t event;

	(void)state;
	real_fi_ops_eq.read = (void *)give_event;
	real_fi_ops_eq.sread = (void *)give_event;
	real_fi_ops_eq.readerr = give_error;
	event_fid = &ep.fid;
	event_type = FI_CONNECTED;
	assert_int_equal(fi_eq_read(app.eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_ptr_equal(entry.fid, &app.ep->fid);
	event_fid = &pep.fid;
	assert_int_equal(fi_eq_sread(app.eq, &event, &entry, sizeof(entry), 0, 0), sizeof(entry));
	assert_ptr_equal(entry.fid, &app.pep->fid);
	event_fid = (struct fid *)&entry;
	assert_int_equal(fi_eq_read(app.eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_ptr_equal(entry.fid, &entry);
	/* An event of the application's own may begin with anything. */
	event_fid = &ep.fid;
	event_type = 1000;
	assert_int_equal(fi_eq_read(app.eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	assert_ptr_equal(entry.fid, &ep.fid);
	assert_int_equal(fi_eq_readerr(app.eq, &error, 0), sizeof(error));
	assert_ptr_equal(error.fid, &app.ep->fid);
	answer = ANSWER;
	assert_int_equal(fi_eq_write(app.eq, 5, &entry, 6, 7), ANSWER);
	assert_int_equal(seen[4], 7);
}

static long changes_key(long fid, long command, long arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	mr.key = 78;
	return 0;
}

static void test_mr(void **state)
{
	(void)state;
	assert_ptr_equal(fi_mr_desc(app.mr), &mr);
	assert_int_equal(fi_mr_key(app.mr), 77);
	assert_ptr_equal(app.mr->fid.context, &app);
	real_fi_ops.control = (void *)changes_key;
	assert_int_equal(fi_mr_enable(app.mr), 0);
	assert_int_equal(fi_mr_key(app.mr), 78);
	real_fi_ops.control = (void *)probe;
}

static long give_alias(long fid, long command, long arg)
{
	assert_int_equal(command, FI_ALIAS);
	(void)fid;
	*((struct fi_alias *)arg)->fid = &ep.fid;
	return 0;
}

static long give_stats_ops(struct fid *fid, const char *name, uint64_t flags, void **ops)
{
	static struct fi_ops_stats stats = { .size = sizeof(stats), .read = (void *)probe };

	(void)fid;
	(void)flags;
	(void)name;
	*ops = &stats;
	return 0;
}

static void test_controls(void **state)
{
	struct fi_ops_stats *ops = NULL;
	struct fid *alias;

	(void)state;
	answer = 0;
	assert_int_equal(fi_control(&app.domain->fid, FI_QUEUE_WORK, &alias), -FI_ENOSYS);
	assert_int_equal(fi_control(&app.cq->fid, FI_GETWAIT, &alias), 0);
	assert_ptr_equal(seen[0], &cq);
	assert_int_equal(seen[1], FI_GETWAIT);
	real_fi_ops.control = (void *)give_alias;
	assert_int_equal(fi_alias(&app.ep->fid, &alias, 0), 0);
	assert_ptr_not_equal(alias, &ep.fid);
	assert_ptr_equal(ofi_hook_unwrap(alias), &ep.fid);
	real_fi_ops.control = (void *)probe;
	assert_int_equal(fi_close(alias), 0);

	/* Operations that get the object as an argument: those that are known. */
	assert_int_equal(fi_open_ops(&app.ep->fid, NULL, 0, (void **)&ops, NULL), -FI_EINVAL);
	real_fi_ops.ops_open = (void *)give_stats_ops;
	assert_int_equal(fi_open_ops(&app.ep->fid, "other", 0, (void **)&ops, NULL), -FI_ENOSYS);
	assert_int_equal(fi_open_ops(&app.ep->fid, FI_STATS_OPS, 0, (void **)&ops, NULL), 0);
	answer = 3;
	assert_int_equal(ops->read(&app.ep->fid, NULL, 0), 3);
	assert_ptr_equal(seen[0], &ep.fid);
	assert_int_equal(ops->read(NULL, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_set_ops(&app.ep->fid, "x", 0, NULL, NULL), 3);
	real_fi_ops.ops_open = (void *)probe;
}

/* Tables that the provider's object has not. */
static void test_missing(void **state)
{
	struct fid_ep bare = { .fid = { FI_CLASS_SRX_CTX, NULL, &real_fi_ops },
			       .msg = &real_fi_ops_msg };
	struct fid_ep *srx;

	(void)state;
	OPEN(fi_srx_context(app.domain, NULL, &srx, NULL), &bare);
	assert_non_null(srx->msg);
	assert_null(srx->rma);
	assert_null(srx->cm);
	assert_int_equal(srx->fid.fclass, FI_CLASS_SRX_CTX);
	answer = 0;
	assert_int_equal(fi_close(&srx->fid), 0);
}

/* What is busy stays as it was. */
static void test_busy(void **state)
{
	(void)state;
	answer = -FI_EBUSY;
	assert_int_equal(fi_close(&app.cq->fid), -FI_EBUSY);
	assert_ptr_equal(ofi_hook_find(&cq.fid), &app.cq->fid);
	assert_int_equal(fi_cq_signal(app.cq), -FI_EBUSY);
}

static void test_getinfo(void **state)
{
	struct fi_domain_attr domain_attr = { .domain = app.domain };
	struct fi_fabric_attr fabric_attr = { .fabric = app.fabric };
	struct fi_info hints = { .domain_attr = &domain_attr, .fabric_attr = &fabric_attr };
	struct ofi_hook_hints copy;
	const struct fi_info *use = ofi_hook_hints(&hints, &copy);
	struct fi_info result = copy.info;

	(void)state;
	assert_ptr_equal(use->domain_attr->domain, &domain);
	assert_ptr_equal(use->fabric_attr->fabric, &fabric);
	assert_ptr_equal(domain_attr.domain, app.domain);
	ofi_hook_infos(&result);
	assert_ptr_equal(result.domain_attr->domain, app.domain);
	assert_ptr_equal(result.fabric_attr->fabric, app.fabric);
	assert_null(ofi_hook_hints(NULL, &copy));
}

static void test_trace(void **state)
{
	char line[200];
	const char *text;
	int i;

	(void)state;
	answer = 1;
	fi_cq_read(app.cq, line, 16);
	snprintf(line, sizeof(line), "fi_cq_read(%p, buf %p, count 16) = 1\n", (void *)app.cq,
		 (void *)line);
	assert_non_null(strstr(written(), line));
	answer = -FI_EAGAIN;
	for (i = 0; i < 1000; i++)
		fi_cq_read(app.cq, NULL, 3);
	answer = 0;
	fi_cq_signal(app.cq);
	text = written();
	snprintf(line, sizeof(line),
		 "fi_cq_read(%p, buf (nil), count 3) = -11 (Resource temporarily unavailable)\n",
		 (void *)app.cq);
	text = strstr(text, line);
	assert_non_null(text);
	snprintf(line, sizeof(line), "%d fi_cq_read(%p) = -11, 999 times more\n%d fi_cq_signal",
		 (int)getpid(), (void *)app.cq, (int)getpid());
	assert_non_null(strstr(text, line));
	assert_null(strstr(strchr(text, '\n'), "count 3) = -11"));
}

/* The last test: closes everything. */
static void test_report(void **state)
{
	uint64_t again, calls, errors;
	const char *text, *row;
	double sum, each;
	int i;

	(void)state;
	ofi_hook_perf_report("now");
	answer = -FI_EAGAIN;
	for (i = 0; i < 5; i++)
		fi_cntr_add(app.cntr, 1);
	answer = -FI_EINVAL;
	for (i = 0; i < 3; i++)
		fi_cntr_add(app.cntr, 1);
	answer = 0;
	assert_int_equal(fi_cntr_add(app.cntr, 1), 0);
	fi_close(&app.mr->fid);
	fi_close(&app.poll->fid);
	fi_close(&app.av->fid);
	fi_close(&app.cntr->fid);
	fi_close(&app.cq->fid);
	fi_close(&app.ep->fid);
	fi_close(&app.pep->fid);
	fi_close(&app.eq->fid);
	fi_close(&app.domain->fid);
	assert_null(strstr(written(), "at fi_close"));
	fi_close(&app.fabric->fid);
	text = strstr(written(), "at fi_close of the last fabric");
	assert_non_null(text);
	row = strstr(text, "perf: fi_cntr_add");
	assert_non_null(row);
	assert_int_equal(sscanf(row, "perf: fi_cntr_add %lu %lu %lu %lf %lf", &calls, &again,
				&errors, &sum, &each),
			 5);
	assert_int_equal(calls, 9);
	assert_int_equal(again, 5);
	assert_int_equal(errors, 3);
	assert_true(each <= sum);
	assert_non_null(strstr(text, "perf: fi_close"));
	assert_ptr_equal(ofi_hook_find(&ep.fid), &ep.fid);
}

static int stop(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/ofi_hook_%d.log", out_dir, (int)getpid());
	unlink(path);
	rmdir(out_dir);
	ofi_registry_fini(&fake_registry);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),	  cmocka_unit_test(test_texts),
		cmocka_unit_test(test_arguments), cmocka_unit_test(test_handle),
		cmocka_unit_test(test_events),	  cmocka_unit_test(test_mr),
		cmocka_unit_test(test_controls),  cmocka_unit_test(test_missing),
		cmocka_unit_test(test_busy),	  cmocka_unit_test(test_getinfo),
		cmocka_unit_test(test_trace),	  cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
