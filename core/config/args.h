/* The command line of every command: its rows, how they are parsed, and the page of help that is made of them. A row
 * says all there is about an option; parser, help, manual pages and completion read the same rows. [main thread] */
#ifndef CORE_CONFIG_ARGS_H
#define CORE_CONFIG_ARGS_H

#include "base/error.h"

typedef enum args_value {
  ARGS_NONE,     /* --gate */
  ARGS_OPTIONAL, /* --color, --color=never */
  ARGS_NEXT,     /* --list, --list=sinks, --list sinks */
  ARGS_REQUIRED  /* --margin 2, --margin=2, -m2, -m 2 */
} args_value;

/* What completion offers as the value of an option or as a word. */
typedef enum args_offer {
  ARGS_OFFER_NOTHING = 0,
  ARGS_OFFER_CHOICES, /* the row's `allowed`, separated by ", " */
  ARGS_OFFER_FILE,
  ARGS_OFFER_FOLDER,
  ARGS_OFFER_CONFIG,   /* an INI file, or the name of a configuration */
  ARGS_OFFER_KEY,      /* section.key=value */
  ARGS_OFFER_SECTION,  /* a section, or section.key */
  ARGS_OFFER_SCENARIO, /* names of plugins */
  ARGS_OFFER_SINK,
  ARGS_OFFER_DEVICE,
  ARGS_OFFER_PLUGIN, /* of any kind */
  ARGS_OFFER_TOPIC   /* a topic of `pdhost help` */
} args_offer;

typedef struct args_option args_option;
struct args_option {
  const char *name; /* "--plugin-path"; '-' and '_' are the same to the parser */
  char letter;      /* 'o' for -o; 0: none */
  args_value value;
  const char *argument; /* "PERCENT"; NULL: the option takes no value */
  const char *help;     /* no capital, no full stop; NULL: that of `key`'s own row; "": the row is not shown */
  const char *group;    /* heading in the page of help; NULL: the one of the row before */
  const char *allowed;  /* what the message on a refused value lists; may be NULL */
  args_offer offer;
  /* False: the value is not allowed. `value` is NULL where none was given. */
  bool (*take)(void *user, const args_option *self, const char *value, error *err);
  const char *section, *key; /* the key that the option is another spelling of; NULL: none */
  int code;                  /* for `take` */
};

/* One table of rows, with what its `take` gets. */
typedef struct args_set {
  const args_option *rows;
  uint32_t count;
  void *user;
  /* Not NULL: options of this set are not taken. Their words are added here as they stand; room for argc. */
  char **kept;
  uint32_t kept_count;
} args_set;

typedef struct args_command args_command;
struct args_command {
  const char *name;        /* "compare" */
  const char *summary;     /* one line: no capital, no full stop */
  const char *usage;       /* what follows "pdhost compare "; further forms after a newline */
  const char *description; /* paragraphs, with an empty line between them */
  const char *examples;    /* lines "command\twhat it does"; NULL: none */
  const args_option *options;
  uint32_t option_count;
  bool takes_run_options; /* every option of `pdhost run`, too */
  args_offer words;       /* what its words are */
  /* argv[0] is the command's name and argv[-1] the program's. Returns the exit code; prints its errors itself. */
  int (*main)(int argc, char **argv);
};

/* A word that belongs to no option. False ends the parsing. */
typedef bool (*args_word)(void *user, const char *word, error *err);

/* Parses argv[1] to argv[argc - 1] against the sets, the first that knows an option wins. All mistakes are added to
 * `err` (CODE_USAGE). `where` begins each message ("compare: "), and may be "". */
pd_status args_parse(args_set *sets, uint32_t set_count, args_word word, void *word_user, const char *where, int argc,
                     char **argv, error *err);

/* The row of an option as typed ("--batch-size", "-c"); NULL: none. */
const args_option *args_find(const args_option *rows, uint32_t count, const char *typed, size_t bytes);

/* Rows that set one field of `user`; `code` is its offset. */
/* a bool */
bool args_take_flag(void *user, const args_option *self, const char *value, error *err);
/* a const char *, which is not empty */
bool args_take_text(void *user, const args_option *self, const char *value, error *err);
/* a double: "1" or "1%", 0 .. 100 per cent */
bool args_take_share(void *user, const args_option *self, const char *value, error *err);
/* a double: "10", "10s", "2m" or "1h", above 0 up to a day */
bool args_take_seconds(void *user, const args_option *self, const char *value, error *err);

bool args_take_color(void *user, const args_option *self, const char *value, error *err);
bool args_take_progress(void *user, const args_option *self, const char *value, error *err);
#define ARGS_HELP_ROW(type, field)                                                                                     \
  {                                                                                                                    \
    .name = "--help", .letter = 'h', .help = "print this page", .take = args_take_flag,                                \
    .code = (int)offsetof(type, field)                                                                                 \
  }
#define ARGS_COLOR_ROW                                                                                                 \
  {                                                                                                                    \
    .name = "--color", .value = ARGS_OPTIONAL, .argument = "WHEN", .help = "auto (on a terminal), always or never",    \
    .allowed = "auto, always, never", .offer = ARGS_OFFER_CHOICES, .take = args_take_color                             \
  }

#define ARGS_PROGRESS_ROW                                                                                              \
  {                                                                                                                    \
    .name = "--progress", .value = ARGS_REQUIRED, .argument = "HOW",                                                   \
    .help = "progress line: auto (on a terminal), always, never, or json: one object per line on standard error",      \
    .allowed = "auto, always, never, json", .offer = ARGS_OFFER_CHOICES, .take = args_take_progress                    \
  }

/* What a command prints: one spelling for all. */
typedef enum args_format { ARGS_TEXT = 0, ARGS_JSON, ARGS_CSV, ARGS_MD } args_format;
/* Sets the args_format whose offset in `user` is `code`. */
bool args_take_format(void *user, const args_option *self, const char *value, error *err);
#define ARGS_FORMAT_ROW(type, field, list, choices)                                                                    \
  {                                                                                                                    \
    .name = "--format", .value = ARGS_REQUIRED, .argument = list, .help = "what to print (text)", .allowed = choices,  \
    .offer = ARGS_OFFER_CHOICES, .take = args_take_format, .code = (int)offsetof(type, field)                          \
  }

/* For commands that compare: `--margin` sets a double, `--gate` a bool. */
#define ARGS_MARGIN_ROW(type, field)                                                                                   \
  {                                                                                                                    \
    .name = "--margin", .value = ARGS_REQUIRED, .argument = "PERCENT", .allowed = "per cent, 0 .. 100",                \
    .help = "a difference that does not matter (1)", .take = args_take_share, .code = (int)offsetof(type, field)       \
  }
#define ARGS_GATE_ROW(type, field)                                                                                     \
  {                                                                                                                    \
    .name = "--gate", .help = "exit 9 if B is SLOWER, 10 if that is UNCLEAR", .take = args_take_flag,                  \
    .code = (int)offsetof(type, field)                                                                                 \
  }
/* A file for CI: sets a const char *. */
#define ARGS_JUNIT_ROW(type, field)                                                                                    \
  {                                                                                                                    \
    .name = "--junit", .value = ARGS_REQUIRED, .argument = "FILE", .allowed = "a file", .offer = ARGS_OFFER_FILE,      \
    .help = "also write the verdicts as JUnit, for CI: SLOWER fails, UNCLEAR is an error", .take = args_take_text,     \
    .code = (int)offsetof(type, field)                                                                                 \
  }
/* A page of HTML: sets a const char *. */
#define ARGS_HTML_ROW(type, field)                                                                                     \
  {                                                                                                                    \
    .name = "--html", .value = ARGS_REQUIRED, .argument = "FILE", .allowed = "a file", .offer = ARGS_OFFER_FILE,       \
    .help = "also write the comparison as a page", .take = args_take_text, .code = (int)offsetof(type, field)          \
  }
/* For commands that read files of other programs: each sets a const char *. */
#define ARGS_STEP_ROW(type, field)                                                                                     \
  {                                                                                                                    \
    .name = "--step", .value = ARGS_REQUIRED, .argument = "NAME",                                                      \
    .help = "ranges of this name are the steps (record_function, NVTX); NAME* takes all that begin so",                \
    .take = args_take_text, .code = (int)offsetof(type, field)                                                         \
  }
#define ARGS_READER_ROW(type, field)                                                                                   \
  {                                                                                                                    \
    .name = "--reader", .value = ARGS_REQUIRED, .argument = "NAME",                                                    \
    .help = "read the files with this reader, a name or the path of a plugin; without it, the files say which one",    \
    .take = args_take_text, .code = (int)offsetof(type, field)                                                         \
  }

/* A bool: config_input.no_python. */
#define ARGS_NO_PYTHON_ROW(type, field)                                                                                \
  {                                                                                                                    \
    .name = "--no-python",                                                                                             \
    .help = "skip the Python functions that with_stack=True records in a trace: quicker, with less memory, and "       \
            "Evidence names no line",                                                                                  \
    .take = args_take_flag, .code = (int)offsetof(type, field)                                                         \
  }

/* The page of `pdhost COMMAND --help`, on standard output. */
void args_print_help(const args_command *self);
/* The text for `help`; NULL: the row is not shown. */
const char *args_help_text(const args_option *self);
/* "-o, --option SECTION.KEY=VALUE" */
const char *args_title(const args_option *self, char *text, size_t room);

#endif
