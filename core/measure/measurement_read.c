/* Measurements from JSON; see measurement_json.h. */
#include "measurement_json.h"

#include "steady.h"
#include "base/whole_file.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A larger file is not one of measurements: ten million blocks take less. */
enum { MAX_FILE_BYTES = 256 << 20 };

/* How far reading has come, for its messages. */
typedef struct reader {
  const char *name;
  uint64_t index; /* of the measurement */
  char *why;
  size_t room;
  pd_status status;
} reader;

PD_PRINTF(3, 4) static bool refuse(reader *r, const char *key, const char *format, ...) {
  char problem[256];
  va_list args;
  va_start(args, format);
  vsnprintf(problem, sizeof problem, format, args);
  va_end(args);
  if (r->status == PD_OK)
    snprintf(r->why, r->room, "%s: measurements[%llu].%s: %s", r->name, (unsigned long long)r->index, key, problem);
  r->status = PD_INVALID;
  return false;
}

static bool no_memory(reader *r) {
  if (r->status == PD_OK) snprintf(r->why, r->room, "%s: out of memory", r->name);
  r->status = PD_NO_MEMORY;
  return false;
}

static bool read_text(reader *r, const json_t *object, const char *key, bool required, char **to) {
  const json_t *value = json_object_get(object, key);
  if ((!value || json_is_null(value)) && !required) return true;
  if (!json_is_string(value)) return refuse(r, key, "has to be a text");
  return measurement_set(to, json_string_value(value)) == PD_OK || no_memory(r);
}

static bool read_bool(reader *r, const json_t *object, const char *key, bool *to) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_boolean(value)) return refuse(r, key, "has to be true or false");
  *to = json_is_true(value);
  return true;
}

static bool read_count(reader *r, const json_t *object, const char *key, uint64_t *to) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_integer(value) || json_integer_value(value) < 1)
    return refuse(r, key, "has to be a whole number from 1");
  *to = (uint64_t)json_integer_value(value);
  return true;
}

static bool is_time(const json_t *value) {
  return json_is_number(value) && json_number_value(value) >= 0 && json_number_value(value) <= MEASUREMENT_LONGEST_S;
}

static bool read_pairs(reader *r, const json_t *object, const char *name, pd_pairs *to) {
  json_t *pairs = json_object_get(object, name), *value;
  const char *key;
  if (!json_is_object(pairs)) return refuse(r, name, "has to be an object");
  json_object_foreach(pairs, key, value) {
    if (!json_is_string(value)) return refuse(r, name, "%s has to be a text", key);
    if (pairs_set(to, key, json_string_value(value)) != PD_OK) return no_memory(r);
  }
  return true;
}

static bool read_warnings(reader *r, const json_t *object, pd_measurement *to) {
  const json_t *array = json_object_get(object, "warnings"), *value;
  size_t i;
  if (!json_is_array(array)) return refuse(r, "warnings", "has to be an array");
  json_array_foreach(array, i, value) {
    if (!json_is_string(value)) return refuse(r, "warnings", "element %zu has to be a text", i);
    if (measurement_warn(to, json_string_value(value)) != PD_OK) return no_memory(r);
  }
  return true;
}

/* Files of earlier versions have none. */
static bool read_warm_up(reader *r, const json_t *object, pd_warm_up *to) {
  const json_t *value = json_object_get(object, "warm_up");
  if (!value || json_is_null(value)) return true;
  const char *decided = json_string_value(json_object_get(value, "decided"));
  const struct {
    const char *key;
    uint64_t *count;
  } counts[] = {{"blocks", &to->blocks}, {"runs", &to->runs}, {"number_per_run", &to->number_per_run}};
  const struct {
    const char *key;
    double *number;
  } numbers[] = {{"spent_s", &to->spent_s}, {"change", &to->change}, {"z", &to->z}};
  for (pd_settled at = PD_SETTLED; decided && at <= PD_SETTLED_UNKNOWN; at++)
    if (strcmp(decided, steady_name(at)) == 0) to->decided = at;
  if (to->decided == PD_SETTLED_OFF) return refuse(r, "warm_up", "decided has to be steady, trend or too few blocks");
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    const json_t *count = json_object_get(value, counts[i].key);
    if (!json_is_integer(count) || json_integer_value(count) < 0)
      return refuse(r, "warm_up", "%s has to be a whole number", counts[i].key);
    *counts[i].count = (uint64_t)json_integer_value(count);
  }
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    const json_t *number = json_object_get(value, numbers[i].key);
    if (!json_is_number(number)) return refuse(r, "warm_up", "%s has to be a number", numbers[i].key);
    *numbers[i].number = json_number_value(number);
  }
  return true;
}

static bool read_instruction_count(const json_t *value, uint64_t *to) {
  if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
  *to = (uint64_t)json_integer_value(value);
  return true;
}

static bool read_functions(reader *r, const json_t *array, pd_instructions *to) {
  const json_t *value;
  size_t i;
  if (!json_is_array(array)) return refuse(r, "instructions", "functions has to be an array");
  json_array_foreach(array, i, value) {
    const char *name = json_string_value(json_object_get(value, "name"));
    const char *object = json_string_value(json_object_get(value, "object"));
    uint64_t count;
    if (!name || !object || !read_instruction_count(json_object_get(value, "count"), &count))
      return refuse(r, "instructions", "functions: element %zu needs name, object and count", i);
    if (instructions_add_function(to, name, object, count) != PD_OK) return no_memory(r);
  }
  return true;
}

/* Files of earlier versions have none. */
static bool read_instructions(reader *r, const json_t *object, pd_instructions *to) {
  const json_t *value = json_object_get(object, "instructions"), *count;
  size_t i;
  if (!value || json_is_null(value)) return true;
  const char *tool = json_string_value(json_object_get(value, "tool"));
  const json_t *counts = json_object_get(value, "counts");
  if (!tool) return refuse(r, "instructions", "tool has to be a text");
  if (measurement_set(&to->tool, tool) != PD_OK) return no_memory(r);
  if (!read_instruction_count(json_object_get(value, "steps"), &to->steps) || to->steps == 0)
    return refuse(r, "instructions", "steps has to be a whole number from 1");
  if (!read_instruction_count(json_object_get(value, "baseline"), &to->baseline))
    return refuse(r, "instructions", "baseline has to be a whole number");
  if (!json_is_array(counts) || json_array_size(counts) == 0)
    return refuse(r, "instructions", "counts has to be an array of at least one");
  json_array_foreach(counts, i, count) {
    uint64_t taken;
    if (!read_instruction_count(count, &taken))
      return refuse(r, "instructions", "counts: element %zu has to be a whole number", i);
    if (instructions_add_count(to, taken) != PD_OK) return no_memory(r);
  }
  return read_functions(r, json_object_get(value, "functions"), to);
}

static bool read_blocks(reader *r, const json_t *object, pd_measurement *to) {
  const json_t *host = json_object_get(object, "host_s"), *device = json_object_get(object, "device_s");
  const size_t count = json_array_size(host);
  if (!json_is_array(host) || count == 0) return refuse(r, "host_s", "has to be an array of at least one time");
  if (device && !json_is_null(device) && (!json_is_array(device) || json_array_size(device) != count))
    return refuse(r, "device_s", "has to be null or as long as host_s, %zu times", count);
  for (size_t i = 0; i < count; i++) {
    const json_t *host_time = json_array_get(host, i), *device_time = json_array_get(device, i);
    if (!is_time(host_time)) return refuse(r, "host_s", "element %zu is not a time in seconds", i);
    if (device_time && !is_time(device_time)) return refuse(r, "device_s", "element %zu is not a time in seconds", i);
    const double device_s = device_time ? json_number_value(device_time) : (double)NAN;
    if (measurement_add_block(to, json_number_value(host_time), device_s) != PD_OK) return no_memory(r);
  }
  return true;
}

/* After the blocks, whose number it has to fit. */
static bool read_pairing(reader *r, const json_t *object, pd_measurement *to) {
  const json_t *value = json_object_get(object, "pairing");
  if (!value || json_is_null(value)) return true;
  const char *id = json_string_value(json_object_get(value, "id"));
  const char *side = json_string_value(json_object_get(value, "side"));
  const json_t *restarts = json_object_get(value, "restart_rounds");
  const size_t count = json_array_size(restarts);
  if (!id) return refuse(r, "pairing", "id has to be a text");
  if (!side || (strcmp(side, "A") != 0 && strcmp(side, "B") != 0)) return refuse(r, "pairing", "side has to be A or B");
  uint64_t *rounds = calloc(count ? count : 1, sizeof *rounds), blocks = 0;
  if (!rounds) return no_memory(r);
  for (size_t i = 0; i < count && blocks <= to->block_count; i++) {
    const json_int_t of = json_integer_value(json_array_get(restarts, i));
    /* None is longer than all blocks together, so that the sum cannot overflow. */
    rounds[i] = of > 0 && (uint64_t)of <= to->block_count ? (uint64_t)of : to->block_count + 1;
    blocks += 2 * rounds[i];
  }
  bool ok = blocks == to->block_count ||
            refuse(r, "pairing", "restart_rounds has to be whole numbers from 1, half of host_s's %llu in all",
                   (unsigned long long)to->block_count);
  if (ok && measurement_pair(to, id, strcmp(side, "B") == 0, rounds, count) != PD_OK) ok = no_memory(r);
  free(rounds);
  return ok;
}

static bool read_measurement(reader *r, const json_t *object, pd_measurement *to) {
  if (!json_is_object(object)) return refuse(r, "", "has to be an object");
  const json_t *start = json_object_get(object, "start_realtime_ns"),
               *overhead = json_object_get(object, "timer_overhead_s");
  if (!json_is_integer(start)) return refuse(r, "start_realtime_ns", "has to be a whole number");
  to->start_realtime_ns = (int64_t)json_integer_value(start);
  if (!is_time(overhead)) return refuse(r, "timer_overhead_s", "is not a time in seconds");
  to->timer_overhead_s = json_number_value(overhead);
  return read_text(r, object, "label", false, &to->label) && read_text(r, object, "sub_label", false, &to->sub_label) &&
         read_text(r, object, "description", false, &to->description) && read_text(r, object, "env", false, &to->env) &&
         read_text(r, object, "scenario", true, &to->scenario) && read_text(r, object, "device", true, &to->device) &&
         read_text(r, object, "method", true, &to->method) && read_count(r, object, "threads", &to->threads) &&
         read_count(r, object, "number_per_run", &to->number_per_run) &&
         read_bool(r, object, "cold_cache", &to->cold_cache) && read_bool(r, object, "partial", &to->partial) &&
         read_warm_up(r, object, &to->warm_up) && read_instructions(r, object, &to->instructions) &&
         read_warnings(r, object, to) && read_pairs(r, object, "options", &to->options) &&
         read_pairs(r, object, "versions", &to->versions) && read_pairs(r, object, "conditions", &to->conditions) &&
         read_blocks(r, object, to) && read_pairing(r, object, to);
}

static void read_all(reader *r, const json_t *rows, pd_measurements *out) {
  const json_t *value;
  size_t i;
  json_array_foreach(rows, i, value) {
    pd_measurement row = {.label = NULL};
    r->index = i;
    if (read_measurement(r, value, &row) && measurements_add(out, &row) != PD_OK) no_memory(r);
    measurement_clear(&row);
    if (r->status != PD_OK) return;
  }
}

pd_status measurements_from_document(const json_t *document, const char *name, pd_measurements *out, char *why,
                                     size_t room) {
  reader r = {.name = name, .why = why, .room = room};
  const json_t *format = json_object_get(document, "format"), *rows = json_object_get(document, "measurements");
  const uint64_t before = out->count;
  if (!json_is_string(format) || strcmp(json_string_value(format), MEASUREMENTS_FORMAT) != 0) {
    snprintf(why, room, "%s: format is %s%.64s%s; this pdhost reads %s: is it a file of [run] mode = benchmark?", name,
             json_is_string(format) ? "\"" : "", json_is_string(format) ? json_string_value(format) : "missing",
             json_is_string(format) ? "\"" : "", MEASUREMENTS_FORMAT);
    r.status = PD_INVALID;
  } else if (!json_is_array(rows) || json_array_size(rows) == 0) {
    snprintf(why, room, "%s: measurements has to be an array of at least one", name);
    r.status = PD_INVALID;
  } else {
    read_all(&r, rows, out);
  }
  while (r.status != PD_OK && out->count > before) measurement_clear(&out->rows[--out->count]);
  return r.status;
}

static json_t *parse(const char *text, size_t bytes, const char *name, pd_status *status, char *why, size_t room) {
  json_error_t problem;
  json_t *document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
  *status = PD_OK;
  if (document) return document;
  snprintf(why, room, "%s:%d:%d: byte %d: %s", name, problem.line, problem.column, problem.position, problem.text);
  *status = json_error_code(&problem) == json_error_out_of_memory ? PD_NO_MEMORY : PD_INVALID;
  return NULL;
}

pd_status measurements_from_json(const char *text, size_t bytes, const char *name, pd_measurements *out, char *why,
                                 size_t room) {
  pd_status status;
  json_t *document = parse(text, bytes, name, &status, why, room);
  if (document) status = measurements_from_document(document, name, out, why, room);
  json_decref(document);
  return status;
}

json_t *measurements_parse(const char *path, pd_status *status, char *why, size_t room) {
  char *text;
  size_t bytes;
  *status = whole_file_read(path, "measurements", MAX_FILE_BYTES, &text, &bytes, why, room);
  json_t *document = *status == PD_OK ? parse(text, bytes, path, status, why, room) : NULL;
  free(text);
  return document;
}

pd_status measurements_read(const char *path, pd_measurements *out, char *why, size_t room) {
  pd_status status;
  json_t *document = measurements_parse(path, &status, why, room);
  if (document) status = measurements_from_document(document, path, out, why, room);
  json_decref(document);
  return status;
}
