/* Taking the command line apart; see cli_args.h. Each named flag is another spelling of a key and is checked as one. */
#include "cli_args.h"

#include "suggest.h"

#include <stdio.h>
#include <string.h>

typedef enum flag_kind {
  FLAG_KEY,     /* --batch_size 64: a key with its value */
  FLAG_TRUTH,   /* --pin_memory: a bool key; true without a value */
  FLAG_COMMAND, /* --list */
  FLAG_FILE,    /* -c */
  FLAG_ASSIGN,  /* -o */
  FLAG_SINK,    /* --sink */
  FLAG_FOLDER,  /* --plugin-path */
  FLAG_FORMAT,  /* --format */
  FLAG_COLOR,   /* --color */
  FLAG_QUIET,   /* -q */
  FLAG_VERBOSE  /* -v */
} flag_kind;

typedef enum flag_value { VALUE_NONE, VALUE_OPTIONAL, VALUE_REQUIRED } flag_value;

typedef struct flag {
  const char *name; /* '-' and '_' are the same */
  flag_kind kind;
  flag_value value;
  const char *section, *key; /* FLAG_KEY, FLAG_TRUTH */
  cli_command command;       /* FLAG_COMMAND */
  pd_kind plugin_kind;
} flag;

#define KEY(name, section, key)                                                                                        \
  { name, FLAG_KEY, VALUE_REQUIRED, section, key, CLI_RUN, 0 }
#define TRUTH(name, section)                                                                                           \
  { "--" name, FLAG_TRUTH, VALUE_NONE, section, name, CLI_RUN, 0 }
#define COMMAND(name, value, command)                                                                                  \
  { name, FLAG_COMMAND, value, NULL, NULL, command, 0 }
#define HELP(name, kind)                                                                                               \
  { name, FLAG_COMMAND, VALUE_REQUIRED, NULL, NULL, CLI_HELP_PLUGIN, kind }
#define OTHER(name, kind, value)                                                                                       \
  { name, kind, value, NULL, NULL, CLI_RUN, 0 }

static const flag flags[] = {
    OTHER("-c", FLAG_FILE, VALUE_REQUIRED),
    OTHER("-o", FLAG_ASSIGN, VALUE_REQUIRED),
    OTHER("--sink", FLAG_SINK, VALUE_REQUIRED),
    OTHER("--plugin-path", FLAG_FOLDER, VALUE_REQUIRED),
    OTHER("--format", FLAG_FORMAT, VALUE_REQUIRED),
    OTHER("--color", FLAG_COLOR, VALUE_OPTIONAL),
    OTHER("-q", FLAG_QUIET, VALUE_NONE),
    OTHER("-v", FLAG_VERBOSE, VALUE_NONE),
    COMMAND("--help", VALUE_NONE, CLI_HELP),
    COMMAND("-h", VALUE_NONE, CLI_HELP),
    COMMAND("--version", VALUE_NONE, CLI_VERSION),
    COMMAND("--list", VALUE_OPTIONAL, CLI_LIST),
    HELP("--help-plugin", 0),
    HELP("--help-scenario", PD_KIND_SCENARIO),
    HELP("--help-sink", PD_KIND_SINK),
    HELP("--help-device", PD_KIND_DEVICE),
    COMMAND("--help-section", VALUE_REQUIRED, CLI_HELP_SECTION),
    COMMAND("--show-config", VALUE_NONE, CLI_SHOW_CONFIG),
    COMMAND("--dump-config", VALUE_NONE, CLI_SHOW_CONFIG),
    COMMAND("--check", VALUE_NONE, CLI_CHECK),
    COMMAND("--dry-run", VALUE_NONE, CLI_DRY_RUN),
    COMMAND("--check-plugin", VALUE_REQUIRED, CLI_CHECK_PLUGIN),
    COMMAND("--explain", VALUE_REQUIRED, CLI_EXPLAIN),
    KEY("--scenario", "run", "scenario"),
    KEY("--device", "run", "device"),
    KEY("--mode", "run", "mode"),
    KEY("--trace_dir", "run", "trace_dir"),
    KEY("--seed", "run", "seed"),
    KEY("--warmup_steps", "run", "warmup_steps"),
    KEY("--profile_steps", "schedule", "active"),
    KEY("--batch_size", "data", "batch_size"),
    KEY("--image_size", "data", "image_size"),
    KEY("--dataset_size", "data", "dataset_size"),
    KEY("--num_workers", "data", "num_workers"),
    KEY("--prefetch_factor", "data", "prefetch_factor"),
    TRUTH("persistent_workers", "data"),
    TRUTH("pin_memory", "data"),
    TRUTH("amp", "train"),
    TRUTH("channels_last", "train"),
    KEY("--lr", "train", "lr"),
    TRUTH("with_stack", "profile"),
    KEY("--output_json", "sink.json", "output_json"),
    KEY("--row_limit", "sink.table", "row_limit"),
    TRUTH("wide", "sink.table"),
};
enum { FLAG_COUNT = sizeof flags / sizeof flags[0] };

/* The lists under construction. */
typedef struct builder {
  cli_args *args;
  error *err;
  const char **files;
  config_assignment *options, *named; /* -o; flags, which win */
  uint32_t option_count, named_count;
  const char *sinks;  /* of --sink, joined */
  bool failed;        /* no memory */
  bool stopped;       /* what follows belongs to a command of its own */
  const char **words; /* that stand alone; NULL: they are mistakes */
  uint32_t word_count;
} builder;

#define USAGE(b, ...) error_add((b)->err, PD_INVALID, CODE_USAGE, __VA_ARGS__)

static bool same_flag(const char *name, const char *typed, size_t bytes) {
  if (strlen(name) != bytes) return false;
  for (size_t i = 0; i < bytes; i++) {
    const int a = name[i] == '_' ? '-' : name[i], b = typed[i] == '_' ? '-' : typed[i];
    if (a != b) return false;
  }
  return true;
}

static const flag *find_flag(const char *typed, size_t bytes) {
  for (uint32_t i = 0; i < FLAG_COUNT; i++)
    if (same_flag(flags[i].name, typed, bytes)) return &flags[i];
  return NULL;
}

static const char *keep(builder *b, const char *text, size_t bytes) {
  char *copy = text_pool_alloc(&b->args->memory, bytes + 1);
  if (!copy) {
    b->failed = true;
    return "";
  }
  memcpy(copy, text, bytes);
  return copy;
}

static const char *join(builder *b, const char *first, const char *middle, const char *last) {
  const char *text = text_pool_join(&b->args->memory, first, middle, last);
  if (!text) b->failed = true;
  return text ? text : "";
}

static config_assignment assign(const char *section, const char *key, const char *value) {
  return (config_assignment){.section = section, .key = key, .value = value, .origin = "command line"};
}

/* section.key=value; the last dot before the = parts section and key. */
static void take_option(builder *b, const char *text) {
  const char *equals = strchr(text, '='), *dot = NULL;
  for (const char *at = text; equals && at < equals; at++)
    if (*at == '.') dot = at;
  if (!dot || dot == text || dot + 1 == equals) {
    USAGE(b, "-o %s: write section.key=value, as in -o data.num_workers=8", text);
    return;
  }
  b->options[b->option_count++] =
      assign(keep(b, text, (size_t)(dot - text)), keep(b, dot + 1, (size_t)(equals - dot - 1)), equals + 1);
}

/* name[:key=value,...]; a part without = belongs to the value before it, so that lists can be given. */
static void take_sink(builder *b, const char *text) {
  const char *slash = strrchr(text, '/');
  const char *colon = strchr(text, ':');
  /* A path may hold a colon before its last slash, a value may hold slashes: the file's name ends with .so. */
  const char *suffix = strstr(text, ".so:");
  if (suffix && slash) colon = suffix + 3;
  const char *name = keep(b, text, colon ? (size_t)(colon - text) : strlen(text));
  if (!name[0]) {
    USAGE(b, "--sink %s: no name; write --sink NAME[:key=value,...]", text);
    return;
  }
  b->sinks = b->sinks ? join(b, b->sinks, ",", name) : name;
  const char *section = join(b, "sink.", name, "");
  for (const char *at = colon ? colon + 1 : ""; *at;) {
    const char *equals = strchr(at, '='), *end = strchr(at, ',');
    while (end && !memchr(end + 1, '=', strcspn(end + 1, ","))) end = strchr(end + 1, ',');
    if (!equals || equals == at || (end && equals > end)) {
      USAGE(b, "--sink %s: %s: write key=value", text, at);
      return;
    }
    const size_t bytes = end ? (size_t)(end - equals - 1) : strlen(equals + 1);
    b->named[b->named_count++] = assign(section, keep(b, at, (size_t)(equals - at)), keep(b, equals + 1, bytes));
    at = end ? end + 1 : at + strlen(at);
  }
}

static void take_color(builder *b, const char *value) {
  b->args->input.color = value ? value : "always";
  if (!value || strcmp(value, "always") == 0)
    log_set_color(LOG_COLOR_ALWAYS);
  else if (strcmp(value, "never") == 0)
    log_set_color(LOG_COLOR_NEVER);
  else if (strcmp(value, "auto") == 0)
    log_set_color(LOG_COLOR_AUTO);
  else
    USAGE(b, "--color=%s: no such choice; allowed: auto, always, never", value);
}

static void take_command(builder *b, const flag *at, const char *value) {
  cli_args *args = b->args;
  if (args->command == CLI_HELP && args->topic) return; /* --help wins over what else stands there */
  if (at->command != CLI_HELP && args->command != CLI_RUN && args->command != at->command) {
    USAGE(b, "%s: there is another command already; give one at a time", at->name);
    return;
  }
  args->command = at->command;
  args->kind = at->plugin_kind;
  args->topic = at->command == CLI_HELP ? "" : value;
}

static void take_flag(builder *b, const flag *at, const char *value) {
  const char *given = value ? value : ""; /* of the kinds that need one */
  switch (at->kind) {
  case FLAG_KEY:
  case FLAG_TRUTH: b->named[b->named_count++] = assign(at->section, at->key, value ? value : "true"); break;
  case FLAG_COMMAND: take_command(b, at, value); break;
  case FLAG_FILE: b->files[b->args->input.file_count++] = value; break;
  case FLAG_ASSIGN: take_option(b, given); break;
  case FLAG_SINK: take_sink(b, given); break;
  case FLAG_FOLDER:
    b->args->plugin_path = b->args->plugin_path ? join(b, b->args->plugin_path, ":", value) : value;
    break;
  case FLAG_FORMAT:
    b->args->json = strcmp(given, "json") == 0;
    if (!b->args->json && strcmp(given, "text") != 0)
      USAGE(b, "--format %s: no such choice; allowed: text, json", given);
    break;
  case FLAG_COLOR: take_color(b, value); break;
  case FLAG_QUIET:
    b->args->quiet = true;
    log_set_level(PD_LOG_ERROR);
    break;
  case FLAG_VERBOSE: log_set_level(PD_LOG_DEBUG); break;
  }
}

static void unknown_flag(builder *b, const char *typed, size_t bytes) {
  char hint[128];
  suggest near = {.wanted = keep(b, typed, bytes)};
  /* One letter away from -x is every other letter. */
  for (uint32_t i = 0; bytes > 2 && i < FLAG_COUNT; i++) suggest_offer(&near, flags[i].name);
  suggest_text(&near, hint, sizeof hint);
  USAGE(b, "%.*s: no such option%s", (int)bytes, typed, hint[0] ? hint : "; see pdhost --help");
}

static void lone_word(builder *b, const char *text) {
  static const char *const commands[] = {"ab", "compare", "sweep", "score"};
  const size_t bytes = strlen(text);
  char hint[128];
  suggest near = {.wanted = text};
  if (bytes > 4 && strcmp(text + bytes - 4, ".ini") == 0) {
    USAGE(b, "%s: stands alone; write -c %s", text, text);
    return;
  }
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    if (strcmp(commands[i], text) == 0) {
      USAGE(b, "%s: is a command, which comes first: write pdhost %s, then its options", text, text);
      b->stopped = true;
      return;
    }
    suggest_offer(&near, commands[i]);
  }
  suggest_text(&near, hint, sizeof hint);
  USAGE(b, "%s: stands alone%s", text[0] ? text : "an empty word", hint[0] ? hint : "; see pdhost --help");
}

/* One argument, and the next one when it is its value. Returns how many were used. */
static int take_argument(builder *b, char **at, const char *next) {
  const char *text = at[0];
  if (b->words && (text[0] != '-' || !text[1])) {
    b->words[b->word_count++] = text;
    return 1;
  }
  if (text[0] != '-' || !text[1]) {
    lone_word(b, text);
    return 1;
  }
  const char *equals = text[1] == '-' ? strchr(text, '=') : NULL;
  const size_t bytes = equals ? (size_t)(equals - text) : strlen(text);
  const flag *found = find_flag(text, bytes);
  if (!found) {
    unknown_flag(b, text, bytes);
    return !equals && next && next[0] != '-' ? 2 : 1; /* what follows was meant as its value */
  }
  const char *value = equals ? equals + 1 : NULL;
  int used = 1;
  if (!value && found->value == VALUE_REQUIRED) {
    if (!next) {
      USAGE(b, "%s: needs a value", found->name);
      return 1;
    }
    value = next;
    used = 2;
  } else if (!value && found->kind == FLAG_COMMAND && found->value == VALUE_OPTIONAL && next && next[0] != '-') {
    value = next;
    used = 2;
  } else if (value && found->value == VALUE_NONE && found->kind != FLAG_TRUTH) {
    USAGE(b, "%s: takes no value", found->name);
    return 1;
  }
  take_flag(b, found, value);
  return used;
}

/* As one could type it again: words with anything unusual are quoted. */
static const char *command_line(builder *b, int argc, char **argv) {
  const char *line = "";
  for (int i = 0; i < argc; i++) {
    const char *word = argv[i];
    const bool plain = word[0] && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                               "-_./=:,+@%") == strlen(word);
    if (!plain) {
      const char *quoted = "'";
      for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1)
        quoted = join(b, quoted, keep(b, word, (size_t)(quote - word)), "'\\''");
      word = join(b, quoted, word, "'");
    }
    line = i ? join(b, line, " ", word) : word;
  }
  return line;
}

static pd_status parse(cli_args *self, int argc, char **argv, const char **words, uint32_t *word_count, error *err) {
  *self = (cli_args){.empty = argc < 2};
  builder b = {.args = self, .err = err, .words = words};
  size_t commas = 0;
  for (int i = 1; i < argc; i++)
    for (const char *at = argv[i]; *at; at++) commas += *at == ',';
  const size_t room = (size_t)argc + commas + 3; /* one assignment per argument, and per comma of a --sink */
  b.files = text_pool_alloc(&self->memory, room * sizeof *b.files);
  b.options = text_pool_alloc(&self->memory, room * sizeof *b.options);
  b.named = text_pool_alloc(&self->memory, 2 * room * sizeof *b.named);
  if (!b.files || !b.options || !b.named) return error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  for (int i = 1; i < argc && !b.stopped;) i += take_argument(&b, argv + i, i + 1 < argc ? argv[i + 1] : NULL);
  if (b.sinks) b.named[b.named_count++] = assign("run", "sinks", b.sinks);
  if (self->plugin_path) b.named[b.named_count++] = assign("run", "plugin_path", self->plugin_path);
  config_assignment *all = text_pool_alloc(&self->memory, (b.option_count + b.named_count) * sizeof *all);
  self->input.command_line = command_line(&b, argc, argv);
  if (!all || b.failed) return error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  if (b.option_count) memcpy(all, b.options, b.option_count * sizeof *all);
  if (b.named_count) memcpy(all + b.option_count, b.named, b.named_count * sizeof *all);
  self->input.files = b.files;
  self->input.assignments = all;
  self->input.assignment_count = b.option_count + b.named_count;
  if (word_count) *word_count = b.word_count;
  return err->count ? err->status : PD_OK;
}

pd_status cli_args_parse(cli_args *self, int argc, char **argv, error *err) {
  return parse(self, argc, argv, NULL, NULL, err);
}

pd_status cli_args_parse_words(cli_args *self, int argc, char **argv, const char **words, uint32_t *word_count,
                               error *err) {
  *word_count = 0;
  return parse(self, argc, argv, words, word_count, err);
}

void cli_args_free(cli_args *self) { text_pool_free(&self->memory); }
