/* See json_writer.h. */
#include "json_writer.h"

#include "utf8.h"

#include <assert.h>

void json_open(json_writer *json, text_out *out, uint32_t pretty_depth) {
  memset(json, 0, sizeof *json);
  json->out = out;
  json->pretty_depth = pretty_depth;
}

static void new_line(json_writer *json) {
  text_out_literal(json->out, "\n");
  for (uint32_t i = 0; i < json->depth; i++) text_out_literal(json->out, " ");
}

/* What comes between the value before and the next one. */
static void separate(json_writer *json) {
  const uint32_t bit = 1u << json->depth;
  if (json->after_key) {
    json->after_key = 0;
    return;
  }
  assert(json->depth > 0 || !(json->filled & 1u));
  if (json->filled & bit) text_out_literal(json->out, ",");
  json->filled |= bit;
  if (json->depth > 0 && json->depth <= json->pretty_depth) new_line(json);
}

static void begin(json_writer *json, const char *bracket, bool object) {
  assert(json->after_key || !(json->objects & (1u << json->depth)));
  assert(json->depth + 1 < JSON_MAX_DEPTH);
  separate(json);
  text_out_bytes(json->out, bracket, 1);
  json->depth++;
  const uint32_t bit = 1u << json->depth;
  json->filled &= ~bit;
  json->objects = object ? json->objects | bit : json->objects & ~bit;
}

static void end(json_writer *json, const char *bracket, bool object) {
  const uint32_t bit = 1u << json->depth;
  assert(json->depth > 0 && !json->after_key && object == ((json->objects & bit) != 0));
  (void)object;
  const bool lines = (json->filled & bit) && json->depth <= json->pretty_depth;
  json->depth--;
  if (lines) new_line(json);
  text_out_bytes(json->out, bracket, 1);
}

void json_begin_object(json_writer *json) { begin(json, "{", true); }
void json_end_object(json_writer *json) { end(json, "}", true); }
void json_begin_array(json_writer *json) { begin(json, "[", false); }
void json_end_array(json_writer *json) { end(json, "]", false); }

static void write_quoted(json_writer *json, const char *text, size_t length) {
  enum { PIECE = 4096 };
  text_out_literal(json->out, "\"");
  while (length) {
    size_t piece = length < PIECE ? length : PIECE;
    /* A character stays in one piece: back to where one begins, unless that is no text at all. */
    for (size_t back = 0; back < 3 && piece < length && piece > 1 && ((unsigned char)text[piece] & 0xc0) == 0x80;
         back++)
      piece--;
    char *at = text_out_room(json->out, json_quoted_room(PIECE));
    const size_t quoted = json_quote(at, text, piece);
    memmove(at, at + 1, quoted - 2);
    json->out->at = at + quoted - 2;
    text += piece;
    length -= piece;
  }
  text_out_literal(json->out, "\"");
}

void json_key(json_writer *json, const char *key) {
  assert(!json->after_key && (json->objects & (1u << json->depth)));
  separate(json);
  write_quoted(json, key, strlen(key));
  text_out_literal(json->out, ": ");
  json->after_key = 1;
}

static void before_value(json_writer *json) {
  assert(json->after_key || !(json->objects & (1u << json->depth)));
  separate(json);
}

void json_string(json_writer *json, const char *text) {
  if (text)
    json_string_of(json, text, strlen(text));
  else
    json_null(json);
}
void json_string_of(json_writer *json, const char *text, size_t length) {
  before_value(json);
  write_quoted(json, text, length);
}
void json_u64(json_writer *json, uint64_t value) {
  before_value(json);
  text_out_u64(json->out, value);
}
void json_i64(json_writer *json, int64_t value) {
  before_value(json);
  text_out_i64(json->out, value);
}
void json_double(json_writer *json, double value) {
  before_value(json);
  text_out_double(json->out, value);
}
void json_bool(json_writer *json, bool value) {
  before_value(json);
  text_out_text(json->out, value ? "true" : "false");
}
void json_null(json_writer *json) {
  before_value(json);
  text_out_literal(json->out, "null");
}
static char *escape_control(char *at, unsigned char byte) {
  static const char short_forms[] = "\bb\tt\nn\ff\rr";
  const char *found = byte ? strchr(short_forms, byte) : NULL;
  *at++ = '\\';
  if (found) {
    *at++ = found[1];
    return at;
  }
  at[0] = 'u';
  at[1] = at[2] = '0';
  at[3] = (char)('0' + byte / 16);
  at[4] = "0123456789abcdef"[byte % 16];
  return at + 5;
}

size_t json_quote(char *to, const char *text, size_t length) {
  const unsigned char *from = (const unsigned char *)text;
  char *at = to;
  *at++ = '"';
  for (size_t i = 0; i < length;) {
    const unsigned char byte = from[i];
    if (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\') {
      *at++ = (char)byte;
      i++;
    } else if (byte < 0x20) {
      at = escape_control(at, byte);
      i++;
    } else if (byte < 0x80) {
      *at++ = '\\';
      *at++ = (char)byte;
      i++;
    } else {
      const size_t bytes = utf8_length(text + i, length - i);
      memcpy(at, bytes ? text + i : UTF8_REPLACEMENT, bytes ? bytes : 3);
      at += bytes ? bytes : 3;
      i += bytes ? bytes : 1;
    }
  }
  *at++ = '"';
  return (size_t)(at - to);
}
