#include "config/cli_args.h"
#include "config/run_name.h"
#include "pd_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cli_args args;
static error err;

static pd_status parse_words(char **words) {
  static const args_command compare = {.name = "compare"};
  static const args_command *const commands[] = {&compare};
  int count = 0;
  run_name_set_commands(commands, 1);
  setenv("PDHOST_PLUGIN_PATH", TEST_LIB, 1);
  while (words[count]) count++;
  error_clear(&err);
  return cli_args_parse(&args, NULL, count, words, &err);
}
#define PARSE(...) parse_words((char *[]){"pdhost", __VA_ARGS__, NULL})

#define ASSIGNS(index, section_, key_, value_)                                                                         \
  do {                                                                                                                 \
    cr_assert_gt(args.input.assignment_count, (index));                                                                \
    const config_assignment *at_ = &args.input.assignments[index];                                                     \
    cr_assert_str_eq(at_->section, section_);                                                                          \
    cr_assert_str_eq(at_->key, key_);                                                                                  \
    cr_assert_str_eq(at_->value, value_);                                                                              \
    cr_assert_str_eq(at_->origin, "command line");                                                                     \
  } while (0)
#define REFUSES(line, ...)                                                                                             \
  do {                                                                                                                 \
    cr_assert_neq(PARSE(__VA_ARGS__), PD_OK);                                                                          \
    cr_assert_str_eq(err.text, line "\n", "%s", err.text);                                                             \
    cr_assert_eq(err.exit_code, CODE_USAGE);                                                                           \
    cli_args_free(&args);                                                                                              \
  } while (0)

PD_TEST(cli, files_in_order) {
  cr_assert_eq(PARSE("-c", "a.ini", "-c", "b.ini"), PD_OK);
  cr_assert_eq(args.command, CLI_RUN);
  cr_assert_eq(args.input.file_count, 2);
  cr_assert_str_eq(args.input.files[0], "a.ini");
  cr_assert_str_eq(args.input.files[1], "b.ini");
  cli_args_free(&args);
}

PD_TEST(cli, values_may_stand_at_the_letter) {
  cr_assert_eq(PARSE("-ca.ini", "-odata.batch_size=3", "--config=b.ini", "--steps", "5", "--json"), PD_OK);
  cr_assert_eq(args.input.file_count, 2);
  cr_assert_str_eq(args.input.files[0], "a.ini");
  cr_assert_str_eq(args.input.files[1], "b.ini");
  ASSIGNS(0, "data", "batch_size", "3");
  ASSIGNS(1, "schedule", "active", "5");
  cr_assert(args.json);
  cli_args_free(&args);
  cr_assert_eq(PARSE("-V"), PD_OK);
  cr_assert_eq(args.command, CLI_VERSION);
  cli_args_free(&args);
}

PD_TEST(cli, a_word_names_a_file_or_a_scenario) {
  cr_assert_eq(PARSE("-c", "a.ini", "conf/x.ini"), PD_OK);
  cr_assert_eq(args.input.file_count, 2);
  cr_assert_str_eq(args.input.files[0], "conf/x.ini"); /* below what is given */
  cr_assert_str_eq(args.input.files[1], "a.ini");
  cli_args_free(&args);
  cr_assert_eq(PARSE("-o", "run.device=cpu", "./mine/x.so"), PD_OK);
  ASSIGNS(0, "run", "scenario", "./mine/x.so");
  ASSIGNS(1, "run", "device", "cpu");
  cli_args_free(&args);
}

PD_TEST(cli, a_command_has_words_and_options_of_its_own) {
  struct {
    bool gate;
  } options = {.gate = false};
  const args_option rows[] = {{.name = "--gate", .take = args_take_flag}};
  const cli_own own = {.rows = rows, .count = 1, .user = &options, .words = 2, .where = "ab: "};
  char *words[] = {"ab", "conf/x.ini", "train.lr=1", "--gate", "", "--seed", "4", NULL};
  error_clear(&err);
  cr_assert_eq(cli_args_parse(&args, &own, 7, words, &err), PD_OK);
  cr_assert(options.gate);
  cr_assert_eq(args.word_count, 2);
  cr_assert_str_eq(args.words[0], "train.lr=1");
  cr_assert_str_eq(args.words[1], "");
  cr_assert_str_eq(args.input.files[0], "conf/x.ini");
  ASSIGNS(0, "run", "seed", "4");
  cli_args_free(&args);
}

PD_TEST(cli, an_assignment_splits_at_the_last_dot_before_the_equals_sign) {
  cr_assert_eq(PARSE("-o", "sink.json.output_json=a.b=c"), PD_OK);
  cr_assert_eq(args.input.assignment_count, 1);
  ASSIGNS(0, "sink.json", "output_json", "a.b=c");
  cli_args_free(&args);
}

PD_TEST(cli, named_flags_come_after_assignments) {
  cr_assert_eq(PARSE("--batch_size", "64", "-o", "data.batch_size=8"), PD_OK);
  ASSIGNS(0, "data", "batch_size", "8");
  ASSIGNS(1, "data", "batch_size", "64");
  cli_args_free(&args);
}

PD_TEST(cli, every_spelling_of_profiler_demo) {
  static const struct {
    const char *flag, *section, *key;
  } rows[] = {{"--scenario", "run", "scenario"},
              {"--device", "run", "device"},
              {"--trace_dir", "run", "trace_dir"},
              {"--seed", "run", "seed"},
              {"--warmup_steps", "run", "warmup_steps"},
              {"--profile_steps", "schedule", "active"},
              {"--batch_size", "data", "batch_size"},
              {"--image_size", "data", "image_size"},
              {"--dataset_size", "data", "dataset_size"},
              {"--num_workers", "data", "num_workers"},
              {"--prefetch_factor", "data", "prefetch_factor"},
              {"--lr", "train", "lr"},
              {"--output_json", "sink.json", "output_json"},
              {"--row_limit", "sink.table", "row_limit"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char joined[64];
    cr_assert_eq(PARSE((char *)rows[i].flag, "7"), PD_OK);
    ASSIGNS(0, rows[i].section, rows[i].key, "7");
    cli_args_free(&args);
    snprintf(joined, sizeof joined, "%s=7", rows[i].flag);
    cr_assert_eq(PARSE(joined), PD_OK);
    ASSIGNS(0, rows[i].section, rows[i].key, "7");
    cli_args_free(&args);
  }
}

PD_TEST(cli, truths_need_no_value) {
  static const struct {
    const char *flag, *section, *key;
  } rows[] = {{"--pin_memory", "data", "pin_memory"},
              {"--wide", "sink.table", "wide"},
              {"--corrected", "sink.table", "corrected"},
              {"--persistent_workers", "data", "persistent_workers"},
              {"--amp", "train", "amp"},
              {"--channels_last", "train", "channels_last"},
              {"--with_stack", "profile", "with_stack"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cr_assert_eq(PARSE((char *)rows[i].flag, "-c", "x"), PD_OK);
    ASSIGNS(0, rows[i].section, rows[i].key, "true");
    cr_assert_eq(args.input.file_count, 1);
    cli_args_free(&args);
  }
  cr_assert_eq(PARSE("--pin-memory=no"), PD_OK);
  ASSIGNS(0, "data", "pin_memory", "no");
  cli_args_free(&args);
}

PD_TEST(cli, sinks_with_their_keys) {
  cr_assert_eq(PARSE("--sink", "table:row_limit=5,views=a,b,wide=true", "--sink", "json", "--sink", "./x.so:k=/p:q"),
               PD_OK);
  ASSIGNS(0, "sink.table", "row_limit", "5");
  ASSIGNS(1, "sink.table", "views", "a,b");
  ASSIGNS(2, "sink.table", "wide", "true");
  ASSIGNS(3, "sink../x.so", "k", "/p:q");
  ASSIGNS(4, "run", "sinks", "table,json,./x.so");
  cli_args_free(&args);
}

PD_TEST(cli, commands_and_their_topics) {
  cr_assert_eq(PARSE("--list"), PD_OK);
  cr_assert(args.command == CLI_LIST && !args.topic);
  cli_args_free(&args);
  cr_assert_eq(PARSE("--list", "sinks", "--plugin-path", "/a", "--plugin-path", "/b"), PD_OK);
  cr_assert_str_eq(args.topic, "sinks");
  cr_assert_str_eq(args.plugin_path, "/a:/b");
  ASSIGNS(0, "run", "plugin_path", "/a:/b");
  cli_args_free(&args);
  cr_assert_eq(PARSE("--help-sink", "table.sort_by", "--format", "json"), PD_OK);
  cr_assert(args.command == CLI_HELP_PLUGIN && args.kind == PD_KIND_SINK && args.json);
  cr_assert_str_eq(args.topic, "table.sort_by");
  cli_args_free(&args);
  cr_assert_eq(PARSE("--dump-config"), PD_OK);
  cr_assert_eq(args.command, CLI_SHOW_CONFIG);
  cli_args_free(&args);
  cr_assert_eq(PARSE("--list", "--help"), PD_OK);
  cr_assert_eq(args.command, CLI_HELP);
  cli_args_free(&args);
}

PD_TEST(cli, the_command_line_can_be_typed_again) {
  cr_assert_eq(PARSE("-c", "a b.ini", "-o", "run.trace_dir=it's", "--seed", "1"), PD_OK);
  cr_assert_str_eq(args.input.command_line, "pdhost -c 'a b.ini' -o 'run.trace_dir=it'\\''s' --seed 1");
  cli_args_free(&args);
}

PD_TEST(cli, mistakes) {
  REFUSES("--num_worker: no such option; did you mean --num_workers?", "--num_worker", "3");
  REFUSES("--frobnicate: no such option; see pdhost --help", "--frobnicate=1");
  REFUSES("-x: no such option; see pdhost --help", "-x");
  REFUSES("unexpected argument 'b.ini'; write -c b.ini", "a.ini", "b.ini");
#define NOTHING "; it is not a command, configuration or scenario: see pdhost --help and pdhost --list"
  REFUSES("unexpected argument 'true'" NOTHING, "--pin_memory", "true");
  REFUSES("unexpected argument 'compar'; did you mean compare?", "compar");
  REFUSES("unexpected argument 'dataloder'; did you mean dataloader?", "dataloder");
  REFUSES("unexpected argument 'compare'; a command comes first: pdhost compare", "-q", "compare", "a.json", "b.json");
  REFUSES("unexpected argument ''; an empty word names nothing", "");
  REFUSES("-num_workers: no such option; did you mean --num_workers?", "-num_workers", "3");
  REFUSES("-c: needs a value", "-c");
  REFUSES("--device: needs a value", "--device");
  REFUSES("--check: takes no value", "--check=1");
  REFUSES("-o batch_size=3: write section.key=value, as in -o data.num_workers=8", "-o", "batch_size=3");
  REFUSES("-o data.batch_size: write section.key=value, as in -o data.num_workers=8", "-o", "data.batch_size");
  REFUSES("-o data.=3: write section.key=value, as in -o data.num_workers=8", "-o", "data.=3");
  REFUSES("--sink :a=b: no name; write --sink NAME[:key=value,...]", "--sink", ":a=b");
  REFUSES("--sink table:wide: wide: write key=value", "--sink", "table:wide");
  REFUSES("--color blue: not allowed; allowed: auto, always, never", "--color=blue");
  REFUSES("--format xml: not allowed; allowed: text, json", "--format", "xml");
  REFUSES("--dry-run: there is another command already; give one at a time", "--check", "--dry-run");
}

PD_TEST(cli, all_mistakes_are_shown_together) {
  REFUSES("-o x: write section.key=value, as in -o data.num_workers=8\n--foo: no such option; see pdhost --help", "-o",
          "x", "--foo");
}
