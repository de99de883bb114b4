/* The JSON writer and its escaper over any bytes: what is written reads back as what was given, with bytes that are no
 * text replaced. The first byte chooses: one string, or a document whose shape the bytes drive. */
#include "fuzz.h"

#include "json_reader.h"
#include "json_writer.h"
#include "utf8.h"

#include <stdlib.h>

typedef struct text_memory {
  char *data;
  size_t bytes;
} text_memory;

static pd_status to_memory(void *to, const void *data, uint64_t bytes) {
  text_memory *self = to;
  char *grown = realloc(self->data, self->bytes + bytes + 1);
  if (!grown) return PD_NO_MEMORY;
  memcpy(grown + self->bytes, data, bytes);
  self->data = grown;
  self->bytes += bytes;
  return PD_OK;
}

static void one_string(const char *text, size_t length) {
  char *quoted = malloc(json_quoted_room(length)), *clean = malloc(3 * length + 1);
  if (quoted && clean) {
    const size_t bytes = json_quote(quoted, text, length), clean_bytes = utf8_clean(clean, text, length);
    check(bytes <= json_quoted_room(length));
    json_node *node = json_reader_parse(quoted, bytes);
    check(node && node->kind == JSON_STRING && node->length == clean_bytes);
    check(memcmp(node->text, clean, clean_bytes) == 0);
    json_reader_free(node);
  }
  free(quoted);
  free(clean);
}

typedef struct driver {
  const uint8_t *at, *end;
  uint32_t keys;
} driver;

static uint32_t next(driver *in) { return in->at < in->end ? *in->at++ : 0; }

static void write_any(json_writer *json, driver *in, int depth) {
  const uint32_t choice = next(in);
  switch (in->at == in->end || depth > 20 ? choice % 5 : choice % 7) {
  case 0: json_i64(json, (int64_t)((uint64_t)next(in) << 56 | next(in))); break;
  case 1: {
    double value = 0;
    if ((size_t)(in->end - in->at) >= sizeof value) {
      memcpy(&value, in->at, sizeof value);
      in->at += sizeof value;
    }
    json_double(json, value);
    break;
  }
  case 2: {
    size_t length = 37u * next(in);
    if (length > (size_t)(in->end - in->at)) length = (size_t)(in->end - in->at);
    json_string_of(json, (const char *)in->at, length);
    in->at += length;
    break;
  }
  case 3: json_bool(json, next(in) & 1); break;
  case 4: json_null(json); break;
  case 5:
    json_begin_array(json);
    while (next(in) % 4) write_any(json, in, depth + 1);
    json_end_array(json);
    break;
  default:
    json_begin_object(json);
    while (next(in) % 4) {
      char key[DIGITS_ROOM];
      *digits_u64(key, in->keys++) = '\0'; /* the reader takes no key twice */
      json_key(json, key);
      write_any(json, in, depth + 1);
    }
    json_end_object(json);
  }
}

static void one_document(const uint8_t *data, size_t size) {
  text_memory memory = {0};
  text_out out;
  json_writer json;
  driver in = {data, data + size, 0};
  const uint32_t pretty_depth = next(&in) % 5;
  if (text_out_open(&out, to_memory, &memory) == PD_OK) {
    json_open(&json, &out, pretty_depth);
    write_any(&json, &in, 0);
    if (text_out_flush(&out) == PD_OK) {
      json_node *root = json_reader_parse(memory.data, memory.bytes);
      check(root != NULL);
      json_reader_free(root);
    }
  }
  text_out_close(&out);
  free(memory.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  if (data[0] & 1)
    one_string((const char *)data + 1, size - 1);
  else
    one_document(data + 1, size - 1);
  return 0;
}
