/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Values and operations whose names the library does not have, such as those of profiling: every
 * object returns -FI_ENOSYS and leaves the result unchanged, with and without hooks.
 */
#include <stdlib.h>
#include <rdma/fi_explain.h>
#include "stats.h"
#include "steps.h"

static void check(const char *what, struct fid *fid)
{
	static const char *const names[] = { "profile", "prof_ops", "fi_ops_profile", "" };
	uint64_t value = 42;
	void *ops = &value;
	size_t i;

	if (fi_get_val(fid, 1, &value) != -FI_ENOSYS || fi_set_val(fid, 1, &value) != -FI_ENOSYS ||
	    fi_get_val(fid, -1, NULL) != -FI_ENOSYS || fi_set_val(fid, -1, NULL) != -FI_ENOSYS)
		FAIL("%s: a value has a name", what);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (fi_open_ops(fid, names[i], 0, &ops, NULL) != -FI_ENOSYS ||
		    fi_set_ops(fid, names[i], 0, &value, NULL) != -FI_ENOSYS)
			FAIL("%s: there are operations \"%s\"", what, names[i]);
	EQUAL(value, 42);
	CHECK(ops == &value);
}

static void reject(void *context, const struct fi_explain_entry *entry)
{
	(void)context;
	(void)entry;
}

static void check_named(const char *name, void *attr, size_t len)
{
	struct fid *fid;

	OK(fi_open(FI_VERSION(2, 6), name, attr, len, 0, &fid, NULL));
	check(name, fid);
	OK(fi_close(fid));
}

static void test(struct pair *pair)
{
	struct fi_explain_attr explain = { .size = sizeof(explain), .reject = reject };
	struct end *end = &pair->client;

	check("fabric", &end->fabric->fid);
	check("domain", &end->domain->fid);
	check("event queue", &end->eq->fid);
	check("completion queue", &end->cq->fid);
	check("memory region", &end->mr->fid);
	check("endpoint", &end->ep->fid);
	if (!two_processes(pair))
		check("passive endpoint", &pair->server.pep->fid);
	check_named("explain", &explain, sizeof(explain));
	check_named("logging", NULL, 0);
	check_named("stats", NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };
	int ret;

	ret = run_pair(argc, argv, &setup, test);
	if (ret)
		return ret;
	setenv("FI_HOOK", "noop", 1);
	return run_pair(argc, argv, &setup, test);
}
