/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of fi_info: which entries share a line, and what the line says. */
#include "unit.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include "util/info_table.h"

#define BOTH(type)                                                    \
	{                                                             \
		type, "rxe0", "10.0.0.1", 0, FI_LINK_UP, 100000000000 \
	}

struct entry {
	enum fi_ep_type type;
	const char *device; /* NULL: no nic */
	const char *host;
	unsigned short port;
	enum fi_link_state state;
	size_t speed;
};

static void set_nic(struct fi_info *info, const struct entry *entry)
{
	/* fi_freeinfo closes a nic, which the test does not have a provider for. */
	static struct fi_device_attr devices[8];
	static struct fi_link_attr links[8];
	static struct fid_nic nics[8];
	static int next;
	int i = next++ % 8;

	devices[i].name = (char *)entry->device;
	links[i].state = entry->state;
	links[i].speed = entry->speed;
	nics[i].device_attr = &devices[i];
	nics[i].link_attr = &links[i];
	info->nic = &nics[i];
}

static void set_address(struct fi_info *info, const struct entry *entry)
{
	struct sockaddr_in6 *in6 = calloc(1, sizeof(*in6));
	struct sockaddr_in *in = (struct sockaddr_in *)in6;

	assert_non_null(in6);
	info->src_addr = in6;
	if (inet_pton(AF_INET6, entry->host, &in6->sin6_addr)) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(entry->port);
		info->addr_format = FI_SOCKADDR_IN6;
		info->src_addrlen = sizeof(*in6);
		return;
	}
	*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(entry->port) };
	assert_int_equal(inet_pton(AF_INET, entry->host, &in->sin_addr), 1);
	info->addr_format = FI_SOCKADDR_IN;
	info->src_addrlen = sizeof(*in);
}

static struct fi_info *make(const struct entry *entries, size_t count)
{
	struct fi_info *list = NULL, *info;

	while (count--) {
		info = fi_allocinfo();
		assert_non_null(info);
		info->next = list;
		info->ep_attr->type = entries[count].type;
		info->fabric_attr->prov_name = strdup("verbs");
		info->domain_attr->name = strdup("domain");
		if (entries[count].device)
			set_nic(info, &entries[count]);
		if (entries[count].host)
			set_address(info, &entries[count]);
		list = info;
	}
	return list;
}

static char *shown(struct fi_info *list, unsigned int columns, bool colors)
{
	const struct info_table_style style = { columns, colors };
	const struct info_options opts = { 0 };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(info_table_print(out, &style, &opts, list), 0);
	fclose(out);
	return text;
}

static void release(struct fi_info *list)
{
	struct fi_info *info;

	for (info = list; info; info = info->next)
		info->nic = NULL;
	fi_freeinfo(list);
}

static void expect(const struct entry *entries, size_t count, bool colors, const char *text)
{
	struct fi_info *list = make(entries, count);
	char *got = shown(list, 80, colors);

	assert_string_equal(got, text);
	free(got);
	release(list);
}

/* Entries that differ only in the endpoint type share a line, wherever they are in the list. */
static void test_merge(void **state)
{
	static const struct entry entries[] = {
		BOTH(FI_EP_RDM),
		{ FI_EP_MSG, "rxe1", "fd77:1::1", 0, FI_LINK_DOWN, 2500000000 },
		BOTH(FI_EP_MSG),
		BOTH(FI_EP_RDM),
	};

	(void)state;
	expect(entries, 4, false,
	       "DEVICE  ADDRESS    ENDPOINTS  SPEED     STATE\n"
	       "rxe0    10.0.0.1   MSG RDM    100 Gb/s  up\n"
	       "rxe1    fd77:1::1  MSG        2.5 Gb/s  down\n");
}

/* Ports are shown if there are any; what is not known is a dash. */
static void test_unknown(void **state)
{
	static const struct entry entries[] = {
		{ FI_EP_DGRAM, NULL, NULL, 0, FI_LINK_UNKNOWN, 0 },
		{ FI_EP_DGRAM, "rxe0", "10.0.0.1", 7471, FI_LINK_UNKNOWN, 0 },
		{ FI_EP_DGRAM, "rxe0", "fd77::1", 7471, FI_LINK_UP, 400000000000 },
	};

	(void)state;
	expect(entries, 3, false,
	       "DEVICE  ADDRESS         ENDPOINTS  SPEED     STATE\n"
	       "domain  -               DGRAM      -         -\n"
	       "rxe0    10.0.0.1:7471   DGRAM      -         -\n"
	       "rxe0    [fd77::1]:7471  DGRAM      400 Gb/s  up\n");
}

static void test_colors(void **state)
{
	static const struct entry entries[] = {
		BOTH(FI_EP_MSG),
		{ FI_EP_MSG, "rxe1", "10.0.0.1", 0, FI_LINK_DOWN, 0 },
	};

	(void)state;
	expect(entries, 2, true,
	       "\033[1mDEVICE  ADDRESS   ENDPOINTS  SPEED     STATE\033[0m\n"
	       "rxe0    10.0.0.1  MSG        100 Gb/s  \033[32mup\033[0m\n"
	       "rxe1    10.0.0.1  MSG        -         \033[31mdown\033[0m\n");
}

/* An address without text is shown by its format. */
static void test_format(void **state)
{
	static const struct entry entries[] = { BOTH(FI_EP_DGRAM) };
	struct fi_info *list = make(entries, 1);
	char *text;

	(void)state;
	list->addr_format = FI_ADDR_IB_UD;
	text = shown(list, 80, false);
	assert_non_null(strstr(text, "\nrxe0    FI_ADDR_IB_UD  DGRAM "));
	free(text);
	release(list);
}

static void test_providers(void **state)
{
	static const struct entry entries[] = { BOTH(FI_EP_MSG), BOTH(FI_EP_RDM) };
	struct fi_info *list = make(entries, 2);
	char *text;

	(void)state;
	strcpy(list->next->fabric_attr->prov_name, "tcp");
	text = shown(list, 80, false);
	assert_string_equal(text, "PROVIDER  DEVICE  ADDRESS   ENDPOINTS  SPEED     STATE\n"
				  "verbs     rxe0    10.0.0.1  MSG        100 Gb/s  up\n"
				  "tcp       rxe0    10.0.0.1  RDM        100 Gb/s  up\n");
	free(text);
	/* A table that is too wide has less space between its columns. */
	text = shown(list, 40, false);
	assert_non_null(strstr(text, "\nverbs    rxe0   10.0.0.1 MSG       100 Gb/s up\n"));
	free(text);
	release(list);
}

static void test_empty(void **state)
{
	(void)state;
	expect(NULL, 0, true, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),  cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_colors), cmocka_unit_test(test_format),
		cmocka_unit_test(test_empty),  cmocka_unit_test(test_providers),
	};

	return cmocka_run_group_tests_name("util_table", tests, NULL, NULL);
}
