/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asks the kernel for the flow control of a network interface, by netlink (IEEE 802.1Qaz). */
#include "doctor_dcb.h"

#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_S 2

struct request {
	struct nlmsghdr head;
	struct dcbmsg dcb;
	struct nlattr attr;
	char name[IFNAMSIZ];
};

struct parse {
	struct doctor_dcb *dcb;
	bool found;
};

/* Calls `each` for the attributes of a buffer that are complete. */
static void each_attr(const void *data, size_t len,
		      void (*each)(struct parse *parse, int type, const void *data, size_t len),
		      struct parse *parse)
{
	const char *at = data;
	struct nlattr attr;

	while (len >= sizeof(attr)) {
		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < sizeof(attr) || attr.nla_len > len)
			return;
		each(parse, attr.nla_type & NLA_TYPE_MASK, at + sizeof(attr),
		     attr.nla_len - sizeof(attr));
		if (NLMSG_ALIGN(attr.nla_len) >= len)
			return;
		at += NLMSG_ALIGN(attr.nla_len);
		len -= NLMSG_ALIGN(attr.nla_len);
	}
}

static void parse_app(struct parse *parse, int type, const void *data, size_t len)
{
	struct dcb_app app;

	if (type != DCB_ATTR_IEEE_APP || len < sizeof(app))
		return;
	memcpy(&app, data, sizeof(app));
	parse->dcb->dscp |= app.selector == IEEE_8021QAZ_APP_SEL_DSCP;
}

static void parse_ieee(struct parse *parse, int type, const void *data, size_t len)
{
	struct ieee_pfc pfc;

	if (type == DCB_ATTR_IEEE_APP_TABLE)
		each_attr(data, len, parse_app, parse);
	if (type != DCB_ATTR_IEEE_PFC || len < sizeof(pfc))
		return;
	memcpy(&pfc, data, sizeof(pfc));
	parse->dcb->pfc = pfc.pfc_en;
	parse->found = true;
}

static void parse_top(struct parse *parse, int type, const void *data, size_t len)
{
	if (type == DCB_ATTR_IEEE)
		each_attr(data, len, parse_ieee, parse);
}

bool doctor_dcb_parse(const void *answer, size_t len, struct doctor_dcb *dcb)
{
	struct parse parse = { .dcb = dcb };
	struct nlmsghdr head;

	*dcb = (struct doctor_dcb){ 0 };
	if (len < sizeof(head))
		return false;
	memcpy(&head, answer, sizeof(head));
	if (head.nlmsg_type != RTM_GETDCB || head.nlmsg_len > len ||
	    head.nlmsg_len < NLMSG_LENGTH(sizeof(struct dcbmsg)))
		return false;
	each_attr((const char *)answer + NLMSG_LENGTH(sizeof(struct dcbmsg)),
		  head.nlmsg_len - NLMSG_LENGTH(sizeof(struct dcbmsg)), parse_top, &parse);
	return parse.found;
}

static bool ask(int fd, const char *netdev, struct doctor_dcb *dcb)
{
	struct request request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = RTM_GETDCB,
			  .nlmsg_flags = NLM_F_REQUEST },
		.dcb = { .dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET },
		.attr = { .nla_len = sizeof(request.attr) + sizeof(request.name),
			  .nla_type = DCB_ATTR_IFNAME },
	};
	struct timeval patience = { .tv_sec = ANSWER_S };
	char answer[16384];
	ssize_t len;

	strncpy(request.name, netdev, sizeof(request.name) - 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, &request, sizeof(request), 0) < 0)
		return false;
	len = recv(fd, answer, sizeof(answer), 0);
	return len > 0 && doctor_dcb_parse(answer, (size_t)len, dcb);
}

bool doctor_dcb_read(const char *netdev, struct doctor_dcb *dcb)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bool good = fd >= 0 && ask(fd, netdev, dcb);

	if (fd >= 0)
		close(fd);
	return good;
}
