/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_PROVIDER_PATH: directories, their order, a preferred file, and files that are not providers.
 */
#include "unit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
#include "fake_prov.h"

static char root[] = "/tmp/test_plugin_XXXXXX";

static const char *in_root(const char *rest)
{
	static char paths[8][128];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, rest);
	return path;
}

static void shell(const char *command, const char *a, const char *b)
{
	char line[512];

	snprintf(line, sizeof(line), command, a, b);
	assert_int_equal(system(line), 0);
}

static void install(const char *as)
{
	shell("cp %s %s", PLUGIN, in_root(as));
}

static int start(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	shell("mkdir %s %s", in_root("one"), in_root("two"));
	shell("mkdir %s %s", in_root("lib"), in_root("bad"));
	install("one/a_1_0-fi.so");
	install("one/b_1_0-fi.so");
	install("two/a_2_0-fi.so");
	install("two/unrelated.so");
	install("lib/c_1_0-fi.so");
	install("bad/c_0_0-fi.so");
	shell("echo text >%s; cp /lib/x86_64-linux-gnu/libm.so.6 %s 2>/dev/null || :",
	      in_root("bad/text-fi.so"), in_root("bad/math-fi.so"));
	return 0;
}

static int stop(void **state)
{
	(void)state;
	shell("rm -r %s%s", root, "");
	return 0;
}

static int rank(const char *name)
{
	return name[0];
}

/* "a 2.0, b 1.0" from a path whose entries are below the root. */
static const char *loaded(const char *path, const char *libdir)
{
	static char text[256];
	struct ofi_provider *entry;

	ofi_registry_init(&fake_registry, NULL, ofi_plugin_first_wins(path));
	ofi_plugin_load(&fake_registry, path, libdir, rank);
	text[0] = '\0';
	TAILQ_FOREACH (entry, &fake_registry.list, link)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %u.%u",
			 *text ? ", " : "", entry->prov->name, FI_MAJOR(entry->prov->version),
			 FI_MINOR(entry->prov->version));
	ofi_registry_fini(&fake_registry);
	return text;
}

static const char *path_of(const char *fmt)
{
	static char path[256];

	snprintf(path, sizeof(path), fmt, root, root, root);
	return path;
}

static void test_directories(void **state)
{
	(void)state;
	assert_string_equal(loaded(NULL, in_root("lib")), "c 1.0");
	assert_string_equal(loaded(path_of("%s/one"), in_root("lib")), "a 1.0, b 1.0, c 1.0");
	assert_string_equal(loaded(path_of("%s/one:%s/two"), in_root("none")), "a 2.0, b 1.0");
	assert_string_equal(loaded(path_of("%s/two:%s/one"), in_root("none")), "a 2.0, b 1.0");
	assert_string_equal(loaded(path_of("%s/missing::%s/two"), in_root("none")), "a 2.0");
}

static void test_discovery_order(void **state)
{
	(void)state;
	assert_string_equal(loaded(path_of("@%s/one:%s/two"), in_root("lib")),
			    "a 1.0, b 1.0, c 1.0");
	assert_string_equal(loaded(path_of("@%s/two:%s/one"), in_root("lib")),
			    "a 2.0, b 1.0, c 1.0");
}

static void test_preferred(void **state)
{
	(void)state;
	assert_string_equal(loaded(path_of("%s/two:+%s/one/a_1_0-fi.so"), in_root("lib")),
			    "a 1.0, c 1.0");
	assert_string_equal(loaded(path_of("+%s/one/b_1_0-fi.so:%s/two"), in_root("none")),
			    "b 1.0, a 2.0");
	assert_string_equal(loaded(path_of("+%s/one/missing-fi.so:%s/two"), in_root("none")),
			    "a 2.0");
}

static void expect_one_start(const char *file, const char *path, const char *expected)
{
	void *own = dlopen(in_root(file), RTLD_NOW);
	const int *starts;

	assert_non_null(own);
	starts = dlsym(own, "plugin_starts");
	assert_non_null(starts);
	assert_string_equal(loaded(path_of(path), in_root("lib")), expected);
	assert_int_equal(*starts, 1);
	dlclose(own);
}

/* A file that is found by several paths starts once, also if it declines or another one wins. */
static void test_same_file(void **state)
{
	(void)state;
	shell("ln -s . %s%s", in_root("link"), "");
	expect_one_start("lib/c_1_0-fi.so", "+%s/lib/c_1_0-fi.so:%s/link/lib", "c 1.0");
	expect_one_start("bad/c_0_0-fi.so", "%s/bad:%s/link/bad", "c 1.0");
	expect_one_start("one/a_1_0-fi.so", "%s/two:%s/one:%s/link/one", "a 2.0, b 1.0, c 1.0");
	expect_one_start("one/a_1_0-fi.so", "%s/one:%s/two:%s/link/one", "a 2.0, b 1.0, c 1.0");
}

static void test_no_providers(void **state)
{
	(void)state;
	assert_string_equal(loaded(path_of("%s/bad"), in_root("none")), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directories),  cmocka_unit_test(test_discovery_order),
		cmocka_unit_test(test_preferred),    cmocka_unit_test(test_same_file),
		cmocka_unit_test(test_no_providers),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
