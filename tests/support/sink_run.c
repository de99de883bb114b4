/* See sink_run.h. */
#include "sink_run.h"

#include "fake_trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct pd_file {
  sink_run *owner;
  memory_file *memory;
  pd_status failed;
};

/* "a.csv" of "a.csv.123-456.partial": here nothing is renamed, so a sink's file has the name that the sink would give
 * it.
 */
static void drop_staging(char *path) {
  static const char ending[] = ".partial";
  const size_t length = strlen(path), tail = sizeof ending - 1;
  if (length <= tail || strcmp(path + length - tail, ending) != 0) return;
  path[length - tail] = '\0';
  char *number = strrchr(path, '.');
  if (number) *number = '\0';
}

static pd_status file_open(const pd_files *files, const char *path, pd_file **out) {
  sink_run *self = files->impl;
  pd_file *file = calloc(1, sizeof *file);
  memory_file *memory = calloc(1, sizeof *memory);
  *out = NULL;
  if (!file || !memory || self->count == sizeof self->all / sizeof *self->all || !(memory->path = strdup(path)) ||
      !(memory->data = calloc(1, 1))) {
    if (memory) free(memory->path);
    free(memory);
    free(file);
    return self->host.host.fail(&self->host.host, PD_NO_MEMORY, "%s: out of memory", path);
  }
  drop_staging(memory->path);
  self->all[self->count++] = memory;
  file->owner = self;
  file->memory = memory;
  *out = file;
  return PD_OK;
}

static pd_status file_write(pd_file *file, const void *data, uint64_t bytes) {
  sink_run *self = file->owner;
  if (file->failed) return file->failed;
  self->written_bytes += bytes;
  if (self->fail_after_bytes && self->written_bytes > self->fail_after_bytes)
    return file->failed =
               self->host.host.fail(&self->host.host, PD_IO, "%s: cannot be written: disk full", file->memory->path);
  char *grown = realloc(file->memory->data, file->memory->bytes + bytes + 1);
  if (!grown) return file->failed = self->host.host.fail(&self->host.host, PD_NO_MEMORY, "out of memory");
  file->memory->data = grown;
  memcpy(grown + file->memory->bytes, data, bytes);
  file->memory->bytes += bytes;
  grown[file->memory->bytes] = '\0';
  return PD_OK;
}

static pd_status file_commit(pd_file *file) {
  sink_run *self = file->owner;
  if (!file->failed && self->fail_commit)
    file->failed = self->host.host.fail(&self->host.host, PD_IO, "%s: cannot be renamed", file->memory->path);
  const pd_status status = file->failed;
  file->memory->committed = status == PD_OK;
  file->memory->discarded = status != PD_OK;
  free(file);
  return status;
}

static void file_discard(pd_file *file) {
  file->memory->discarded = true;
  free(file);
}

static void file_announce(const pd_files *files, const char *path) {
  const sink_run *self = files->impl;
  for (uint32_t i = 0; i < self->count; i++)
    if (!strcmp(self->all[i]->path, path)) self->all[i]->announced = true;
}

/* Each announced file once. */
static const char *file_next_written(const pd_files *files) {
  sink_run *self = files->impl;
  while (self->told < self->count) {
    const memory_file *at = self->all[self->told++];
    if (at->announced) return at->path;
  }
  return NULL;
}

static void set_option(sink_run *self, const pd_option *option, const char *value) {
  char *field = (char *)self->options + option->offset;
  switch (option->type) {
  case PD_BOOL: *(bool *)field = !strcmp(value, "true"); break;
  case PD_INT:
  case PD_BYTES:
  case PD_DURATION: *(int64_t *)(void *)field = strtoll(value, NULL, 10); break;
  case PD_FLOAT: *(double *)(void *)field = strtod(value, NULL); break;
  default: *(const char **)(void *)field = value; break;
  }
}

bool sink_run_load(sink_run *self, const char *plugin_path, const char *const *settings) {
  const pd_plugin *(*entry)(void) = NULL;
  memset(self, 0, sizeof *self);
  test_host_init(&self->host);
  self->files = (pd_files){.size = sizeof self->files,
                           .impl = self,
                           .open = file_open,
                           .write = file_write,
                           .commit = file_commit,
                           .discard = file_discard,
                           .announce = file_announce,
                           .next_written = file_next_written};
  test_host_add(&self->host, PD_EXT_FILES, &self->files);
  self->library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); /* stays, as in the host */
  if (self->library) *(void **)&entry = dlsym(self->library, "pd_plugin_entry");
  if (!entry) {
    snprintf(self->error, sizeof self->error, "%s", dlerror());
    return false;
  }
  self->plugin = entry();
  self->options = calloc(1, self->plugin->options_size + 1);
  if (!self->options) return false;
  for (uint32_t i = 0; i < self->plugin->option_count; i++)
    set_option(self, &self->plugin->options[i], self->plugin->options[i].def);
  for (; settings && *settings; settings++) {
    const char *equals = strchr(*settings, '=');
    bool found = false;
    for (uint32_t i = 0; equals && i < self->plugin->option_count; i++) {
      const pd_option *option = &self->plugin->options[i];
      if (strlen(option->key) != (size_t)(equals - *settings) ||
          strncmp(option->key, *settings, (size_t)(equals - *settings)))
        continue;
      set_option(self, option, equals + 1);
      found = true;
    }
    if (!found) {
      snprintf(self->error, sizeof self->error, "no option %s", *settings);
      return false;
    }
  }
  return true;
}

pd_status sink_run_open(sink_run *self, const pd_run *run) {
  return self->plugin->ops.sink->open(&self->host.host, self->options, run, &self->state);
}

pd_status sink_run_steps(sink_run *self) {
  pd_status status = PD_OK;
  for (uint32_t i = 0; self->plugin->ops.sink->on_step && i < FAKE_STEP_COUNT && status == PD_OK; i++)
    status = self->plugin->ops.sink->on_step(self->state, fake_step_stats(i));
  return status;
}

pd_status sink_run_trace(sink_run *self, const pd_trace *trace) {
  if (!self->plugin->ops.sink->on_trace_ready) return PD_OK;
  return self->plugin->ops.sink->on_trace_ready(self->state, trace);
}

pd_status sink_run_close(sink_run *self, const pd_summary *summary) {
  return self->plugin->ops.sink->close(self->state, summary);
}

void sink_run_unload(sink_run *self) {
  for (uint32_t i = 0; i < self->count; i++) {
    free(self->all[i]->path);
    free(self->all[i]->data);
    free(self->all[i]);
  }
  free(self->options);
  if (self->library) dlclose(self->library);
  memset(self, 0, sizeof *self);
}

const memory_file *sink_run_file(const sink_run *self, const char *path) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->all[i]->committed && !strcmp(self->all[i]->path, path)) return self->all[i];
  return NULL;
}

static bool make_folders(char *path) {
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    const bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
    *at = '/';
    if (!made) return false;
  }
  return true;
}

bool sink_run_save(const sink_run *self, const char *folder) {
  for (uint32_t i = 0; i < self->count; i++) {
    const memory_file *file = self->all[i];
    char path[4096];
    if (!file->committed) continue;
    if (snprintf(path, sizeof path, "%s/%s", folder, file->path) >= (int)sizeof path || !make_folders(path))
      return false;
    FILE *out = fopen(path, "wb");
    if (!out) return false;
    const bool done = fwrite(file->data, 1, file->bytes, out) == file->bytes;
    if (fclose(out) != 0 || !done) return false;
  }
  return true;
}
