/* See compare.h. */
#include "compare.h"

#include "compare_page.h"

#include "base/log.h"
#include "base/progress_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct compare_options {
  const char **paths;  /* the first is the one of --against, where that was given */
  const char *against; /* NULL: not given */
  const char *page;    /* NULL: none is wanted */
  uint32_t path_count;
  args_format format;
  double margin;
  bool device, wide, gate, help;
} compare_options;

/* ---- command line ---- */

static bool take_time(void *user, const args_option *row, const char *value, error *err) {
  compare_options *self = user;
  (void)row;
  (void)err;
  self->device = strcmp(value, "device") == 0;
  return self->device || strcmp(value, "host") == 0;
}

static bool take_path(void *user, const char *word, error *err) {
  compare_options *self = user;
  (void)err;
  self->paths[1 + self->path_count++] = word; /* the first place is for --against */
  return true;
}

static const args_option rows[] = {ARGS_FORMAT_ROW(compare_options, format, "text|json|csv|md", "text, json, csv, md"),
                                   {.name = "--against",
                                    .value = ARGS_REQUIRED,
                                    .argument = "FILE",
                                    .take = args_take_text,
                                    .code = offsetof(compare_options, against),
                                    .allowed = "a file",
                                    .offer = ARGS_OFFER_FILE,
                                    .help = "compare every other file with this one"},
                                   {.name = "--time",
                                    .value = ARGS_REQUIRED,
                                    .argument = "host|device",
                                    .take = take_time,
                                    .offer = ARGS_OFFER_CHOICES,
                                    .allowed = "host, device",
                                    .help = "which of a block's times to compare (host)"},
                                   ARGS_MARGIN_ROW(compare_options, margin),
                                   {.name = "--wide",
                                    .take = args_take_flag,
                                    .code = offsetof(compare_options, wide),
                                    .help = "print all figures below each table: MAD, IQR, p90, p99, min and max"},
                                   {.name = "--html",
                                    .value = ARGS_REQUIRED,
                                    .argument = "FILE",
                                    .take = args_take_text,
                                    .code = offsetof(compare_options, page),
                                    .allowed = "a file",
                                    .offer = ARGS_OFFER_FILE,
                                    .help = "also write the comparison as a page"},
                                   ARGS_GATE_ROW(compare_options, gate),
                                   ARGS_COLOR_ROW,
                                   ARGS_PROGRESS_ROW,
                                   ARGS_HELP_ROW(compare_options, help)};

static int compare_main(int argc, char **argv);

const args_command compare_command = {
    .name = "compare",
    .summary = "compare measurements, and say which is faster",
    .usage = "[options] A.json [B.json ...]",
    .description =
        "Puts measurements side by side: a table per label, a row per sub_label and threads, a column per description. "
        "The files are those that [run] mode = benchmark writes, or the json sink's documents of training runs "
        "(metrics_*.json in their folders). With two files it also says whether B is FASTER or SLOWER than A, the "
        "SAME, or "
        "UNCLEAR, with the ratio and its 95 % interval. Two runs are compared by the times of their recorded "
        "iterations; their verdicts, and what "
        "changed in where the step goes, are printed too.\n\n"
        "A and B were measured one after the other, so a change of the machine in between counts as theirs. pdhost ab "
        "measures both in turns.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost compare before.json after.json\n"
                "pdhost compare --against baseline.json results/sync/latest/metrics_sync.json",
    .words = ARGS_OFFER_FILE,
    .main = compare_main};

static void parse(compare_options *self, int argc, char **argv, error *err) {
  args_set set = {.rows = rows, .count = sizeof rows / sizeof rows[0], .user = self};
  (void)args_parse(&set, 1, take_path, self, "compare: ", argc, argv, err);
  if (self->against)
    self->paths[0] = self->against;
  else
    self->paths++;
  self->path_count += self->against != NULL;
  if (err->count || self->help) return;
  if (!self->path_count)
    error_set(err, PD_INVALID, CODE_USAGE, "compare: no file given; see pdhost compare --help");
  else if (self->against && self->path_count == 1)
    error_set(err, PD_INVALID, CODE_USAGE, "compare: --against: also name a file to compare with it");
  else if (self->gate && !self->against && self->path_count != 2)
    error_set(err, PD_INVALID, CODE_USAGE, "compare: --gate: needs two files, the baseline first, or --against FILE");
}

/* ---- the comparison ---- */

static int gate_code(const sample_pairs *pairs, error *err) {
  int code = CODE_DONE;
  if (!pairs->count) {
    error_set(err, PD_INVALID, CODE_CONFIG,
              "compare: --gate: the files have no task in common (label, sub_label, description, threads)");
    return CODE_CONFIG;
  }
  for (uint32_t i = 0; i < pairs->count; i++) {
    if (pairs->all[i].verdict == OUTCOME_SLOWER) return CODE_REGRESSION;
    if (pairs->all[i].verdict == OUTCOME_UNCLEAR) code = CODE_INCONCLUSIVE;
  }
  return pairs->alone_count ? CODE_INCONCLUSIVE : code;
}

static bool report(const compare_options *options, const compare_report *of) {
  switch (options->format) {
  case ARGS_MD: return compare_report_markdown(of);
  case ARGS_CSV: compare_report_csv(of); return true;
  case ARGS_JSON: return compare_report_json(of);
  default: return compare_report_text(of, log_color_on(STDOUT_FILENO));
  }
}

static void tell_partial(const samples *from) {
  char title[512];
  for (uint32_t i = 0; i < from->count; i++)
    if (from->all[i].partial)
      log_line(PD_LOG_WARN, NULL, "%s: %s was cut short before its rule was met", from->names[from->all[i].file],
               sample_title(&from->all[i], true, title, sizeof title));
}

/* What is put side by side though it may not belong there, and what is not though somebody may expect it. */
static void tell_strangers(const samples *from, const sample_pairs *pairs) {
  char title[512];
  for (uint32_t i = 0; i < pairs->count; i++) {
    const sample_pair *at = &pairs->all[i];
    if (!at->rounds.rounds && !samples_same_text(at->a->of->scenario, at->b->of->scenario))
      log_line(PD_LOG_WARN, NULL, "compare: %s: A is scenario %s and B is scenario %s: two different things are timed",
               sample_pair_title(at, title, sizeof title), at->a->of->scenario, at->b->of->scenario);
  }
  if (pairs->count || from->count != 2) return;
  log_line(PD_LOG_WARN, NULL,
           "compare: no verdict on \"%s\" and \"%s\": labels have tables of their own; measure both with the same "
           "benchmark.label to compare them",
           sample_label(&from->all[0]), sample_label(&from->all[1]));
}

static int compare_files(const compare_options *options, error *err) {
  samples from;
  progress_begin("compare", false);
  progress_enter("reading the files", NULL, 0);
  if (!samples_read((const char *const *)options->paths, options->path_count, options->device, &from, err))
    return err->exit_code;
  progress_enter("comparing", NULL, 0);
  grids tables = {.all = NULL};
  sample_pairs pairs = {.all = NULL};
  bool ok = options->format == ARGS_CSV || options->format == ARGS_JSON || samples_make_visible(&from);
  ok = ok && grids_make(&from, &tables) && sample_pairs_make(&from, options->margin, options->against != NULL, &pairs);
  progress_end();
  int code = CODE_DONE;
  pd_status written = PD_OK;
  if (ok) {
    const compare_report of = {.from = &from, .tables = &tables, .pairs = &pairs, .wide = options->wide};
    tell_partial(&from);
    tell_strangers(&from, &pairs);
    ok = report(options, &of);
    written = ok && options->page ? compare_page_write(&of, options->page, err) : PD_OK;
    code = options->gate ? gate_code(&pairs, err) : CODE_DONE;
  }
  if (!ok) error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  sample_pairs_free(&pairs);
  grids_free(&tables);
  samples_free(&from);
  if (written != PD_OK) return err->exit_code;
  return ok ? code : CODE_INTERNAL;
}

static int compare_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  const char **room = calloc((size_t)argc + 2, sizeof *room);
  compare_options options = {.margin = COMPARISON_MARGIN, .paths = room};
  if (room)
    parse(&options, argc, argv, &err);
  else
    error_set(&err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  int code = err.count ? err.exit_code : CODE_DONE;
  if (!err.count && options.help)
    args_print_help(&compare_command);
  else if (!err.count)
    code = compare_files(&options, &err);
  progress_end();
  error_print(&err);
  free(room);
  return code;
}
