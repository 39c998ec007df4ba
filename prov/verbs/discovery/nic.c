/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creates, copies and frees struct fid_nic. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/ops.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"
#include "info.h"

struct nic {
	struct fid_nic fid;
	struct fi_device_attr device;
	struct fi_bus_attr bus;
	struct fi_link_attr link;
};

/* Returns the address of the i-th string, or NULL after the last one. */
static char **nic_text(struct nic *nic, unsigned i)
{
	char **const list[] = {
		&nic->device.name,	&nic->device.device_id,	 &nic->device.device_version,
		&nic->device.vendor_id, &nic->device.driver,	 &nic->device.firmware,
		&nic->link.address,	&nic->link.network_type,
	};

	return i < sizeof(list) / sizeof(list[0]) ? list[i] : NULL;
}

static int nic_close(struct fid *fid)
{
	struct nic *nic = (struct nic *)fid;
	unsigned i;

	for (i = 0; nic_text(nic, i); i++)
		free(*nic_text(nic, i));
	free(nic);
	return 0;
}

static int nic_control(struct fid *fid, int command, void *arg);

static const struct fi_ops nic_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = nic_close,
	.control = nic_control,
};

static struct nic *nic_alloc(void)
{
	struct nic *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return NULL;
	nic->fid.fid.fclass = FI_CLASS_NIC;
	nic->fid.fid.ops = ofi_ops(&nic_ops);
	nic->fid.device_attr = &nic->device;
	nic->fid.bus_attr = &nic->bus;
	nic->fid.link_attr = &nic->link;
	return nic;
}

static struct nic *nic_dup(struct nic *from)
{
	struct nic *nic = nic_alloc();
	unsigned i;

	if (!nic)
		return NULL;
	nic->bus = from->bus;
	nic->link.mtu = from->link.mtu;
	nic->link.speed = from->link.speed;
	nic->link.state = from->link.state;
	for (i = 0; nic_text(nic, i); i++) {
		if (!*nic_text(from, i))
			continue;
		*nic_text(nic, i) = strdup(*nic_text(from, i));
		if (!*nic_text(nic, i)) {
			nic_close(&nic->fid.fid);
			return NULL;
		}
	}
	return nic;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	struct nic *copy;

	if (command != FI_DUP)
		return -FI_ENOSYS;
	if (!arg)
		return ofi_refuse_null(&vrb_prov, FI_LOG_FABRIC, "fi_control(FI_DUP)", "arg");
	copy = nic_dup((struct nic *)fid);
	if (!copy)
		return -FI_ENOMEM;
	*(struct fid **)arg = &copy->fid.fid;
	return 0;
}

/* Returns the number of lanes for a bit of active_width. */
static size_t link_lanes(uint8_t width)
{
	switch (width) {
	case 1:
		return 1;
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 0;
	}
}

/* Returns the speed of the active lanes in bits per second, 0 if unknown. */
static size_t port_speed(const struct ibv_port_attr *attr)
{
	static const struct {
		uint8_t bit;
		uint64_t mbps; /* per lane */
	} speeds[] = {
		{ 1, 2500 },   { 2, 5000 },   { 4, 10000 },  { 8, 10000 },
		{ 16, 14000 }, { 32, 25000 }, { 64, 50000 }, { 128, 100000 },
	};
	size_t i;

	for (i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		if (attr->active_speed == speeds[i].bit)
			return link_lanes(attr->active_width) * speeds[i].mbps * 1000000;
	}
	return 0;
}

static size_t port_mtu(const struct ibv_port_attr *attr)
{
	return attr->active_mtu >= IBV_MTU_256 && attr->active_mtu <= IBV_MTU_4096
		       ? (size_t)128 << attr->active_mtu
		       : 0;
}

static const char *network_type(const struct vrb_port *port)
{
	return port->attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

static char *hex_text(uint32_t value)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "0x%04x", value);
	return strdup(buf);
}

static char *decimal_text(uint32_t value)
{
	char buf[16];

	snprintf(buf, sizeof(buf), "%" PRIu32, value);
	return strdup(buf);
}

static void set_link(struct fi_link_attr *link, const struct vrb_port *port)
{
	link->mtu = port_mtu(&port->attr);
	link->speed = port_speed(&port->attr);
	link->state = port->attr.state == IBV_PORT_ACTIVE ? FI_LINK_UP : FI_LINK_DOWN;
	link->address = strdup(port->link_addr);
	link->network_type = strdup(network_type(port));
}

static void set_device(struct fi_device_attr *device, const struct vrb_device *dev)
{
	device->name = strdup(dev->name);
	device->device_id = hex_text(dev->attr.vendor_part_id);
	device->device_version = decimal_text(dev->attr.hw_ver);
	device->vendor_id = hex_text(dev->attr.vendor_id);
	device->firmware = strdup(dev->attr.fw_ver);
	if (dev->driver[0])
		device->driver = strdup(dev->driver);
}

struct fid_nic *vrb_nic_new(const struct vrb_device *dev, const struct vrb_port *port)
{
	struct nic *nic = nic_alloc();
	unsigned i;

	if (!nic)
		return NULL;
	set_device(&nic->device, dev);
	set_link(&nic->link, port);
	if (dev->on_pci) {
		nic->bus.bus_type = FI_BUS_PCI;
		nic->bus.attr.pci = dev->pci;
	}
	for (i = 0; nic_text(nic, i); i++) {
		if (!*nic_text(nic, i) && nic_text(nic, i) != &nic->device.driver) {
			nic_close(&nic->fid.fid);
			return NULL;
		}
	}
	return &nic->fid;
}
