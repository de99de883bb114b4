/* Measurements to JSON; see measurement_json.h. */
#include "measurement_json.h"

#include "steady.h"
#include "base/json_text.h"
#include "base/statistics.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *times_value(const double *times, uint64_t count) {
  if (!times) return json_null();
  json_t *array = json_array();
  for (uint64_t i = 0; array && i < count; i++)
    if (json_array_append_new(array, json_real(times[i])) != 0) {
      json_decref(array);
      array = NULL;
    }
  return array;
}

static json_t *pairs_value(const pd_pairs *pairs) {
  json_t *object = json_object();
  for (uint64_t i = 0; object && i < pairs->count; i++)
    if (json_object_set_new(object, pairs->rows[i].key, json_text_of(pairs->rows[i].value)) != 0) {
      json_decref(object);
      object = NULL;
    }
  return object;
}

/* Figures of one run, for readers that do not compute them; null where there are no such times. */
static json_t *statistics_value(const pd_measurement *row, bool device) {
  double *runs = malloc((row->block_count ? row->block_count : 1) * sizeof *runs);
  statistics all;
  json_t *value = NULL;
  if (runs && measurement_run_times(row, device, runs) != PD_OK)
    value = json_null();
  else if (runs && statistics_make(runs, row->block_count, &all))
    value =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i}", "median_s", all.median, "mean_s", all.mean,
                  "min_s", all.min, "p25_s", all.p25, "p75_s", all.p75, "p90_s", all.p90, "p99_s", all.p99, "max_s",
                  all.max, "iqr_s", all.iqr, "mad_s", all.mad, "significant_figures", all.figures);
  free(runs);
  return value;
}

static json_t *warnings_value(const pd_measurement *row) {
  json_t *array = json_array();
  for (uint64_t i = 0; array && i < row->warning_count; i++)
    if (json_array_append_new(array, json_text_of(row->warnings[i])) != 0) {
      json_decref(array);
      array = NULL;
    }
  return array;
}

/* null where it was not looked at. */
static json_t *warm_up_value(const pd_warm_up *of) {
  if (of->decided == PD_SETTLED_OFF) return json_null();
  return json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f}", "decided", steady_name(of->decided), "blocks",
                   (json_int_t)of->blocks, "runs", (json_int_t)of->runs, "number_per_run",
                   (json_int_t)of->number_per_run, "spent_s", of->spent_s, "change", of->change, "z", of->z);
}

/* null where the blocks have no partners. */
static json_t *pairing_value(const pd_pairing *of) {
  if (!of->id) return json_null();
  json_t *restarts = json_array();
  for (uint64_t i = 0; restarts && i < of->restart_count; i++)
    if (json_array_append_new(restarts, json_integer((json_int_t)of->restart_rounds[i])) != 0) {
      json_decref(restarts);
      restarts = NULL;
    }
  return json_pack("{s:o, s:s, s:o}", "id", json_text_of(of->id), "side", of->side ? "B" : "A", "restart_rounds",
                   restarts);
}

static json_t *counts_value(const pd_instructions *of) {
  json_t *array = json_array();
  for (uint64_t i = 0; array && i < of->repeats; i++)
    if (json_array_append_new(array, json_integer((json_int_t)of->counts[i])) != 0) {
      json_decref(array);
      array = NULL;
    }
  return array;
}

static json_t *functions_value(const pd_instructions *of) {
  json_t *array = json_array();
  for (uint64_t i = 0; array && i < of->function_count; i++) {
    const pd_function_count *at = &of->functions[i];
    json_t *value = json_pack("{s:o, s:o, s:I}", "name", json_text_of(at->name), "object", json_text_of(at->object),
                              "count", (json_int_t)at->count);
    if (json_array_append_new(array, value) != 0) {
      json_decref(array);
      array = NULL;
    }
  }
  return array;
}

/* null where nothing was counted. */
static json_t *instructions_value(const pd_instructions *of) {
  instruction_figures step;
  if (!of->repeats) return json_null();
  instructions_figures(of, &step);
  return json_pack("{s:o, s:I, s:o, s:I, s:{s:f, s:f, s:f}, s:o}", "tool", json_text_of(of->tool), "steps",
                   (json_int_t)of->steps, "counts", counts_value(of), "baseline", (json_int_t)of->baseline, "step",
                   "median", step.median, "min", step.min, "max", step.max, "functions", functions_value(of));
}

/* Its keys are in the order in which they are written. */
static json_t *measurement_value(const pd_measurement *row) {
  const struct {
    const char *key;
    json_t *value;
  } members[] = {{"label", json_text_of(row->label)},
                 {"sub_label", json_text_of(row->sub_label)},
                 {"description", json_text_of(row->description)},
                 {"env", json_text_of(row->env)},
                 {"scenario", json_text_of(row->scenario)},
                 {"device", json_text_of(row->device)},
                 {"method", json_text_of(row->method)},
                 {"threads", json_integer((json_int_t)row->threads)},
                 {"number_per_run", json_integer((json_int_t)row->number_per_run)},
                 {"cold_cache", json_boolean(row->cold_cache)},
                 {"partial", json_boolean(row->partial)},
                 {"start_realtime_ns", json_integer((json_int_t)row->start_realtime_ns)},
                 {"instructions", instructions_value(&row->instructions)},
                 {"timer_overhead_s", json_real(row->timer_overhead_s)},
                 {"warm_up", warm_up_value(&row->warm_up)},
                 {"pairing", pairing_value(&row->pairing)},
                 {"host_run", statistics_value(row, false)},
                 {"device_run", statistics_value(row, true)},
                 {"warnings", warnings_value(row)},
                 {"options", pairs_value(&row->options)},
                 {"versions", pairs_value(&row->versions)},
                 {"conditions", pairs_value(&row->conditions)},
                 {"host_s", times_value(row->host_s, row->block_count)},
                 {"device_s", times_value(row->device_s, row->block_count)}};
  json_t *object = json_object();
  bool whole = object != NULL;
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    if (!object)
      json_decref(members[i].value);
    else if (json_object_set_new(object, members[i].key, members[i].value) != 0)
      whole = false;
  }
  if (whole) return object;
  json_decref(object);
  return NULL;
}

char *measurements_to_json(const pd_measurement *rows, uint64_t count) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  json_t *all = json_array();
  bool whole = true;
  for (uint64_t i = 0; i < count; i++) whole = json_text_append(all, measurement_value(&rows[i])) && whole;
  /* A line for each key of a measurement, and not one for each of its times. */
  whole = json_text_write(json_pack("{s:s, s:o}", "format", MEASUREMENTS_FORMAT, "measurements", all), 3,
                          JSON_TEXT_EXACT, out) &&
          whole;
  whole = fclose(out) == 0 && whole;
  if (whole) return text;
  free(text);
  return NULL;
}
