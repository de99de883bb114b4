/* See sections.h. The names of the first keys are those of the PyTorch script that the runs are compared with. */
#include "sections.h"

#include "../lib/energy.h"
#include <pdhost/loss_names.h>

#include <string.h>

static void number_u64(json_writer *json, const char *key, uint64_t value) {
  json_key(json, key);
  json_u64(json, value);
}
static void number_i64(json_writer *json, const char *key, int64_t value) {
  json_key(json, key);
  json_i64(json, value);
}
static void number_double(json_writer *json, const char *key, double value) {
  json_key(json, key);
  json_double(json, value);
}
static void flag(json_writer *json, const char *key, uint32_t value) {
  json_key(json, key);
  json_bool(json, value != 0);
}
static void known_number(json_writer *json, const char *key, bool is_known, int64_t value) {
  json_key(json, key);
  if (is_known)
    json_i64(json, value);
  else
    json_null(json);
}
static void known_flag(json_writer *json, const char *key, bool is_known, uint32_t value) {
  json_key(json, key);
  if (is_known)
    json_bool(json, value != 0);
  else
    json_null(json);
}
static void text(json_writer *json, const char *key, const char *value) {
  json_key(json, key);
  json_string(json, value);
}

static void device(json_writer *json, const pd_run *run) {
  const pd_device_props *props = run->device;
  json_key(json, "device");
  json_begin_object(json);
  text(json, "kind", run->device_name);
  text(json, "fallback", run->fallback);
  if (props) {
    text(json, "name", props->name);
    text(json, "versions", props->versions);
    number_u64(json, "index", props->index);
    flag(json, "is_cuda", props->is_cuda);
    number_u64(json, "total_bytes", props->total_bytes);
    number_u64(json, "compute_major", props->compute_major);
    number_u64(json, "compute_minor", props->compute_minor);
    number_u64(json, "sm_count", props->sm_count);
    number_u64(json, "driver_version", props->driver_version);
    number_u64(json, "runtime_version", props->runtime_version);
    number_u64(json, "cupti_version", props->cupti_version);
    number_double(json, "peak_f32_flops", props->peak_f32_flops);
    number_double(json, "peak_tf32_flops", props->peak_tf32_flops);
    number_double(json, "peak_f16_flops", props->peak_f16_flops);
    number_double(json, "peak_bytes_per_s", props->peak_bytes_per_s);
  }
  json_end_object(json);
}

static void configuration(json_writer *json, const pd_run *run) {
  json_key(json, "configuration");
  json_begin_array(json);
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    json_begin_object(json);
    text(json, "section", setting->section);
    text(json, "key", setting->key);
    text(json, "value", setting->value);
    text(json, "origin", setting->origin);
    flag(json, "is_default", setting->is_default);
    json_end_object(json);
  }
  json_end_array(json);
}

static void schedule(json_writer *json, const pd_run *run) {
  json_key(json, "schedule");
  json_begin_object(json);
  number_u64(json, "skip_first", run->skip_first);
  number_u64(json, "wait", run->wait);
  number_u64(json, "warmup", run->warmup);
  if (run->active == UINT64_MAX) {
    json_key(json, "active");
    json_null(json);
  } else {
    number_u64(json, "active", run->active);
  }
  number_u64(json, "repeat", run->repeat);
  number_u64(json, "total_steps", run->total_steps);
  json_end_object(json);
}

/* "none", "host" or "device"; null where the run does not say. */
static const char *resident(const pd_run *run) {
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *at = PD_AT(pd_setting, &run->settings, i);
    if (strcmp(at->section, "data") == 0 && strcmp(at->key, "resident") == 0) return at->value;
  }
  return NULL;
}

void section_run(json_writer *json, const pd_run *run) {
  text(json, "scenario", run->scenario);
  const bool is_known = run->batch_size != 0; /* what the loop does; of another program it is not */
  known_number(json, "batch_size", is_known, run->batch_size);
  known_number(json, "num_workers", is_known, run->num_workers);
  text(json, "resident", resident(run));
  known_flag(json, "pin_memory", is_known, run->pin_memory);
  known_flag(json, "amp", is_known, run->amp);
  text(json, "trace_dir", run->trace_dir);
  number_u64(json, "schema_version", JSON_SCHEMA_VERSION);
  text(json, "pdhost_version", run->pdhost_version);
  text(json, "source_id", PD_HAS(pd_run, run, source_id) ? run->source_id : NULL);
  text(json, "scenario_version", run->scenario_version);
  text(json, "bottleneck", run->bottleneck);
  text(json, "command_line", run->command_line);
  text(json, "host_name", run->host_name);
  number_u64(json, "pid", run->pid);
  number_u64(json, "rank", run->rank);
  number_u64(json, "ranks", run->ranks ? run->ranks : 1);
  number_i64(json, "start_realtime_ns", run->start_realtime_ns);
  number_u64(json, "seed", run->seed);
  known_number(json, "image_size", is_known, run->image_size);
  known_flag(json, "channels_last", is_known, run->channels_last);
  flag(json, "sync_timing", run->sync_timing);
  flag(json, "timer_only", run->timer_only);
  flag(json, "record_shapes", run->record_shapes);
  flag(json, "profile_memory", run->profile_memory);
  flag(json, "with_stack", run->with_stack);
  flag(json, "with_flops", run->with_flops);
  flag(json, "with_modules", run->with_modules);
  schedule(json, run);
  configuration(json, run);
}

/* ---- windows ---- */

static const char *const unit_names[] = {"none",  "count", "ns",         "bytes",         "percent",
                                         "ratio", "flops", "per_second", "GB_per_second", "text"};

static const char *unit_name(pd_unit unit) {
  return unit < sizeof unit_names / sizeof *unit_names ? unit_names[unit] : "none";
}

static void cell(json_writer *json, const pd_metric *metric, const pd_cell *cell) {
  if (cell->missing)
    json_null(json);
  else if (metric->unit == PD_UNIT_TEXT)
    json_string(json, cell->v.text);
  else if (cell->is_double)
    json_double(json, cell->v.d);
  else
    json_i64(json, cell->v.i);
}

static void table_row(json_writer *json, const pd_table *table, const pd_table_row *row) {
  json_begin_object(json);
  for (uint32_t i = 0; i < table->column_count; i++) {
    json_key(json, table->columns[i]->key);
    cell(json, table->columns[i], &row->cells[i]);
  }
  number_u64(json, "level", row->level);
  json_end_object(json);
}

static void table(json_writer *json, const pd_table *table) {
  json_key(json, table->id);
  json_begin_object(json);
  text(json, "title", table->title);
  text(json, "note", table->note);
  json_key(json, "columns");
  json_begin_array(json);
  for (uint32_t i = 0; i < table->column_count; i++) {
    json_begin_object(json);
    text(json, "key", table->columns[i]->key);
    text(json, "heading", table->columns[i]->heading);
    text(json, "unit", unit_name(table->columns[i]->unit));
    json_end_object(json);
  }
  json_end_array(json);
  json_key(json, "rows");
  json_begin_array(json);
  for (uint64_t i = 0; i < table->rows.count; i++) table_row(json, table, PD_AT(pd_table_row, &table->rows, i));
  json_end_array(json);
  json_key(json, "footer");
  if (table->footer)
    table_row(json, table, table->footer);
  else
    json_null(json);
  json_end_object(json);
}

static const char *const profile_names[] = {"none", "full", "events"};

static const char *profile_name(pd_profile_mode mode) {
  return mode < sizeof profile_names / sizeof *profile_names ? profile_names[mode] : "unknown";
}

static void losses_by_kind(json_writer *json, const uint64_t *lost) {
  json_key(json, "lost");
  json_begin_object(json);
  for (uint32_t i = 0; i < PD_LOSS_COUNT; i++) number_u64(json, pd_loss_name(i), lost[i]);
  json_end_object(json);
}

static void window_step(json_writer *json, const pd_trace *trace, const pd_trace_step *step) {
  json_begin_object(json);
  number_u64(json, "number", step->number);
  number_i64(json, "start_ns", trace->base_ns + step->start_ns);
  number_i64(json, "duration_ns", step->end_ns - step->start_ns);
  number_i64(json, "data_wait_ns", step->data_wait_ns);
  number_i64(json, "step_time_ns", step->step_time_ns);
  number_u64(json, "launches", step->launches);
  number_u64(json, "matched", step->matched);
  number_u64(json, "device_rows", step->device_rows);
  number_double(json, "loss", step->loss);
  json_end_object(json);
}

void section_tables(json_writer *json, const pd_table_set *set) {
  json_key(json, "tables");
  json_begin_object(json);
  for (uint32_t i = 0; set && i < set->count; i++) table(json, set->tables[i]);
  json_end_object(json);
}

/* What recording adds to a step; null: steps that were not recorded did not take turns with those that were. */
static void recording_cost(json_writer *json, const pd_trace *trace) {
  json_key(json, "recording_cost");
  if (!PD_HAS(pd_trace, trace, twin) || !trace->twin.rounds) {
    json_null(json);
    return;
  }
  json_begin_object(json);
  number_i64(json, "added_ns", trace->twin.added_ns);
  number_i64(json, "low_ns", trace->twin.low_ns);
  number_i64(json, "high_ns", trace->twin.high_ns);
  number_i64(json, "step_ns", trace->twin.step_ns);
  number_u64(json, "twin_rounds", trace->twin.rounds);
  json_end_object(json);
}

void section_window(json_writer *json, const pd_trace *trace, const pd_table_set *set) {
  json_begin_object(json);
  number_u64(json, "window", trace->window);
  number_i64(json, "start_realtime_ns", trace->base_ns + trace->start_ns);
  number_i64(json, "duration_ns", trace->end_ns - trace->start_ns);
  text(json, "profile", profile_name(trace->profile));
  text(json, "profile_note", trace->profile_note);
  text(json, "steps_found", PD_HAS(pd_trace, trace, steps_found) ? trace->steps_found : NULL);
  flag(json, "sync_timing", trace->sync_timing);
  flag(json, "copies_ahead", PD_HAS(pd_trace, trace, copies_ahead) && trace->copies_ahead);
  json_key(json, "unprofiled_step_ns");
  if (PD_HAS(pd_trace, trace, unprofiled_step_ns) && trace->unprofiled_step_ns > 0)
    json_i64(json, trace->unprofiled_step_ns);
  else
    json_null(json);
  recording_cost(json, trace);
  number_i64(json, "unrecorded_ns", PD_HAS(pd_trace, trace, unrecorded_ns) ? trace->unrecorded_ns : 0);
  flag(json, "partial", PD_HAS(pd_trace, trace, partial) && trace->partial);
  number_i64(json, "paused_ns", PD_HAS(pd_trace, trace, paused_ns) ? trace->paused_ns : 0);
  number_double(json, "coverage", pd_trace_coverage(trace));
  losses_by_kind(json, trace->losses);
  number_i64(json, "corrected_ns", PD_HAS(pd_trace, trace, corrected_ns) ? trace->corrected_ns : 0);
  json_key(json, "counts");
  json_begin_object(json);
  number_u64(json, "ranges", trace->ranges.count);
  number_u64(json, "calls", trace->calls.count);
  number_u64(json, "activities", trace->activities.count);
  number_u64(json, "others", trace->others.count);
  number_u64(json, "memory", trace->memory.count);
  number_u64(json, "counters", trace->counters.count);
  json_end_object(json);
  json_key(json, "steps");
  json_begin_array(json);
  for (uint64_t i = 0; i < trace->steps.count; i++) window_step(json, trace, PD_AT(pd_trace_step, &trace->steps, i));
  json_end_array(json);
  section_series(json, trace);
  section_tables(json, set);
  json_end_object(json);
}

/* ---- end ---- */

static void spread(json_writer *json, const char *key, const pd_spread *spread) {
  json_key(json, key);
  json_begin_object(json);
  number_u64(json, "count", spread->count);
  if (spread->count) {
    number_double(json, "mean", spread->mean);
    number_double(json, "median", spread->median);
    number_double(json, "min", spread->min);
    number_double(json, "max", spread->max);
    number_double(json, "p10", spread->p10);
    number_double(json, "p90", spread->p90);
  }
  json_end_object(json);
}

static void step_row(json_writer *json, const pd_step_stats *step) {
  static const char *const phases[] = {"warmup_steps", "skip", "wait", "warmup", "active", "paused"};
  json_begin_object(json);
  number_u64(json, "index", step->index);
  text(json, "phase", step->phase < sizeof phases / sizeof *phases ? phases[step->phase] : "unknown");
  json_key(json, "window");
  if (step->window == PD_NONE)
    json_null(json);
  else
    json_u64(json, step->window);
  number_i64(json, "data_wait_ns", step->data_wait_ns);
  number_i64(json, "step_time_ns", step->step_time_ns);
  number_i64(json, "batch_cost_ns", step->batch_cost_ns);
  number_double(json, "loss", step->loss);
  number_double(json, "loss_scale", step->loss_scale);
  number_u64(json, "allocated_bytes", step->allocated_bytes);
  number_u64(json, "reserved_bytes", step->reserved_bytes);
  number_i64(json, "end_realtime_ns", step->end_realtime_ns);
  json_end_object(json);
}

static void notes(json_writer *json, const pd_summary *summary) {
  const uint64_t count = PD_HAS(pd_summary, summary, notes) ? summary->notes.count : 0;
  json_key(json, "notes");
  json_begin_array(json);
  for (uint64_t i = 0; i < count; i++) json_string(json, *PD_AT(pd_note, &summary->notes, i));
  json_end_array(json);
}

void section_summary(json_writer *json, const pd_run *run, const pd_summary *summary) {
  device(json, run);
  static const char *const outcomes[] = {"complete", "interrupted", "failed"};
  number_double(json, "avg_step_time_s", summary->avg_step_time_s);
  number_double(json, "avg_dataloader_wait_s", summary->avg_dataloader_wait_s);
  text(json, "outcome", summary->outcome < sizeof outcomes / sizeof *outcomes ? outcomes[summary->outcome] : "failed");
  text(json, "reason", summary->reason);
  number_u64(json, "steps", summary->steps);
  number_u64(json, "windows_finished", summary->windows);
  spread(json, "active_step_time_s", &summary->step_time_s);
  spread(json, "active_dataloader_wait_s", &summary->data_wait_s);
  spread(json, "active_batch_cost_s", &summary->batch_cost_s);
  number_double(json, "steps_per_s", summary->steps_per_s);
  number_double(json, "samples_per_s", summary->samples_per_s);
  number_double(json, "first_batch_s", summary->first_batch_s);
  number_u64(json, "peak_allocated_bytes", summary->peak_allocated_bytes);
  number_u64(json, "peak_reserved_bytes", summary->peak_reserved_bytes);
  energy_figure energy[ENERGY_FIGURES];
  energy_figures(summary, energy);
  for (int i = 0; i < ENERGY_FIGURES; i++) number_double(json, energy[i].key, energy[i].joules);
  const bool has_pauses = PD_HAS(pd_summary, summary, paused_s);
  number_u64(json, "pauses", has_pauses ? summary->pauses : 0);
  number_double(json, "paused_s", has_pauses ? summary->paused_s : 0);
  number_double(json, "coverage", summary->coverage);
  losses_by_kind(json, summary->lost);
  number_i64(json, "corrected_ns", PD_HAS(pd_summary, summary, corrected_ns) ? summary->corrected_ns : 0);
  text(json, "profile", profile_name(summary->profile));
  text(json, "profile_note", summary->profile_note);
  text(json, "sync_note", summary->sync_note);
  notes(json, summary);
  json_key(json, "losses");
  json_begin_array(json);
  for (uint64_t i = 0; i < summary->losses.count; i++) json_double(json, *PD_AT(double, &summary->losses, i));
  json_end_array(json);
  json_key(json, "step_rows");
  json_begin_array(json);
  for (uint64_t i = 0; i < summary->steps_all.count; i++) step_row(json, PD_AT(pd_step_stats, &summary->steps_all, i));
  json_end_array(json);
}
