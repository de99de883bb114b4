/* See json_reader.h. Recursive; depth is bounded. */
#include "json_reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 200 };

typedef struct reader {
  const unsigned char *at, *end;
  int depth;
} reader;

static void skip_blanks(reader *in) {
  while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) in->at++;
}

static bool take(reader *in, const char *word) {
  const size_t length = strlen(word);
  if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0) return false;
  in->at += length;
  return true;
}

static bool take_hex4(reader *in, uint32_t *out) {
  *out = 0;
  for (int i = 0; i < 4; i++, in->at++) {
    if (in->at == in->end) return false;
    const unsigned char c = *in->at;
    const uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                           : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                           : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                  : 16;
    if (digit == 16) return false;
    *out = *out * 16 + digit;
  }
  return true;
}

static char *put_utf8(char *to, uint32_t code) {
  if (code < 0x80) {
    *to++ = (char)code;
  } else if (code < 0x800) {
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 63));
  } else if (code < 0x10000) {
    *to++ = (char)(0xe0 | code >> 12);
    *to++ = (char)(0x80 | (code >> 6 & 63));
    *to++ = (char)(0x80 | (code & 63));
  } else {
    *to++ = (char)(0xf0 | code >> 18);
    *to++ = (char)(0x80 | (code >> 12 & 63));
    *to++ = (char)(0x80 | (code >> 6 & 63));
    *to++ = (char)(0x80 | (code & 63));
  }
  return to;
}

static bool take_escape(reader *in, char **to) {
  static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
  if (in->at == in->end) return false;
  const unsigned char c = *in->at++;
  const char *found = c ? strchr(from, c) : NULL;
  uint32_t code, low;
  if (found) {
    *(*to)++ = into[found - from];
    return true;
  }
  if (c != 'u' || !take_hex4(in, &code)) return false;
  if (code >= 0xdc00 && code < 0xe000) return false;
  if (code >= 0xd800 && code < 0xdc00) {
    if (!take(in, "\\u") || !take_hex4(in, &low) || low < 0xdc00 || low >= 0xe000) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  *to = put_utf8(*to, code);
  return true;
}

/* One character of more than one byte, checked by encoding it again. */
static bool take_utf8(reader *in, char **to) {
  const unsigned char first = *in->at;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  uint32_t code = length == 4 ? first & 7u : length == 3 ? first & 15u : first & 31u;
  char again[4];
  if ((size_t)(in->end - in->at) < length) return false;
  for (size_t i = 1; i < length; i++) code = code << 6 | (in->at[i] & 63u);
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  if ((size_t)(put_utf8(again, code) - again) != length || memcmp(again, in->at, length) != 0) return false;
  memcpy(*to, in->at, length);
  *to += length;
  in->at += length;
  return true;
}

static char *take_string(reader *in, size_t *length) {
  if (!take(in, "\"")) return NULL;
  const unsigned char *quote = in->at; /* decoding never makes a string longer */
  while (quote < in->end && *quote != '"') quote += *quote == '\\' && quote + 1 < in->end ? 2 : 1;
  char *text = malloc((size_t)(quote - in->at) + 4), *to = text;
  while (text && in->at < in->end) {
    if (*in->at == '"') {
      in->at++;
      *to = '\0';
      *length = (size_t)(to - text);
      char *fitted = realloc(text, *length + 1);
      return fitted ? fitted : text;
    }
    if (*in->at < 0x20) break;
    if (*in->at >= 0x80) {
      if (!take_utf8(in, &to)) break;
    } else if (*in->at == '\\') {
      in->at++;
      if (!take_escape(in, &to)) break;
    } else {
      *to++ = (char)*in->at++;
    }
  }
  free(text);
  return NULL;
}

static size_t take_digits(reader *in) {
  const unsigned char *from = in->at;
  while (in->at < in->end && *in->at >= '0' && *in->at <= '9') in->at++;
  return (size_t)(in->at - from);
}

static bool take_number(reader *in, json_node *node) {
  const unsigned char *from = in->at;
  take(in, "-");
  if (!take(in, "0") && !take_digits(in)) return false;
  if (take(in, ".") && !take_digits(in)) return false;
  if (in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
    in->at++;
    if (in->at < in->end && (*in->at == '+' || *in->at == '-')) in->at++;
    if (!take_digits(in)) return false;
  }
  node->kind = JSON_NUMBER;
  node->length = (size_t)(in->at - from);
  /* Not strndup: a strict AddressSanitizer measures the whole rest of the file in it. */
  node->text = calloc(1, node->length + 1);
  if (!node->text) return false;
  memcpy(node->text, from, node->length);
  node->number = strtod(node->text, NULL);
  return true;
}

static json_node *take_value(reader *in);

static bool take_members(reader *in, json_node *node, bool object) {
  json_node **tail = &node->first;
  skip_blanks(in);
  if (take(in, object ? "}" : "]")) return true;
  for (;;) {
    char *key = NULL;
    size_t length;
    skip_blanks(in);
    if (object) {
      key = take_string(in, &length);
      if (!key || json_reader_get(node, key)) {
        free(key);
        return false;
      }
      skip_blanks(in);
      if (!take(in, ":")) {
        free(key);
        return false;
      }
    }
    json_node *member = take_value(in);
    if (!member) {
      free(key);
      return false;
    }
    member->key = key;
    *tail = member;
    tail = &member->next;
    node->count++;
    skip_blanks(in);
    if (take(in, object ? "}" : "]")) return true;
    if (!take(in, ",")) return false;
  }
}

static json_node *take_value(reader *in) {
  json_node *node = calloc(1, sizeof *node);
  bool good = node && in->depth++ < DEEPEST;
  if (good) {
    skip_blanks(in);
    if (take(in, "null")) {
      node->kind = JSON_NULL;
    } else if (take(in, "true")) {
      node->kind = JSON_TRUE;
    } else if (take(in, "false")) {
      node->kind = JSON_FALSE;
    } else if (take(in, "{")) {
      node->kind = JSON_OBJECT;
      good = take_members(in, node, true);
    } else if (take(in, "[")) {
      node->kind = JSON_ARRAY;
      good = take_members(in, node, false);
    } else if (in->at < in->end && *in->at == '"') {
      node->kind = JSON_STRING;
      good = (node->text = take_string(in, &node->length)) != NULL;
    } else {
      good = take_number(in, node);
    }
  }
  in->depth--;
  if (good) return node;
  json_reader_free(node);
  return NULL;
}

json_node *json_reader_parse(const char *text, size_t length) {
  reader in = {(const unsigned char *)text, (const unsigned char *)text + length, 0};
  json_node *node = take_value(&in);
  skip_blanks(&in);
  if (node && in.at != in.end) {
    json_reader_free(node);
    return NULL;
  }
  return node;
}

void json_reader_free(json_node *node) {
  while (node) {
    json_node *next = node->next;
    json_reader_free(node->first);
    free(node->text);
    free(node->key);
    free(node);
    node = next;
  }
}

const json_node *json_reader_get(const json_node *object, const char *key) {
  const json_node *member = object ? object->first : NULL;
  while (member && !(member->key && strcmp(member->key, key) == 0)) member = member->next;
  return member;
}

const json_node *json_reader_at(const json_node *array, size_t index) {
  const json_node *member = array ? array->first : NULL;
  while (member && index--) member = member->next;
  return member;
}

bool json_reader_is(const json_node *node, const char *text) {
  return node && node->kind == JSON_STRING && strcmp(node->text, text) == 0;
}
