/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of the structures' fields, in the order in which they are printed. */
#include "shape.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#define FIELD(type, name, kind)                                      \
	{                                                            \
#name, kind, offsetof(struct type, name), 0, NULL, 0 \
	}
#define FLAGS(type, name, id)                                                     \
	{                                                                         \
#name, OFI_KIND_FLAGS64, offsetof(struct type, name), id, NULL, 0 \
	}
#define ENUM(type, name, id)                                                   \
	{                                                                      \
#name, OFI_KIND_ENUM, offsetof(struct type, name), id, NULL, 0 \
	}
#define STRUCT(type, name, shape)                                                \
	{                                                                        \
#name, OFI_KIND_STRUCT, offsetof(struct type, name), 0, shape, 0 \
	}
#define BYTES(type, name, kind, len)                                                          \
	{                                                                                     \
#name, kind, offsetof(struct type, name), 0, NULL, offsetof(struct type, len) \
	}
#define SHAPE_BODY(name_, fields_)                                                             \
	.name = (name_), .fields = (fields_), .count = sizeof(fields_) / sizeof((fields_)[0]), \
	.none = "(null)"
#define SHAPE(name, fields)              \
	{                                \
		SHAPE_BODY(name, fields) \
	}
#define SHAPE_THAT_GREW(name, fields, part_)                            \
	{                                                               \
		SHAPE_BODY(name, fields), .grew = true, .part = (part_) \
	}

static const struct ofi_field tx_fields[] = {
	FLAGS(fi_tx_attr, caps, OFI_NAMES_CAPS),
	FLAGS(fi_tx_attr, mode, OFI_NAMES_MODE),
	FLAGS(fi_tx_attr, op_flags, OFI_NAMES_OP_FLAGS),
	FLAGS(fi_tx_attr, msg_order, OFI_NAMES_ORDER),
	FLAGS(fi_tx_attr, comp_order, OFI_NAMES_COMP_ORDER),
	FIELD(fi_tx_attr, inject_size, OFI_KIND_U64),
	FIELD(fi_tx_attr, size, OFI_KIND_U64),
	FIELD(fi_tx_attr, iov_limit, OFI_KIND_U64),
	FIELD(fi_tx_attr, rma_iov_limit, OFI_KIND_U64),
	FIELD(fi_tx_attr, tclass, OFI_KIND_HEX32),
};

static const struct ofi_field rx_fields[] = {
	FLAGS(fi_rx_attr, caps, OFI_NAMES_CAPS),
	FLAGS(fi_rx_attr, mode, OFI_NAMES_MODE),
	FLAGS(fi_rx_attr, op_flags, OFI_NAMES_OP_FLAGS),
	FLAGS(fi_rx_attr, msg_order, OFI_NAMES_ORDER),
	FLAGS(fi_rx_attr, comp_order, OFI_NAMES_COMP_ORDER),
	FIELD(fi_rx_attr, total_buffered_recv, OFI_KIND_U64),
	FIELD(fi_rx_attr, size, OFI_KIND_U64),
	FIELD(fi_rx_attr, iov_limit, OFI_KIND_U64),
};

static const struct ofi_field ep_fields[] = {
	ENUM(fi_ep_attr, type, OFI_NAMES_EP_TYPE),
	ENUM(fi_ep_attr, protocol, OFI_NAMES_PROTOCOL),
	FIELD(fi_ep_attr, protocol_version, OFI_KIND_U32),
	FIELD(fi_ep_attr, max_msg_size, OFI_KIND_U64),
	FIELD(fi_ep_attr, msg_prefix_size, OFI_KIND_U64),
	FIELD(fi_ep_attr, max_order_raw_size, OFI_KIND_U64),
	FIELD(fi_ep_attr, max_order_war_size, OFI_KIND_U64),
	FIELD(fi_ep_attr, max_order_waw_size, OFI_KIND_U64),
	FIELD(fi_ep_attr, mem_tag_format, OFI_KIND_TAG),
	FIELD(fi_ep_attr, tx_ctx_cnt, OFI_KIND_CONTEXTS),
	FIELD(fi_ep_attr, rx_ctx_cnt, OFI_KIND_CONTEXTS),
	FIELD(fi_ep_attr, auth_key_size, OFI_KIND_U64),
	BYTES(fi_ep_attr, auth_key, OFI_KIND_KEY, auth_key_size),
	FIELD(fi_ep_attr, xpu_ctx, OFI_KIND_PTR_SET),
};

static const struct ofi_field domain_fields[] = {
	FIELD(fi_domain_attr, domain, OFI_KIND_HEX64),
	FIELD(fi_domain_attr, name, OFI_KIND_STR),
	ENUM(fi_domain_attr, threading, OFI_NAMES_THREADING),
	ENUM(fi_domain_attr, control_progress, OFI_NAMES_PROGRESS),
	ENUM(fi_domain_attr, data_progress, OFI_NAMES_PROGRESS),
	ENUM(fi_domain_attr, resource_mgmt, OFI_NAMES_RM),
	ENUM(fi_domain_attr, av_type, OFI_NAMES_AV_TYPE),
	{ "mr_mode", OFI_KIND_FLAGS32, offsetof(struct fi_domain_attr, mr_mode), OFI_NAMES_MR_MODE,
	  NULL, 0 },
	FIELD(fi_domain_attr, mr_key_size, OFI_KIND_U64),
	FIELD(fi_domain_attr, cq_data_size, OFI_KIND_U64),
	FIELD(fi_domain_attr, cq_cnt, OFI_KIND_U64),
	FIELD(fi_domain_attr, ep_cnt, OFI_KIND_U64),
	FIELD(fi_domain_attr, tx_ctx_cnt, OFI_KIND_U64),
	FIELD(fi_domain_attr, rx_ctx_cnt, OFI_KIND_U64),
	FIELD(fi_domain_attr, max_ep_tx_ctx, OFI_KIND_U64),
	FIELD(fi_domain_attr, max_ep_rx_ctx, OFI_KIND_U64),
	FIELD(fi_domain_attr, max_ep_stx_ctx, OFI_KIND_U64),
	FIELD(fi_domain_attr, max_ep_srx_ctx, OFI_KIND_U64),
	FIELD(fi_domain_attr, cntr_cnt, OFI_KIND_U64),
	FIELD(fi_domain_attr, mr_iov_limit, OFI_KIND_U64),
	FLAGS(fi_domain_attr, caps, OFI_NAMES_CAPS),
	FLAGS(fi_domain_attr, mode, OFI_NAMES_MODE),
	BYTES(fi_domain_attr, auth_key, OFI_KIND_KEY, auth_key_size),
	FIELD(fi_domain_attr, auth_key_size, OFI_KIND_U64),
	FIELD(fi_domain_attr, max_err_data, OFI_KIND_U64),
	FIELD(fi_domain_attr, mr_cnt, OFI_KIND_U64),
	FIELD(fi_domain_attr, tclass, OFI_KIND_HEX32),
	FIELD(fi_domain_attr, max_ep_auth_key, OFI_KIND_U64),
	FIELD(fi_domain_attr, max_group_id, OFI_KIND_U32),
	FIELD(fi_domain_attr, max_cntr_value, OFI_KIND_U64),
	FIELD(fi_domain_attr, max_err_cntr_value, OFI_KIND_U64),
	FIELD(fi_domain_attr, max_xpu_ctx_cnt, OFI_KIND_U64),
};

static const struct ofi_field fabric_fields[] = {
	FIELD(fi_fabric_attr, fabric, OFI_KIND_PTR_SET),
	FIELD(fi_fabric_attr, name, OFI_KIND_STR),
	FIELD(fi_fabric_attr, prov_name, OFI_KIND_STR),
	FIELD(fi_fabric_attr, prov_version, OFI_KIND_VERSION),
	FIELD(fi_fabric_attr, api_version, OFI_KIND_VERSION),
};

static const struct ofi_field device_fields[] = {
	FIELD(fi_device_attr, name, OFI_KIND_STR),
	FIELD(fi_device_attr, device_id, OFI_KIND_STR),
	FIELD(fi_device_attr, device_version, OFI_KIND_STR),
	FIELD(fi_device_attr, vendor_id, OFI_KIND_STR),
	FIELD(fi_device_attr, driver, OFI_KIND_STR),
	FIELD(fi_device_attr, firmware, OFI_KIND_STR),
};

static const struct ofi_field pci_fields[] = {
	FIELD(fi_pci_attr, domain_id, OFI_KIND_HEX16),
	FIELD(fi_pci_attr, bus_id, OFI_KIND_HEX8),
	FIELD(fi_pci_attr, device_id, OFI_KIND_HEX8),
	FIELD(fi_pci_attr, function_id, OFI_KIND_HEX8),
};

static const struct ofi_shape pci_shape = SHAPE("fi_pci_attr", pci_fields);

static const struct ofi_field bus_fields[] = {
	ENUM(fi_bus_attr, bus_type, OFI_NAMES_BUS),
	{ "fi_pci_attr", OFI_KIND_PCI, offsetof(struct fi_bus_attr, attr.pci), 0, &pci_shape, 0 },
};

static const struct ofi_field link_fields[] = {
	FIELD(fi_link_attr, address, OFI_KIND_STR),	 FIELD(fi_link_attr, mtu, OFI_KIND_U64),
	FIELD(fi_link_attr, speed, OFI_KIND_U64),	 ENUM(fi_link_attr, state, OFI_NAMES_LINK),
	FIELD(fi_link_attr, network_type, OFI_KIND_STR),
};

static const struct ofi_shape device_shape = SHAPE("fi_device_attr", device_fields);
static const struct ofi_shape bus_shape = SHAPE("fi_bus_attr", bus_fields);
static const struct ofi_shape link_shape = SHAPE("fi_link_attr", link_fields);

static const struct ofi_field nic_fields[] = {
	STRUCT(fid_nic, device_attr, &device_shape),
	STRUCT(fid_nic, bus_attr, &bus_shape),
	STRUCT(fid_nic, link_attr, &link_shape),
	FIELD(fid_nic, prov_attr, OFI_KIND_PTR_SET),
};

static const struct ofi_shape tx_shape = SHAPE_THAT_GREW("fi_tx_attr", tx_fields, OFI_ABI_TX);
static const struct ofi_shape rx_shape = SHAPE_THAT_GREW("fi_rx_attr", rx_fields, OFI_ABI_RX);
static const struct ofi_shape ep_shape = SHAPE_THAT_GREW("fi_ep_attr", ep_fields, OFI_ABI_EP);
static const struct ofi_shape domain_shape =
	SHAPE_THAT_GREW("fi_domain_attr", domain_fields, OFI_ABI_DOMAIN);
static const struct ofi_shape fabric_shape =
	SHAPE_THAT_GREW("fi_fabric_attr", fabric_fields, OFI_ABI_FABRIC);
static const struct ofi_shape nic_shape = {
	.name = "nic",
	.fields = nic_fields,
	.count = sizeof(nic_fields) / sizeof(nic_fields[0]),
	.none = "(nil)",
};

static const struct ofi_field info_fields[] = {
	FLAGS(fi_info, caps, OFI_NAMES_CAPS),
	FLAGS(fi_info, mode, OFI_NAMES_MODE),
	ENUM(fi_info, addr_format, OFI_NAMES_ADDR_FORMAT),
	FIELD(fi_info, src_addrlen, OFI_KIND_U64),
	FIELD(fi_info, dest_addrlen, OFI_KIND_U64),
	BYTES(fi_info, src_addr, OFI_KIND_ADDR, src_addrlen),
	BYTES(fi_info, dest_addr, OFI_KIND_ADDR, dest_addrlen),
	FIELD(fi_info, handle, OFI_KIND_PTR),
	STRUCT(fi_info, tx_attr, &tx_shape),
	STRUCT(fi_info, rx_attr, &rx_shape),
	STRUCT(fi_info, ep_attr, &ep_shape),
	STRUCT(fi_info, domain_attr, &domain_shape),
	STRUCT(fi_info, fabric_attr, &fabric_shape),
	STRUCT(fi_info, nic, &nic_shape),
};

static const struct ofi_field av_fields[] = {
	ENUM(fi_av_attr, type, OFI_NAMES_AV_TYPE),    FIELD(fi_av_attr, rx_ctx_bits, OFI_KIND_INT),
	FIELD(fi_av_attr, count, OFI_KIND_U64),	      FIELD(fi_av_attr, ep_per_node, OFI_KIND_U64),
	FIELD(fi_av_attr, name, OFI_KIND_STR),	      FIELD(fi_av_attr, map_addr, OFI_KIND_PTR),
	FLAGS(fi_av_attr, flags, OFI_NAMES_AV_FLAGS),
};

static const struct ofi_field cq_fields[] = {
	FIELD(fi_cq_attr, size, OFI_KIND_U64),
	FLAGS(fi_cq_attr, flags, OFI_NAMES_OP_FLAGS),
	ENUM(fi_cq_attr, format, OFI_NAMES_CQ_FORMAT),
	ENUM(fi_cq_attr, wait_obj, OFI_NAMES_WAIT_OBJ),
	FIELD(fi_cq_attr, signaling_vector, OFI_KIND_INT),
	ENUM(fi_cq_attr, wait_cond, OFI_NAMES_CQ_COND),
	FIELD(fi_cq_attr, wait_set, OFI_KIND_PTR),
};

static const struct ofi_field mr_fields[] = {
	FIELD(fi_mr_attr, mr_iov, OFI_KIND_PTR),
	FIELD(fi_mr_attr, iov_count, OFI_KIND_U64),
	FLAGS(fi_mr_attr, access, OFI_NAMES_CAPS),
	FIELD(fi_mr_attr, offset, OFI_KIND_HEX64),
	FIELD(fi_mr_attr, requested_key, OFI_KIND_HEX64),
	FIELD(fi_mr_attr, context, OFI_KIND_PTR),
	FIELD(fi_mr_attr, auth_key_size, OFI_KIND_U64),
	BYTES(fi_mr_attr, auth_key, OFI_KIND_KEY, auth_key_size),
	ENUM(fi_mr_attr, iface, OFI_NAMES_HMEM),
	{ "device", OFI_KIND_HEX64, offsetof(struct fi_mr_attr, device), 0, NULL, 0 },
};

static const struct ofi_field cntr_fields[] = {
	ENUM(fi_cntr_attr, events, OFI_NAMES_CNTR_EVENTS),
	ENUM(fi_cntr_attr, wait_obj, OFI_NAMES_WAIT_OBJ),
	FIELD(fi_cntr_attr, wait_set, OFI_KIND_PTR),
	FLAGS(fi_cntr_attr, flags, OFI_NAMES_OP_FLAGS),
};

static const struct ofi_field cq_err_fields[] = {
	FIELD(fi_cq_err_entry, op_context, OFI_KIND_PTR),
	FLAGS(fi_cq_err_entry, flags, OFI_NAMES_CQ_FLAGS),
	FIELD(fi_cq_err_entry, len, OFI_KIND_U64),
	FIELD(fi_cq_err_entry, buf, OFI_KIND_PTR),
	FIELD(fi_cq_err_entry, data, OFI_KIND_HEX64),
	FIELD(fi_cq_err_entry, tag, OFI_KIND_HEX64),
	FIELD(fi_cq_err_entry, olen, OFI_KIND_U64),
	FIELD(fi_cq_err_entry, err, OFI_KIND_ERR),
	FIELD(fi_cq_err_entry, prov_errno, OFI_KIND_INT),
	FIELD(fi_cq_err_entry, err_data, OFI_KIND_PTR),
	FIELD(fi_cq_err_entry, err_data_size, OFI_KIND_U64),
};

static const struct ofi_shape info_shape = SHAPE_THAT_GREW("fi_info", info_fields, OFI_ABI_INFO);
/*
 * These structures have grown since they got an fi_type, so only the fields of the oldest version
 * are printed.
 */
static const struct ofi_shape av_shape = SHAPE("fi_av_attr", av_fields);
static const struct ofi_shape cq_shape = SHAPE("fi_cq_attr", cq_fields);
static const struct ofi_shape mr_shape = SHAPE("fi_mr_attr", mr_fields);
static const struct ofi_shape cntr_shape = SHAPE("fi_cntr_attr", cntr_fields);
static const struct ofi_shape cq_err_shape = SHAPE("fi_cq_err_entry", cq_err_fields);

const struct ofi_type ofi_types[] = {
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

const size_t ofi_type_count = sizeof(ofi_types) / sizeof(ofi_types[0]);
