/* See diff.h: the command line. */
#include "diff.h"

#include "diff_page.h"
#include "diff_report.h"
#include "diff_words.h"

#include "base/log.h"
#include "base/progress_line.h"
#include "base/visible.h"
#include "compare/gate/junit.h"
#include "config/cli_frame.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS_TEXT = 5, ROWS_JSON = 100, ROWS_MOST = 10000 };

typedef struct diff_options {
  const char *reader, *step;
  const char *junit; /* NULL: none is wanted */
  args_format format;
  double margin;
  long rows; /* 0: not given */
  bool no_python, gate, help;
} diff_options;

static bool take_rows(void *user, const args_option *self, const char *value, error *err) {
  char *end;
  diff_options *options = user;
  (void)self;
  (void)err;
  options->rows = strtol(value, &end, 10);
  return !*end && options->rows >= 1 && options->rows <= ROWS_MOST;
}

static const args_option rows[] = {
    ARGS_FORMAT_ROW(diff_options, format, "text|json", "text, json"),
    {.name = "--rows",
     .value = ARGS_REQUIRED,
     .argument = "COUNT",
     .take = take_rows,
     .allowed = "1 .. 10000",
     .help = "print at most this many kernels, operators and parts of the step (5; json: 100)"},
    {.name = "--margin",
     .value = ARGS_REQUIRED,
     .argument = "PERCENT",
     .take = args_take_share,
     .code = offsetof(diff_options, margin),
     .allowed = "per cent, 0 .. 100",
     .help = "a difference of the step that does not matter (1)"},
    ARGS_GATE_ROW(diff_options, gate),
    ARGS_JUNIT_ROW(diff_options, junit),
    ARGS_STEP_ROW(diff_options, step),
    ARGS_READER_ROW(diff_options, reader),
    ARGS_NO_PYTHON_ROW(diff_options, no_python),
    ARGS_HELP_ROW(diff_options, help),
};

static int diff_main(int argc, char **argv);

const args_command diff_command = {
    .name = "diff",
    .summary = "say what changed between two traces or captures, per step",
    .usage = "[options] A B",
    .description =
        "Reads two traces (of torch.profiler, or any file that pdhost analyze reads) or captures of runs (.pdcap), and "
        "prints what a step of B takes more or less than one of A: the step itself, where it goes, what it would save "
        "without each cause, and the kernels and operators, matched by name and shape. The largest change comes "
        "first, each with its 95 % interval from the steps. The two may be before and after a change, or two ranks of "
        "one run.\n\n"
        "Where no loop is found in a file, its whole recording is compared, with no interval and no direction. "
        "--step names the steps.\n\n"
        "FASTER, SLOWER, SAME and UNCLEAR say how B compares with A, as in pdhost compare. With fewer than 32 steps on "
        "a side the interval of the mean decides, and with fewer than 5 no direction is given. The two were recorded "
        "one "
        "after the other, so a change of the machine in between counts as theirs.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost diff before.json.gz after.json.gz\twhat a change of the program brought\n"
                "pdhost diff rank0.json.gz rank1.json.gz\twhat one rank does that the other does not\n"
                "pdhost diff a.json.gz b.json.gz --sink html\tthe same as a page, diff.html\n"
                "pdhost diff --gate good.pdcap new.pdcap\tfails where a run became slower",
    .takes_run_options = true,
    .words = ARGS_OFFER_FILE,
    .main = diff_main};

static int gate_code(outcome verdict) {
  if (verdict == OUTCOME_SLOWER) return CODE_REGRESSION;
  return verdict == OUTCOME_UNCLEAR ? CODE_INCONCLUSIVE : CODE_DONE;
}

/* The page that --sink html asks for; NULL: none. */
static const char *page_of(const config *settings) {
  bool wanted = false;
  for (uint32_t i = 0; i < settings->sink_count; i++)
    wanted = wanted || strcmp(settings->sinks[i].plugin->table->name, "html") == 0;
  for (uint32_t i = 0; i < settings->setting_count && wanted; i++) {
    const pd_setting *at = &settings->settings[i];
    if (strcmp(at->section, "sink.html") == 0 && strcmp(at->key, "path") == 0)
      return *at->value ? at->value : "diff.html";
  }
  return NULL;
}

static pd_status write_junit(const difference *of, const char *path, error *err) {
  static junit_case step; /* large */
  char text[DIFF_WORDS_BYTES];
  diff_words_sentence(of, text, sizeof text);
  step = (junit_case){.name = "step", .verdict = of->verdict, .time_s = 1e-9 * of->median_ns[1]};
  visible_copy(step.message, sizeof step.message, text);
  return junit_write(path, "diff", &step, 1, err);
}

static int report(const diff_options *options, const char *page, const diff_side *a, const diff_side *b, error *err) {
  const uint32_t shown = options->rows                          ? (uint32_t)options->rows
                         : options->format == ARGS_JSON || page ? ROWS_JSON
                                                                : ROWS_TEXT;
  difference of;
  progress_enter("comparing", NULL, 0);
  bool ok = difference_make(a, b, options->margin, shown, &of);
  progress_end();
  pd_status written = PD_OK;
  if (ok && page) written = diff_page_write(&of, page, err);
  if (ok && written == PD_OK && options->junit) written = write_junit(&of, options->junit, err);
  if (ok && options->format == ARGS_JSON)
    ok = diff_report_json(&of);
  else if (ok && !page)
    diff_report_text(&of, log_color_on(STDOUT_FILENO));
  const int code = options->gate ? gate_code(of.verdict) : CODE_DONE;
  difference_close(&of);
  if (written != PD_OK) return err->exit_code;
  if (ok) return code;
  error_no_memory(err);
  return CODE_INTERNAL;
}

/* By whatever names and links. */
static bool are_one_file(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

static int diff(cli_args *args, const void *given, error *err) {
  const diff_options *options = given;
  config *settings = NULL;
  diff_side sides[2] = {{.path = NULL}, {.path = NULL}};
  if (args->word_count != 2) {
    error_set(err, PD_INVALID, CODE_USAGE, "diff: expected two traces, got %u; see pdhost diff --help",
              args->word_count);
    return CODE_USAGE;
  }
  args->input.is_analysis = true;
  args->input.no_python = options->no_python;
  if (config_load(&args->input, &settings, err) != PD_OK) return err->exit_code;
  settings->quiet = args->quiet;
  if (are_one_file(args->words[0], args->words[1]))
    log_line(PD_LOG_WARN, NULL, "%s and %s are the same file, which has no difference: name two files", args->words[0],
             args->words[1]);
  const import_request request = {
      .files = args->words, .file_count = 2, .reader = options->reader, .step = options->step};
  progress_begin("diff", args->quiet);
  int code = CODE_DONE;
  for (int side = 0; side < 2 && code == CODE_DONE; side++) {
    code = diff_side_read(settings, &request, args->words[side], &sides[side]);
    if (code != CODE_DONE || sides[side].step_count) continue;
    error_set(err, PD_INVALID, CODE_CONFIG, "diff: %s: it holds no steps to compare", args->words[side]);
    code = CODE_CONFIG;
  }
  if (code == CODE_DONE) code = report(options, page_of(settings), &sides[0], &sides[1], err);
  progress_end();
  diff_side_close(&sides[0]);
  diff_side_close(&sides[1]);
  config_free(settings);
  log_flush_repeats();
  return code;
}

static int diff_main(int argc, char **argv) {
  diff_options options = {.margin = COMPARISON_MARGIN};
  const cli_frame frame = {
      .options = &options, .help = &options.help, .words = (uint32_t)argc, .work = diff, .user = &options};
  return cli_frame_run(&diff_command, &frame, argc, argv);
}
