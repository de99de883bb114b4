/* See truth.h. A scenario whose bottleneck lies in the loader alone reports nothing itself: what it injects is the wait
 * for data, which the loop measures. */
#include "truth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct truth {
  pd_truth table;
  int64_t begun_ns; /* 0: not inside */
  int64_t step_ns;  /* of the step that runs */
  uint64_t step_count;
  bool reported;  /* the scenario measures itself */
  uint64_t steps; /* active ones */
  int64_t injected_ns, batch_cost_ns, data_wait_ns;
  uint64_t count;
};

static int64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void begin(const pd_truth *table) {
  truth *self = table->impl;
  self->reported = true;
  self->begun_ns = monotonic_ns();
}

static void end(const pd_truth *table, uint64_t count) {
  truth *self = table->impl;
  if (self->begun_ns) self->step_ns += monotonic_ns() - self->begun_ns;
  self->begun_ns = 0;
  self->step_count += count;
}

truth *truth_open(void) {
  truth *self = calloc(1, sizeof *self);
  if (self) self->table = (pd_truth){.size = sizeof(pd_truth), .impl = self, .begin = begin, .end = end};
  return self;
}

void truth_close(truth *self) { free(self); }
const pd_truth *truth_table(const truth *self) { return &self->table; }

void truth_step(truth *self, const pd_step_stats *stats) {
  if (stats->phase == PD_PHASE_ACTIVE) {
    self->steps++;
    self->injected_ns += self->step_ns;
    self->count += self->step_count;
    self->batch_cost_ns += stats->batch_cost_ns;
    self->data_wait_ns += stats->data_wait_ns;
  }
  self->step_ns = self->begun_ns = 0;
  self->step_count = 0;
}

uint64_t truth_steps(const truth *self) { return self->steps; }

static void put_text(FILE *out, const char *text) {
  putc('"', out);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putc('\\', out);
    if ((unsigned char)*text < ' ')
      fprintf(out, "\\u%04x", (unsigned)*text);
    else
      putc(*text, out);
  }
  putc('"', out);
}

/* What sets the intensity. */
static void put_settings(FILE *out, const pd_run *run) {
  const char *comma = "";
  fputs("  \"settings\": {", out);
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    if (strcmp(setting->section, "scenario") != 0 && strcmp(setting->section, "data") != 0) continue;
    char key[128];
    snprintf(key, sizeof key, "%s.%s", setting->section, setting->key);
    fprintf(out, "%s\n    ", comma);
    put_text(out, key);
    fputs(": ", out);
    put_text(out, setting->value ? setting->value : "");
    comma = ",";
  }
  fputs("\n  }\n", out);
}

static void put_all(const truth *self, const pd_run *run, FILE *out) {
  const bool is_input = strcmp(run->bottleneck, "input_bound") == 0;
  const double steps = self->steps ? (double)self->steps : 1;
  const int64_t injected = is_input ? self->data_wait_ns : self->injected_ns;
  fputs("{\n  \"format\": \"pdhost.truth/1\",\n  \"scenario\": ", out);
  put_text(out, run->scenario);
  fputs(",\n  \"cause\": ", out);
  put_text(out, run->bottleneck);
  fprintf(out, ",\n  \"steps\": %" PRIu64 ",\n  \"step_us\": %.3f,\n", self->steps,
          (double)self->batch_cost_ns * 1e-3 / steps);
  /* Nothing measured is not the same as nothing injected. */
  if (is_input || self->reported || strcmp(run->bottleneck, "none") == 0)
    fprintf(out, "  \"injected_us_per_step\": %.3f,\n", (double)injected * 1e-3 / steps);
  else
    fputs("  \"injected_us_per_step\": null,\n", out);
  if (self->reported)
    fprintf(out, "  \"count_per_step\": %.3f,\n", (double)self->count / steps);
  else
    fputs("  \"count_per_step\": null,\n", out);
  put_settings(out, run);
  fputs("}\n", out);
}

pd_status truth_write(const truth *self, const pd_files *files, const pd_run *run) {
  char *text = NULL, *path = NULL;
  size_t bytes = 0, path_bytes = 0;
  pd_file *file = NULL;
  pd_status status = PD_NO_MEMORY;
  FILE *name = open_memstream(&path, &path_bytes), *out = open_memstream(&text, &bytes);
  if (name) fprintf(name, "%s/truth.json", run->trace_dir);
  if (out) put_all(self, run, out);
  const bool whole = name && out && !ferror(name) && !ferror(out);
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
