/* The command line; see cli.h. */
#include "cli.h"

#include "check_plugin.h"
#include "cli_args.h"
#include "help.h"
#include "list.h"
#include "plan.h"
#include "suggest.h"
#include "version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *text_of(pd_unit unit) {
  static const char *const names[] = {"none",       "count", "nanoseconds", "bytes",         "percent",
                                      "ratio 0..1", "flops", "per second",  "GB per second", "text"};
  return unit < sizeof names / sizeof names[0] ? names[unit] : "unknown";
}

/* How a name is looked for. */
typedef enum likeness { AS_IT_IS, LOOSELY } likeness;

/* "CPUTotal" is the key cpu_total, and torch's self_cuda_time_total is self_device_time_total. */
static bool is_key(const char *name, const char *key) {
  while (*name && *key) {
    const bool cuda = strncasecmp(name, "cuda", 4) == 0 && strncmp(key, "device", 6) == 0;
    if (!cuda && *name != '_' && *key == '_') key++;
    if (!cuda && tolower((unsigned char)*name) != tolower((unsigned char)*key)) return false;
    name += cuda ? 4 : 1;
    key += cuda ? 6 : 1;
  }
  return !*name && !*key;
}

/* Without what stands in brackets behind it: "Share (%)", "Step now (ms)". */
static size_t without_unit(const char *heading) {
  const char *unit = strstr(heading, " (");
  return unit && unit > heading ? (size_t)(unit - heading) : strlen(heading);
}

static bool is_heading(const char *name, const char *heading, likeness how) {
  if (!heading) return false;
  if (how == AS_IT_IS) return strcasecmp(name, heading) == 0;
  const size_t length = without_unit(name);
  return length == without_unit(heading) && strncasecmp(name, heading, length) == 0;
}

static void explain_one(const pd_metric *at, const char *on_cuda) {
  printf("%s   \"%s\"", at->key, at->heading);
  if (on_cuda && strcmp(on_cuda, at->heading) != 0) printf(", on a CUDA device \"%s\"", on_cuda);
  printf("\n  %s\n", at->definition);
  if (at->formula) printf("  formula  %s\n", at->formula);
  if (at->source) printf("  source   %s\n", at->source);
  printf("  unit     %s\n", text_of(at->unit));
}

/* Every metric of that name. Returns how many there are. */
static uint64_t explain_all(const cli_hooks *hooks, const pd_metric *const *all, uint64_t count, const char *name,
                            likeness how) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < count; i++) {
    const char *on_cuda = hooks->cuda_heading ? hooks->cuda_heading(all[i]->key) : NULL;
    const bool is_it = how == AS_IT_IS ? strcmp(name, all[i]->key) == 0 : is_key(name, all[i]->key);
    if (!is_it && !is_heading(name, all[i]->heading, how) && !is_heading(name, on_cuda, how)) continue;
    if (found++) putchar('\n');
    explain_one(all[i], on_cuda);
  }
  return found;
}

static pd_status explain(const cli_hooks *hooks, const char *name, error *err) {
  uint64_t count = 0;
  const pd_metric *const *all = hooks->metrics ? hooks->metrics(&count) : NULL;
  if (!all) return error_set(err, PD_UNSUPPORTED, CODE_INTERNAL, "--explain: this build has no registry of metrics");
  if (explain_all(hooks, all, count, name, AS_IT_IS) || explain_all(hooks, all, count, name, LOOSELY)) return PD_OK;
  char hint[128];
  suggest near = {.wanted = name};
  for (uint64_t i = 0; i < count; i++) suggest_offer(&near, all[i]->key);
  suggest_text(&near, hint, sizeof hint);
  return error_set(err, PD_INVALID, CODE_USAGE, "--explain %s: no such metric%s", name,
                   hint[0] ? hint : "; give a key of the results or the heading of a column");
}

/* Commands that need the configuration; the run among them. Returns the exit code. */
static int with_config(const cli_args *args, const cli_hooks *hooks, error *err) {
  config *loaded = NULL;
  if (config_load(&args->input, &loaded, err) != PD_OK) return err->exit_code;
  loaded->quiet = args->quiet;
  int code = CODE_DONE;
  switch (args->command) {
  case CLI_SHOW_CONFIG: config_print(loaded); break;
  case CLI_CHECK: printf("the configuration is sound\n"); break;
  case CLI_DRY_RUN: plan_print(loaded); break;
  default:
    code = hooks->run ? hooks->run(loaded) : CODE_INTERNAL;
    if (!hooks->run) error_set(err, PD_UNSUPPORTED, code, "this build cannot run scenarios");
    break;
  }
  config_free(loaded);
  return code;
}

static pd_status with_plugins(const cli_args *args, error *err) {
  plugins_warn_of_missing(args->plugin_path, "command line");
  plugins *all = plugins_open(args->plugin_path);
  if (!all) return error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  const pd_status status = args->command == CLI_LIST ? list_print(all, args->topic, err)
                                                     : help_plugin(all, args->kind, args->topic, args->json, err);
  plugins_close(all);
  return status;
}

/* --device; NULL: not given. */
static const char *device_of(const cli_args *args) {
  const char *device = NULL;
  for (uint32_t i = 0; i < args->input.assignment_count; i++) {
    const config_assignment *at = &args->input.assignments[i];
    if (strcmp(at->section, "run") == 0 && strcmp(at->key, "device") == 0) device = at->value;
  }
  return device;
}

static int execute(const cli_args *args, const cli_hooks *hooks, error *err) {
  if (args->empty) {
    error_set(err, PD_INVALID, CODE_USAGE,
              "nothing to run; try pdhost -c conf/dataloader.ini, pdhost --list or pdhost --help");
    return CODE_USAGE;
  }
  switch (args->command) {
  case CLI_HELP: help_print(); return CODE_DONE;
  case CLI_VERSION: version_print(); return CODE_DONE;
  case CLI_LIST:
  case CLI_HELP_PLUGIN: return with_plugins(args, err) == PD_OK ? CODE_DONE : err->exit_code;
  case CLI_HELP_SECTION: return help_section(args->topic, args->json, err) == PD_OK ? CODE_DONE : err->exit_code;
  case CLI_CHECK_PLUGIN:
    if (args->input.file_count) {
      error_set(err, PD_INVALID, CODE_USAGE, "--check-plugin: reads no -c; give the plugin's keys by -o");
      return CODE_USAGE;
    }
    plugins_warn_of_missing(args->plugin_path, "command line");
    return check_plugin(args->topic, device_of(args), args->plugin_path, &args->input);
  case CLI_EXPLAIN: return explain(hooks, args->topic, err) == PD_OK ? CODE_DONE : err->exit_code;
  default: return with_config(args, hooks, err);
  }
}

int cli_main(int argc, char **argv, const cli_hooks *hooks) {
  cli_args args;
  error err;
  error_clear(&err);
  int code = cli_args_parse(&args, argc, argv, &err) == PD_OK ? CODE_DONE : err.exit_code;
  if (code == CODE_DONE) code = execute(&args, hooks, &err);
  error_print(&err);
  cli_args_free(&args);
  return code;
}
