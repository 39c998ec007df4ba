/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes JSON. */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* Returns the length of the UTF-8 sequence at text, 0 if it is invalid. */
static size_t json_utf8(const unsigned char *text)
{
	size_t len, i;

	if (text[0] < 0x80)
		return 1;
	if (text[0] >= 0xc2 && text[0] <= 0xdf)
		len = 2;
	else if ((text[0] & 0xf0) == 0xe0)
		len = 3;
	else if (text[0] >= 0xf0 && text[0] <= 0xf4)
		len = 4;
	else
		return 0;
	for (i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return len;
}

static void json_quoted(FILE *out, const char *string)
{
	const unsigned char *text = (const unsigned char *)string;
	size_t len;

	fputc('"', out);
	for (; *text; text += len ? len : 1) {
		len = json_utf8(text);
		if (!len)
			fputs("\\ufffd", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if (*text < 0x20)
			fprintf(out, "\\u%04x", *text);
		else
			fwrite(text, 1, len, out);
	}
	fputc('"', out);
}

static void json_lead(struct json *json, const char *key)
{
	unsigned int i;

	if (json->follows)
		fputc(',', json->out);
	if (json->depth)
		fputc('\n', json->out);
	for (i = 0; i < json->depth; i++)
		fputs("  ", json->out);
	if (key) {
		json_quoted(json->out, key);
		fputs(": ", json->out);
	}
	json->follows = true;
}

static void json_begin(struct json *json, const char *key, char bracket)
{
	json_lead(json, key);
	fputc(bracket, json->out);
	json->depth++;
	json->follows = false;
}

static void json_end(struct json *json, char bracket)
{
	unsigned int i;

	json->depth--;
	if (json->follows) {
		fputc('\n', json->out);
		for (i = 0; i < json->depth; i++)
			fputs("  ", json->out);
	}
	fputc(bracket, json->out);
	json->follows = true;
	if (!json->depth)
		fputc('\n', json->out);
}

void json_object(struct json *json, const char *key)
{
	json_begin(json, key, '{');
}

void json_object_end(struct json *json)
{
	json_end(json, '}');
}

void json_array(struct json *json, const char *key)
{
	json_begin(json, key, '[');
}

void json_array_end(struct json *json)
{
	json_end(json, ']');
}

void json_string(struct json *json, const char *key, const char *text)
{
	json_lead(json, key);
	if (text)
		json_quoted(json->out, text);
	else
		fputs("null", json->out);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
	json_lead(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_int(struct json *json, const char *key, int64_t value)
{
	json_lead(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_real(struct json *json, const char *key, double value)
{
	json_lead(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.3f", value);
	else
		fputs("null", json->out);
}
