/* See report.h. */
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_seen(const figures *of, uint32_t cause) { return of->of[cause].runs || of->of[cause].named; }

void report_table(const score *self) {
  const figures *of = &self->figures;
  printf("Score of the verdict: %u runs, %u counted, %u with an effect below %.0f %% left out\n\n",
         of->counted + of->left_out, of->counted, of->left_out, 100 * self->corpus->min_effect);
  printf("%-16s %6s %6s %6s %10s %8s %6s\n", "Cause", "Runs", "Named", "Right", "Precision", "Recall", "F1");
  for (uint32_t c = 0; c < of->causes; c++)
    if (is_seen(of, c))
      printf("%-16s %6u %6u %6u %10.3f %8.3f %6.3f\n", self->causes[c], of->of[c].runs, of->of[c].named,
             of->of[c].right, of->of[c].precision, of->of[c].recall, of->of[c].f1);
  printf("\nConfusion: rows are what was injected, columns are the verdict\n%-16s", "");
  for (uint32_t v = 0; v < of->causes; v++)
    if (is_seen(of, v)) printf(" %9.9s", self->causes[v]);
  printf("\n");
  for (uint32_t t = 0; t < of->causes; t++) {
    if (!of->of[t].runs) continue;
    printf("%-16s", self->causes[t]);
    for (uint32_t v = 0; v < of->causes; v++)
      if (is_seen(of, v)) printf(" %9u", of->matrix[t][v]);
    printf("\n");
  }
  printf("\nmacro-F1            %.3f (95 %%: %.3f to %.3f)\n", of->macro_f1, of->macro_low, of->macro_high);
  printf("false alarms        %u of %u baselines\n", of->false_alarms, of->baselines);
  printf("attribution error   median %.1f, p95 %.1f percentage points\n", of->error_median, of->error_p95);
}

static void write_json(const score *self, FILE *out) {
  const figures *of = &self->figures;
  fprintf(out,
          "{\n  \"format\": \"pdhost.score/1\",\n  \"runs\": %u,\n  \"counted\": %u,\n  \"left_out\": %u,\n"
          "  \"min_effect\": %.6g,\n  \"macro_f1\": %.6f,\n  \"macro_f1_low\": %.6f,\n  \"macro_f1_high\": %.6f,\n"
          "  \"baselines\": %u,\n  \"false_alarms\": %u,\n  \"attribution_error_median_pp\": %.6f,\n"
          "  \"attribution_error_p95_pp\": %.6f,\n  \"causes\": {",
          of->counted + of->left_out, of->counted, of->left_out, self->corpus->min_effect, of->macro_f1, of->macro_low,
          of->macro_high, of->baselines, of->false_alarms, of->error_median, of->error_p95);
  const char *comma = "";
  for (uint32_t c = 0; c < of->causes; c++) {
    if (!is_seen(of, c)) continue;
    fprintf(out,
            "%s\n    \"%s\": {\"runs\": %u, \"named\": %u, \"right\": %u, \"precision\": %.6f, \"recall\": %.6f, "
            "\"f1\": %.6f, \"verdicts\": {",
            comma, self->causes[c], of->of[c].runs, of->of[c].named, of->of[c].right, of->of[c].precision,
            of->of[c].recall, of->of[c].f1);
    const char *inner = "";
    for (uint32_t v = 0; v < of->causes; v++) {
      if (!of->matrix[c][v]) continue;
      fprintf(out, "%s\"%s\": %u", inner, self->causes[v], of->matrix[c][v]);
      inner = ", ";
    }
    fputs("}}", out);
    comma = ",";
  }
  fputs("\n  }\n}\n", out);
}

static void write_causes(const score *self, FILE *out) {
  const figures *of = &self->figures;
  fputs("cause,runs,named,right,precision,recall,f1\n", out);
  for (uint32_t c = 0; c < of->causes; c++)
    if (is_seen(of, c))
      fprintf(out, "%s,%u,%u,%u,%.6f,%.6f,%.6f\n", self->causes[c], of->of[c].runs, of->of[c].named, of->of[c].right,
              of->of[c].precision, of->of[c].recall, of->of[c].f1);
}

static void write_cells(const score *self, FILE *out) {
  fputs("cell,truth,verdict,counted,effect,share,confidence,step_ns\n", out);
  for (uint32_t i = 0; i < self->corpus->cell_count; i++) {
    const judged *cell = &self->judged[i];
    char name[512];
    corpus_cell_name(self->corpus, &self->corpus->cells[i], name, sizeof name);
    fprintf(out, "%s,%s,%s,%d,%.6f,%.6f,%.6f,%.0f\n", name, self->causes[cell->truth], self->causes[cell->verdict],
            cell->counts, cell->effect, cell->share, self->results[i].confidence / 100, self->results[i].step_ns);
  }
}

bool report_files(const score *self, const char *folder, error *err) {
  static const struct {
    const char *name;
    void (*write)(const score *, FILE *);
  } all[] = {{"score.json", write_json}, {"score.csv", write_causes}, {"cells.csv", write_cells}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, all[i].name);
    FILE *out = fopen(path, "w");
    if (out) all[i].write(self, out);
    const bool written = out && !ferror(out);
    if (!out || fclose(out) != 0 || !written) {
      error_set(err, PD_IO, CODE_OUTPUT, "%s: %s", path, strerror(errno));
      return false;
    }
    fprintf(stderr, "pdhost: wrote %s\n", path);
  }
  return true;
}
