/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_tostr: one routine prints all structures, using the tables of shape.c. */
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include "export.h"
#include "names.h"
#include "shape.h"
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

enum { TOSTR_LEN = 8192, INDENT = 4, BYTES_MAX = 64 };

static void print_hex(struct ofi_text *text, const void *bytes, size_t len)
{
	const uint8_t *byte = bytes;
	size_t i;

	ofi_text_printf(text, "0x");
	for (i = 0; i < len && i < BYTES_MAX; i++)
		ofi_text_printf(text, "%02x", byte[i]);
	if (i < len)
		ofi_text_printf(text, "...");
}

static void print_addr(struct ofi_text *text, const struct fi_info *info, const void *addr,
		       size_t len)
{
	char buf[OFI_ADDR_STRLEN];

	if (!addr || !len) {
		ofi_text_printf(text, "(null)");
		return;
	}
	if (info->addr_format == FI_ADDR_STR) {
		ofi_text_printf(text, "%.*s", (int)strnlen(addr, len), (const char *)addr);
		return;
	}
	if (len >= sizeof(sa_family_t) && ofi_addr_size(addr) && len >= ofi_addr_size(addr) &&
	    (info->addr_format <= FI_SOCKADDR_IB || info->addr_format == FI_SOCKADDR_IP)) {
		ofi_text_printf(text, "%s", ofi_addr_str(addr, buf, sizeof(buf)));
		return;
	}
	print_hex(text, addr, len);
}

static void print_key(struct ofi_text *text, const void *key, size_t len)
{
	if (!key || !len || len == FI_AV_AUTH_KEY)
		ofi_text_printf(text, "(null)");
	else
		print_hex(text, key, len);
}

/* Holds a field of any width. */
union value {
	int i;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	void *ptr;
	char *str;
};

static void print_number(struct ofi_text *text, enum ofi_kind kind, const union value *v)
{
	switch (kind) {
	case OFI_KIND_INT:
		ofi_text_printf(text, "%d", v->i);
		break;
	case OFI_KIND_U32:
		ofi_text_printf(text, "%" PRIu32, v->u32);
		break;
	case OFI_KIND_U64:
		ofi_text_printf(text, "%" PRIu64, v->u64);
		break;
	case OFI_KIND_HEX8:
		ofi_text_printf(text, "0x%x", v->u8);
		break;
	case OFI_KIND_HEX16:
		ofi_text_printf(text, "0x%x", v->u16);
		break;
	case OFI_KIND_HEX32:
		ofi_text_printf(text, "0x%" PRIx32, v->u32);
		break;
	case OFI_KIND_HEX64:
		ofi_text_printf(text, "0x%" PRIx64, v->u64);
		break;
	case OFI_KIND_TAG:
		ofi_text_printf(text, "0x%016" PRIx64, v->u64);
		break;
	case OFI_KIND_VERSION:
		ofi_text_printf(text, "%u.%u", FI_MAJOR(v->u32), FI_MINOR(v->u32));
		break;
	default:
		ofi_text_printf(text, "%d (%s)", v->i, fi_strerror(v->i));
	}
}

static size_t kind_width(enum ofi_kind kind)
{
	switch (kind) {
	case OFI_KIND_HEX8:
		return sizeof(uint8_t);
	case OFI_KIND_HEX16:
		return sizeof(uint16_t);
	case OFI_KIND_INT:
	case OFI_KIND_U32:
	case OFI_KIND_HEX32:
	case OFI_KIND_VERSION:
	case OFI_KIND_ERR:
	case OFI_KIND_FLAGS32:
	case OFI_KIND_ENUM:
		return sizeof(uint32_t);
	default:
		return sizeof(uint64_t);
	}
}

static void print_value(struct ofi_text *text, const struct ofi_field *field, const void *data)
{
	union value v = { .u64 = 0 };
	size_t len = 0;

	memcpy(&v, (const char *)data + field->offset, kind_width(field->kind));
	if (field->len_offset)
		memcpy(&len, (const char *)data + field->len_offset, sizeof(len));
	switch (field->kind) {
	case OFI_KIND_CONTEXTS:
		if (v.u64 == FI_SHARED_CONTEXT)
			ofi_text_printf(text, "FI_SHARED_CONTEXT");
		else
			print_number(text, OFI_KIND_U64, &v);
		break;
	case OFI_KIND_PTR:
	case OFI_KIND_PTR_SET:
		ofi_text_printf(text, "%p", v.ptr);
		break;
	case OFI_KIND_STR:
		ofi_text_printf(text, "%s", v.str ? v.str : "(null)");
		break;
	case OFI_KIND_FLAGS32:
	case OFI_KIND_FLAGS64:
		ofi_text_printf(text, "[ ");
		ofi_names_flags(text, field->names,
				field->kind == OFI_KIND_FLAGS32 ? v.u32 : v.u64);
		ofi_text_printf(text, " ]");
		break;
	case OFI_KIND_ENUM:
		ofi_names_enum(text, field->names, v.u32);
		break;
	case OFI_KIND_ADDR:
		print_addr(text, data, v.ptr, len);
		break;
	case OFI_KIND_KEY:
		print_key(text, v.ptr, len);
		break;
	default:
		print_number(text, field->kind, &v);
	}
}

static const void *nested_data(const struct ofi_field *field, const void *data)
{
	const void *at = (const char *)data + field->offset;

	return field->kind == OFI_KIND_STRUCT ? *(const void *const *)at : at;
}

static bool is_pci(const void *bus)
{
	return ((const struct fi_bus_attr *)bus)->bus_type == FI_BUS_PCI;
}

static bool is_set(const struct ofi_field *field, const void *data)
{
	static const void *const null;

	return memcmp((const char *)data + field->offset, &null, sizeof(null)) != 0;
}

static bool is_shown(const struct ofi_shape *shape, const struct ofi_field *field, const void *data)
{
	if (shape->grew && field->offset + kind_width(field->kind) > ofi_abi_seen(shape->part))
		return false;
	switch (field->kind) {
	case OFI_KIND_PCI:
		return is_pci(data);
	case OFI_KIND_PTR_SET:
	case OFI_KIND_KEY:
		return is_set(field, data);
	default:
		return true;
	}
}

static void print_shape(struct ofi_text *text, const struct ofi_shape *shape, const void *data,
			int indent)
{
	const struct ofi_field *field;
	size_t i;

	if (!data) {
		ofi_text_printf(text, "%*s%s: %s\n", indent, "", shape->name, shape->none);
		return;
	}
	ofi_text_printf(text, "%*s%s:\n", indent, "", shape->name);
	indent += INDENT;
	for (i = 0; i < shape->count; i++) {
		field = &shape->fields[i];
		if (!is_shown(shape, field, data))
			continue;
		if (field->shape) {
			print_shape(text, field->shape, nested_data(field, data), indent);
			continue;
		}
		ofi_text_printf(text, "%*s%s: ", indent, "", field->name);
		print_value(text, field, data);
		ofi_text_printf(text, "\n");
	}
}

static void print_fid(struct ofi_text *text, const struct fid *fid)
{
	if (fid->ops && FI_CHECK_OP(fid->ops, struct fi_ops, tostr) &&
	    fid->ops->tostr(fid, text->buf, text->len) >= 0) {
		text->buf[text->len - 1] = '\0';
		return;
	}
	ofi_text_printf(text, "fid: { fclass: ");
	ofi_names_enum(text, OFI_NAMES_CLASS, fid->fclass);
	ofi_text_printf(text, ", context: %p }", fid->context);
}

static void text_print(struct ofi_text *text, const void *data, enum fi_type type)
{
	union value v = { .u64 = 0 };
	enum ofi_names_id names;

	if (type == FI_TYPE_VERSION) {
		ofi_text_printf(text, "%u.%u.%u (weft %s)", FI_MAJOR_VERSION, FI_MINOR_VERSION,
				FI_REVISION_VERSION, PACKAGE_VERSION);
	} else if (!data) {
		ofi_text_printf(text, "(null)");
	} else if (type == FI_TYPE_FID) {
		print_fid(text, data);
	} else if ((unsigned)type >= ofi_type_count) {
		ofi_text_printf(text, "unknown fi_type %d", (int)type);
	} else if (ofi_types[type].shape) {
		print_shape(text, ofi_types[type].shape, data, 0);
	} else {
		names = ofi_types[type].names;
		memcpy(&v, data, ofi_types[type].size);
		if (ofi_names_is_flags(names))
			ofi_names_flags(text, names, ofi_types[type].size == 4 ? v.u32 : v.u64);
		else
			ofi_names_enum(text, names, v.u32);
	}
}

OFI_EXPORT char *fi_tostr_r(char *buf, size_t len, const void *data, enum fi_type datatype)
{
	struct ofi_text text = { .buf = buf, .len = len };

	if (!buf || !len)
		return buf;
	buf[0] = '\0';
	text_print(&text, data, datatype);
	return buf;
}

/* The text of this thread. It is not in thread-local storage, which takes room in all threads. */
static _Thread_local char *own_text;
static pthread_key_t text_key; /* frees it when the thread ends */
static pthread_once_t text_once = PTHREAD_ONCE_INIT;
static bool text_keyed; /* atomic */

static void free_text(void *unused)
{
	(void)unused;
	free(own_text);
	own_text = NULL;
}

static void make_key(void)
{
	text_keyed = !pthread_key_create(&text_key, free_text);
}

/* Threads that end after the library is unloaded must not call it. */
__attribute__((destructor)) static void end(void)
{
	if (!__atomic_exchange_n(&text_keyed, false, __ATOMIC_RELAXED))
		return;
	pthread_key_delete(text_key);
	free_text(NULL);
}

static char *get_text(void)
{
	if (own_text)
		return own_text;
	pthread_once(&text_once, make_key);
	own_text = malloc(TOSTR_LEN);
	if (own_text && __atomic_load_n(&text_keyed, __ATOMIC_RELAXED))
		pthread_setspecific(text_key, own_text);
	return own_text;
}

OFI_EXPORT char *fi_tostr(const void *data, enum fi_type datatype)
{
	static char none[] = "(no memory for this text)";
	char *text = get_text();

	return text ? fi_tostr_r(text, TOSTR_LEN, data, datatype) : none;
}
