/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses that are not in the format of the address vector are refused one by one, and nothing
 * behind the array is read.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fixture.h"
#include "rdm.h"

enum { COUNT = 3 };

static const int families[] = { AF_INET6, AF_UNSPEC, AF_UNIX, 77 };

/* Returns memory for the addresses that ends where a page without access begins. */
static struct sockaddr_in *at_the_edge(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	OK(mprotect(at + page, page, PROT_NONE));
	return (struct sockaddr_in *)(void *)(at + page) - COUNT;
}

static void addresses(struct sockaddr_in *addrs)
{
	int i;

	for (i = 0; i < COUNT; i++) {
		addrs[i] = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(9) };
		addrs[i].sin_addr.s_addr = htonl(0x0a000001 + (uint32_t)i);
	}
}

static void insert(struct rdm_pair *pair, const struct sockaddr_in *addrs, int wrong)
{
	int i, errs[COUNT];
	fi_addr_t addr[COUNT];

	RETURNS(fi_av_insert(pair->side[0].av, addrs, COUNT, addr, FI_SYNC_ERR, errs), COUNT - 1);
	for (i = 0; i < COUNT; i++) {
		EQUAL(errs[i], i == wrong ? FI_EINVAL : 0);
		CHECK((addr[i] == FI_ADDR_NOTAVAIL) == (i == wrong));
	}
}

/* The text of an address in another format says so. */
static void write_out(struct rdm_pair *pair, const struct sockaddr_in *addr)
{
	char text[100];
	size_t len = sizeof(text);

	CHECK(strstr(fi_av_straddr(pair->side[0].av, addr, text, &len), "not an address"));
	EQUAL(len, strlen(text) + 1);
}

int main(void)
{
	struct sockaddr_in *addrs = at_the_edge();
	struct rdm_pair pair;
	size_t i;
	int wrong;

	rdm_open(&pair, 0);
	EQUAL(pair.info->addr_format, FI_SOCKADDR_IN);
	for (i = 0; i < ARRAY_SIZE(families); i++)
		for (wrong = 0; wrong < COUNT; wrong++) {
			addresses(addrs);
			addrs[wrong].sin_family = (sa_family_t)families[i];
			insert(&pair, addrs, wrong);
			write_out(&pair, &addrs[wrong]);
		}
	rdm_close(&pair);
	return 0;
}
