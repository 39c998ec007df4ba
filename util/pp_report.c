/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The results of fi_pingpong: a line of text for each size, or JSON. */
#include "pp_report.h"

#include <inttypes.h>

#include <rdma/fi_errno.h>

#include "pp_plot.h"
#include "pp_size.h"

static const struct {
	unsigned int tenths;
	const char *title;
	const char *key;
} percentiles[] = {
	{ 500, "50%", "p50" },
	{ 900, "90%", "p90" },
	{ 990, "99%", "p99" },
	{ 999, "99.9%", "p99_9" },
};

#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

static void print_header(FILE *out)
{
	fprintf(out, "%-8s%-8s%-9s%-8s%8s%11s%13s%13s\n", "bytes", "#sent", "#ack", "total", "time",
		"MB/sec", "usec/xfer", "Mxfers/sec");
}

static double usec_per_xfer(const struct pp_result *result)
{
	return result->usec / result->sent / 2;
}

/* Megabytes per second, in both directions of a ping-pong. */
static double bandwidth(const struct pp_result *result, unsigned int directions)
{
	return (double)result->size * result->sent * directions / result->usec;
}

static double messages_per_sec(const struct pp_result *result)
{
	return result->sent / result->usec * 1e6;
}

static void print_row(FILE *out, const struct pp_result *result)
{
	char size_text[PP_TEXT_LEN], sent_text[PP_TEXT_LEN];
	char ack_text[PP_TEXT_LEN], total_text[PP_TEXT_LEN];
	unsigned int sent = result->sent, acked = result->acked;
	uint64_t total = (uint64_t)result->size * sent * 2;
	char sign = '=';

	pp_count_text(ack_text, acked);
	if (acked != sent) {
		sign = acked < sent ? '+' : '-';
		pp_count_text(ack_text, acked < sent ? sent - acked : acked - sent);
	}
	fprintf(out, "%-7s %-7s %c%-7s %-7s %8.2fs %9.2f %10.2f %10.2f\n",
		pp_size_text(size_text, result->size), pp_count_text(sent_text, sent), sign,
		ack_text, pp_size_text(total_text, total), result->usec / 1e6, bandwidth(result, 2),
		usec_per_xfer(result), 1.0 / usec_per_xfer(result));
}

static void print_rate_header(FILE *out)
{
	fprintf(out, "%-8s%-8s%-8s%8s%13s%15s\n", "bytes", "#sent", "window", "time", "MB/sec",
		"messages/sec");
}

static void print_rate_row(FILE *out, const struct pp_result *result)
{
	char size_text[PP_TEXT_LEN], sent_text[PP_TEXT_LEN];

	fprintf(out, "%-7s %-7s %-7u %7.2fs %12.2f %14.0f\n", pp_size_text(size_text, result->size),
		pp_count_text(sent_text, result->sent), result->window, result->usec / 1e6,
		bandwidth(result, 1), messages_per_sec(result));
}

static void print_percentile_header(FILE *out)
{
	size_t i;

	fprintf(out, "%-8s%-8s%9s%9s", "bytes", "#sent", "usec:min", "mean");
	for (i = 0; i < PERCENTILES; i++)
		fprintf(out, "%9s", percentiles[i].title);
	fprintf(out, "%9s\n", "max");
}

static void print_percentile_row(FILE *out, const struct pp_result *result)
{
	char size_text[PP_TEXT_LEN], sent_text[PP_TEXT_LEN];
	const struct pp_hist *hist = result->hist;
	uint64_t ns;
	size_t i;

	fprintf(out, "%-7s %-7s  %8.2f %8.2f", pp_size_text(size_text, result->size),
		pp_count_text(sent_text, result->sent), (double)hist->min / 1e3,
		pp_hist_mean(hist) / 1e3);
	for (i = 0; i < PERCENTILES; i++) {
		ns = pp_hist_percentile(hist, percentiles[i].tenths);
		if (ns)
			fprintf(out, " %8.2f", (double)ns / 1e3);
		else
			fprintf(out, "%9s", "-");
	}
	fprintf(out, " %8.2f\n", (double)hist->max / 1e3);
}

static void json_latency(struct json *json, const struct pp_hist *hist)
{
	uint64_t ns;
	size_t i;

	json_object(json, "latency_ns");
	json_uint(json, "min", hist->min);
	json_real(json, "mean", pp_hist_mean(hist));
	for (i = 0; i < PERCENTILES; i++) {
		ns = pp_hist_percentile(hist, percentiles[i].tenths);
		if (ns)
			json_uint(json, percentiles[i].key, ns);
		else
			json_string(json, percentiles[i].key, NULL);
	}
	json_uint(json, "max", hist->max);
	json_object_end(json);
}

static void json_row(struct json *json, const struct pp_options *opts,
		     const struct pp_result *result)
{
	json_object(json, NULL);
	json_uint(json, "bytes", result->size);
	json_uint(json, "sent", result->sent);
	if (opts->rate)
		json_uint(json, "window", result->window);
	else
		json_uint(json, "acknowledged", result->acked);
	json_real(json, "usec", result->usec);
	json_real(json, "mb_per_sec", bandwidth(result, opts->rate ? 1 : 2));
	if (opts->rate)
		json_real(json, "messages_per_sec", messages_per_sec(result));
	else
		json_real(json, "usec_per_xfer", usec_per_xfer(result));
	if (result->hist)
		json_latency(json, result->hist);
	json_object_end(json);
}

static void json_head(struct json *json, const struct pp_options *opts, const struct fi_info *info,
		      bool client)
{
	json_object(json, NULL);
	json_string(json, "test", opts->rate ? "rate" : "pingpong");
	json_string(json, "role", client ? "client" : "server");
	json_string(json, "provider", info->fabric_attr->prov_name);
	json_string(json, "domain", info->domain_attr->name);
	json_string(json, "ep_type", fi_tostr(&info->ep_attr->type, FI_TYPE_EP_TYPE));
	json_string(json, "mode", opts->caps == FI_TAGGED ? "tagged" : "msg");
	if (opts->cuda)
		json_string(json, "memory", "cuda");
	json_array(json, "results");
}

void pp_report_begin(struct pp_report *report, const struct fi_info *info, bool client)
{
	report->json = (struct json){ .out = report->out };
	if (report->opts->json)
		json_head(&report->json, report->opts, info, client);
	else if (report->opts->rate)
		print_rate_header(report->out);
	else if (report->opts->percentiles)
		print_percentile_header(report->out);
	else
		print_header(report->out);
}

void pp_report_row(struct pp_report *report, const struct pp_result *result)
{
	if (report->opts->json)
		json_row(&report->json, report->opts, result);
	else if (report->opts->rate)
		print_rate_row(report->out, result);
	else if (report->opts->percentiles)
		print_percentile_row(report->out, result);
	else
		print_row(report->out, result);
	if (report->opts->plot)
		pp_plot(report->out, result->hist);
}

void pp_report_end(struct pp_report *report, int ret)
{
	struct json *json = &report->json;

	if (!report->opts->json)
		return;
	json_array_end(json);
	if (ret) {
		json_object(json, "error");
		json_int(json, "code", ret);
		json_string(json, "text", fi_strerror(-ret));
		json_object_end(json);
	}
	json_object_end(json);
}
