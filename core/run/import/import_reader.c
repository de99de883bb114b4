/* See import_reader.h. */
#include "import_reader.h"

#include "run/run_parts.h"

#include <pdhost/quantity.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* What readers are shown of a file. */
enum { PROBE_BYTES = 64 << 10 };

int import_cannot_read(const char *path, const char *why) {
  error_line_print(FAULT_UNREADABLE, NULL, "%s: cannot be read: %s", path, why);
  return CODE_CONFIG;
}

bool import_exceeds(const char *path, const char *verb, const memory_guard *memory) {
  char needed[32], left[32];
  if (!memory->is_exceeded) return false;
  pd_text_bytes(needed, sizeof needed, (double)(memory->rows * memory->row_needs));
  pd_text_bytes(left, sizeof left, (double)memory->left);
  error_line_print(FAULT_MEMORY, NULL,
                   "%s: its %llu events need about %s of memory, and %s were left: record fewer steps, or %s it on "
                   "a machine with more memory",
                   path, (unsigned long long)memory->rows, needed, left, verb);
  return true;
}

/* The first bytes, decompressed. False: `why` is set. */
static bool first_bytes(const char *path, char *out, uint64_t *bytes, const char **why) {
  struct stat about;
  if (stat(path, &about) != 0) {
    *why = strerror(errno);
    return false;
  }
  if (S_ISDIR(about.st_mode)) {
    *why = "it is a folder; give the files in it";
    return false;
  }
  gzFile from = gzopen(path, "rbe");
  if (!from) {
    *why = strerror(errno);
    return false;
  }
  const int got = gzread(from, out, PROBE_BYTES);
  *bytes = got > 0 ? (uint64_t)got : 0;
  gzclose(from);
  if (*bytes == 0) *why = about.st_size ? "its compressed data is damaged" : "it is empty";
  return *bytes > 0;
}

typedef struct choice {
  const pd_reader_ops *ops; /* NULL: none */
  const char *name;
  const void *options;
} choice;

static choice of_plugin(const config_plugin *reader) {
  if (!reader) return (choice){0};
  return (choice){reader->plugin->table->ops.reader, reader->plugin->table->name, reader->options};
}

/* One that was given by its path comes first. */
static const config_plugin *by_name(const config *settings, const char *name) {
  if (strchr(name, '/')) return settings->reader_count ? &settings->readers[0] : NULL;
  for (uint32_t i = 0; i < settings->reader_count; i++)
    if (strcmp(settings->readers[i].plugin->table->name, name) == 0) return &settings->readers[i];
  return NULL;
}

static void name_all(const config *settings, char *out, size_t room) {
  size_t used = 0;
  out[0] = '\0';
  for (uint32_t i = 0; i < settings->reader_count && used < room; i++)
    used += (size_t)snprintf(out + used, room - used, "%s%s", i ? ", " : "", settings->readers[i].plugin->table->name);
}

/* The one that says most surely that the file is its own. */
static choice surest(const config *settings, const char *path, const char *first, uint64_t bytes) {
  choice out = {0};
  pd_probe best = PD_PROBE_NO;
  for (uint32_t i = 0; i < settings->reader_count; i++) {
    const choice reader = of_plugin(&settings->readers[i]);
    const pd_probe sure = reader.ops ? reader.ops->probe(path, first, bytes) : PD_PROBE_NO;
    if (sure > best) {
      best = sure;
      out = reader;
    }
  }
  return out;
}

bool import_reader_holds_run(const config *settings, const char *name, const char *path) {
  char *first = malloc(PROBE_BYTES);
  uint64_t bytes = 0;
  const char *why = NULL;
  bool holds = false;
  if (first && strcmp(path, "-") != 0 && first_bytes(path, first, &bytes, &why)) {
    const choice reader = name ? of_plugin(by_name(settings, name)) : surest(settings, path, first, bytes);
    holds = reader.ops && reader.ops->probe(path, first, bytes) == PD_PROBE_RUN;
  }
  free(first);
  return holds;
}

bool import_reader_may_take(const config *settings, const char *path) {
  char *first = malloc(PROBE_BYTES);
  uint64_t bytes = 0;
  const char *why = NULL;
  const bool taken = !first || !first_bytes(path, first, &bytes, &why) || surest(settings, path, first, bytes).ops;
  free(first);
  return taken;
}

/* The settings of a run have no readers: it is loaded now, with its defaults. */
static int load(const config *settings, const char *name, choice *out) {
  const plugin *loaded = NULL;
  error err;
  error_clear(&err);
  if (plugins_load(settings->plugins, PD_KIND_READER, name, &loaded, &err) != PD_OK) {
    error_print(&err);
    return CODE_PLUGIN;
  }
  *out = (choice){loaded->table->ops.reader, loaded->table->name, NULL};
  return CODE_DONE;
}

/* Standard input cannot be looked at twice: it is for the reader that is named, or for the first that may take JSON. */
static int choose(const config *settings, const char *name, const char *path, choice *out) {
  char names[256];
  name_all(settings, names, sizeof names);
  *out = (choice){0};
  if (name) {
    if (!settings->readers) return load(settings, name, out);
    *out = of_plugin(by_name(settings, name));
    if (out->ops) return CODE_DONE;
    error_line_print(FAULT_NOT_FOUND, NULL, "reader \"%s\": not found; there are %s", name, names);
    return CODE_PLUGIN;
  }
  if (strcmp(path, "-") == 0) {
    *out = of_plugin(by_name(settings, "kineto"));
    if (out->ops) return CODE_DONE;
  }
  char *first = malloc(PROBE_BYTES);
  uint64_t bytes = 0;
  const char *why = "out of memory";
  if (!first || !first_bytes(path, first, &bytes, &why)) {
    free(first);
    return import_cannot_read(path, why);
  }
  *out = surest(settings, path, first, bytes);
  free(first);
  if (out->ops) return CODE_DONE;
  if (names[0])
    error_line_print(
        FAULT_UNREADABLE, NULL,
        "%s: none of the readers (%s) knows this kind of file; pdhost list readers says what each of them reads", path,
        names);
  else
    error_line_print(FAULT_UNREADABLE, NULL, "%s: there are no readers; see pdhost list readers", path);
  return CODE_CONFIG;
}

int import_reader_open(import_reader *self, const services *all, const config *settings, const char *name,
                       const char *path) {
  choice chosen;
  *self = (import_reader){.path = path};
  int code = choose(settings, name, path, &chosen);
  if (code != CODE_DONE) return code;
  self->ops = chosen.ops;
  self->name = chosen.name;
  self->host = service_host_open(all, self->name);
  if (!self->host) return run_parts_report(NULL, PD_NO_MEMORY, path, CODE_INTERNAL);
  const pd_status status = self->ops->open(service_host_table(self->host), chosen.options, path, &self->state);
  if (status == PD_OK) return CODE_DONE;
  code = run_parts_report(self->host, status, path, CODE_CONFIG);
  service_host_close(self->host);
  return code;
}

void import_reader_close(import_reader *self) {
  self->ops->close(self->state);
  service_host_close(self->host);
}
