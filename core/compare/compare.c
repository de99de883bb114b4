/* See compare.h. */
#include "compare.h"

#include "compare_junit.h"
#include "compare_page.h"
#include "gate/baselines.h"

#include "base/log.h"
#include "base/progress_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct compare_options {
  const char **paths;          /* the first is the one of --against, where that was given */
  const char *against;         /* NULL: not given */
  const char *page, *junit;    /* NULL: none is wanted */
  const char *baseline, *save; /* names of baselines; NULL: not given */
  const char *folder;          /* of the baselines; NULL: not given */
  char *baseline_path;         /* owned */
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
                                   {.name = "--baseline",
                                    .value = ARGS_REQUIRED,
                                    .argument = "NAME",
                                    .take = args_take_text,
                                    .code = offsetof(compare_options, baseline),
                                    .allowed = "the name of a saved baseline",
                                    .help = "compare every file with this saved baseline"},
                                   {.name = "--save-baseline",
                                    .value = ARGS_REQUIRED,
                                    .argument = "NAME",
                                    .take = args_take_text,
                                    .code = offsetof(compare_options, save),
                                    .allowed = "a name",
                                    .help = "keep the one file given as this baseline"},
                                   {.name = "--baselines",
                                    .value = ARGS_REQUIRED,
                                    .argument = "FOLDER",
                                    .take = args_take_text,
                                    .code = offsetof(compare_options, folder),
                                    .allowed = "a folder",
                                    .offer = ARGS_OFFER_FOLDER,
                                    .help = "where baselines are kept ($PDHOST_BASELINES, or else ./baselines)"},
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
                                   ARGS_HTML_ROW(compare_options, page),
                                   ARGS_GATE_ROW(compare_options, gate),
                                   ARGS_JUNIT_ROW(compare_options, junit),
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
                "pdhost compare --against baseline.json results/sync/latest/metrics_sync.json\n"
                "pdhost compare --save-baseline main results/sync/latest/metrics_sync.json\tkeeps it as "
                "baselines/main.json\n"
                "pdhost compare --baseline main --gate --junit junit.xml now.json\tfails in CI where it became slower",
    .words = ARGS_OFFER_FILE,
    .main = compare_main};

/* A baseline that is named is what the other files are compared against. */
static void check_baselines(compare_options *self, error *err) {
  const char *folder = baselines_folder(self->folder);
  if (self->baseline && self->against) {
    error_set(err, PD_INVALID, CODE_USAGE, "compare: --baseline and --against both name a baseline; leave one out");
  } else if (self->save && (self->baseline || self->against || self->gate || self->junit || self->page)) {
    error_set(
        err, PD_INVALID, CODE_USAGE,
        "compare: --save-baseline: it compares nothing; leave out --baseline, --against, --gate, --junit, --html");
  } else if (self->save && self->path_count != 1) {
    error_set(err, PD_INVALID, CODE_USAGE, "compare: --save-baseline: expected one file, got %u", self->path_count);
  } else if (self->folder && !self->save && !self->baseline) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "compare: --baselines: also name one, with --baseline NAME or --save-baseline NAME");
  } else if (self->baseline) {
    self->baseline_path = baselines_find(folder, self->baseline, err);
    self->against = self->baseline_path;
  }
}

static void parse(compare_options *self, int argc, char **argv, error *err) {
  args_set set = {.rows = rows, .count = sizeof rows / sizeof rows[0], .user = self};
  (void)args_parse(&set, 1, take_path, self, "compare: ", argc, argv, err);
  if (self->help) return;
  if (!err->count) check_baselines(self, err);
  if (self->against)
    self->paths[0] = self->against;
  else
    self->paths++;
  self->path_count += self->against != NULL;
  if (err->count) return;
  if (!self->path_count)
    error_set(err, PD_INVALID, CODE_USAGE, "compare: no file given; see pdhost compare --help");
  else if (self->against && self->path_count == 1)
    error_set(err, PD_INVALID, CODE_USAGE, "compare: %s: also name a file to compare with it",
              self->baseline ? "--baseline" : "--against");
  else if ((self->gate || self->junit) && !self->against && self->path_count != 2)
    error_set(err, PD_INVALID, CODE_USAGE, "compare: %s: needs two files, the baseline first, or --against FILE",
              self->gate ? "--gate" : "--junit");
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
    if (written == PD_OK && ok && options->junit) written = compare_junit_write(&of, "compare", options->junit, err);
    code = options->gate && written == PD_OK ? gate_code(&pairs, err) : CODE_DONE;
  }
  if (!ok) error_no_memory(err);
  sample_pairs_free(&pairs);
  grids_free(&tables);
  samples_free(&from);
  if (written != PD_OK) return err->exit_code;
  return ok ? code : CODE_INTERNAL;
}

/* It is read first: what is no measurement is no baseline. */
static int save_baseline(const compare_options *options, error *err) {
  samples from;
  if (!samples_read((const char *const *)options->paths, 1, options->device, &from, err)) return err->exit_code;
  samples_free(&from);
  const pd_status status = baselines_save(baselines_folder(options->folder), options->save, options->paths[0], err);
  return status == PD_OK ? CODE_DONE : err->exit_code;
}

static int compare_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  const char **room = calloc((size_t)argc + 2, sizeof *room);
  compare_options options = {.margin = COMPARISON_MARGIN, .paths = room};
  if (room)
    parse(&options, argc, argv, &err);
  else
    error_no_memory(&err);
  int code = err.count ? err.exit_code : CODE_DONE;
  if (!err.count && options.help)
    args_print_help(&compare_command);
  else if (!err.count && options.save)
    code = save_baseline(&options, &err);
  else if (!err.count)
    code = compare_files(&options, &err);
  progress_end();
  error_print(&err);
  free(options.baseline_path);
  free(room);
  return code;
}
