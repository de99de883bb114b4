/* See manifest.h. Each part but what was launched is an object of texts by name, so that two are compared alike. */
#include "manifest.h"

#include "launched_windows.h"
#include "loaded_libraries.h"

#include "base/json_text.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct manifest {
  launched_windows windows;
  bool failed; /* no memory for one */
};

enum { PATH_BYTES = 4096, TEXT_BYTES = 512, LINES_DEEP = 2 };

manifest *manifest_open(void) { return calloc(1, sizeof(manifest)); }

void manifest_close(manifest *self) {
  if (!self) return;
  launched_windows_free(&self->windows);
  free(self);
}

void manifest_window(manifest *self, const pd_trace *trace) {
  if (self) self->failed = !launched_windows_add(&self->windows, trace) || self->failed;
}

/* ---- what decides ---- */

static bool add_text(json_t *object, const char *key, const char *value) {
  return json_text_add(object, key, json_text_of(value ? value : ""));
}

static bool add_number(json_t *object, const char *key, long long value) {
  char text[32];
  (void)snprintf(text, sizeof text, "%lld", value);
  return add_text(object, key, text);
}

static bool add_program(json_t *to, const pd_run *run) {
  char id[LOADED_LIBRARY_ID_BYTES];
  loaded_libraries_id("", id);
  return add_text(to, "version", run->pdhost_version) && add_text(to, "sources", run->source_id) &&
         add_text(to, "file", id);
}

static bool add_plugin(json_t *to, const plugin *at) {
  char name[TEXT_BYTES], text[TEXT_BYTES], id[LOADED_LIBRARY_ID_BYTES];
  loaded_libraries_id(at->path, id);
  (void)snprintf(name, sizeof name, "%s %s", plugin_kind_name(at->kind), at->table->name);
  (void)snprintf(text, sizeof text, "%s, %s", at->table->version, id);
  return add_text(to, name, text);
}

static bool add_plugins(json_t *to, const config *settings) {
  bool ok = add_plugin(to, settings->scenario.plugin) && add_plugin(to, settings->device.plugin);
  for (uint32_t i = 0; i < settings->sink_count && ok; i++) ok = add_plugin(to, settings->sinks[i].plugin);
  return ok;
}

static bool is_plugin(const void *user, const char *path) {
  const config *settings = user;
  bool found = strcmp(settings->scenario.plugin->path, path) == 0 || strcmp(settings->device.plugin->path, path) == 0;
  for (uint32_t i = 0; i < settings->sink_count; i++)
    found = found || strcmp(settings->sinks[i].plugin->path, path) == 0;
  return found;
}

static bool is_seed(const char *key) {
  const size_t length = strlen(key);
  return length >= 4 && strcmp(key + length - 4, "seed") == 0;
}

/* `given` lists what is not a default. */
static bool add_configuration(json_t *to, json_t *seeds, json_t *given, const config *settings) {
  bool ok = true;
  for (uint64_t i = 0; i < settings->setting_count && ok; i++) {
    const pd_setting *at = &settings->settings[i];
    char key[TEXT_BYTES];
    (void)snprintf(key, sizeof key, "%s.%s", at->section, at->key);
    ok = add_text(is_seed(at->key) ? seeds : to, key, at->value) &&
         (strcmp(at->origin, "default") == 0 || json_text_append(given, json_text_of(key)));
  }
  return ok;
}

/* The variables that the C library, the loader, threads, oneDNN and CUDA read. Others may hold secrets. */
static bool matters(const char *variable) {
  static const char *const beginnings[] = {"OMP_",
                                           "GOMP_",
                                           "KMP_",
                                           "MKL_",
                                           "DNNL_",
                                           "ONEDNN_",
                                           "CUDA_",
                                           "CUDNN_",
                                           "CUBLAS",
                                           "CUPTI_",
                                           "NCCL_",
                                           "MALLOC_",
                                           "LD_",
                                           "GLIBC_TUNABLES=",
                                           "NVIDIA_TF32_OVERRIDE=",
                                           "NVIDIA_VISIBLE_DEVICES=",
                                           "PDHOST_PLUGIN_PATH="};
  for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
    if (strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0) return true;
  return false;
}

static bool add_environment(json_t *to) {
  bool ok = true;
  for (char **at = environ; *at && ok; at++) {
    char name[TEXT_BYTES];
    const char *equals = strchr(*at, '=');
    if (!equals || !matters(*at)) continue;
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - *at), *at);
    ok = add_text(to, name, equals + 1);
  }
  return ok;
}

static bool add_device(json_t *to, const pd_run *run) {
  return add_text(to, "plugin", run->device_name) && add_text(to, "name", run->device->name) &&
         add_text(to, "versions", run->device->versions) &&
         add_number(to, "total_bytes", (long long)run->device->total_bytes);
}

static void read_processor(char *name, size_t room) {
  char line[TEXT_BYTES];
  FILE *file = fopen("/proc/cpuinfo", "r");
  (void)snprintf(name, room, "not known");
  while (file && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    (void)snprintf(name, room, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    break;
  }
  if (file) fclose(file);
}

static bool add_machine(json_t *to, const pd_run *run) {
  char processor[TEXT_BYTES];
  struct utsname kernel;
  cpu_set_t allowed;
  const bool is_known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  read_processor(processor, sizeof processor);
  return add_text(to, "host_name", run->host_name) && add_text(to, "processor", processor) &&
         add_text(to, "kernel", uname(&kernel) == 0 ? kernel.release : "not known") &&
         add_number(to, "cores", sysconf(_SC_NPROCESSORS_ONLN)) &&
         add_number(to, "cores_allowed", is_known ? CPU_COUNT(&allowed) : 0);
}

/* ---- what came of it ---- */

static bool add_steps(json_t *losses, json_t *times, const pd_summary *summary) {
  const uint64_t count =
      summary->steps_all.count < MANIFEST_STEPS_MOST ? summary->steps_all.count : MANIFEST_STEPS_MOST;
  bool ok = true;
  for (uint64_t i = 0; i < count && ok; i++) {
    const pd_step_stats *at = PD_AT(pd_step_stats, &summary->steps_all, i);
    ok = json_text_append(losses, isfinite(at->loss) ? json_real(at->loss) : json_null());
    if (at->phase == PD_PHASE_ACTIVE && ok) ok = json_text_append(times, json_integer(at->step_time_ns));
  }
  return ok;
}

static const char *outcome_text(pd_outcome of) {
  static const char *const words[] = {"complete", "interrupted", "failed"};
  return words[of <= PD_RUN_FAILED ? of : PD_RUN_FAILED];
}

/* An empty object or array of the document's; NULL on no memory, and adding to it fails. */
static json_t *part(json_t *document, const char *key, json_t *value) {
  return json_text_add(document, key, value) ? value : NULL;
}

static bool add_inputs(json_t *document, const config *settings, const pd_run *run) {
  if (!add_program(part(document, "program", json_object()), run)) return false;
  if (!add_plugins(part(document, "plugins", json_object()), settings)) return false;
  if (!loaded_libraries_add(part(document, "libraries", json_object()), is_plugin, settings)) return false;
  json_t *seeds = part(document, "seeds", json_object()), *to = part(document, "configuration", json_object());
  if (!add_configuration(to, seeds, part(document, "given", json_array()), settings)) return false;
  return add_environment(part(document, "environment", json_object())) &&
         add_device(part(document, "device", json_object()), run) &&
         add_machine(part(document, "machine", json_object()), run);
}

/* The whole; NULL on no memory. */
static json_t *make(const manifest *self, const config *settings, const pd_run *run, const pd_summary *summary) {
  json_t *document =
      json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "format", MANIFEST_FORMAT, "scenario", run->scenario, "outcome",
                outcome_text(summary->outcome), "start_realtime_ns", (json_int_t)run->start_realtime_ns, "rank",
                (json_int_t)run->rank, "ranks", (json_int_t)run->ranks);
  bool ok = document && !self->failed && json_text_add(document, "command_line", json_text_of(run->command_line)) &&
            add_inputs(document, settings, run) &&
            json_text_add(document, "windows", launched_windows_json(&self->windows));
  if (ok) {
    json_t *losses = part(document, "losses", json_array());
    ok = add_steps(losses, part(document, "step_time_ns", json_array()), summary);
  }
  if (ok) return document;
  json_decref(document);
  return NULL;
}

static pd_status write_file(const pd_files *files, const char *path, const char *text, size_t bytes) {
  pd_file *file = NULL;
  pd_status status = files->open(files, path, &file);
  if (status != PD_OK) return status;
  status = files->write(file, text, bytes);
  if (status != PD_OK) {
    files->discard(file);
    return status;
  }
  return files->commit(file);
}

pd_status manifest_write(const manifest *self, const config *settings, const pd_run *run, const pd_summary *summary,
                         const pd_files *files) {
  char path[PATH_BYTES], *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return PD_NO_MEMORY;
  bool ok = json_text_write(make(self, settings, run, summary), LINES_DEEP, JSON_TEXT_EXACT, out);
  ok = fclose(out) == 0 && ok;
  (void)snprintf(path, sizeof path, "%s/" MANIFEST_FILE, run->trace_dir);
  const pd_status status = ok ? write_file(files, path, text, bytes) : PD_NO_MEMORY;
  free(text);
  return status;
}
