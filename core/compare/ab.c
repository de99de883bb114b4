/* See ab.h. */
#include "ab.h"

#include "ab_report.h"
#include "own_options.h"

#include "host/log.h"
#include "host/measurement_file.h"
#include "host/services.h"
#include "host/signals.h"
#include "host/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: pdhost ab -c FILE [options of a run] 'key=v1 ...' 'key=v2 ...'\n"
    "\n"
    "Times a scenario's step with two configurations, A and B, in one process and in turns (A B B A,\n"
    "then B A A B), until the interval of their ratio is narrow enough or the time is up. Each side is\n"
    "its keys, parted by spaces, over what both are given; '' is that alone. [run] mode is benchmark:\n"
    "keys that change nothing of the step ([profile], [schedule], the loader's ...) are refused.\n"
    "\n"
    "  --margin PERCENT         a difference that does not matter (1)\n"
    "  --width PERCENT          narrow enough: the 95 % interval reaches so far (0.4 of the margin)\n"
    "  --max-time SECONDS       of all timed blocks, the emptying of caches included (10)\n"
    "  --output FILE.json       both as measurements, for pdhost compare; -: on standard output, and\n"
    "                           the text on standard error\n"
    "  --format text|json       what to print (text)\n"
    "  --gate                   exit 9 if B is SLOWER, 10 if that is UNCLEAR\n";

/* Of the margin: then the whole interval of what is equal lies within the margin. */
#define USUAL_WIDTH 0.4

typedef struct ab_options {
  double margin, width, max_time_s;
  const char *output; /* NULL: none */
  bool json, gate, help;
} ab_options;

/* ---- command line ---- */

static bool take_margin(void *user, const char *value) { return own_share(value, &((ab_options *)user)->margin); }
static bool take_width(void *user, const char *value) {
  ab_options *self = user;
  return own_share(value, &self->width) && self->width > 0;
}
static bool take_max_time(void *user, const char *value) {
  return own_seconds(value, &((ab_options *)user)->max_time_s);
}
static bool take_output(void *user, const char *value) { return (((ab_options *)user)->output = value)[0] != '\0'; }
static bool take_format(void *user, const char *value) {
  ab_options *self = user;
  self->json = strcmp(value, "json") == 0;
  return self->json || strcmp(value, "text") == 0;
}
static bool take_gate(void *user, const char *value) { return ((ab_options *)user)->gate = !value; }
static bool take_help(void *user, const char *value) { return ((ab_options *)user)->help = !value; }

static const own_option own[] = {{"--margin", OWN_REQUIRED, "per cent, 0 .. 100", take_margin},
                                 {"--width", OWN_REQUIRED, "per cent, above 0 up to 100", take_width},
                                 {"--max-time", OWN_REQUIRED, "seconds, above 0 up to 86400", take_max_time},
                                 {"--output", OWN_REQUIRED, "a file", take_output},
                                 {"--format", OWN_REQUIRED, "text, json", take_format},
                                 {"--gate", OWN_NONE, "", take_gate},
                                 {"--help", OWN_NONE, "", take_help},
                                 {"-h", OWN_NONE, "", take_help}};

/* ---- the measurement ---- */

typedef struct listener {
  ab_sides *sides;
  double max_time_s;
  bool shows;
} listener;

static void tell(void *user, const ab_result *so_far) {
  const listener *self = user;
  ab_sides_look(self->sides);
  if (self->shows) ab_report_progress(so_far, self->max_time_s);
}

static pd_status renew(void *user, uint64_t index) {
  if (signals_pending()) return PD_STOP;
  return ab_sides_renew(((listener *)user)->sides, index) == CODE_DONE ? PD_OK : PD_DEVICE;
}

static int end_code(const ab_options *options, outcome verdict) {
  if (!options->gate || verdict == OUTCOME_SAME || verdict == OUTCOME_FASTER) return CODE_DONE;
  return verdict == OUTCOME_SLOWER ? CODE_REGRESSION : CODE_INCONCLUSIVE;
}

static int report(const ab_options *options, ab_sides *sides, const ab_result *got, bool partial, error *err) {
  ab_report of = {.sides = sides,
                  .of = got,
                  .margin = options->margin,
                  .verdict = comparison_paired(&got->of, options->margin),
                  .partial = partial};
  if (ab_sides_measured(sides, got, partial) != PD_OK) {
    error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    return CODE_INTERNAL;
  }
  const bool taken = options->output && strcmp(options->output, "-") == 0;
  const bool color = log_color_on(taken ? STDERR_FILENO : STDOUT_FILENO);
  const bool told = options->json ? ab_report_json(&of, err) : ab_report_text(&of, color, taken ? stderr : stdout, err);
  const int written = options->output ? measurement_file_write(options->output, sides->rows.rows, 2) : CODE_DONE;
  if (!told) return err->exit_code;
  return written == CODE_DONE ? end_code(options, of.verdict) : written;
}

static int measure(const ab_options *options, ab_sides *sides, bool quiet, error *err) {
  const bool cold = sides->settings[0]->benchmark.cold_cache || sides->settings[1]->benchmark.cold_cache;
  const ab_rules rules = {.width = options->width > 0 ? options->width : USUAL_WIDTH * options->margin,
                          .number = cold ? 1 : (uint64_t)sides->settings[0]->benchmark.number,
                          .max_time_s = options->max_time_s,
                          .clock = cold ? bench_clock : NULL};
  listener to = {.sides = sides, .max_time_s = options->max_time_s, .shows = !quiet && isatty(STDERR_FILENO)};
  const ab_callbacks calls = {.block = ab_sides_block, .renew = renew, .tell = tell, .user = &to};
  void *const users[2] = {&sides->steps[0], &sides->steps[1]};
  ab_result got;
  const pd_status status = ab_measure(&rules, &calls, users, &got);
  ab_report_progress_end();
  int code = CODE_DONE;
  if (sides->code != CODE_DONE) { /* it did not come up again, and said why */
    ab_free(&got);
    return sides->code;
  }
  if (got.rounds && status != PD_NO_MEMORY) code = report(options, sides, &got, status != PD_OK, err);
  ab_free(&got);
  if (signals_pending()) return 128 + signals_pending();
  if (status == PD_OK || err->count) return code;
  const char *failure = ab_sides_failure(sides);
  if (status == PD_NO_MEMORY) failure = service_status_text(status);
  error_set(err, status, CODE_SCENARIO, "ab: %s", failure[0] ? failure : "no block has a time: the clock is broken");
  return CODE_SCENARIO;
}

static int compare_sides(const ab_options *options, const cli_args *args, const char *const texts[2], error *err) {
  ab_sides sides;
  char a[256], b[256];
  if (!ab_sides_load(&sides, args, texts, err)) {
    ab_sides_close(&sides);
    return err->exit_code;
  }
  signals_install(NULL, NULL);
  int code = options->output ? measurement_file_check(options->output) : CODE_DONE;
  if (code == CODE_DONE) code = ab_sides_open(&sides);
  if (code == CODE_DONE && !args->quiet)
    fprintf(stderr, "pdhost %s: ab of %s: %s, %s\n", version_text(), sides.settings[0]->scenario.plugin->table->name,
            ab_sides_name(&sides, 0, a, sizeof a), ab_sides_name(&sides, 1, b, sizeof b));
  if (code == CODE_DONE) code = measure(options, &sides, args->quiet, err);
  ab_sides_close(&sides);
  signals_restore();
  return code;
}

static int parse_and_run(ab_options *options, int argc, char **argv, char **rest, const char **words, error *err) {
  const int count = own_options_take(own, sizeof own / sizeof own[0], options, argc, argv, rest, err);
  if (!err->count && options->help) {
    fputs(usage, stdout);
    return CODE_DONE;
  }
  cli_args args;
  uint32_t word_count;
  (void)cli_args_parse_words(&args, count, rest, words, &word_count, err);
  if (!err->count && args.command != CLI_RUN)
    error_set(err, PD_INVALID, CODE_USAGE, "ab: only options of a run are expected; see pdhost ab --help");
  if (!err->count && word_count != 2)
    error_set(err, PD_INVALID, CODE_USAGE, "ab: %u of the two configurations are given; see pdhost ab --help",
              word_count);
  if (!err->count && !(options->margin > 0 || options->width > 0))
    error_set(err, PD_INVALID, CODE_USAGE, "ab: --margin 0: also needs --width, to know when to end");
  if (!err->count && options->json && options->output && strcmp(options->output, "-") == 0)
    error_set(err, PD_INVALID, CODE_USAGE, "ab: --output -: standard output has --format json already; name a file");
  const int code = err->count ? err->exit_code : compare_sides(options, &args, words, err);
  cli_args_free(&args);
  return code;
}

int ab_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  ab_options options = {.margin = COMPARISON_MARGIN, .max_time_s = 10};
  char **rest = calloc((size_t)argc + 1, sizeof *rest);
  const char **words = calloc((size_t)argc + 1, sizeof *words);
  int code = CODE_INTERNAL;
  if (rest && words)
    code = parse_and_run(&options, argc, argv, rest, words, &err);
  else
    error_set(&err, PD_NO_MEMORY, code, "out of memory");
  error_print(&err);
  free(rest);
  free(words);
  return code;
}
