/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_info structures, providers and parameters as JSON. */
#include "info_json.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "info_text.h"

#define TEXT_LEN 2048

static void write_type(struct json *json, const char *key, const void *data, enum fi_type type)
{
	char text[TEXT_LEN];

	json_string(json, key, fi_tostr_r(text, sizeof(text), data, type));
}

/* Writes flags as an array of names. */
static void write_flags(struct json *json, const char *key, const void *data, enum fi_type type)
{
	char text[TEXT_LEN] = "";
	char *next, *name;

	fi_tostr_r(text, sizeof(text), data, type);
	json_array(json, key);
	for (name = strtok_r(text, ", ", &next); name; name = strtok_r(NULL, ", ", &next))
		json_string(json, NULL, name);
	json_array_end(json);
}

static void write_comp_order(struct json *json, uint64_t order)
{
	if (order == FI_ORDER_NONE || order == FI_ORDER_STRICT) {
		json_array(json, "comp_order");
		json_string(json, NULL,
			    order == FI_ORDER_NONE ? "FI_ORDER_NONE" : "FI_ORDER_STRICT");
		json_array_end(json);
	} else {
		write_flags(json, "comp_order", &order, FI_TYPE_MSG_ORDER);
	}
}

static void write_version(struct json *json, const char *key, uint32_t version)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.%d", FI_MAJOR(version), FI_MINOR(version));
	json_string(json, key, text);
}

/* The library prints addresses only as lines of a whole fi_info. */
static void write_address(struct json *json, const char *key, const char *lines, const void *addr)
{
	char title[32];
	char text[256];
	const char *line;

	snprintf(title, sizeof(title), "    %s: ", key);
	line = addr && lines ? strstr(lines, title) : NULL;
	if (!line) {
		json_string(json, key, NULL);
		return;
	}
	line += strlen(title);
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "\n"), line);
	json_string(json, key, text);
}

static void write_tx_attr(struct json *json, const struct fi_tx_attr *attr)
{
	json_object(json, "tx_attr");
	write_flags(json, "caps", &attr->caps, FI_TYPE_CAPS);
	write_flags(json, "mode", &attr->mode, FI_TYPE_MODE);
	write_flags(json, "op_flags", &attr->op_flags, FI_TYPE_OP_FLAGS);
	write_flags(json, "msg_order", &attr->msg_order, FI_TYPE_MSG_ORDER);
	write_comp_order(json, attr->comp_order);
	json_uint(json, "inject_size", attr->inject_size);
	json_uint(json, "size", attr->size);
	json_uint(json, "iov_limit", attr->iov_limit);
	json_uint(json, "rma_iov_limit", attr->rma_iov_limit);
	json_uint(json, "tclass", attr->tclass);
	json_object_end(json);
}

static void write_rx_attr(struct json *json, const struct fi_rx_attr *attr)
{
	json_object(json, "rx_attr");
	write_flags(json, "caps", &attr->caps, FI_TYPE_CAPS);
	write_flags(json, "mode", &attr->mode, FI_TYPE_MODE);
	write_flags(json, "op_flags", &attr->op_flags, FI_TYPE_OP_FLAGS);
	write_flags(json, "msg_order", &attr->msg_order, FI_TYPE_MSG_ORDER);
	write_comp_order(json, attr->comp_order);
	json_uint(json, "total_buffered_recv", attr->total_buffered_recv);
	json_uint(json, "size", attr->size);
	json_uint(json, "iov_limit", attr->iov_limit);
	json_object_end(json);
}

static void write_ep_attr(struct json *json, const struct fi_ep_attr *attr)
{
	json_object(json, "ep_attr");
	write_type(json, "type", &attr->type, FI_TYPE_EP_TYPE);
	write_type(json, "protocol", &attr->protocol, FI_TYPE_PROTOCOL);
	json_uint(json, "protocol_version", attr->protocol_version);
	json_uint(json, "max_msg_size", attr->max_msg_size);
	json_uint(json, "msg_prefix_size", attr->msg_prefix_size);
	json_uint(json, "max_order_raw_size", attr->max_order_raw_size);
	json_uint(json, "max_order_war_size", attr->max_order_war_size);
	json_uint(json, "max_order_waw_size", attr->max_order_waw_size);
	json_uint(json, "mem_tag_format", attr->mem_tag_format);
	json_uint(json, "tx_ctx_cnt", attr->tx_ctx_cnt);
	json_uint(json, "rx_ctx_cnt", attr->rx_ctx_cnt);
	json_uint(json, "auth_key_size", attr->auth_key_size);
	json_object_end(json);
}

static void write_domain_limits(struct json *json, const struct fi_domain_attr *attr)
{
	json_uint(json, "mr_key_size", attr->mr_key_size);
	json_uint(json, "cq_data_size", attr->cq_data_size);
	json_uint(json, "cq_cnt", attr->cq_cnt);
	json_uint(json, "ep_cnt", attr->ep_cnt);
	json_uint(json, "tx_ctx_cnt", attr->tx_ctx_cnt);
	json_uint(json, "rx_ctx_cnt", attr->rx_ctx_cnt);
	json_uint(json, "max_ep_tx_ctx", attr->max_ep_tx_ctx);
	json_uint(json, "max_ep_rx_ctx", attr->max_ep_rx_ctx);
	json_uint(json, "max_ep_stx_ctx", attr->max_ep_stx_ctx);
	json_uint(json, "max_ep_srx_ctx", attr->max_ep_srx_ctx);
	json_uint(json, "cntr_cnt", attr->cntr_cnt);
	json_uint(json, "mr_iov_limit", attr->mr_iov_limit);
	json_uint(json, "auth_key_size", attr->auth_key_size);
	json_uint(json, "max_err_data", attr->max_err_data);
	json_uint(json, "mr_cnt", attr->mr_cnt);
	json_uint(json, "tclass", attr->tclass);
	/* An older library's structure ends here. */
	if (FI_VERSION_LT(fi_version(), FI_VERSION(2, 6)))
		return;
	json_uint(json, "max_ep_auth_key", attr->max_ep_auth_key);
	json_uint(json, "max_group_id", attr->max_group_id);
	json_uint(json, "max_cntr_value", attr->max_cntr_value);
	json_uint(json, "max_err_cntr_value", attr->max_err_cntr_value);
}

static void write_domain_attr(struct json *json, const struct fi_domain_attr *attr)
{
	static const char *const resource_mgmt[] = { "FI_RM_UNSPEC", "FI_RM_DISABLED",
						     "FI_RM_ENABLED" };
	unsigned int rm = (unsigned int)attr->resource_mgmt;

	json_object(json, "domain_attr");
	json_string(json, "name", attr->name);
	write_flags(json, "caps", &attr->caps, FI_TYPE_CAPS);
	write_flags(json, "mode", &attr->mode, FI_TYPE_MODE);
	write_flags(json, "mr_mode", &attr->mr_mode, FI_TYPE_MR_MODE);
	write_type(json, "threading", &attr->threading, FI_TYPE_THREADING);
	write_type(json, "control_progress", &attr->control_progress, FI_TYPE_PROGRESS);
	write_type(json, "data_progress", &attr->data_progress, FI_TYPE_PROGRESS);
	json_string(json, "resource_mgmt",
		    rm < sizeof(resource_mgmt) / sizeof(resource_mgmt[0]) ? resource_mgmt[rm]
									  : NULL);
	write_type(json, "av_type", &attr->av_type, FI_TYPE_AV_TYPE);
	write_domain_limits(json, attr);
	json_object_end(json);
}

static void write_fabric_attr(struct json *json, const struct fi_fabric_attr *attr)
{
	json_object(json, "fabric_attr");
	json_string(json, "name", attr->name);
	json_string(json, "prov_name", attr->prov_name);
	write_version(json, "prov_version", attr->prov_version);
	write_version(json, "api_version", attr->api_version);
	json_object_end(json);
}

static void write_device(struct json *json, const struct fi_device_attr *attr)
{
	json_object(json, "device_attr");
	json_string(json, "name", attr->name);
	json_string(json, "device_id", attr->device_id);
	json_string(json, "device_version", attr->device_version);
	json_string(json, "vendor_id", attr->vendor_id);
	json_string(json, "driver", attr->driver);
	json_string(json, "firmware", attr->firmware);
	json_object_end(json);
}

static void write_bus(struct json *json, const struct fi_bus_attr *attr)
{
	char address[32];

	json_object(json, "bus_attr");
	json_string(json, "type", attr->bus_type == FI_BUS_PCI ? "FI_BUS_PCI" : "FI_BUS_UNKNOWN");
	if (attr->bus_type == FI_BUS_PCI) {
		snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", attr->attr.pci.domain_id,
			 attr->attr.pci.bus_id, attr->attr.pci.device_id,
			 attr->attr.pci.function_id);
		json_string(json, "address", address);
	}
	json_object_end(json);
}

static const char *link_state(enum fi_link_state state)
{
	switch (state) {
	case FI_LINK_UP:
		return "FI_LINK_UP";
	case FI_LINK_DOWN:
		return "FI_LINK_DOWN";
	default:
		return "FI_LINK_UNKNOWN";
	}
}

static void write_link(struct json *json, const struct fi_link_attr *attr)
{
	json_object(json, "link_attr");
	json_string(json, "address", attr->address);
	json_uint(json, "mtu", attr->mtu);
	json_uint(json, "speed", attr->speed);
	json_string(json, "state", link_state(attr->state));
	json_string(json, "network_type", attr->network_type);
	json_object_end(json);
}

static void write_nic(struct json *json, const struct fid_nic *nic)
{
	if (!nic) {
		json_string(json, "nic", NULL);
		return;
	}
	json_object(json, "nic");
	if (nic->device_attr)
		write_device(json, nic->device_attr);
	if (nic->bus_attr)
		write_bus(json, nic->bus_attr);
	if (nic->link_attr)
		write_link(json, nic->link_attr);
	json_object_end(json);
}

static void write_info(struct json *json, const struct fi_info *info)
{
	char *lines = strdup(fi_tostr(info, FI_TYPE_INFO));

	json_object(json, NULL);
	json_string(json, "provider", info->fabric_attr->prov_name);
	json_string(json, "fabric", info->fabric_attr->name);
	json_string(json, "domain", info->domain_attr->name);
	write_version(json, "version", info->fabric_attr->prov_version);
	write_type(json, "type", &info->ep_attr->type, FI_TYPE_EP_TYPE);
	write_type(json, "protocol", &info->ep_attr->protocol, FI_TYPE_PROTOCOL);
	write_flags(json, "caps", &info->caps, FI_TYPE_CAPS);
	write_flags(json, "mode", &info->mode, FI_TYPE_MODE);
	write_type(json, "addr_format", &info->addr_format, FI_TYPE_ADDR_FORMAT);
	write_address(json, "src_addr", lines, info->src_addr);
	write_address(json, "dest_addr", lines, info->dest_addr);
	write_tx_attr(json, info->tx_attr);
	write_rx_attr(json, info->rx_attr);
	write_ep_attr(json, info->ep_attr);
	write_domain_attr(json, info->domain_attr);
	write_fabric_attr(json, info->fabric_attr);
	write_nic(json, info->nic);
	json_object_end(json);
	free(lines);
}

void info_json_query(struct json *json, const struct info_options *opts, const struct fi_info *list)
{
	const struct fi_info *info;

	json_array(json, "info");
	for (info = list; info; info = info->next) {
		if (info_selected(opts, info))
			write_info(json, info);
	}
	json_array_end(json);
}

void info_json_providers(struct json *json, const struct fi_info *list)
{
	const struct fi_info *info;

	json_array(json, "providers");
	for (info = list; info; info = info->next) {
		json_object(json, NULL);
		json_string(json, "provider", info->fabric_attr->prov_name);
		write_version(json, "version", info->fabric_attr->prov_version);
		json_object_end(json);
	}
	json_array_end(json);
}

void info_json_params(struct json *json, const struct info_options *opts,
		      const struct fi_param *params, int count)
{
	const struct fi_param *param;

	json_array(json, "env");
	for (param = params; param < params + count; param++) {
		if (!info_param_selected(opts, param))
			continue;
		json_object(json, NULL);
		json_string(json, "name", param->name);
		json_string(json, "type", info_param_type(param->type));
		json_string(json, "help", param->help_string);
		json_string(json, "value", info_param_shown(param));
		json_string(json, "origin", info_param_origin(param));
		json_object_end(json);
	}
	json_array_end(json);
}

void info_json_version(struct json *json)
{
	json_object(json, NULL);
	json_string(json, "fi_info", info_tool_version());
	json_string(json, "libfabric", fi_tostr("", FI_TYPE_VERSION));
	write_version(json, "api", FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION));
	json_object_end(json);
}

void info_json_error(struct json *json, int ret)
{
	json_object(json, "error");
	json_int(json, "code", ret);
	json_string(json, "text", fi_strerror(-ret));
	json_object_end(json);
}
