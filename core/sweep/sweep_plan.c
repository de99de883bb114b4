/* See sweep_plan.h. */
#include "sweep_plan.h"

#include "compare/idle_keys.h"

#include "abi/option.h"
#include "config/cli_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A folder's name is cut here and ended by a number of the whole. */
enum { NAME_BYTES = 200, PATH_BYTES = 4096 };

bool sweep_plan_add(sweep_plan *self, const char *text, error *err) {
  if (self->axis_count == SWEEP_AXES) {
    error_add(err, PD_INVALID, CODE_USAGE, "--vary %s: at most %d axes", text, SWEEP_AXES);
    return false;
  }
  axis *added = &self->axes[self->axis_count];
  if (!axis_parse(text, added, err)) return false;
  for (uint32_t i = 0; i < self->axis_count; i++) {
    if (strcmp(self->axes[i].section, added->section) != 0 || strcmp(self->axes[i].key, added->key) != 0) continue;
    error_add(err, PD_INVALID, CODE_USAGE, "--vary %s: %s.%s is varied already", text, added->section, added->key);
    axis_free(added);
    return false;
  }
  self->axis_count++;
  return true;
}

void sweep_plan_free(sweep_plan *self) {
  draws_free(&self->draws);
  for (uint32_t i = 0; i < self->axis_count; i++) axis_free(&self->axes[i]);
  self->axis_count = 0;
}

uint32_t sweep_plan_key_count(const sweep_plan *self) { return self->draws.key_count + self->axis_count; }

uint32_t sweep_plan_draw_cells(const sweep_plan *self) {
  uint32_t cells = 1;
  for (uint32_t i = 0; i < self->axis_count; i++) cells *= self->axes[i].count;
  return cells;
}

config_assignment sweep_plan_at(const sweep_plan *self, uint32_t cell, uint32_t at) {
  config_assignment found = {.origin = "command line"};
  if (at < self->draws.key_count) {
    found.section = self->draws.keys[at].section;
    found.key = self->draws.keys[at].key;
    found.value = draws_value(&self->draws, cell / sweep_plan_draw_cells(self), at);
    return found;
  }
  at -= self->draws.key_count;
  for (uint32_t i = self->axis_count - 1; i > at; i--) cell /= self->axes[i].count;
  found.section = self->axes[at].section;
  found.key = self->axes[at].key;
  found.value = self->axes[at].values[cell % self->axes[at].count];
  return found;
}

const char *sweep_plan_name(const sweep_plan *self, uint32_t cell, uint32_t first, uint32_t end, char *text,
                            size_t room) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = first; i < end && used < room; i++) {
    const config_assignment at = sweep_plan_at(self, cell, i);
    used +=
        (size_t)snprintf(text + used, room - used, "%s%s.%s=%s", i > first ? ", " : "", at.section, at.key, at.value);
  }
  return text;
}

const char *sweep_plan_folder(const sweep_plan *self, uint32_t cell, char *path, size_t room) {
  char name[PATH_BYTES], safe[NAME_BYTES + 32];
  uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
  size_t used = 0;
  (void)sweep_plan_name(self, cell, 0, sweep_plan_key_count(self), name, sizeof name);
  for (const char *at = name; *at; at++) {
    const unsigned char byte = (unsigned char)*at;
    hash = (hash ^ byte) * UINT64_C(1099511628211);
    if (used >= NAME_BYTES || byte == ' ') continue;
    const bool plain = byte > ' ' && byte < 127 && !strchr("/%\\:\"'*?<>|", byte);
    used += (size_t)snprintf(safe + used, sizeof safe - used, plain ? "%c" : "%%%02X", byte);
  }
  if (used >= NAME_BYTES) snprintf(safe + used, sizeof safe - used, "-%016llx", (unsigned long long)hash);
  snprintf(path, room, "%s/cells/%s", self->folder, safe);
  return path;
}

static const char run_result[] = "metrics.json", benchmark_result[] = "benchmark.json";

const char *sweep_plan_result(const sweep_plan *self, uint32_t cell, char *path, size_t room) {
  char folder[PATH_BYTES];
  snprintf(path, room, "%s/%s", sweep_plan_folder(self, cell, folder, sizeof folder),
           self->is_benchmark[cell] ? benchmark_result : run_result);
  return path;
}

void sweep_plan_command(const sweep_plan *self, uint32_t cell, saved_run *out) {
  char folder[PATH_BYTES], key[512], path[PATH_BYTES + 32];
  sweep_plan_folder(self, cell, folder, sizeof folder);
  saved_run_word(out, self->program);
  saved_run_word(out, "-q");
  saved_run_set(out, "profile.timer_only", "true"); /* before what the user says, who may say otherwise */
  for (uint32_t i = 0; i < self->base_count; i++) saved_run_word(out, self->base[i]);
  for (uint32_t i = 0; i < sweep_plan_key_count(self); i++) {
    const config_assignment at = sweep_plan_at(self, cell, i);
    snprintf(key, sizeof key, "%s.%s", at.section, at.key);
    saved_run_set(out, key, at.value);
  }
  saved_run_set(out, "run.trace_dir", folder);
  saved_run_word(out, "--sink");
  saved_run_word(out, "json");
  saved_run_word(out, "--sink");
  saved_run_word(out, "tensorboard");
  snprintf(path, sizeof path, "%s/%s", folder, run_result);
  saved_run_set(out, "sink.json.output_json", path);
  snprintf(path, sizeof path, "%s/%s", folder, benchmark_result);
  saved_run_set(out, "benchmark.output", path);
}

/* Every way in which a cell can be timed, as in `timings`. */
static uint64_t all_timings(void) {
  const unsigned batches[] = {TIMED_LOADED, TIMED_RESIDENT};
  uint64_t all = UINT64_C(1) << TIMED_STEP;
  for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++)
    all |= UINT64_C(1) << (TIMED_BARE | batches[i]) | UINT64_C(1) << (TIMED_RECORDED | batches[i]);
  return all;
}

static uint64_t timing_of(const config *cell) {
  if (strcmp(cell->run.mode, "benchmark") == 0) return UINT64_C(1) << TIMED_STEP;
  const bool resident = cell->data.resident != DATA_RESIDENT_NONE;
  return UINT64_C(1) << ((cell->profile.timer_only ? TIMED_BARE : TIMED_RECORDED) |
                         (resident ? TIMED_RESIDENT : TIMED_LOADED));
}

/* A key is refused when it can do nothing in any cell. */
static bool check_idle(const config_assignment *at, uint64_t timings, idle_scope scope, error *err) {
  const char *why = NULL;
  for (unsigned timed = 0; timed < TIMED_CELL_ENDS; timed++) {
    if (!(timings >> timed & 1)) continue;
    const char *here = idle_keys_why(at, timed, scope);
    if (!here) return true;
    if (!why) why = here;
  }
  if (!why) return true;
  error_add(err, PD_INVALID, CODE_USAGE, "sweep: %s.%s: %s", at->section, at->key, why);
  return false;
}

/* Such a key cannot be given for all cells: a named flag would win over it. */
static bool check_given(const sweep_plan *self, const config_assignment *at, uint64_t timings, error *err) {
  for (uint32_t i = 0; i < sweep_plan_key_count(self); i++) {
    const config_assignment own = sweep_plan_at(self, 0, i);
    if (strcmp(at->section, own.section) != 0 || strcmp(at->key, own.key) != 0) continue;
    error_add(err, PD_INVALID, CODE_USAGE, "sweep: %s.%s is %s and given too: leave one out", at->section, at->key,
              i < self->draws.key_count ? "drawn" : "varied");
    return false;
  }
  return check_idle(at, timings, IDLE_ALL, err);
}

static bool check_keys(const sweep_plan *self, uint64_t timings, error *err) {
  bool ok = true;
  for (uint32_t i = 0; ok && i < sweep_plan_key_count(self); i++) {
    const config_assignment at = sweep_plan_at(self, 0, i);
    ok = check_idle(&at, timings, IDLE_ONE, err);
  }
  return ok;
}

/* The shared words and the keys, for cells that are timed in these ways. */
static bool check_words(const sweep_plan *self, uint64_t timings, error *err) {
  cli_args args;
  char **words = calloc(self->base_count + 2u, sizeof *words);
  if (!words) {
    error_no_memory(err);
    return false;
  }
  static char sweep[] = "sweep";
  words[0] = sweep;
  if (self->base_count) memcpy(words + 1, self->base, self->base_count * sizeof *words);
  bool ok = cli_args_parse(&args, NULL, (int)self->base_count + 1, words, err) == PD_OK;
  if (ok && args.command != CLI_RUN) {
    error_set(err, PD_INVALID, CODE_USAGE, "sweep: only options of a run are expected; see pdhost sweep --help");
    ok = false;
  }
  for (uint32_t i = 0; ok && i < args.input.assignment_count; i++)
    ok = check_given(self, &args.input.assignments[i], timings, err);
  ok = ok && check_keys(self, timings, err);
  cli_args_free(&args);
  free(words);
  return ok;
}

static bool load_cell(const sweep_plan *self, uint32_t cell, config **out, error *err) {
  saved_run command = {.words = NULL};
  cli_args args;
  sweep_plan_command(self, cell, &command);
  if (command.failed) {
    saved_run_clear(&command);
    error_no_memory(err);
    return false;
  }
  bool ok = cli_args_parse(&args, NULL, (int)command.count, command.words, err) == PD_OK;
  ok = ok && config_load(&args.input, out, err) == PD_OK;
  cli_args_free(&args);
  saved_run_clear(&command);
  return ok;
}

static bool check_cell(sweep_plan *self, uint32_t cell, error *err) {
  config *loaded = NULL;
  if (!load_cell(self, cell, &loaded, err)) return false;
  self->is_benchmark[cell] = strcmp(loaded->run.mode, "benchmark") == 0;
  self->benchmark_count += self->is_benchmark[cell];
  self->timings |= timing_of(loaded);
  config_free(loaded);
  return true;
}

/* ---- draws ---- */

/* What a key takes says whether whole numbers are drawn for it, as for a duration, whose text has no exponent; where
 * its row is not known, its bounds do. */
static bool fit_distribution(distribution *at, config *loaded, error *err) {
  pd_option row;
  if (at->kind == DISTRIBUTION_CHOICE || !config_row(loaded, at->section, at->key, &row)) return true;
  switch (row.type) {
  case PD_FLOAT: return distribution_set_whole(at, false, err);
  case PD_INT:
  case PD_BYTES:
  case PD_DURATION: return distribution_set_whole(at, true, err);
  default:
    error_add(err, PD_INVALID, CODE_USAGE,
              "--sample %s.%s=%s: the key is not a number but a %s: write choice(VALUE,VALUE)", at->section, at->key,
              at->text, option_type_name(row.type));
    return false;
  }
}

/* The ends of every distribution are checked as cells, before any is drawn from. */
static bool check_ends(sweep_plan *self, error *err) {
  bool ok = draws_make_ends(&self->draws, err);
  for (uint32_t end = 0; ok && end < draws_ends(&self->draws); end++) {
    config *loaded = NULL;
    ok = load_cell(self, end * sweep_plan_draw_cells(self), &loaded, err);
    for (uint32_t i = 0; ok && i < self->draws.key_count; i++) ok = fit_distribution(&self->draws.keys[i], loaded, err);
    config_free(loaded);
  }
  return ok;
}

static bool check_draws(sweep_plan *self, error *err) {
  for (uint32_t i = 0; i < self->draws.key_count; i++)
    for (uint32_t k = 0; k < self->axis_count; k++)
      if (strcmp(self->draws.keys[i].section, self->axes[k].section) == 0 &&
          strcmp(self->draws.keys[i].key, self->axes[k].key) == 0)
        error_add(err, PD_INVALID, CODE_USAGE, "sweep: %s.%s is drawn and varied too: leave one out",
                  self->axes[k].section, self->axes[k].key);
  return !err->count && draws_make_ends(&self->draws, err);
}

/* ---- the whole ---- */

static bool count_cells(sweep_plan *self, error *err) {
  uint64_t cells = 1;
  for (uint32_t i = 0; i < self->axis_count; i++) cells *= self->axes[i].count;
  if (!self->draws.key_count && (self->draw_count || self->draw_seed || self->draws.need_count))
    error_set(err, PD_INVALID, CODE_USAGE,
              "sweep: nothing is drawn; --draws, --draw-seed and --require go with --sample section.key=DISTRIBUTION");
  else if (!sweep_plan_key_count(self))
    error_set(err, PD_INVALID, CODE_USAGE,
              "sweep: nothing is varied; give --vary section.key=VALUE,VALUE or --sample section.key=DISTRIBUTION");
  if (err->count) return false;
  if (self->draws.key_count && !self->draw_count) self->draw_count = SWEEP_DRAWS;
  if (self->draws.key_count) cells *= self->draw_count;
  if (cells > SWEEP_CELLS)
    error_set(err, PD_INVALID, CODE_USAGE, "sweep: %llu cells are more than %d; vary less", (unsigned long long)cells,
              SWEEP_CELLS);
  self->cell_count = (uint32_t)cells;
  return !err->count;
}

bool sweep_plan_check(sweep_plan *self, error *err) {
  self->benchmark_count = 0;
  self->timings = 0;
  bool ok = count_cells(self, err) && check_draws(self, err);
  ok = ok && check_words(self, all_timings(), err); /* first, or the configuration would name another way out */
  if (ok && self->draws.key_count)
    ok = check_ends(self, err) && draws_make(&self->draws, self->draw_count, self->draw_seed, err);
  for (uint32_t i = 0; ok && i < self->cell_count; i++) ok = check_cell(self, i, err);
  return ok && check_words(self, self->timings, err);
}
