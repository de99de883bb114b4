/* See run_truth.h. Device time is taken by pairs of events, which are read when nothing is measured any more. */
#include "run_truth.h"

#include "dial.h"
#include "truth_figures.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "run/kept/long_array.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Spans of a step whose events are made before it. */
enum { SPANS_AHEAD = 16 };

/* Injected device work, waiting to be read. */
typedef struct device_span {
  pd_event *start, *end;
  uint64_t row; /* of the step */
} device_span;

struct truth {
  pd_truth table;
  const pd_device_access *access; /* NULL: no device time */
  bool active;                    /* the step that runs is measured */
  bool device_open;               /* between device_begin and device_end */
  int64_t begun_ns;               /* 0: not inside */
  truth_row now;                  /* of the step that runs */
  long_array rows;                /* of truth_row */
  truth_block_pair *rounds, *input_rounds;
  truth_cured *cures;
  device_span *spans; /* the first `span_count` are in use; the others keep their events */
  uint64_t round_room, input_round_room, cure_room, cure_round_room, span_count, span_made, span_room;
  uint64_t timed_rows; /* whose step's time is known, of steps that are not waited for */
  uint64_t step_spans; /* begun since the last step began, measured or not */
  truth_figures all;
};

/* ---- what a scenario calls ---- */

static void begin(const pd_truth *table) {
  truth *self = table->impl;
  self->begun_ns = monotonic_ns();
}

static void end(const pd_truth *table, uint64_t count) {
  truth *self = table->impl;
  if (self->begun_ns) self->now.host_ns += monotonic_ns() - self->begun_ns;
  self->begun_ns = 0;
  self->now.count += count;
  self->all.timed = self->all.counted = true;
}

static void asked(const pd_truth *table, double us, uint64_t count) {
  truth *self = table->impl;
  self->all.asked_us = us;
  self->all.asked_count = count;
}

static void count_things(const pd_truth *table, uint64_t count) {
  truth *self = table->impl;
  self->now.count += count;
  self->all.counted = true;
}

/* `count` spans at least, with their events. */
static pd_status make_spans(truth *self, uint64_t count) {
  const pd_stream_ops *ops = self->access->ops->stream;
  while (self->span_made < count) {
    device_span one = {0};
    if (!PD_ARRAY_FIT(self->spans, self->span_room, self->span_made + 1)) return PD_NO_MEMORY;
    pd_status status = ops->event_create(self->access->device, &one.start);
    if (status != PD_OK) return status;
    status = ops->event_create(self->access->device, &one.end);
    if (status != PD_OK) {
      ops->event_destroy(self->access->device, one.start);
      return status;
    }
    self->spans[self->span_made++] = one;
  }
  return PD_OK;
}

static pd_status device_begin(const pd_truth *table, pd_stream *stream) {
  truth *self = table->impl;
  self->step_spans++;
  if (!self->active || !self->access || self->device_open) return PD_OK;
  pd_status status = make_spans(self, self->span_count + 1);
  if (status == PD_OK)
    status = self->access->ops->stream->event_record(self->access->device, stream, self->spans[self->span_count].start);
  self->device_open = status == PD_OK;
  return status;
}

static pd_status device_end(const pd_truth *table, pd_stream *stream, uint64_t count) {
  truth *self = table->impl;
  if (!self->device_open) return PD_OK;
  device_span *span = &self->spans[self->span_count];
  self->device_open = false;
  self->now.count += count;
  self->all.timed = self->all.counted = true;
  span->row = self->all.row_count;
  const pd_status status = self->access->ops->stream->event_record(self->access->device, stream, span->end);
  if (status == PD_OK) self->span_count++;
  return status;
}

/* ---- life ---- */

truth *truth_open(const char *folder) {
  truth *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->all.asked_us = -1;
  self->rows = (long_array){.folder = folder, .row_bytes = sizeof(truth_row)};
  self->table = (pd_truth){.size = sizeof(pd_truth),
                           .impl = self,
                           .begin = begin,
                           .end = end,
                           .asked = asked,
                           .count = count_things,
                           .device_begin = device_begin,
                           .device_end = device_end};
  return self;
}

void truth_close(truth *self) {
  if (!self) return;
  for (uint64_t i = 0; i < self->span_made; i++) {
    self->access->ops->stream->event_destroy(self->access->device, self->spans[i].start);
    self->access->ops->stream->event_destroy(self->access->device, self->spans[i].end);
  }
  free(self->spans);
  long_array_free(&self->rows);
  free(self->rounds);
  free(self->input_rounds);
  for (uint32_t i = 0; i < self->all.cure_count; i++) {
    free(self->cures[i].text);
    free(self->cures[i].own_rounds);
  }
  free(self->cures);
  free(self);
}

const pd_truth *truth_table(const truth *self) { return &self->table; }
void truth_use_device(truth *self, const pd_device_access *access) { self->access = access; }

/* ---- steps ---- */

static truth_row *row_at(const truth *self, uint64_t index) { return (truth_row *)self->rows.rows + index; }

void truth_step_begin(truth *self, pd_phase phase) {
  self->active = phase == PD_PHASE_ACTIVE;
  self->device_open = false;
  self->begun_ns = 0;
  self->now = (truth_row){0};
  /* As many as the step before had: an event made between two that are recorded would be taken for the device's time. A
   * failure comes again where the span is needed. */
  if (self->access && self->step_spans)
    (void)make_spans(self, self->span_count + (self->step_spans < SPANS_AHEAD ? self->step_spans : SPANS_AHEAD));
  self->step_spans = 0;
}

void truth_step_loaded(truth *self, int64_t asked_ns, int64_t measured_ns) {
  self->now.loader_ns = measured_ns;
  self->all.asked_loader_ns = asked_ns;
  self->all.loaded = asked_ns > 0;
}

pd_status truth_step(truth *self, const pd_step_stats *stats) {
  if (!self->active) return PD_OK;
  self->active = false;
  if (!long_array_fit(&self->rows, self->all.row_count + 1)) return PD_NO_MEMORY;
  truth_row *row = row_at(self, self->all.row_count++);
  *row = self->now;
  row->step = stats->index;
  row->cost_ns = stats->batch_cost_ns;
  row->wait_ns = stats->data_wait_ns;
  return PD_OK;
}

void truth_step_timed(truth *self, const pd_step_stats *stats) {
  if (stats->phase != PD_PHASE_ACTIVE || self->timed_rows == self->all.row_count) return;
  truth_row *row = row_at(self, self->timed_rows);
  if (row->step != stats->index) return;
  row->cost_ns = stats->batch_cost_ns;
  self->timed_rows++;
}

void truth_settle(truth *self) {
  for (uint64_t i = 0; i < self->span_count; i++) {
    const device_span *span = &self->spans[i];
    const pd_stream_ops *ops = self->access->ops->stream;
    double ns = 0;
    if (span->row >= self->all.row_count) continue; /* of a step that failed */
    if (ops->event_synchronize(self->access->device, span->end) == PD_OK &&
        ops->event_elapsed_ns(self->access->device, span->start, span->end, &ns) == PD_OK)
      row_at(self, span->row)->device_ns += (int64_t)ns;
  }
  self->span_count = 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): PD_ARRAY_FIT sets it */
static pd_status add_round(truth_block_pair **at, truth_rounds *all, uint64_t *room, truth_block_pair pair) {
  if (!PD_ARRAY_FIT(*at, *room, all->count + 1)) return PD_NO_MEMORY;
  all->at = *at;
  (*at)[all->count++] = pair;
  return PD_OK;
}

pd_status truth_round(truth *self, const truth_block_pair *pair) {
  return add_round(&self->rounds, &self->all.rounds, &self->round_room, *pair);
}

pd_status truth_round_input(truth *self, double with_ns, double without_ns) {
  return add_round(&self->input_rounds, &self->all.input_rounds, &self->input_round_room,
                   (truth_block_pair){.with_ns = with_ns, .without_ns = without_ns});
}

pd_status truth_cure(truth *self, const char *cause, const char *settings, bool predicted) {
  if (!PD_ARRAY_FIT(self->cures, self->cure_room, self->all.cure_count + 1u)) return PD_NO_MEMORY;
  self->all.cures = self->cures;
  truth_cured one = {.predicted = predicted};
  if (asprintf(&one.text, "%s%c%s", cause, '\0', settings) < 0) return PD_NO_MEMORY;
  one.cause = one.text;
  one.settings = one.text + strlen(cause) + 1;
  self->cures[self->all.cure_count++] = one;
  self->cure_round_room = 0;
  return PD_OK;
}

pd_status truth_round_cure(truth *self, double with_ns, double without_ns) {
  truth_cured *at = &self->cures[self->all.cure_count - 1];
  return add_round(&at->own_rounds, &at->rounds, &self->cure_round_room,
                   (truth_block_pair){.with_ns = with_ns, .without_ns = without_ns});
}

void truth_dial(truth *self, double us, double share, double amount) {
  self->all.rounds.amount = amount;
  self->all.dial_us = us;
  self->all.dial_share = share;
}

bool truth_dial_effect(const truth *self, double *off, double *unsure) {
  truth_effect effect;
  const truth_figures *all = &self->all;
  if (!(all->dial_us > 0 || all->dial_share > 0) || !all->rounds.count) return false;
  if (!truth_effect_of(&all->rounds, &effect)) return false;
  const double wanted_ns = dial_wanted_ns(all->dial_us, all->dial_share, effect.without_ns);
  *off = effect.added_ns / wanted_ns - 1;
  *unsure = effect.error_ns / wanted_ns;
  return true;
}

uint64_t truth_steps(const truth *self) { return self->all.row_count; }

bool truth_dialled(const truth *self, const pd_run *run, double *asked_us, double *injected_us) {
  truth_figures all = self->all;
  truth_dialled_time of;
  all.rows = self->rows.rows;
  if (!truth_figures_dial(&all, run, false, &of)) return false;
  *asked_us = of.asked_us;
  *injected_us = of.measured_us;
  return true;
}

/* Chance alone may have made it so. */
static bool may_be_right(const truth_dialled_time *of) {
  return of->low_us <= of->asked_us && of->asked_us <= of->high_us;
}

void truth_tell(const truth *self, const pd_run *run) {
  truth_figures all = self->all;
  all.rows = self->rows.rows;
  for (int loader = 0; loader < 2; loader++) {
    char interval[64] = "";
    truth_dialled_time of;
    if (!truth_figures_dial(&all, run, loader, &of) || may_be_right(&of)) continue;
    const double percent = truth_figures_off(&of, of.measured_us);
    if (!(fabs(percent) > TRUTH_DIAL_ERROR)) continue;
    if (!isnan(of.low_us)) snprintf(interval, sizeof interval, " (95 %%: %.0f to %.0f us)", of.low_us, of.high_us);
    log_line(
        PD_LOG_WARN, NULL,
        "%s was to inject %.0f us a step and injected %.0f us%s, %.0f %% %s: the device or the machine's other work "
        "moved it",
        loader ? "the loader" : run->scenario, of.asked_us, of.measured_us, interval, fabs(percent),
        percent > 0 ? "more" : "less");
  }
}

/* ---- the file ---- */

pd_status truth_write(const truth *self, const pd_files *files, const pd_run *run) {
  char *text = NULL, *path = NULL;
  size_t bytes = 0, path_bytes = 0;
  pd_file *file = NULL;
  pd_status status = PD_NO_MEMORY;
  truth_figures all = self->all;
  all.rows = self->rows.rows;
  FILE *name = open_memstream(&path, &path_bytes), *out = open_memstream(&text, &bytes);
  /* In a folder of its own: tools take every .json of the trace folder for a trace. */
  if (name) fprintf(name, "%s/truth/truth.json", run->trace_dir);
  const bool whole = name && out && truth_figures_print(&all, run, out) && !ferror(name) && !ferror(out);
  if (name && fclose(name) != 0) path = NULL;
  if (out && fclose(out) != 0) text = NULL;
  if (whole && path && text) {
    status = files->open(files, path, &file);
    if (status == PD_OK) {
      status = files->write(file, text, bytes);
      if (status == PD_OK) {
        status = files->commit(file);
        if (status == PD_OK) files->announce(files, path);
      } else {
        files->discard(file);
      }
    }
  }
  free(path);
  free(text);
  return status;
}
