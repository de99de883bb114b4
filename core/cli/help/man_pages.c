/* The text of the manual pages; see man.h. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/man.h"

#include "config/cli_args.h"
#include "config/core_options.h"
#include "abi/option.h"
#include "base/version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- roff ---- */

/* `text` with what roff would read otherwise taken care of; `bytes` of it. */
static void put(FILE *to, const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    const char at = text[i];
    const bool first = i == 0 || text[i - 1] == '\n';
    if (first && (at == '.' || at == '\'')) fputs("\\&", to);
    if (at == '\\')
      fputs("\\e", to);
    else if (at == '-')
      fputs("\\-", to);
    else if (at == '~')
      fputs("\\(ti", to);
    else if (at == '^')
      fputs("\\(ha", to);
    else if (at == '\'' || at == '`')
      fputs(at == '`' ? "\\(ga" : "\\(aq", to);
    else
      putc(at, to);
  }
}
static void put_text(FILE *to, const char *text) { put(to, text, strlen(text)); }

static void line(FILE *to, const char *text) {
  put_text(to, text);
  putc('\n', to);
}

static void heading(FILE *to, const char *name, int section, const char *manual, const char *title,
                    const char *summary) {
  fputs(".TH ", to);
  for (const char *at = name; *at; at++) {
    if (*at == '-')
      fputs("\\-", to);
    else
      putc(toupper((unsigned char)*at), to);
  }
  fprintf(to, " %d \"\" \"pdhost %s\" \"%s\"\n.SH NAME\n", section, version_text(), manual);
  put_text(to, title);
  fputs(" \\- ", to);
  line(to, summary);
}

static void bold_tag(FILE *to, const char *text) {
  fputs(".TP\n\\fB", to);
  put_text(to, text);
  fputs("\\fR\n", to);
}

static void paragraphs(FILE *to, const char *text) {
  while (*text) {
    const char *end = strstr(text, "\n\n");
    const size_t bytes = end ? (size_t)(end - text) : strlen(text);
    put(to, text, bytes);
    putc('\n', to);
    text += bytes + (end ? 2 : 0);
    if (*text) fputs(".PP\n", to);
  }
}

/* ---- commands ---- */

static void synopsis(FILE *to, const char *name, const char *usage) {
  fputs(".SH SYNOPSIS\n", to);
  for (const char *at = usage; *at;) {
    const size_t bytes = strcspn(at, "\n");
    fputs(at == usage ? ".B pdhost" : ".br\n.B pdhost", to);
    if (name) fprintf(to, " %s", name);
    putc('\n', to);
    put(to, at, bytes);
    putc('\n', to);
    at += bytes + (at[bytes] == '\n');
  }
}

static void options(FILE *to, const args_option *rows, uint32_t count) {
  char title[160];
  fputs(".SH OPTIONS\n", to);
  for (uint32_t i = 0; i < count; i++) {
    const char *help = args_help_text(&rows[i]);
    if (rows[i].group) {
      fputs(".SS ", to);
      line(to, rows[i].group);
    }
    if (!help) continue;
    bold_tag(to, args_title(&rows[i], title, sizeof title));
    line(to, help);
    if (!rows[i].allowed || rows[i].offer != ARGS_OFFER_CHOICES) continue;
    fputs("Allowed: ", to);
    line(to, rows[i].allowed);
  }
}

static void run_options(FILE *to) {
  uint32_t count = 0;
  const args_option *rows = cli_args_options(&count);
  options(to, rows, count);
}

static void examples(FILE *to, const char *text) {
  fputs(".SH EXAMPLES\n", to);
  while (*text) {
    const size_t whole = strcspn(text, "\n"), bytes = strcspn(text, "\t\n");
    fputs(".TP\n\\fB", to);
    put(to, text, bytes);
    fputs("\\fR\n", to);
    if (bytes < whole) put(to, text + bytes + 1, whole - bytes - 1);
    putc('\n', to);
    text += whole + (text[whole] == '\n');
  }
}

static void see_also(FILE *to, const char *own) {
  uint32_t count = 0;
  const args_command *const *all = commands_all(&count);
  fputs(".SH SEE ALSO\n", to);
  if (own) fputs(".BR pdhost (1),\n", to);
  for (uint32_t i = 0; i < count && !own; i++) {
    fputs(".BR pdhost\\-", to);
    put_text(to, all[i]->name);
    fputs(" (1),\n", to);
  }
  fputs(".BR pdhost.ini (5),\n.BR pdhost\\-plugin (3)\n", to);
}

void man_page_command(FILE *to, const args_command *self) {
  char name[64];
  snprintf(name, sizeof name, "pdhost-%s", self->name);
  heading(to, name, 1, "pdhost", name, self->summary);
  synopsis(to, self->name, self->usage);
  fputs(".SH DESCRIPTION\n", to);
  paragraphs(to, self->description);
  if (self == &cli_run_command)
    run_options(to);
  else if (self->option_count)
    options(to, self->options, self->option_count);
  if (self->takes_run_options && self != &cli_run_command)
    fputs(".PP\nThe options of a run are taken too: see\n.BR pdhost\\-run (1).\n", to);
  if (self->examples) examples(to, self->examples);
  see_also(to, self->name);
}

/* ---- pdhost(1) ---- */

typedef struct pair {
  const char *name, *text;
} pair;

static const pair exit_codes[] = {
    {"0", "done"},
    {"1", "internal error"},
    {"2", "mistake on the command line"},
    {"3", "mistake in the configuration"},
    {"4", "a plugin does not load or does not fit"},
    {"5", "the scenario or the device under it failed"},
    {"6", "no usable device, driver or CUPTI where one was required"},
    {"7", "done, but the figures cannot be trusted"},
    {"8", "an output could not be written"},
    {"9", "with --gate: significantly slower"},
    {"10", "with --gate: not clear whether it is slower"},
    {"11", "rerun: something that should be equal differs"},
    {"128+n", "ended by signal n; outputs are closed and marked"},
};

static const pair environment[] = {
    {"PDHOST_BASELINES", "the folder of pdhost compare --baseline and --save-baseline; without it, ./baselines"},
    {"PDHOST_PLUGIN_PATH", "folders with scenario/, sink/ and device/, separated by colons"},
    {"NO_COLOR", "where it is set, nothing is coloured; --color wins"},
    {"TERM", "with TERM=dumb nothing is coloured"},
};

static const pair places[] = {
    {"./conf/NAME.ini, PREFIX/share/pdhost/conf/NAME.ini", "the configuration that pdhost NAME or -c NAME means"},
    {"PREFIX/lib/pdhost/", "the plugins: scenario/, sink/ and device/"},
    {"results/", "what runs write, each in a folder of its own, unless trace_dir and the sinks' keys say otherwise"},
};

static void pairs(FILE *to, const char *title, const pair *rows, size_t count) {
  fprintf(to, ".SH %s\n", title);
  for (size_t i = 0; i < count; i++) {
    bold_tag(to, rows[i].name);
    line(to, rows[i].text);
  }
}
#define PAIRS(title, rows) pairs(to, title, rows, sizeof(rows) / sizeof((rows)[0]))

void man_page_program(FILE *to) {
  uint32_t count = 0;
  const args_command *const *all = commands_all(&count);
  heading(to, "pdhost", 1, "pdhost", "pdhost", "trains a network with a known bottleneck and says what held it up");
  synopsis(to, NULL, "NAME|-c FILE [options]\nCOMMAND [options]");
  fputs(".SH DESCRIPTION\n", to);
  paragraphs(to, "pdhost trains a small network with a known performance bottleneck built in, records it, and prints "
                 "what held it up, with tables of the step. It writes files that Perfetto, TensorBoard and Holistic "
                 "Trace Analysis open.\n\n"
                 "A scenario decides what goes wrong, a sink writes the results, a device computes. Each is a plugin. "
                 "Without a command pdhost runs a configuration.");
  fputs(".SH COMMANDS\n", to);
  for (uint32_t i = 0; i < count; i++) {
    bold_tag(to, all[i]->name);
    line(to, all[i]->summary);
  }
  run_options(to);
  PAIRS("EXIT STATUS", exit_codes);
  PAIRS("ENVIRONMENT", environment);
  PAIRS("FILES", places);
  examples(to, cli_run_command.examples);
  see_also(to, NULL);
}

/* ---- pdhost.ini(5) ---- */

static void one_key(FILE *to, const pd_option *row) {
  char allowed[640];
  bold_tag(to, row->key);
  line(to, row->help);
  fputs(".br\n", to);
  put_text(to, option_type_name(row->type));
  if (row->unit && strcmp(row->unit, option_type_name(row->type)) != 0) {
    fputs(", in ", to);
    put_text(to, row->unit);
  }
  if (row->type != PD_BOOL && option_allowed(row, allowed, sizeof allowed)[0]) {
    fputs("; allowed: ", to);
    put_text(to, allowed);
  }
  fputs("; default: ", to);
  line(to, !row->def ? "none, it must be given" : row->def[0] ? row->def : "(empty)");
}

void man_page_ini(FILE *to) {
  heading(to, "pdhost.ini", 5, "pdhost", "pdhost.ini", "configuration files of pdhost");
  fputs(".SH DESCRIPTION\n", to);
  paragraphs(to, "A configuration is an INI file: sections in brackets, then key = value. A ; or # begins a comment. "
                 "pdhost init writes one with every key. pdhost --check finds mistakes, and --show-config prints each "
                 "key's value and where it is from.\n\n"
                 "Later layers win, key by key: the defaults, the presets of the scenario and the device, the files "
                 "of -c in order, -o SECTION.KEY=VALUE, and named options such as --batch_size.\n\n"
                 "Numbers may have _ between digits. Bytes take the suffixes B, KiB, MiB and GiB; times take ns, us, "
                 "ms and s. A bare number is in the unit of its key.\n\n"
                 "[scenario], [device] and [sink.NAME] have the keys of the plugin: pdhost --help-scenario NAME, "
                 "--help-device NAME and --help-sink NAME print them.");
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    const core_section *at = core_section_at(i);
    fputs(".SH SECTION [", to);
    put_text(to, at->name);
    fputs("]\n", to);
    line(to, at->summary);
    for (uint32_t row = 0; row < at->count; row++) one_key(to, &at->rows[row]);
  }
  fputs(".SH SEE ALSO\n.BR pdhost (1),\n.BR pdhost\\-init (1),\n.BR pdhost\\-plugin (3)\n", to);
}

/* ---- pdhost-plugin(3) ---- */

static const pair macros[] = {
    {"PD_SCENARIO(name, version, summary, T, rows, ...)",
     "a scenario: bottleneck, init, step, teardown; presets and cures where it has them"},
    {"PD_SINK(name, version, summary, T, rows, ...)",
     "a sink: open, close; on_step and on_trace_ready where it has them"},
    {"PD_DEVICE(name, version, summary, T, rows, ...)",
     "a device: open, close, props, and the tables memory, stream, tensor and profile"},
    {"PD_OPTION(T, field, ...)", "a key: the type is that of the field in T: bool, int64_t, double or const char *"},
    {"PD_OPTION_CHOICE, PD_OPTION_PATH, PD_OPTION_BYTES, PD_OPTION_DURATION",
     "a key whose C type does not say enough: one of .choices, a path, bytes, nanoseconds"},
};

static const pair services[] = {
    {"pdhost.train/1 (train.h)", "the training step, whole or in its parts, and tensors of the plugin's own"},
    {"pdhost.record/1 (record.h)", "ranges and counters that show in the trace"},
    {"pdhost.device/1 (device.h)", "the open device, its operations and the loop's stream"},
    {"pdhost.truth/1 (truth.h)", "what is injected, for truth.json"},
    {"pdhost.files/1 (sink.h)", "output files, which get their name when they are whole"},
    {"pdhost.analysis/1 (analysis.h)", "the tables of a window and of the run"},
};

static const pair statuses[] = {
#define PD_X(name, value, text) {"PD_" #name, text},
    PD_STATUS_MAP(PD_X)
#undef PD_X
};

void man_page_plugin(FILE *to) {
  heading(to, "pdhost-plugin", 3, "pdhost", "pdhost-plugin", "writing scenarios, sinks and devices for pdhost");
  fputs(".SH SYNOPSIS\n.nf\n#include <pdhost/scenario.h>\n#include <pdhost/sink.h>\n#include <pdhost/device.h>\n"
        ".PP\ncc \\-shared \\-fPIC $(pkg\\-config \\-\\-cflags pdhost) mine.c \\-o mine.so\n.fi\n.SH DESCRIPTION\n",
        to);
  paragraphs(to,
             "A plugin is a shared object that exports pd_plugin_entry and links to nothing of pdhost's. One of the "
             "macros below defines that function. pdhost init --scenario NAME, --sink NAME or --device NAME writes a "
             "plugin that builds and works, and pdhost --check-plugin FILE tests one.\n\n"
             "Options are a plain struct T and an array of rows. The host checks and fills the struct before init or "
             "open is called. C plugins need C11. C++ plugins need C++20, and give the members of a row in the order "
             ".help, .def, .min, .max, .unit, .choices.");
  PAIRS("MACROS", macros);
  fputs(".SH SERVICES\nhost\\->extension(host, ID) gives a table of functions, or NULL where the host has none.\n", to);
  for (size_t i = 0; i < sizeof services / sizeof services[0]; i++) {
    bold_tag(to, services[i].name);
    line(to, services[i].text);
  }
  fputs(
      ".SH RETURN VALUE\nA callback returns a pd_status. On failure it returns host\\->fail(host, status, \"why\").\n",
      to);
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
    bold_tag(to, statuses[i].name);
    line(to, statuses[i].text);
  }
  fputs(".SH SEE ALSO\n.BR pdhost (1),\n.BR pdhost\\-init (1),\n.BR pdhost.ini (5)\n", to);
}
