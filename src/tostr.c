/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_tostr: each structure is a table of its fields, printed by one routine. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <ofi/addr.h>
#include <ofi/export.h>
#include <ofi/names.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

enum { TOSTR_LEN = 8192, INDENT = 4, BYTES_MAX = 64 };

enum kind {
	KIND_INT,
	KIND_U32,
	KIND_U64,
	KIND_HEX8,
	KIND_HEX16,
	KIND_HEX32,
	KIND_HEX64,
	KIND_PTR,
	KIND_STR,
	KIND_VERSION,
	KIND_ERR,
	KIND_FLAGS32,
	KIND_FLAGS64,
	KIND_ENUM,
	KIND_STRUCT,	/* a pointer to one */
	KIND_STRUCT_IN, /* embedded */
	KIND_ADDR,
	KIND_KEY,
};

struct shape;

struct field {
	const char *name;
	enum kind kind;
	size_t offset;
	enum ofi_names_id names;   /* of flags and enumerations */
	const struct shape *shape; /* of structures */
	size_t len_offset;	   /* of addresses and keys, where their length is */
};

struct shape {
	const char *name;
	const struct field *fields;
	size_t count;
};

#define FIELD(type, name, kind)                                      \
	{                                                            \
#name, kind, offsetof(struct type, name), 0, NULL, 0 \
	}
#define FLAGS(type, name, id)                                                 \
	{                                                                     \
#name, KIND_FLAGS64, offsetof(struct type, name), id, NULL, 0 \
	}
#define ENUM(type, name, id)                                               \
	{                                                                  \
#name, KIND_ENUM, offsetof(struct type, name), id, NULL, 0 \
	}
#define STRUCT(type, name, shape)                                            \
	{                                                                    \
#name, KIND_STRUCT, offsetof(struct type, name), 0, shape, 0 \
	}
#define BYTES(type, name, kind, len)                                                          \
	{                                                                                     \
#name, kind, offsetof(struct type, name), 0, NULL, offsetof(struct type, len) \
	}
#define SHAPE(name, fields)                                        \
	{                                                          \
		name, fields, sizeof(fields) / sizeof((fields)[0]) \
	}

static const struct field tx_fields[] = {
	FLAGS(fi_tx_attr, caps, OFI_NAMES_CAPS),
	FLAGS(fi_tx_attr, mode, OFI_NAMES_MODE),
	FLAGS(fi_tx_attr, op_flags, OFI_NAMES_OP_FLAGS),
	FLAGS(fi_tx_attr, msg_order, OFI_NAMES_ORDER),
	FLAGS(fi_tx_attr, comp_order, OFI_NAMES_ORDER),
	FIELD(fi_tx_attr, inject_size, KIND_U64),
	FIELD(fi_tx_attr, size, KIND_U64),
	FIELD(fi_tx_attr, iov_limit, KIND_U64),
	FIELD(fi_tx_attr, rma_iov_limit, KIND_U64),
	FIELD(fi_tx_attr, tclass, KIND_HEX32),
};

static const struct field rx_fields[] = {
	FLAGS(fi_rx_attr, caps, OFI_NAMES_CAPS),
	FLAGS(fi_rx_attr, mode, OFI_NAMES_MODE),
	FLAGS(fi_rx_attr, op_flags, OFI_NAMES_OP_FLAGS),
	FLAGS(fi_rx_attr, msg_order, OFI_NAMES_ORDER),
	FLAGS(fi_rx_attr, comp_order, OFI_NAMES_ORDER),
	FIELD(fi_rx_attr, total_buffered_recv, KIND_U64),
	FIELD(fi_rx_attr, size, KIND_U64),
	FIELD(fi_rx_attr, iov_limit, KIND_U64),
};

static const struct field ep_fields[] = {
	ENUM(fi_ep_attr, type, OFI_NAMES_EP_TYPE),
	ENUM(fi_ep_attr, protocol, OFI_NAMES_PROTOCOL),
	FIELD(fi_ep_attr, protocol_version, KIND_U32),
	FIELD(fi_ep_attr, max_msg_size, KIND_U64),
	FIELD(fi_ep_attr, msg_prefix_size, KIND_U64),
	FIELD(fi_ep_attr, max_order_raw_size, KIND_U64),
	FIELD(fi_ep_attr, max_order_war_size, KIND_U64),
	FIELD(fi_ep_attr, max_order_waw_size, KIND_U64),
	FIELD(fi_ep_attr, mem_tag_format, KIND_HEX64),
	FIELD(fi_ep_attr, tx_ctx_cnt, KIND_U64),
	FIELD(fi_ep_attr, rx_ctx_cnt, KIND_U64),
	FIELD(fi_ep_attr, auth_key_size, KIND_U64),
	BYTES(fi_ep_attr, auth_key, KIND_KEY, auth_key_size),
	FIELD(fi_ep_attr, xpu_ctx, KIND_PTR),
};

static const struct field domain_fields[] = {
	FIELD(fi_domain_attr, domain, KIND_PTR),
	FIELD(fi_domain_attr, name, KIND_STR),
	ENUM(fi_domain_attr, threading, OFI_NAMES_THREADING),
	ENUM(fi_domain_attr, control_progress, OFI_NAMES_PROGRESS),
	ENUM(fi_domain_attr, data_progress, OFI_NAMES_PROGRESS),
	ENUM(fi_domain_attr, resource_mgmt, OFI_NAMES_RM),
	ENUM(fi_domain_attr, av_type, OFI_NAMES_AV_TYPE),
	{ "mr_mode", KIND_FLAGS32, offsetof(struct fi_domain_attr, mr_mode), OFI_NAMES_MR_MODE,
	  NULL, 0 },
	FIELD(fi_domain_attr, mr_key_size, KIND_U64),
	FIELD(fi_domain_attr, cq_data_size, KIND_U64),
	FIELD(fi_domain_attr, cq_cnt, KIND_U64),
	FIELD(fi_domain_attr, ep_cnt, KIND_U64),
	FIELD(fi_domain_attr, tx_ctx_cnt, KIND_U64),
	FIELD(fi_domain_attr, rx_ctx_cnt, KIND_U64),
	FIELD(fi_domain_attr, max_ep_tx_ctx, KIND_U64),
	FIELD(fi_domain_attr, max_ep_rx_ctx, KIND_U64),
	FIELD(fi_domain_attr, max_ep_stx_ctx, KIND_U64),
	FIELD(fi_domain_attr, max_ep_srx_ctx, KIND_U64),
	FIELD(fi_domain_attr, cntr_cnt, KIND_U64),
	FIELD(fi_domain_attr, mr_iov_limit, KIND_U64),
	FLAGS(fi_domain_attr, caps, OFI_NAMES_CAPS),
	FLAGS(fi_domain_attr, mode, OFI_NAMES_MODE),
	BYTES(fi_domain_attr, auth_key, KIND_KEY, auth_key_size),
	FIELD(fi_domain_attr, auth_key_size, KIND_U64),
	FIELD(fi_domain_attr, max_err_data, KIND_U64),
	FIELD(fi_domain_attr, mr_cnt, KIND_U64),
	FIELD(fi_domain_attr, tclass, KIND_HEX32),
	FIELD(fi_domain_attr, max_ep_auth_key, KIND_U64),
	FIELD(fi_domain_attr, max_group_id, KIND_U32),
	FIELD(fi_domain_attr, max_cntr_value, KIND_U64),
	FIELD(fi_domain_attr, max_err_cntr_value, KIND_U64),
	FIELD(fi_domain_attr, max_xpu_ctx_cnt, KIND_U64),
};

static const struct field fabric_fields[] = {
	FIELD(fi_fabric_attr, fabric, KIND_PTR),
	FIELD(fi_fabric_attr, name, KIND_STR),
	FIELD(fi_fabric_attr, prov_name, KIND_STR),
	FIELD(fi_fabric_attr, prov_version, KIND_VERSION),
	FIELD(fi_fabric_attr, api_version, KIND_VERSION),
};

static const struct field device_fields[] = {
	FIELD(fi_device_attr, name, KIND_STR),		 FIELD(fi_device_attr, device_id, KIND_STR),
	FIELD(fi_device_attr, device_version, KIND_STR), FIELD(fi_device_attr, vendor_id, KIND_STR),
	FIELD(fi_device_attr, driver, KIND_STR),	 FIELD(fi_device_attr, firmware, KIND_STR),
};

static const struct field pci_fields[] = {
	FIELD(fi_pci_attr, domain_id, KIND_HEX16),
	FIELD(fi_pci_attr, bus_id, KIND_HEX8),
	FIELD(fi_pci_attr, device_id, KIND_HEX8),
	FIELD(fi_pci_attr, function_id, KIND_HEX8),
};

static const struct shape pci_shape = SHAPE("fi_pci_attr", pci_fields);

static const struct field bus_fields[] = {
	ENUM(fi_bus_attr, bus_type, OFI_NAMES_BUS),
	{ "fi_pci_attr", KIND_STRUCT_IN, offsetof(struct fi_bus_attr, attr.pci), 0, &pci_shape, 0 },
};

static const struct field link_fields[] = {
	FIELD(fi_link_attr, address, KIND_STR),	     FIELD(fi_link_attr, mtu, KIND_U64),
	FIELD(fi_link_attr, speed, KIND_U64),	     ENUM(fi_link_attr, state, OFI_NAMES_LINK),
	FIELD(fi_link_attr, network_type, KIND_STR),
};

static const struct shape device_shape = SHAPE("fi_device_attr", device_fields);
static const struct shape bus_shape = SHAPE("fi_bus_attr", bus_fields);
static const struct shape link_shape = SHAPE("fi_link_attr", link_fields);

static const struct field nic_fields[] = {
	STRUCT(fid_nic, device_attr, &device_shape),
	STRUCT(fid_nic, bus_attr, &bus_shape),
	STRUCT(fid_nic, link_attr, &link_shape),
	FIELD(fid_nic, prov_attr, KIND_PTR),
};

static const struct shape tx_shape = SHAPE("fi_tx_attr", tx_fields);
static const struct shape rx_shape = SHAPE("fi_rx_attr", rx_fields);
static const struct shape ep_shape = SHAPE("fi_ep_attr", ep_fields);
static const struct shape domain_shape = SHAPE("fi_domain_attr", domain_fields);
static const struct shape fabric_shape = SHAPE("fi_fabric_attr", fabric_fields);
static const struct shape nic_shape = SHAPE("nic", nic_fields);

static const struct field info_fields[] = {
	FLAGS(fi_info, caps, OFI_NAMES_CAPS),
	FLAGS(fi_info, mode, OFI_NAMES_MODE),
	ENUM(fi_info, addr_format, OFI_NAMES_ADDR_FORMAT),
	FIELD(fi_info, src_addrlen, KIND_U64),
	FIELD(fi_info, dest_addrlen, KIND_U64),
	BYTES(fi_info, src_addr, KIND_ADDR, src_addrlen),
	BYTES(fi_info, dest_addr, KIND_ADDR, dest_addrlen),
	FIELD(fi_info, handle, KIND_PTR),
	STRUCT(fi_info, tx_attr, &tx_shape),
	STRUCT(fi_info, rx_attr, &rx_shape),
	STRUCT(fi_info, ep_attr, &ep_shape),
	STRUCT(fi_info, domain_attr, &domain_shape),
	STRUCT(fi_info, fabric_attr, &fabric_shape),
	STRUCT(fi_info, nic, &nic_shape),
};

static const struct field av_fields[] = {
	ENUM(fi_av_attr, type, OFI_NAMES_AV_TYPE),
	FIELD(fi_av_attr, rx_ctx_bits, KIND_INT),
	FIELD(fi_av_attr, count, KIND_U64),
	FIELD(fi_av_attr, ep_per_node, KIND_U64),
	FIELD(fi_av_attr, name, KIND_STR),
	FIELD(fi_av_attr, map_addr, KIND_PTR),
	FLAGS(fi_av_attr, flags, OFI_NAMES_AV_FLAGS),
};

static const struct field cq_fields[] = {
	FIELD(fi_cq_attr, size, KIND_U64),
	FLAGS(fi_cq_attr, flags, OFI_NAMES_OP_FLAGS),
	ENUM(fi_cq_attr, format, OFI_NAMES_CQ_FORMAT),
	ENUM(fi_cq_attr, wait_obj, OFI_NAMES_WAIT_OBJ),
	FIELD(fi_cq_attr, signaling_vector, KIND_INT),
	ENUM(fi_cq_attr, wait_cond, OFI_NAMES_CQ_COND),
	FIELD(fi_cq_attr, wait_set, KIND_PTR),
};

static const struct field mr_fields[] = {
	FIELD(fi_mr_attr, mr_iov, KIND_PTR),
	FIELD(fi_mr_attr, iov_count, KIND_U64),
	FLAGS(fi_mr_attr, access, OFI_NAMES_CAPS),
	FIELD(fi_mr_attr, offset, KIND_HEX64),
	FIELD(fi_mr_attr, requested_key, KIND_HEX64),
	FIELD(fi_mr_attr, context, KIND_PTR),
	FIELD(fi_mr_attr, auth_key_size, KIND_U64),
	BYTES(fi_mr_attr, auth_key, KIND_KEY, auth_key_size),
	ENUM(fi_mr_attr, iface, OFI_NAMES_HMEM),
	{ "device", KIND_HEX64, offsetof(struct fi_mr_attr, device), 0, NULL, 0 },
};

static const struct field cntr_fields[] = {
	ENUM(fi_cntr_attr, events, OFI_NAMES_CNTR_EVENTS),
	ENUM(fi_cntr_attr, wait_obj, OFI_NAMES_WAIT_OBJ),
	FIELD(fi_cntr_attr, wait_set, KIND_PTR),
	FLAGS(fi_cntr_attr, flags, OFI_NAMES_OP_FLAGS),
};

static const struct field cq_err_fields[] = {
	FIELD(fi_cq_err_entry, op_context, KIND_PTR),
	FLAGS(fi_cq_err_entry, flags, OFI_NAMES_CQ_FLAGS),
	FIELD(fi_cq_err_entry, len, KIND_U64),
	FIELD(fi_cq_err_entry, buf, KIND_PTR),
	FIELD(fi_cq_err_entry, data, KIND_HEX64),
	FIELD(fi_cq_err_entry, tag, KIND_HEX64),
	FIELD(fi_cq_err_entry, olen, KIND_U64),
	FIELD(fi_cq_err_entry, err, KIND_ERR),
	FIELD(fi_cq_err_entry, prov_errno, KIND_INT),
	FIELD(fi_cq_err_entry, err_data, KIND_PTR),
	FIELD(fi_cq_err_entry, err_data_size, KIND_U64),
};

static const struct shape info_shape = SHAPE("fi_info", info_fields);
/* These have grown since their fi_type exists: shown is what the oldest caller's structure has. */
static const struct shape av_shape = SHAPE("fi_av_attr", av_fields);
static const struct shape cq_shape = SHAPE("fi_cq_attr", cq_fields);
static const struct shape mr_shape = SHAPE("fi_mr_attr", mr_fields);
static const struct shape cntr_shape = SHAPE("fi_cntr_attr", cntr_fields);
static const struct shape cq_err_shape = SHAPE("fi_cq_err_entry", cq_err_fields);

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

/* Any of the widths a field may have. */
union value {
	int i;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	void *ptr;
	char *str;
};

static void print_number(struct ofi_text *text, enum kind kind, const union value *v)
{
	switch (kind) {
	case KIND_INT:
		ofi_text_printf(text, "%d", v->i);
		break;
	case KIND_U32:
		ofi_text_printf(text, "%" PRIu32, v->u32);
		break;
	case KIND_U64:
		ofi_text_printf(text, "%" PRIu64, v->u64);
		break;
	case KIND_HEX8:
		ofi_text_printf(text, "0x%x", v->u8);
		break;
	case KIND_HEX16:
		ofi_text_printf(text, "0x%x", v->u16);
		break;
	case KIND_HEX32:
		ofi_text_printf(text, "0x%" PRIx32, v->u32);
		break;
	case KIND_HEX64:
		ofi_text_printf(text, "0x%" PRIx64, v->u64);
		break;
	case KIND_VERSION:
		ofi_text_printf(text, "%u.%u", FI_MAJOR(v->u32), FI_MINOR(v->u32));
		break;
	default:
		ofi_text_printf(text, "%d (%s)", v->i, fi_strerror(v->i));
	}
}

static size_t width(enum kind kind)
{
	switch (kind) {
	case KIND_HEX8:
		return sizeof(uint8_t);
	case KIND_HEX16:
		return sizeof(uint16_t);
	case KIND_INT:
	case KIND_U32:
	case KIND_HEX32:
	case KIND_VERSION:
	case KIND_ERR:
	case KIND_FLAGS32:
	case KIND_ENUM:
		return sizeof(uint32_t);
	default:
		return sizeof(uint64_t);
	}
}

static void print_value(struct ofi_text *text, const struct field *field, const void *data)
{
	union value v = { .u64 = 0 };
	size_t len = 0;

	memcpy(&v, (const char *)data + field->offset, width(field->kind));
	if (field->len_offset)
		memcpy(&len, (const char *)data + field->len_offset, sizeof(len));
	switch (field->kind) {
	case KIND_PTR:
		ofi_text_printf(text, "%p", v.ptr);
		break;
	case KIND_STR:
		ofi_text_printf(text, "%s", v.str ? v.str : "(null)");
		break;
	case KIND_FLAGS32:
	case KIND_FLAGS64:
		ofi_text_printf(text, "[ ");
		ofi_names_flags(text, field->names, field->kind == KIND_FLAGS32 ? v.u32 : v.u64);
		ofi_text_printf(text, " ]");
		break;
	case KIND_ENUM:
		ofi_names_enum(text, field->names, v.u32);
		break;
	case KIND_ADDR:
		print_addr(text, data, v.ptr, len);
		break;
	case KIND_KEY:
		print_key(text, v.ptr, len);
		break;
	default:
		print_number(text, field->kind, &v);
	}
}

static const void *nested(const struct field *field, const void *data)
{
	const void *at = (const char *)data + field->offset;

	return field->kind == KIND_STRUCT ? *(const void *const *)at : at;
}

static void print_shape(struct ofi_text *text, const struct shape *shape, const void *data,
			int indent)
{
	const struct field *field;
	size_t i;

	if (!data) {
		ofi_text_printf(text, "%*s%s: (null)\n", indent, "", shape->name);
		return;
	}
	ofi_text_printf(text, "%*s%s:\n", indent, "", shape->name);
	indent += INDENT;
	for (i = 0; i < shape->count; i++) {
		field = &shape->fields[i];
		if (field->shape) {
			print_shape(text, field->shape, nested(field, data), indent);
			continue;
		}
		ofi_text_printf(text, "%*s%s: ", indent, "", field->name);
		print_value(text, field, data);
		ofi_text_printf(text, "\n");
	}
}

static void print_fid(struct ofi_text *text, const struct fid *fid)
{
	if (fid->ops && FI_CHECK_OP(fid->ops, struct fi_ops, tostr)) {
		fid->ops->tostr(fid, text->buf, text->len);
		text->buf[text->len - 1] = '\0';
		return;
	}
	ofi_text_printf(text, "fid: { fclass: ");
	ofi_names_enum(text, OFI_NAMES_CLASS, fid->fclass);
	ofi_text_printf(text, ", context: %p }", fid->context);
}

/* How each fi_type is printed: a structure, or the names of a value of so many bytes. */
static const struct {
	const struct shape *shape;
	enum ofi_names_id names;
	size_t size;
} types[] = {
	[FI_TYPE_INFO] = { .shape = &info_shape },
	[FI_TYPE_EP_TYPE] = { NULL, OFI_NAMES_EP_TYPE, 4 },
	[FI_TYPE_CAPS] = { NULL, OFI_NAMES_CAPS, 8 },
	[FI_TYPE_OP_FLAGS] = { NULL, OFI_NAMES_OP_FLAGS, 8 },
	[FI_TYPE_ADDR_FORMAT] = { NULL, OFI_NAMES_ADDR_FORMAT, 4 },
	[FI_TYPE_TX_ATTR] = { .shape = &tx_shape },
	[FI_TYPE_RX_ATTR] = { .shape = &rx_shape },
	[FI_TYPE_EP_ATTR] = { .shape = &ep_shape },
	[FI_TYPE_DOMAIN_ATTR] = { .shape = &domain_shape },
	[FI_TYPE_FABRIC_ATTR] = { .shape = &fabric_shape },
	[FI_TYPE_THREADING] = { NULL, OFI_NAMES_THREADING, 4 },
	[FI_TYPE_PROGRESS] = { NULL, OFI_NAMES_PROGRESS, 4 },
	[FI_TYPE_PROTOCOL] = { NULL, OFI_NAMES_PROTOCOL, 4 },
	[FI_TYPE_MSG_ORDER] = { NULL, OFI_NAMES_ORDER, 8 },
	[FI_TYPE_MODE] = { NULL, OFI_NAMES_MODE, 8 },
	[FI_TYPE_AV_TYPE] = { NULL, OFI_NAMES_AV_TYPE, 4 },
	[FI_TYPE_ATOMIC_TYPE] = { NULL, OFI_NAMES_DATATYPE, 4 },
	[FI_TYPE_ATOMIC_OP] = { NULL, OFI_NAMES_OP, 4 },
	[FI_TYPE_EQ_EVENT] = { NULL, OFI_NAMES_EQ_EVENT, 4 },
	[FI_TYPE_CQ_EVENT_FLAGS] = { NULL, OFI_NAMES_CQ_FLAGS, 8 },
	[FI_TYPE_MR_MODE] = { NULL, OFI_NAMES_MR_MODE, 4 },
	[FI_TYPE_OP_TYPE] = { NULL, OFI_NAMES_OP_TYPE, 4 },
	[FI_TYPE_COLLECTIVE_OP] = { NULL, OFI_NAMES_COLLECTIVE, 4 },
	[FI_TYPE_HMEM_IFACE] = { NULL, OFI_NAMES_HMEM, 4 },
	[FI_TYPE_CQ_FORMAT] = { NULL, OFI_NAMES_CQ_FORMAT, 4 },
	[FI_TYPE_LOG_LEVEL] = { NULL, OFI_NAMES_LOG_LEVEL, 4 },
	[FI_TYPE_LOG_SUBSYS] = { NULL, OFI_NAMES_LOG_SUBSYS, 4 },
	[FI_TYPE_AV_ATTR] = { .shape = &av_shape },
	[FI_TYPE_CQ_ATTR] = { .shape = &cq_shape },
	[FI_TYPE_MR_ATTR] = { .shape = &mr_shape },
	[FI_TYPE_CNTR_ATTR] = { .shape = &cntr_shape },
	[FI_TYPE_CQ_ERR_ENTRY] = { .shape = &cq_err_shape },
	[FI_TYPE_CQ_WAIT_COND] = { NULL, OFI_NAMES_CQ_COND, 4 },
	[FI_TYPE_WAIT_OBJ] = { NULL, OFI_NAMES_WAIT_OBJ, 4 },
};

static void print(struct ofi_text *text, const void *data, enum fi_type type)
{
	union value v = { .u64 = 0 };
	enum ofi_names_id names;

	if (type == FI_TYPE_VERSION) {
		ofi_text_printf(text, "%u.%u", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	} else if (!data) {
		ofi_text_printf(text, "(null)");
	} else if (type == FI_TYPE_FID) {
		print_fid(text, data);
	} else if ((unsigned)type >= sizeof(types) / sizeof(types[0])) {
		ofi_text_printf(text, "unknown fi_type %d", (int)type);
	} else if (types[type].shape) {
		print_shape(text, types[type].shape, data, 0);
	} else {
		names = types[type].names;
		memcpy(&v, data, types[type].size);
		if (ofi_names_is_flags(names))
			ofi_names_flags(text, names, types[type].size == 4 ? v.u32 : v.u64);
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
	print(&text, data, datatype);
	return buf;
}

OFI_EXPORT char *fi_tostr(const void *data, enum fi_type datatype)
{
	static _Thread_local char buf[TOSTR_LEN];

	return fi_tostr_r(buf, sizeof(buf), data, datatype);
}
