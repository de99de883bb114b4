/* JSON off the hot path: what jansson lacks to write it. The members that a caller adds to an object keep their order.
 * [any thread] */
#ifndef CORE_BASE_JSON_TEXT_H
#define CORE_BASE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A string; null for NULL. In a text that is not UTF-8, the bytes beyond ASCII become question marks. NULL on no
 * memory. */
json_t *json_text_of(const char *text);
/* `value` with `decimals` of them; null for NaN and the infinities. NULL on no memory. */
json_t *json_text_number(double value, int decimals);
/* Adds `value`, which is taken, and may be NULL: no memory, and false. */
bool json_text_add(json_t *object, const char *key, json_t *value);
bool json_text_append(json_t *array, json_t *value);
/* Writes `value`, which is taken, and a newline: objects and arrays down to `depth` levels with a line for each value,
 * what lies deeper in one line. Numbers have `digits`: with JSON_TEXT_EXACT a double is read back as it was, with
 * JSON_TEXT_ROUNDED those of json_text_number have no more digits than they were given. False on no memory (`value`
 * NULL too) or a stream that failed. */
enum { JSON_TEXT_ROUNDED = 15, JSON_TEXT_EXACT = 17 };
bool json_text_write(json_t *value, int depth, int digits, FILE *out);
/* Prints `value`, which is taken, and a newline on standard output, with the flags of json_dumps(). On no memory
 * (`value` NULL too) it prints nothing and returns false. */
bool json_text_print(json_t *value, size_t flags);

#endif
