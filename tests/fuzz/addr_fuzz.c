/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses as applications pass them and peers return them, with arbitrary bytes: strings, socket
 * addresses, names of datagram queue pairs. An accepted address has a text that is accepted, too,
 * and gives the same address.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fabric.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include "prov/base/name.h"
#include "prov/verbs/dgram/ud_name.h"

struct fi_provider vrb_prov = { .name = "fuzz" };

/* Nobody reads the log, but its lines are formatted. */
int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		   enum fi_log_subsys subsys)
{
	(void)prov;
	(void)level;
	(void)subsys;
	return 1;
}

void fi_log(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys,
	    const char *func, int line, const char *fmt, ...)
{
	static char text[256];
	va_list args;

	(void)prov;
	(void)level;
	(void)subsys;
	(void)func;
	(void)line;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
}

static void need(int truth)
{
	if (!truth)
		abort();
}

static void try_text(const char *string)
{
	struct sockaddr_storage ss, again;
	char text[OFI_ADDR_STRLEN];

	if (ofi_addr_parse(string, &ss))
		return;
	need(ofi_addr_size((struct sockaddr *)&ss));
	ofi_addr_str((struct sockaddr *)&ss, text, sizeof(text));
	need(!ofi_addr_parse(text, &again));
	need(ofi_addr_same_host((struct sockaddr *)&ss, (struct sockaddr *)&again));
	need(ofi_addr_port((struct sockaddr *)&ss) == ofi_addr_port((struct sockaddr *)&again));
}

static void try_name(uint32_t format, const uint8_t *data, size_t size)
{
	struct sockaddr_storage ss;
	char out[OFI_ADDR_STRLEN];
	size_t len = sizeof(out), small = 3;

	if (ofi_name_in(&vrb_prov, "fuzz", format, data, size, &ss))
		return;
	need(!ofi_name_out(&vrb_prov, "fuzz", format, &ss, out, &len) && len <= sizeof(out));
	need(ofi_name_out(&vrb_prov, "fuzz", format, &ss, out, &small) < 0 && small == len);
}

static void try_ud(const uint8_t *data, size_t size)
{
	struct vrb_ud_name name;
	struct vrb_dest dest;
	char text[VRB_UD_NAME_STRLEN];
	const char *why;

	if (size < sizeof(name))
		return;
	need(strlen(vrb_ud_name_str(FI_ADDR_IB_UD, data, text, sizeof(text))) < sizeof(text));
	if (vrb_ud_name_in(FI_ADDR_IB_UD, data, &dest, &why))
		need(why && *why);
	else
		vrb_ud_name_out(&dest, &name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t formats[] = { FI_FORMAT_UNSPEC, FI_SOCKADDR,    FI_SOCKADDR_IN,
					    FI_SOCKADDR_IN6,  FI_SOCKADDR_IB, FI_ADDR_STR };
	char *string = malloc(size + 1);
	size_t i;

	need(!!string);
	memcpy(string, data, size);
	string[size] = 0;
	try_text(string);
	free(string);
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		try_name(formats[i], data, size);
	try_ud(data, size);
	return 0;
}
