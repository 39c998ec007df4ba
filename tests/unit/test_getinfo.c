/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_getinfo: what it refuses, which providers it asks, how it joins their lists, and which error
 * it returns.
 */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fake_prov.h"
#include "src/log.h"
#include "src/param.h"
#include "src/reject.h"
#include <rdma/fi_ext.h>

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);

static int env_reads;

char *__wrap_getenv(const char *name)
{
	env_reads++;
	return __real_getenv(name);
}

static struct fi_provider verbs, tcp;
static int answer;	     /* of verbs */
static struct fi_info freed; /* what verbs leaves with an error; it must not be freed again */
static char seen_prov_name[64];
static uint64_t seen_flags;

static int verbs_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
			 const struct fi_info *hints, struct fi_info **info)
{
	struct fi_explain_entry entry = {
		.prov_name = "verbs",
		.domain_name = "rxe0",
		.port = 1,
		.ep_type = FI_EP_RDM,
		.misses = 1,
		.attr = "caps",
		.asked = "FI_MULTICAST",
		.has = "FI_MSG",
	};

	seen_flags = flags;
	seen_prov_name[0] = '\0';
	if (hints && hints->fabric_attr && hints->fabric_attr->prov_name)
		strcpy(seen_prov_name, hints->fabric_attr->prov_name);
	if (answer == -FI_ENODATA)
		ofi_reject(&entry);
	if (!answer)
		return fake_getinfo(version, node, service, flags, hints, info);
	*info = &freed;
	return answer;
}

static int start(void **state)
{
	(void)state;
	answer = 0;
	verbs = fake_prov("verbs", FI_VERSION(3, 1));
	verbs.getinfo = verbs_getinfo;
	tcp = fake_prov("tcp", FI_VERSION(1, 0));
	ofi_registry_init(&fake_registry, NULL, false);
	return fake_add(&verbs, 1, false) || fake_add(&tcp, 2, false);
}

static int stop(void **state)
{
	(void)state;
	ofi_registry_fini(&fake_registry);
	return 0;
}

static int ask(const struct fi_info *hints, struct fi_info **info)
{
	return fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, info);
}

static int ask_for(const char *prov_name, struct fi_info **info)
{
	struct fi_fabric_attr attr = { .prov_name = (char *)prov_name };
	struct fi_info hints = { .fabric_attr = &attr };

	return ask(&hints, info);
}

static void test_arguments(void **state)
{
	const uint32_t v = FI_VERSION(2, 6);
	struct fi_info *info = (void *)1;

	(void)state;
	assert_int_equal(fi_getinfo(v, NULL, NULL, 0, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_getinfo(FI_VERSION(2, 7), NULL, NULL, 0, NULL, &info), -FI_ENOSYS);
	assert_null(info);
	assert_int_equal(fi_getinfo(v, NULL, NULL, 1, NULL, &info), -FI_EBADFLAGS);
	assert_int_equal(fi_getinfo(v, NULL, NULL, 1ULL << 56, NULL, &info), -FI_EBADFLAGS);
	assert_int_equal(fi_getinfo(v, NULL, NULL, 1ULL << 59, NULL, &info), 0);
	fi_freeinfo(info);
	assert_int_equal(fi_getinfo(v, NULL, NULL, FI_SOURCE, NULL, &info), 0);
	assert_true(seen_flags == 0);
	fi_freeinfo(info);
	assert_int_equal(fi_getinfo(v, NULL, "7471", FI_SOURCE, NULL, &info), 0);
	assert_true(seen_flags == FI_SOURCE);
	fi_freeinfo(info);
}

static void test_joined(void **state)
{
	struct fi_info *info;

	(void)state;
	assert_int_equal(ask(NULL, &info), 0);
	assert_string_equal(info->fabric_attr->prov_name, "verbs");
	assert_int_equal(info->fabric_attr->prov_version, FI_VERSION(3, 1));
	assert_int_equal(info->fabric_attr->api_version, FI_VERSION(1, 17));
	assert_string_equal(info->next->fabric_attr->prov_name, "tcp");
	assert_null(info->next->next);
	fi_freeinfo(info);
}

static void test_prov_name(void **state)
{
	struct fi_info *info;

	(void)state;
	assert_int_equal(ask_for("VERBS;ofi_rxm", &info), 0);
	assert_string_equal(seen_prov_name, "verbs;ofi_rxm");
	assert_string_equal(info->fabric_attr->prov_name, "verbs");
	assert_null(info->next);
	fi_freeinfo(info);
	assert_int_equal(ask_for("ofi_rxm", &info), 0);
	assert_string_equal(seen_prov_name, "verbs;ofi_rxm");
	assert_null(info->next);
	fi_freeinfo(info);
	assert_int_equal(ask_for("verbs;ofi_rxd", &info), 0);
	assert_string_equal(seen_prov_name, "verbs;ofi_rxd");
	fi_freeinfo(info);
	assert_int_equal(ask_for("verbs;ofi_mrail", &info), 0);
	assert_string_equal(seen_prov_name, "verbs");
	fi_freeinfo(info);
	assert_int_equal(ask_for("^verbs", &info), 0);
	assert_string_equal(info->fabric_attr->prov_name, "tcp");
	fi_freeinfo(info);
	assert_int_equal(ask_for("shm", &info), -FI_ENODATA);
	assert_null(info);
}

static void test_excluded(void **state)
{
	struct fi_info *info;

	(void)state;
	TAILQ_FIRST(&fake_registry.list)->excluded = true;
	assert_int_equal(ask(NULL, &info), 0);
	assert_string_equal(info->fabric_attr->prov_name, "tcp");
	fi_freeinfo(info);
	TAILQ_FIRST(&fake_registry.list)->excluded = false;
}

/* FI_PROVIDER counts as it was when the providers started. */
static void test_filter(void **state)
{
	struct fi_info *info;

	(void)state;
	fake_filter = "verbs;ofi_rxm";
	assert_int_equal(ask(NULL, &info), 0);
	assert_string_equal(seen_prov_name, "verbs;ofi_rxm");
	fi_freeinfo(info);
	fake_filter = NULL;
}

/* Programs that ask for no version at all count as the oldest. */
static void test_no_version(void **state)
{
	struct fi_info *info;

	(void)state;
	assert_int_equal(fi_getinfo(0, NULL, NULL, 0, NULL, &info), 0);
	assert_int_equal(info->fabric_attr->api_version, FI_VERSION(1, 0));
	fi_freeinfo(info);
}

static struct fi_domain_attr seen_domain;
static struct fi_ep_attr seen_ep;

static int keep_attrs(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info)
{
	seen_domain = *hints->domain_attr;
	seen_ep = *hints->ep_attr;
	return fake_getinfo(version, node, service, flags, hints, info);
}

/* Returns room at the end of a page, before one that cannot be read. */
static void *before_nothing(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *room =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(room, MAP_FAILED);
	assert_int_equal(mprotect(room + page, page, PROT_NONE), 0);
	return room + page - size;
}

static void ask_with(uint32_t version, const struct fi_info *hints)
{
	struct fi_info *info;

	verbs.getinfo = keep_attrs;
	assert_int_equal(fi_getinfo(version, NULL, NULL, 0, hints, &info), 0);
	fi_freeinfo(info);
}

/* Bindings that look symbols up by name have the structures of the version that they ask for. */
static void test_short_hints(void **state)
{
	struct fi_domain_attr *domain =
		before_nothing(offsetof(struct fi_domain_attr, max_ep_auth_key));
	struct fi_ep_attr *ep = before_nothing(offsetof(struct fi_ep_attr, xpu_ctx));
	struct fi_info hints = { .domain_attr = domain, .ep_attr = ep };

	(void)state;
	domain->tclass = FI_TC_BULK_DATA;
	ep->auth_key_size = 3;
	memset(&seen_domain, 1, sizeof(seen_domain));
	ask_with(FI_VERSION(1, 17), &hints);
	assert_int_equal(seen_domain.tclass, FI_TC_BULK_DATA);
	assert_int_equal(seen_domain.max_ep_auth_key, 0);
	assert_int_equal(seen_ep.auth_key_size, 3);
	assert_null(seen_ep.xpu_ctx);
}

/* Where the version is one that never was, the structures are current. */
static void test_whole_hints(void **state)
{
	struct fi_domain_attr domain = { .tclass = FI_TC_BULK_DATA, .max_ep_auth_key = 2 };
	struct fi_ep_attr ep = { .auth_key_size = 3 };
	struct fi_info hints = { .domain_attr = &domain, .ep_attr = &ep };

	(void)state;
	ask_with(0, &hints);
	assert_int_equal(seen_domain.tclass, FI_TC_BULK_DATA);
	assert_int_equal(seen_domain.max_ep_auth_key, 2);
	ask_with(FI_VERSION(2, 6), &hints);
	assert_int_equal(seen_domain.max_ep_auth_key, 2);
	/* Members that came after the version are ignored, as in fi_domain. */
	ask_with(FI_VERSION(1, 8), &hints);
	assert_int_equal(seen_domain.tclass, 0);
	assert_int_equal(seen_ep.auth_key_size, 3);
}

static void test_older_provider(void **state)
{
	struct fi_info *info;

	(void)state;
	verbs.fi_version = FI_VERSION(1, 12);
	assert_int_equal(ask(NULL, &info), 0);
	assert_string_equal(info->fabric_attr->prov_name, "tcp");
	fi_freeinfo(info);
}

static void test_names_only(void **state)
{
	struct fi_info *info;

	(void)state;
	answer = -FI_ENODEV;
	verbs.fi_version = FI_VERSION(1, 12);
	assert_int_equal(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &info),
			 0);
	assert_string_equal(info->fabric_attr->prov_name, "verbs");
	assert_int_equal(info->fabric_attr->prov_version, FI_VERSION(3, 1));
	assert_int_equal(info->caps, 0);
	assert_string_equal(info->next->fabric_attr->prov_name, "tcp");
	assert_null(info->next->next);
	fi_freeinfo(info);
}

static void test_errors(void **state)
{
	struct fi_info *info;

	(void)state;
	answer = -FI_ENOMEM;
	assert_int_equal(ask_for("verbs", &info), -FI_ENOMEM);
	assert_null(info);
	answer = -FI_ENOSYS;
	assert_int_equal(ask_for("verbs", &info), -FI_ENODATA);
	answer = -FI_EMFILE;
	assert_int_equal(ask(NULL, &info), 0);
	assert_string_equal(info->fabric_attr->prov_name, "tcp");
	fi_freeinfo(info);
}

static char logged[8][512];
static int warnings, infos;

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys, uint64_t flags)
{
	(void)prov;
	(void)subsys;
	(void)flags;
	return level <= FI_LOG_INFO;
}

static void log_keep(const struct fi_provider *prov, enum fi_log_level level,
		     enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)prov;
	(void)subsys;
	(void)func;
	(void)line;
	if (level != FI_LOG_WARN)
		infos++;
	else if (warnings < 8)
		strncpy(logged[warnings++], msg, sizeof(logged[0]) - 1);
}

static void test_explained(void **state)
{
	struct fi_ops_log ops = { sizeof(ops), log_enabled, NULL, log_keep };
	struct fid_logging log = { .fid.fclass = FI_CLASS_LOG, .ops = &ops };
	struct fi_info *info;

	(void)state;
	answer = -FI_ENODATA;
	assert_int_equal(fi_import_log(FI_VERSION(2, 0), 0, &log), 0);
	warnings = 0;
	assert_int_equal(ask_for("verbs", &info), -FI_ENODATA);
	assert_int_equal(warnings, 3);
	assert_string_equal(
		logged[1],
		"candidate verbs/rxe0 port 1 FI_EP_RDM rejected: caps: asked FI_MULTICAST, has FI_MSG\n");
	assert_non_null(strstr(
		logged[2], "candidate tcp rejected: fabric_attr->prov_name: asked verbs, has tcp"));
	warnings = 0;
	assert_int_equal(ask_for("verbs", &info), -FI_ENODATA);
	assert_int_equal(warnings, 0);
	assert_int_equal(ask(NULL, &info), 0);
	fi_freeinfo(info);
	assert_int_equal(warnings, 0);
	setenv("FI_GETINFO_EXPLAIN", "1", 1);
	ofi_param_init();
	assert_int_equal(ask(NULL, &info), 0);
	fi_freeinfo(info);
	assert_int_equal(warnings, 1);
	TAILQ_FIRST(&fake_registry.list)->excluded = true;
	fake_filter = "tcp";
	assert_int_equal(ask(NULL, &info), 0);
	fi_freeinfo(info);
	assert_non_null(strstr(logged[1], "FI_PROVIDER: asked tcp, has verbs"));
	fake_filter = NULL;
	unsetenv("FI_GETINFO_EXPLAIN");
	ofi_param_init();
	ofi_param_fini();
	fi_close(&log.fid);
}

/* A program that probes for a provider by name disturbs nobody when it is not there. */
static void test_probe(void **state)
{
	struct fi_ops_log ops = { sizeof(ops), log_enabled, NULL, log_keep };
	struct fid_logging log = { .fid.fclass = FI_CLASS_LOG, .ops = &ops };
	struct fi_info *info;

	(void)state;
	assert_int_equal(fi_import_log(FI_VERSION(2, 0), 0, &log), 0);
	warnings = infos = 0;
	assert_int_equal(ask_for("psm3", &info), -FI_ENODATA);
	assert_int_equal(warnings, 0);
	assert_true(infos >= 2); /* the candidates */
	assert_string_equal(fake_missing, "psm3");
	assert_int_equal(ask_for("^verbs;^tcp", &info), -FI_ENODATA);
	assert_int_equal(warnings, 0);
	/* Nobody has a program of its own where there is no provider at all. */
	ofi_registry_fini(&fake_registry);
	assert_int_equal(ask(NULL, &info), -FI_ENODATA);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(logged[0], "no provider is available: "));
	fi_close(&log.fid);
}

static void test_addr_format(void **state)
{
	struct fi_info *info;

	(void)state;
	setenv("FI_ADDR_FORMAT", "FI_SOCKADDR_IN6", 1);
	ofi_param_init();
	assert_int_equal(ask(NULL, &info), -FI_ENODATA);
	assert_null(info);
	setenv("FI_ADDR_FORMAT", "fi_format_unspec", 1);
	ofi_param_fini();
	ofi_param_init();
	assert_int_equal(ask(NULL, &info), 0);
	assert_non_null(info->next);
	fi_freeinfo(info);
	unsetenv("FI_ADDR_FORMAT");
	ofi_param_init();
	ofi_param_fini();
}

/* Another thread may change the environment at the same time. */
static void test_environment(void **state)
{
	struct fi_info *info;

	(void)state;
	setenv("FI_ADDR_FORMAT", "fi_format_unspec", 1);
	ofi_param_init();
	assert_int_equal(ask(NULL, &info), 0);
	fi_freeinfo(info);
	env_reads = 0;
	setenv("FI_ADDR_FORMAT", "FI_SOCKADDR_IN6", 1);
	assert_int_equal(ask(NULL, &info), 0);
	fi_freeinfo(info);
	assert_int_equal(env_reads, 0);
	unsetenv("FI_ADDR_FORMAT");
	ofi_param_init();
	ofi_param_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arguments, start, stop),
		cmocka_unit_test_setup_teardown(test_joined, start, stop),
		cmocka_unit_test_setup_teardown(test_prov_name, start, stop),
		cmocka_unit_test_setup_teardown(test_excluded, start, stop),
		cmocka_unit_test_setup_teardown(test_filter, start, stop),
		cmocka_unit_test_setup_teardown(test_no_version, start, stop),
		cmocka_unit_test_setup_teardown(test_short_hints, start, stop),
		cmocka_unit_test_setup_teardown(test_whole_hints, start, stop),
		cmocka_unit_test_setup_teardown(test_older_provider, start, stop),
		cmocka_unit_test_setup_teardown(test_names_only, start, stop),
		cmocka_unit_test_setup_teardown(test_errors, start, stop),
		cmocka_unit_test_setup_teardown(test_explained, start, stop),
		cmocka_unit_test_setup_teardown(test_probe, start, stop),
		cmocka_unit_test_setup_teardown(test_addr_format, start, stop),
		cmocka_unit_test_setup_teardown(test_environment, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
