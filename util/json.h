/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes JSON. Inside an object every value has a key, inside an array key is NULL. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	unsigned int depth;
	bool follows; /* another value precedes it on this level */
};

void json_object(struct json *json, const char *key);
void json_object_end(struct json *json);
void json_array(struct json *json, const char *key);
void json_array_end(struct json *json);
/* Writes NULL as null; invalid UTF-8 becomes U+FFFD. */
void json_string(struct json *json, const char *key, const char *text);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_int(struct json *json, const char *key, int64_t value);
/* Writes three decimal places; what is not finite becomes null. */
void json_real(struct json *json, const char *key, double value);

#endif
