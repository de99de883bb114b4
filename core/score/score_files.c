/* The score as JSON and CSV; see score_report.h. */
#include "score_report.h"

#include "score_page.h"
#include "base/files.h"
#include "base/json_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_seen(const figures *of, uint32_t cause) { return of->counts[cause].runs || of->counts[cause].named; }

/* ---- JSON ---- */

enum { DECIMALS = 9 };

static bool add_count(json_t *object, const char *key, uint64_t count) {
  return json_text_add(object, key, json_integer((json_int_t)count));
}

static bool add_interval(json_t *object, const char *key, double value, double low, double high) {
  return json_text_add(object, key,
                       json_pack("{s:o, s:o, s:o}", "value", json_text_number(value, DECIMALS), "low",
                                 json_text_number(low, DECIMALS), "high", json_text_number(high, DECIMALS)));
}

static bool add_figures(json_t *object, const figures *of, uint32_t first, uint32_t last) {
  bool whole = true;
  for (uint32_t i = first; i <= last; i++) {
    const report_figure *figure = &report_figures[i];
    whole = add_interval(object, figure->key, report_value(&of->value, figure), report_value(&of->low, figure),
                         report_value(&of->high, figure)) &&
            whole;
  }
  return whole;
}

static bool add_cause(json_t *all, const score *self, const figures *of, uint32_t c) {
  const cause_counts *counts = &of->counts[c];
  const cause_figures *v = &of->value.of[c], *low = &of->low.of[c], *high = &of->high.of[c];
  json_t *cause = json_object(), *verdicts = json_object();
  bool whole = add_count(cause, "runs", counts->runs) && add_count(cause, "named", counts->named) &&
               add_count(cause, "right", counts->right) &&
               add_interval(cause, "precision", v->precision, low->precision, high->precision) &&
               add_interval(cause, "recall", v->recall, low->recall, high->recall) &&
               add_interval(cause, "f1", v->f1, low->f1, high->f1) &&
               add_interval(cause, "limit50", v->limit50, low->limit50, high->limit50) &&
               add_interval(cause, "limit95", v->limit95, low->limit95, high->limit95);
  for (uint32_t i = 0; i < of->causes; i++)
    if (of->matrix[c][i]) whole = add_count(verdicts, self->causes.all[i], of->matrix[c][i]) && whole;
  whole = json_text_add(cause, "verdicts", verdicts) && whole;
  return json_text_add(all, self->causes.all[c], cause) && whole;
}

static json_t *bins_of(const figures *of) {
  json_t *bins = json_array();
  bool whole = true;
  for (uint32_t b = 0; b < FIGURES_BINS; b++) {
    const calibration_bin *bin = &of->bins[b];
    if (!bin->runs) continue;
    const bool added = json_text_append(
        bins,
        json_pack("{s:o, s:o, s:I, s:o, s:I}", "from", json_text_number((double)b / FIGURES_BINS, 2), "to",
                  json_text_number((double)(b + 1) / FIGURES_BINS, 2), "runs", (json_int_t)bin->runs, "repeatable",
                  json_text_number(bin->repeatable / bin->runs, 6), "right", (json_int_t)bin->right));
    whole = whole && added;
  }
  if (whole) return bins;
  json_decref(bins);
  return NULL;
}

static bool add_part(json_t *parts, const score *self, const score_part *part) {
  const figures *of = &part->ours;
  json_t *made = json_object(), *causes = json_object(), *rivals = json_object();
  bool whole = add_count(made, "counted", of->counted) && add_count(made, "left_out", of->left_out) &&
               add_count(made, "baselines", of->baselines) && add_count(made, "off_path", of->off_path) &&
               add_count(made, "fixes_tried", of->tried) && add_count(made, "own_fixes_tried", of->own_tried) &&
               add_count(made, "fixes_without_step", of->fixes_without_step) &&
               add_count(made, "fixes_slower", of->fixes_slower) && add_count(made, "mixed", of->mixed) &&
               add_count(made, "gains", of->gains) && add_count(made, "unknown_gains", of->unknown_gains) &&
               add_figures(made, of, 0, REPORT_FIGURES - 1) && json_text_add(made, "bins", bins_of(of));
  for (uint32_t c = 0; c < of->causes; c++)
    if (is_seen(of, c)) whole = add_cause(causes, self, of, c) && whole;
  for (uint32_t r = 0; r < RIVAL_COUNT; r++) {
    json_t *theirs = json_object();
    whole = add_figures(theirs, &part->rivals[r], REPORT_MACRO_F1, REPORT_FALSE_ALARMS) && whole;
    whole = json_text_add(rivals, rival_all[r]->key, theirs) && whole;
  }
  whole = json_text_add(made, "causes", causes) && whole;
  whole = json_text_add(made, "rivals", rivals) && whole;
  return json_text_add(parts, part->key, made) && whole;
}

static bool write_json(const score *self, FILE *out) {
  json_t *parts = json_object();
  bool whole = true;
  for (uint32_t p = 0; p < self->part_count; p++) whole = add_part(parts, self, &self->parts[p]) && whole;
  json_t *all = json_pack("{s:s, s:I, s:f, s:o}", "format", "pdhost.score/2", "runs",
                          (json_int_t)self->corpus->cell_count, "min_effect", self->corpus->min_effect, "parts", parts);
  return json_text_write(all, 4, JSON_TEXT_ROUNDED, out) && whole;
}

/* ---- CSV ---- */

/* No value is an empty cell. */
static void put_number(FILE *out, double value) {
  if (!isnan(value)) fprintf(out, "%.9f", value);
}

static void put_row(FILE *out, double value, double low, double high) {
  put_number(out, value);
  fputc(',', out);
  put_number(out, low);
  fputc(',', out);
  put_number(out, high);
}

static bool write_figures(const score *self, FILE *out) {
  fputs("part,figure,value,low,high\n", out);
  for (uint32_t p = 0; p < self->part_count; p++) {
    const figures *of = &self->parts[p].ours;
    for (uint32_t i = 0; i < REPORT_FIGURES; i++) {
      const report_figure *figure = &report_figures[i];
      fprintf(out, "%s,%s,", self->parts[p].key, figure->key);
      put_row(out, report_value(&of->value, figure), report_value(&of->low, figure), report_value(&of->high, figure));
      fputc('\n', out);
    }
  }
  return !ferror(out);
}

static bool write_causes(const score *self, FILE *out) {
  fputs("part,cause,runs,named,right,precision,recall,f1,f1_low,f1_high,limit50,limit50_low,limit50_high,limit95,"
        "limit95_low,limit95_high\n",
        out);
  for (uint32_t p = 0; p < self->part_count; p++) {
    const figures *of = &self->parts[p].ours;
    for (uint32_t c = 0; c < of->causes; c++) {
      const cause_figures *v = &of->value.of[c], *low = &of->low.of[c], *high = &of->high.of[c];
      if (!is_seen(of, c)) continue;
      fprintf(out, "%s,%s,%u,%u,%u,", self->parts[p].key, self->causes.all[c], of->counts[c].runs, of->counts[c].named,
              of->counts[c].right);
      put_number(out, v->precision);
      fputc(',', out);
      put_number(out, v->recall);
      fputc(',', out);
      put_row(out, v->f1, low->f1, high->f1);
      fputc(',', out);
      put_row(out, v->limit50, low->limit50, high->limit50);
      fputc(',', out);
      put_row(out, v->limit95, low->limit95, high->limit95);
      fputc('\n', out);
    }
  }
  return !ferror(out);
}

static bool write_confusion(const score *self, FILE *out) {
  fputs("part,truth,verdict,runs\n", out);
  for (uint32_t p = 0; p < self->part_count; p++)
    for (uint32_t t = 0; t < self->causes.count; t++)
      for (uint32_t v = 0; v < self->causes.count; v++)
        if (self->parts[p].ours.matrix[t][v])
          fprintf(out, "%s,%s,%s,%u\n", self->parts[p].key, self->causes.all[t], self->causes.all[v],
                  self->parts[p].ours.matrix[t][v]);
  return !ferror(out);
}

static bool write_calibration(const score *self, FILE *out) {
  fputs("part,from,to,runs,repeatable,right\n", out);
  for (uint32_t p = 0; p < self->part_count; p++)
    for (uint32_t b = 0; b < FIGURES_BINS; b++) {
      const calibration_bin *bin = &self->parts[p].ours.bins[b];
      if (!bin->runs) continue;
      fprintf(out, "%s,%.2f,%.2f,%u,%.6f,%u\n", self->parts[p].key, (double)b / FIGURES_BINS,
              (double)(b + 1) / FIGURES_BINS, bin->runs, bin->repeatable / bin->runs, bin->right);
    }
  return !ferror(out);
}

static bool write_rivals(const score *self, FILE *out) {
  fputs("part,tool,macro_f1,macro_f1_low,macro_f1_high,false_alarms,false_alarms_low,false_alarms_high\n", out);
  for (uint32_t p = 0; p < self->part_count; p++)
    for (uint32_t r = 0; r <= RIVAL_COUNT; r++) {
      const figures *of = r ? &self->parts[p].rivals[r - 1] : &self->parts[p].ours;
      fprintf(out, "%s,%s,", self->parts[p].key, r ? rival_all[r - 1]->key : "pdhost");
      put_row(out, of->value.macro_f1, of->low.macro_f1, of->high.macro_f1);
      fputc(',', out);
      put_row(out, of->value.false_alarms, of->low.false_alarms, of->high.false_alarms);
      fputc('\n', out);
    }
  return !ferror(out);
}

static bool write_cells(const score *self, FILE *out) {
  fputs("cell,part,truth,verdict,counted,off_path,effect,share,repeatable,step_ns,idle_ns,unknown_ns,expected_ns,"
        "fix,fixed_ns,without_fix_ns,mixed_error,fix_error,gain_errors",
        out);
  for (uint32_t r = 0; r < RIVAL_COUNT; r++) fprintf(out, ",%s", rival_all[r]->key);
  fputc('\n', out);
  for (uint32_t i = 0; i < self->corpus->cell_count; i++) {
    const judged *cell = &self->judged[i];
    const reading *of = &self->readings[i];
    const fix_trial *fix = &self->fixes[i];
    char name[512];
    corpus_cell_name(self->corpus, &self->corpus->cells[i], name, sizeof name);
    fprintf(out, "%s,%s,%s,%s,%d,%d,%.9f,%.9f,%.9f,%.0f,%.0f,%.0f,%.0f,%s,%.0f,%.0f,", name,
            cell->held_out ? "held_out" : "calibration", self->causes.all[cell->truth], self->causes.all[cell->verdict],
            cell->counts, cell->off_path, cell->effect, cell->share, cell->repeatable, of->step_ns, of->idle_ns,
            of->unknown_ns, of->expected_ns, fix->settings ? fix->settings : "", fix->step_ns, fix->without_ns);
    put_number(out, cell->mixed_error);
    fputc(',', out);
    put_number(out, cell->fix_error);
    for (uint32_t g = 0; g < cell->gain_count; g++) fprintf(out, "%c%.9f", g ? ' ' : ',', cell->gain_errors[g]);
    if (!cell->gain_count) fputc(',', out);
    for (uint32_t r = 0; r < RIVAL_COUNT; r++) fprintf(out, ",%s", of->rivals[r] ? of->rivals[r] : "failed");
    fputc('\n', out);
  }
  return !ferror(out);
}

/* ---- files ---- */

/* Under a temporary name until it is whole. */
static bool write_file(const score *self, const char *path, bool (*write)(const score *, FILE *)) {
  char *temporary;
  FILE *out = files_open_stream(path, &temporary);
  if (!out) return false;
  const bool whole = write(self, out);
  return files_end_stream(out, whole, path, temporary);
}

bool report_files(const score *self, const char *folder, error *err) {
  static const struct {
    const char *name;
    bool (*write)(const score *, FILE *);
  } all[] = {{"score.json", write_json},         {"figures.csv", write_figures},         {"score.csv", write_causes},
             {"confusion.csv", write_confusion}, {"calibration.csv", write_calibration}, {"rivals.csv", write_rivals},
             {"cells.csv", write_cells},         {"score.html", score_page_write}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, all[i].name);
    if (!write_file(self, path, all[i].write)) {
      error_set(err, PD_IO, CODE_OUTPUT, "%s: %s", path, strerror(errno));
      return false;
    }
    fprintf(stderr, "pdhost: wrote %s\n", path);
  }
  return true;
}
