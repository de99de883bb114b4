/* See import_file.h: which reader takes the file, and what it reads. */
#include "import_file.h"

#include "run/run_parts.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "facts/step_finder.h"
#include "trace/intake/intake.h"
#include "trace/recorder.h"
#include "trace/trace_steps.h"

#include <pdhost/reader.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* What readers are shown of a file. */
enum { PROBE_BYTES = 64 << 10 };

/* ---- which reader ---- */

static int cannot_read(const char *path, const char *why) {
  error_line_print(FAULT_UNREADABLE, NULL, "%s: cannot be read: %s", path, why);
  return CODE_CONFIG;
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

static const config_plugin *by_name(const config *settings, const char *name) {
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

/* Standard input cannot be looked at twice: it is for the reader that is named, or for the first that may take JSON. */
static int choose(const config *settings, const import_request *request, const char *path, const config_plugin **out) {
  char names[256];
  name_all(settings, names, sizeof names);
  *out = NULL;
  if (request->reader) {
    *out = by_name(settings, request->reader);
    if (*out) return CODE_DONE;
    error_line_print(FAULT_NOT_FOUND, NULL, "reader \"%s\": not found; there are %s", request->reader, names);
    return CODE_PLUGIN;
  }
  if (strcmp(path, "-") == 0) {
    *out = by_name(settings, "kineto");
    if (*out) return CODE_DONE;
  }
  char *first = malloc(PROBE_BYTES);
  uint64_t bytes = 0;
  const char *why = "out of memory";
  pd_probe best = PD_PROBE_NO;
  if (!first || !first_bytes(path, first, &bytes, &why)) {
    free(first);
    return cannot_read(path, why);
  }
  for (uint32_t i = 0; i < settings->reader_count; i++) {
    const pd_probe sure = settings->readers[i].plugin->table->ops.reader->probe(path, first, bytes);
    if (sure > best) {
      best = sure;
      *out = &settings->readers[i];
    }
  }
  free(first);
  if (*out) return CODE_DONE;
  error_line_print(FAULT_UNREADABLE, NULL, "%s: no reader knows this kind of file; there are %s", path,
                   names[0] ? names : "none: see pdhost --list readers");
  return CODE_CONFIG;
}

/* ---- reading ---- */

typedef struct reading {
  const services *services;
  const config_plugin *reader;
  const char *path;
  service_host *host;
  void *state;
} reading;

static void tell_odd(void *user, const char *text) {
  const reading *self = user;
  log_line(PD_LOG_WARN, NULL, "%s: %s", self->path, text);
}

static void tell_progress(void *user, uint64_t bytes, uint64_t of) {
  (void)user;
  if (of)
    progress_note("%.0f of %.0f MB", (double)bytes * 1e-6, (double)of * 1e-6);
  else
    progress_note("%.0f MB", (double)bytes * 1e-6);
}

/* The ranges that the user names, else marks, else what the launches repeat. Without any, the window is one step: its
 * figures are then those of the whole. PD_INVALID: no range has that name. */
static pd_status give_steps(const reading *self, const char *name, pd_trace *trace) {
  found_steps found;
  if (!name && trace->steps.count) return PD_OK;
  pd_status status = name ? step_finder_named(trace, name, &found) : step_finder_find(trace, &found);
  const step_bounds whole = {0, trace->end_ns + 1, 0};
  if (status == PD_OK && name && !found.count) {
    error_line_print(FAULT_WORD, NULL, "%s: --step %s: no range has this name; use a name of the program's own ranges",
                     self->path, name);
    status = PD_INVALID;
  } else if (status == PD_OK && found.count) {
    log_line(PD_LOG_INFO, NULL, "%s: %s", self->path, found.words);
    status = trace_set_steps(trace, found.bounds, found.count);
    if (name) trace->facts |= PD_FACT_STEPS;
  } else if (status == PD_OK) {
    log_line(PD_LOG_WARN, NULL, "%s: %s; the figures are of the whole file, shown as one step", self->path,
             found.words);
    status = trace_set_steps(trace, &whole, 1);
  }
  found_steps_free(&found);
  return status;
}

/* One window. PD_STOP: there is none left. */
static pd_status read_window(reading *self, const char *step, uint32_t window, pd_trace **out, intake **rows) {
  const intake_listener listener = {self, tell_odd, tell_progress};
  const pd_plugin *table = self->reader->plugin->table;
  *out = NULL;
  pd_status status = intake_open(&listener, rows);
  if (status == PD_OK) status = table->ops.reader->next_window(self->state, intake_table(*rows));
  if (status == PD_OK) {
    progress_enter("sorting what was read", NULL, 0);
    status = intake_finish(*rows, window, table->name, out);
  }
  if (status == PD_OK) status = give_steps(self, step, *out);
  return status;
}

static int read_windows(reading *self, const char *step, import_window *take, void *user) {
  for (uint32_t window = 0; !signals_pending(); window++) {
    intake *rows = NULL;
    pd_trace *trace = NULL;
    progress_enter("reading", NULL, 0);
    const pd_status status = read_window(self, step, window, &trace, &rows);
    int code = CODE_DONE;
    if (status == PD_OK)
      code = take(user, self->path, trace);
    else if (status == PD_INVALID && trace)
      code = CODE_USAGE; /* the user was told */
    else if (status != PD_STOP)
      code = run_parts_report(self->host, status, self->path, CODE_CONFIG);
    else if (!window)
      code = cannot_read(self->path, "it holds no event that can be analysed");
    trace_free(trace);
    intake_close(rows);
    if (code != CODE_DONE || status == PD_STOP) return code;
  }
  return CODE_DONE;
}

int import_file(const services *all, config *settings, const import_request *request, const char *path,
                import_window *take, void *user) {
  reading self = {.services = all, .path = path};
  int code = choose(settings, request, path, &self.reader);
  if (code != CODE_DONE) return code;
  const pd_plugin *table = self.reader->plugin->table;
  self.host = service_host_open(all, table->name);
  if (!self.host) return run_parts_report(NULL, PD_NO_MEMORY, path, CODE_INTERNAL);
  const pd_status status =
      table->ops.reader->open(service_host_table(self.host), self.reader->options, path, &self.state);
  if (status == PD_OK) {
    code = read_windows(&self, request->step, take, user);
    table->ops.reader->close(self.state);
  } else {
    code = run_parts_report(self.host, status, path, CODE_CONFIG);
  }
  service_host_close(self.host);
  return code;
}
