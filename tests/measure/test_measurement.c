/* Measurements, and their way through JSON and back. */
#include "pd_test.h"

#include "measure/measurement_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pd_measurement sample(uint64_t blocks, bool device) {
  pd_measurement row = {.threads = 2,
                        .number_per_run = 10,
                        .cold_cache = true,
                        .start_realtime_ns = 1790000000123456789,
                        .timer_overhead_s = 1.0 / 3e6,
                        .warm_up = {PD_TREND, 30, 300, 10, 0.1 / 3, -0.02 / 3, -2.5}};
  cr_assert_eq(measurement_set(&row.label, "batched dot"), PD_OK);
  cr_assert_eq(measurement_set(&row.sub_label, "bmm \"quoted\"\n\xc3\xa9"), PD_OK);
  cr_assert_eq(measurement_set(&row.scenario, "vec_dot"), PD_OK);
  cr_assert_eq(measurement_set(&row.device, "CPU (oneDNN 2.6.3)"), PD_OK);
  cr_assert_eq(measurement_set(&row.method, "blocked_autorange"), PD_OK);
  cr_assert_eq(pairs_set(&row.options, "data.batch_size", "64"), PD_OK);
  cr_assert_eq(pairs_set(&row.options, "run.seed", "7"), PD_OK);
  cr_assert_eq(pairs_set(&row.versions, "pdhost", "1.0.0"), PD_OK);
  cr_assert_eq(pairs_set(&row.conditions, "load", "0.5"), PD_OK);
  cr_assert_eq(measurement_warn(&row, "  WARNING: first"), PD_OK);
  cr_assert_eq(measurement_warn(&row, "second"), PD_OK);
  for (uint64_t i = 0; i < blocks; i++)
    cr_assert_eq(measurement_add_block(&row, 1e-5 / (double)(i + 3), device ? 1e-6 / (double)(i + 7) : (double)NAN),
                 PD_OK);
  return row;
}

static void expect_pairs(const pd_pairs *a, const pd_pairs *b) {
  cr_assert_eq(a->count, b->count);
  for (uint64_t i = 0; i < a->count; i++) {
    cr_assert_str_eq(a->rows[i].key, b->rows[i].key);
    cr_assert_str_eq(a->rows[i].value, b->rows[i].value);
  }
}

static void expect_text(const char *a, const char *b) {
  cr_assert_eq(a == NULL, b == NULL);
  if (a) cr_assert_str_eq(a, b);
}

static void expect_same(const pd_measurement *a, const pd_measurement *b) {
  expect_text(a->label, b->label);
  expect_text(a->sub_label, b->sub_label);
  expect_text(a->description, b->description);
  expect_text(a->env, b->env);
  expect_text(a->scenario, b->scenario);
  expect_text(a->device, b->device);
  expect_text(a->method, b->method);
  cr_assert_eq(a->threads, b->threads);
  cr_assert_eq(a->number_per_run, b->number_per_run);
  cr_assert_eq(a->cold_cache, b->cold_cache);
  cr_assert_eq(a->partial, b->partial);
  cr_assert_eq(a->start_realtime_ns, b->start_realtime_ns);
  cr_assert_eq(memcmp(&a->timer_overhead_s, &b->timer_overhead_s, sizeof(double)), 0);
  cr_assert_eq(a->warm_up.decided, b->warm_up.decided);
  cr_assert_eq(a->warm_up.blocks, b->warm_up.blocks);
  cr_assert_eq(a->warm_up.runs, b->warm_up.runs);
  cr_assert_eq(a->warm_up.number_per_run, b->warm_up.number_per_run);
  cr_assert_eq(memcmp(&a->warm_up.spent_s, &b->warm_up.spent_s, 3 * sizeof(double)), 0);
  expect_text(a->pairing.id, b->pairing.id);
  cr_assert_eq(a->pairing.side, b->pairing.side);
  cr_assert_eq(a->pairing.restart_count, b->pairing.restart_count);
  for (uint64_t i = 0; i < a->pairing.restart_count; i++)
    cr_assert_eq(a->pairing.restart_rounds[i], b->pairing.restart_rounds[i]);
  expect_pairs(&a->options, &b->options);
  expect_pairs(&a->versions, &b->versions);
  expect_pairs(&a->conditions, &b->conditions);
  cr_assert_eq(a->warning_count, b->warning_count);
  for (uint64_t i = 0; i < a->warning_count; i++) cr_assert_str_eq(a->warnings[i], b->warnings[i]);
  cr_assert_eq(a->block_count, b->block_count);
  cr_assert_eq(a->device_s == NULL, b->device_s == NULL);
  cr_assert_arr_eq(a->host_s, b->host_s, a->block_count * sizeof(double));
  if (a->device_s) cr_assert_arr_eq(a->device_s, b->device_s, a->block_count * sizeof(double));
}

PD_TEST(measurement, returns_from_json_bit_by_bit) {
  pd_measurement rows[2] = {sample(200, true), sample(1, false)};
  rows[1].partial = true;
  rows[1].warm_up = (pd_warm_up){.decided = PD_SETTLED_OFF};
  const uint64_t restarts[] = {60, 1, 39};
  cr_assert_eq(measurement_pair(&rows[0], "some run", 1, restarts, 3), PD_OK);
  char *text = measurements_to_json(rows, 2), why[256];
  pd_measurements back = {.rows = NULL};
  cr_assert_eq(measurements_from_json(text, strlen(text), "x.json", &back, why, sizeof why), PD_OK, "%s", why);
  cr_assert_eq(back.count, 2);
  for (int i = 0; i < 2; i++) expect_same(&rows[i], &back.rows[i]);
  /* A second file adds to the first. */
  cr_assert_eq(measurements_from_json(text, strlen(text), "x.json", &back, why, sizeof why), PD_OK);
  cr_assert_eq(back.count, 4);
  free(text);
  measurements_clear(&back);
  measurement_clear(&rows[0]);
  measurement_clear(&rows[1]);
}

PD_TEST(measurement, one_missing_device_time_leaves_none) {
  pd_measurement row = sample(70, true);
  cr_assert_eq(measurement_add_block(&row, 1e-3, (double)NAN), PD_OK);
  cr_assert_null(row.device_s);
  cr_assert_eq(measurement_add_block(&row, 1e-3, 1e-3), PD_OK);
  cr_assert_null(row.device_s);
  double runs[72];
  cr_assert_eq(row.block_count, 72);
  cr_assert_eq(measurement_run_times(&row, true, runs), PD_UNSUPPORTED);
  cr_assert_eq(measurement_run_times(&row, false, runs), PD_OK);
  cr_assert_float_eq(runs[71], 1e-4, 1e-18);
  measurement_clear(&row);
}

PD_TEST(measurement, refuses_what_is_no_time) {
  pd_measurement row = {.threads = 1, .number_per_run = 1};
  cr_assert_eq(measurement_add_block(&row, -1e-9, (double)NAN), PD_INVALID);
  cr_assert_eq(measurement_add_block(&row, (double)NAN, (double)NAN), PD_INVALID);
  cr_assert_eq(measurement_add_block(&row, 1, (double)INFINITY), PD_INVALID);
  cr_assert_eq(measurement_add_block(&row, 2e12, 1), PD_INVALID);
  cr_assert_eq(measurement_add_block(&row, 0, 0), PD_OK);
  cr_assert_eq(row.block_count, 1);
  measurement_clear(&row);
}

PD_TEST(measurement, titles_as_torch_does) {
  pd_measurement row = sample(1, false);
  char text[64];
  cr_assert_eq(measurement_set(&row.sub_label, "bmm"), PD_OK);
  cr_assert_str_eq(measurement_title(&row, text, sizeof text), "batched dot: bmm");
  cr_assert_eq(measurement_set(&row.sub_label, NULL), PD_OK);
  cr_assert_str_eq(measurement_title(&row, text, sizeof text), "batched dot");
  cr_assert_eq(measurement_set(&row.label, NULL), PD_OK);
  cr_assert_str_eq(measurement_title(&row, text, sizeof text), "vec_dot");
  measurement_clear(&row);
}

PD_TEST(measurement, writes_text_that_is_no_utf8) {
  pd_measurement row = sample(1, false);
  cr_assert_eq(measurement_set(&row.env, "caf\xe9"), PD_OK);
  char *text = measurements_to_json(&row, 1), why[256];
  pd_measurements back = {.rows = NULL};
  cr_assert_eq(measurements_from_json(text, strlen(text), "x.json", &back, why, sizeof why), PD_OK, "%s", why);
  cr_assert_str_eq(back.rows[0].env, "caf?");
  free(text);
  measurements_clear(&back);
  measurement_clear(&row);
}

/* `from` replaced by `to` in a sound file: refused, with a message that holds `said`, and nothing is added. */
static void expect_refused(const char *from, const char *to, const char *said) {
  pd_measurement row = sample(2, true);
  char *text = measurements_to_json(&row, 1), why[256] = "";
  const char *at = strstr(text, from);
  cr_assert(at, "%s is not in the file", from);
  const size_t room = strlen(text) + strlen(to) + 1;
  char *changed = malloc(room);
  snprintf(changed, room, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  pd_measurements back = {.rows = NULL};
  cr_assert_eq(measurements_from_json(changed, strlen(changed), "x.json", &back, why, sizeof why), PD_INVALID, "%s",
               to);
  cr_assert(strstr(why, said) && strncmp(why, "x.json:", 7) == 0, "%s", why);
  cr_assert_null(strchr(why, '\n'));
  cr_assert_eq(back.count, 0);
  free(changed);
  free(text);
  measurements_clear(&back);
  measurement_clear(&row);
}

PD_TEST(measurement, refuses_other_files_and_says_where) {
  expect_refused("{\n", "[", "x.json:1:");
  expect_refused("pdhost.measurements/1", "pdhost.measurements/2", "format is \"pdhost.measurements/2\"");
  expect_refused("\"format\"", "\"form\"", "format is missing");
  expect_refused("\"threads\": 2", "\"threads\": 0", "measurements[0].threads: has to be a whole number from 1");
  expect_refused("\"number_per_run\": 10", "\"number_per_run\": 1.5", "measurements[0].number_per_run");
  expect_refused("\"scenario\": \"vec_dot\"", "\"scenario\": null", "measurements[0].scenario: has to be a text");
  expect_refused("\"env\": null", "\"env\": 3", "measurements[0].env: has to be a text");
  expect_refused("\"partial\": false", "\"partial\": 0", "measurements[0].partial: has to be true or false");
  expect_refused("\"host_s\": [", "\"host_s\": [-1, ", "measurements[0].device_s: has to be null or as long as host_s");
  expect_refused("\"host_s\": [3", "\"host_s\": [-3", "measurements[0].host_s: element 0 is not a time");
  expect_refused("\"host_s\": [", "\"host_s\": [], \"more\": [", "host_s: has to be an array of at least one time");
  expect_refused("\"load\": \"0.5\"", "\"load\": 0.5", "measurements[0].conditions: load has to be a text");
  expect_refused("\"second\"", "2", "measurements[0].warnings: element 1 has to be a text");
  expect_refused("\"timer_overhead_s\": 3", "\"timer_overhead_s\": -3", "timer_overhead_s: is not a time");
  expect_refused("\"start_realtime_ns\": 1", "\"start_realtime_ns\": 0.1",
                 "start_realtime_ns: has to be a whole number");
  expect_refused("\"measurements\": [", "\"measurements\": [], \"more\": [", "measurements has to be an array");
  expect_refused("\"decided\": \"trend\"", "\"decided\": \"off\"", "warm_up: decided has to be steady");
  expect_refused("\"runs\": 300", "\"runs\": -1", "warm_up: runs has to be a whole number");
  expect_refused("\"z\": -2.5", "\"z\": null", "warm_up: z has to be a number");
  static const char *const pairings[][2] = {
      {"{\"id\": 3, \"side\": \"A\", \"restart_rounds\": [1]}", "pairing: id has to be a text"},
      {"{\"id\": \"x\", \"side\": \"C\", \"restart_rounds\": [1]}", "pairing: side has to be A or B"},
      {"{\"id\": \"x\", \"side\": \"B\", \"restart_rounds\": [2]}", "half of host_s's 2 in all"},
      {"{\"id\": \"x\", \"side\": \"B\", \"restart_rounds\": [1, -1, 1]}", "half of host_s's 2"},
      {"{\"id\": \"x\", \"side\": \"B\", \"restart_rounds\": [9223372036854775807, 2]}", "half of host_s's 2"},
      {"{\"id\": \"x\", \"side\": \"B\", \"restart_rounds\": 1}", "half of host_s's 2"},
      {"7", "pairing: id has to be a text"}};
  for (size_t i = 0; i < sizeof pairings / sizeof pairings[0]; i++) {
    char to[160];
    snprintf(to, sizeof to, "\"pairing\": %s", pairings[i][0]);
    expect_refused("\"pairing\": null", to, pairings[i][1]);
  }
  expect_refused("\"run.seed\"", "\"data.batch_size\"", "duplicate");
}

PD_TEST(measurement, passes_over_keys_of_a_later_version) {
  pd_measurement row = sample(1, false);
  char *text = measurements_to_json(&row, 1), why[256], *at = strstr(text, "\"env\"");
  memcpy(at, "\"new\"", 5);
  pd_measurements back = {.rows = NULL};
  cr_assert_eq(measurements_from_json(text, strlen(text), "x.json", &back, why, sizeof why), PD_OK, "%s", why);
  free(text);
  measurements_clear(&back);
  measurement_clear(&row);
}

PD_TEST(measurement, reads_files) {
  pd_measurement row = sample(30000, true); /* more than the first buffer */
  char *text = measurements_to_json(&row, 1), why[256], path[] = "/tmp/pdhost_measurement_XXXXXX";
  FILE *file = fdopen(mkstemp(path), "wb");
  cr_assert(file);
  cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
  fclose(file);
  pd_measurements back = {.rows = NULL};
  cr_assert_eq(measurements_read(path, &back, why, sizeof why), PD_OK, "%s", why);
  expect_same(&row, &back.rows[0]);
  unlink(path);
  cr_assert_eq(measurements_read(path, &back, why, sizeof why), PD_IO);
  cr_assert(strstr(why, "No such file"), "%s", why);
  cr_assert_eq(measurements_read("/", &back, why, sizeof why), PD_IO, "%s", why);
  cr_assert_eq(back.count, 1);
  free(text);
  measurements_clear(&back);
  measurement_clear(&row);
}
