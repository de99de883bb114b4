/* A strict JSON reader for tests: what our writers write is read back by code that shares nothing with them. */
#ifndef TESTS_SUPPORT_JSON_READER_H
#define TESTS_SUPPORT_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum json_kind {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_NUMBER,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT
} json_kind;

typedef struct json_node {
  json_kind kind;
  double number;
  char *text; /* of a string, decoded; of a number, as written; NUL-terminated */
  size_t length;
  char *key; /* in an object */
  struct json_node *first, *next;
  size_t count; /* of an array or object */
} json_node;

/* One value and nothing after it; NULL: not JSON (RFC 8259), a repeated key, invalid UTF-8, or no memory. */
json_node *json_reader_parse(const char *text, size_t length);
void json_reader_free(json_node *node);

/* Members by key and index; NULL where there is none. */
const json_node *json_reader_get(const json_node *object, const char *key);
const json_node *json_reader_at(const json_node *array, size_t index);
bool json_reader_is(const json_node *node, const char *text); /* a string equal to text */

#endif
