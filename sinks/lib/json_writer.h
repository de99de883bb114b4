/*
 * JSON, written front to back: the writer owns separators, indentation and escaping, its output owns the errors, which
 * stick (text_out.h). Misuse (a value without its key, an end too many) is an assertion of debug builds.
 */
#ifndef SINKS_LIB_JSON_WRITER_H
#define SINKS_LIB_JSON_WRITER_H

#include "text_out.h"

enum { JSON_MAX_DEPTH = 32 };

typedef struct json_writer {
  text_out *out;
  uint32_t depth;
  uint32_t pretty_depth; /* values at this depth and above stand on lines of their own */
  uint32_t filled;       /* bit per depth: something was written there */
  uint32_t objects;      /* bit per depth: it is an object */
  uint32_t after_key;
  uint32_t reserved;
} json_writer;

void json_open(json_writer *json, text_out *out, uint32_t pretty_depth);

void json_begin_object(json_writer *json);
void json_end_object(json_writer *json);
void json_begin_array(json_writer *json);
void json_end_array(json_writer *json);
void json_key(json_writer *json, const char *key);

void json_string(json_writer *json, const char *text); /* NULL is written as null */
void json_string_of(json_writer *json, const char *text, size_t length);
void json_u64(json_writer *json, uint64_t value);
void json_i64(json_writer *json, int64_t value);
void json_double(json_writer *json, double value); /* NaN and infinities are written as null */
void json_bool(json_writer *json, bool value);
void json_null(json_writer *json);

/* The quoted form of `text` into `to`, which has json_quoted_room(length) bytes; returns its length. Control bytes are
 * escaped and bytes that are not UTF-8 become U+FFFD, so that the result is always a valid JSON string. */
static inline size_t json_quoted_room(size_t length) { return 6 * length + 2; }
size_t json_quote(char *to, const char *text, size_t length);

#endif
