/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User settings: FI_PROVIDER and similar variables, parameters of each type, libfabric.conf. Any
 * text is accepted or refused, and accepted values are in range.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "src/conf.h"
#include "src/filter.h"
#include "src/provider.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

static struct fi_provider prov = { .name = "fuzz" };

/* There are none. */
const struct ofi_provider_list *ofi_providers(void)
{
	static struct ofi_provider_list list = TAILQ_HEAD_INITIALIZER(list);

	return &list;
}

static void need(int truth)
{
	if (!truth)
		abort();
}

static void try_filters(const char *text)
{
	const char *list = text;
	char word[8];
	int words = 0;

	while (ofi_word_next(&list, ",;", word, sizeof(word))) {
		need(strlen(word) < sizeof(word));
		words++;
	}
	need(words <= (int)strlen(text));
	(void)ofi_filter_pass(text, "verbs");
	(void)ofi_prov_name_pass(text, "verbs");
	(void)ofi_prov_filter_pass(text, "verbs");
	(void)ofi_prov_filter_layer(text, "verbs");
	(void)ofi_prov_layer(text, "verbs");
}

static void try_params(const char *text)
{
	size_t size = 77;
	char *string = NULL;
	int number = 77, truth = 77;

	setenv("FI_FUZZ_ONE", text, 1);
	if (fi_param_get(&prov, "one", &number))
		need(number == 77);
	setenv("FI_FUZZ_TWO", text, 1);
	if (fi_param_get(&prov, "two", &size))
		need(size == 77);
	setenv("FI_FUZZ_THREE", text, 1);
	if (fi_param_get(&prov, "three", &truth))
		need(truth == 77);
	else
		need(truth == 0 || truth == 1);
	setenv("FI_FUZZ_FOUR", text, 1);
	if (!fi_param_get(&prov, "four", &string))
		need(!strcmp(string, text));
	unsetenv("FI_FUZZ_ONE");
	unsetenv("FI_FUZZ_TWO");
	unsetenv("FI_FUZZ_THREE");
	unsetenv("FI_FUZZ_FOUR");
}

static void try_file(const uint8_t *data, size_t size)
{
	char path[64];
	const char *name;
	int fd = memfd_create("conf", 0);
	size_t i;

	need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ofi_conf_load(path);
	for (i = 0; (name = ofi_conf_name(i)); i++)
		need(!strncmp(name, "FI_", 3) && ofi_conf_get(name));
	ofi_conf_report();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	need(!!text);
	memcpy(text, data, size);
	text[size] = 0;
	try_file(data, size);
	ofi_conf_load("/nonexistent");
	try_filters(text);
	try_params(text);
	free(text);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	setenv("FI_LOG_LEVEL", "none", 1);
	fi_param_define(&prov, "one", FI_PARAM_INT, "a number");
	fi_param_define(&prov, "two", FI_PARAM_SIZE_T, "a size");
	fi_param_define(&prov, "three", FI_PARAM_BOOL, "a truth");
	fi_param_define(&prov, "four", FI_PARAM_STRING, "a text");
	return 0;
}
