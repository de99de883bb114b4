/* The score as JSON and CSV; see score_report.h. */
#include "score_report.h"

#include "base/files.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_seen(const figures *of, uint32_t cause) { return of->counts[cause].runs || of->counts[cause].named; }

/* No value is null in JSON and empty in CSV. */
static void put_number(FILE *out, double value, const char *none) {
  if (isnan(value))
    fputs(none, out);
  else
    fprintf(out, "%.9f", value);
}

/* ---- JSON ---- */

static void put_interval(FILE *out, const char *key, double value, double low, double high) {
  fprintf(out, "\"%s\": {\"value\": ", key);
  put_number(out, value, "null");
  fputs(", \"low\": ", out);
  put_number(out, low, "null");
  fputs(", \"high\": ", out);
  put_number(out, high, "null");
  fputs("}", out);
}

static void put_figures(FILE *out, const figures *of, const char *indent) {
  for (uint32_t i = 0; i < REPORT_FIGURES; i++) {
    const report_figure *figure = &report_figures[i];
    fputs(indent, out);
    put_interval(out, figure->key, report_value(&of->value, figure), report_value(&of->low, figure),
                 report_value(&of->high, figure));
    fputs(",\n", out);
  }
}

static void put_cause(FILE *out, const score *self, const figures *of, uint32_t c) {
  const cause_counts *counts = &of->counts[c];
  const cause_figures *v = &of->value.of[c], *low = &of->low.of[c], *high = &of->high.of[c];
  const struct {
    const char *key;
    double value, low, high;
  } all[] = {{"precision", v->precision, low->precision, high->precision},
             {"recall", v->recall, low->recall, high->recall},
             {"f1", v->f1, low->f1, high->f1},
             {"limit50", v->limit50, low->limit50, high->limit50},
             {"limit95", v->limit95, low->limit95, high->limit95}};
  fprintf(out, "        \"%s\": {\"runs\": %u, \"named\": %u, \"right\": %u", self->causes.all[c], counts->runs,
          counts->named, counts->right);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    fputs(", ", out);
    put_interval(out, all[i].key, all[i].value, all[i].low, all[i].high);
  }
  fputs(", \"verdicts\": {", out);
  const char *comma = "";
  for (uint32_t i = 0; i < of->causes; i++) {
    if (!of->matrix[c][i]) continue;
    fprintf(out, "%s\"%s\": %u", comma, self->causes.all[i], of->matrix[c][i]);
    comma = ", ";
  }
  fputs("}}", out);
}

static void put_bins(FILE *out, const figures *of) {
  const char *comma = "";
  fputs("      \"bins\": [", out);
  for (uint32_t b = 0; b < FIGURES_BINS; b++) {
    const calibration_bin *bin = &of->bins[b];
    if (!bin->runs) continue;
    fprintf(out, "%s{\"from\": %.2f, \"to\": %.2f, \"runs\": %u, \"repeatable\": %.6f, \"right\": %u}", comma,
            (double)b / FIGURES_BINS, (double)(b + 1) / FIGURES_BINS, bin->runs, bin->repeatable / bin->runs,
            bin->right);
    comma = ", ";
  }
  fputs("],\n", out);
}

static void put_part(FILE *out, const score *self, const score_part *part) {
  const figures *of = &part->ours;
  const char *comma = "";
  fprintf(out,
          "    \"%s\": {\n      \"counted\": %u,\n      \"left_out\": %u,\n      \"baselines\": %u,\n"
          "      \"off_path\": %u,\n      \"fixes_tried\": %u,\n      \"own_fixes_tried\": %u,\n"
          "      \"fixes_without_step\": %u,\n      \"mixed\": %u,\n",
          part->key, of->counted, of->left_out, of->baselines, of->off_path, of->tried, of->own_tried,
          of->fixes_without_step, of->mixed);
  put_figures(out, of, "      ");
  put_bins(out, of);
  fputs("      \"causes\": {\n", out);
  for (uint32_t c = 0; c < of->causes; c++) {
    if (!is_seen(of, c)) continue;
    fputs(comma, out);
    put_cause(out, self, of, c);
    comma = ",\n";
  }
  fputs("\n      },\n      \"rivals\": {\n", out);
  for (uint32_t r = 0; r < RIVAL_COUNT; r++) {
    const figures *theirs = &part->rivals[r];
    fprintf(out, "%s        \"%s\": {", r ? ",\n" : "", rival_all[r]->key);
    for (uint32_t i = REPORT_MACRO_F1; i <= REPORT_FALSE_ALARMS; i++) {
      const report_figure *figure = &report_figures[i];
      fputs(i > REPORT_MACRO_F1 ? ", " : "", out);
      put_interval(out, figure->key, report_value(&theirs->value, figure), report_value(&theirs->low, figure),
                   report_value(&theirs->high, figure));
    }
    fputs("}", out);
  }
  fputs("\n      }\n    }", out);
}

static void write_json(const score *self, FILE *out) {
  fprintf(out, "{\n  \"format\": \"pdhost.score/2\",\n  \"runs\": %u,\n  \"min_effect\": %.6g,\n  \"parts\": {\n",
          self->corpus->cell_count, self->corpus->min_effect);
  for (uint32_t p = 0; p < self->part_count; p++) {
    fputs(p ? ",\n" : "", out);
    put_part(out, self, &self->parts[p]);
  }
  fputs("\n  }\n}\n", out);
}

/* ---- CSV ---- */

static void put_row(FILE *out, double value, double low, double high) {
  put_number(out, value, "");
  fputc(',', out);
  put_number(out, low, "");
  fputc(',', out);
  put_number(out, high, "");
}

static void write_figures(const score *self, FILE *out) {
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
}

static void write_causes(const score *self, FILE *out) {
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
      put_number(out, v->precision, "");
      fputc(',', out);
      put_number(out, v->recall, "");
      fputc(',', out);
      put_row(out, v->f1, low->f1, high->f1);
      fputc(',', out);
      put_row(out, v->limit50, low->limit50, high->limit50);
      fputc(',', out);
      put_row(out, v->limit95, low->limit95, high->limit95);
      fputc('\n', out);
    }
  }
}

static void write_confusion(const score *self, FILE *out) {
  fputs("part,truth,verdict,runs\n", out);
  for (uint32_t p = 0; p < self->part_count; p++)
    for (uint32_t t = 0; t < self->causes.count; t++)
      for (uint32_t v = 0; v < self->causes.count; v++)
        if (self->parts[p].ours.matrix[t][v])
          fprintf(out, "%s,%s,%s,%u\n", self->parts[p].key, self->causes.all[t], self->causes.all[v],
                  self->parts[p].ours.matrix[t][v]);
}

static void write_calibration(const score *self, FILE *out) {
  fputs("part,from,to,runs,repeatable,right\n", out);
  for (uint32_t p = 0; p < self->part_count; p++)
    for (uint32_t b = 0; b < FIGURES_BINS; b++) {
      const calibration_bin *bin = &self->parts[p].ours.bins[b];
      if (!bin->runs) continue;
      fprintf(out, "%s,%.2f,%.2f,%u,%.6f,%u\n", self->parts[p].key, (double)b / FIGURES_BINS,
              (double)(b + 1) / FIGURES_BINS, bin->runs, bin->repeatable / bin->runs, bin->right);
    }
}

static void write_rivals(const score *self, FILE *out) {
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
}

static void write_cells(const score *self, FILE *out) {
  fputs("cell,part,truth,verdict,counted,off_path,effect,share,repeatable,step_ns,idle_ns,unknown_ns,expected_ns,"
        "fix,fixed_ns,mixed_error,fix_error",
        out);
  for (uint32_t r = 0; r < RIVAL_COUNT; r++) fprintf(out, ",%s", rival_all[r]->key);
  fputc('\n', out);
  for (uint32_t i = 0; i < self->corpus->cell_count; i++) {
    const judged *cell = &self->judged[i];
    const reading *of = &self->readings[i];
    const fix_trial *fix = &self->fixes[i];
    char name[512];
    corpus_cell_name(self->corpus, &self->corpus->cells[i], name, sizeof name);
    fprintf(out, "%s,%s,%s,%s,%d,%d,%.9f,%.9f,%.9f,%.0f,%.0f,%.0f,%.0f,%s,%.0f,", name,
            cell->held_out ? "held_out" : "calibration", self->causes.all[cell->truth], self->causes.all[cell->verdict],
            cell->counts, cell->off_path, cell->effect, cell->share, cell->repeatable, of->step_ns, of->idle_ns,
            of->unknown_ns, of->expected_ns, fix->settings ? fix->settings : "", fix->step_ns);
    put_number(out, cell->mixed_error, "");
    fputc(',', out);
    put_number(out, cell->fix_error, "");
    for (uint32_t r = 0; r < RIVAL_COUNT; r++) fprintf(out, ",%s", of->rivals[r] ? of->rivals[r] : "failed");
    fputc('\n', out);
  }
}

/* ---- files ---- */

/* Under a temporary name until it is whole. */
static bool write_file(const score *self, const char *path, void (*write)(const score *, FILE *)) {
  char *temporary;
  FILE *out = files_open_stream(path, &temporary);
  if (!out) return false;
  write(self, out);
  return files_end_stream(out, true, path, temporary);
}

bool report_files(const score *self, const char *folder, error *err) {
  static const struct {
    const char *name;
    void (*write)(const score *, FILE *);
  } all[] = {{"score.json", write_json},         {"figures.csv", write_figures},         {"score.csv", write_causes},
             {"confusion.csv", write_confusion}, {"calibration.csv", write_calibration}, {"rivals.csv", write_rivals},
             {"cells.csv", write_cells}};
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
