/* Reads what torch.profiler writes: Chrome trace JSON of Kineto, of PyTorch 1.8 and later, plain or gzip. */
#include "kineto.h"

#include <errno.h>
#include <stdlib.h>

static const char *const python_choices[] = {"lines", "modules", "none", NULL};
static const pd_option rows[] = {
    PD_OPTION_CHOICE(kineto_options, python, .def = "lines", .choices = python_choices,
                     .help =
                         "what is read of python_function events, most of a file that has them: the lines of calls; "
                         "nn.Module calls, too; or none, as pdhost analyze --no-python sets it"),
};

static bool holds(const char *first, uint64_t bytes, const char *word) {
  return memmem(first, (size_t)bytes, word, strlen(word)) != NULL;
}

static pd_probe probe(const char *path, const void *first, uint64_t bytes) {
  const char *text = first, *end = text + bytes, *at = text;
  (void)path;
  if (bytes > 4 && memcmp(first, "PK\3\4", 4) == 0) return PD_PROBE_MAYBE; /* what is in it shows when it is read */
  if (kineto_is_other(first, bytes)) return PD_PROBE_MAYBE;                /* to say what to do with it */
  if (bytes > 3 && memcmp(first, KINETO_MARK, 3) == 0) at += 3;
  while (at < end && (unsigned char)*at <= ' ') at++; /* byte by byte: nothing follows what is given */
  if (at == end || (*at != '{' && *at != '[')) return PD_PROBE_NO;
  if (holds(text, bytes, "\"schemaVersion\"") || holds(text, bytes, "\"deviceProperties\"") ||
      holds(text, bytes, "\"baseTimeNanoseconds\"") || holds(text, bytes, "\"cpu_op\"") ||
      holds(text, bytes, "\"cuda_runtime\""))
    return PD_PROBE_YES;
  return holds(text, bytes, "\"ph\"") || holds(text, bytes, "\"traceEvents\"") ? PD_PROBE_MAYBE : PD_PROBE_NO;
}

static pd_status open_file(const pd_host *host, const void *options, const char *path, void **state) {
  kineto_reader *self = calloc(1, sizeof *self);
  if (!self) return PD_NO_MEMORY;
  self->host = host;
  self->path = path;
  const char *python = ((const kineto_options *)options)->python;
  self->reads_modules = strcmp(python, "modules") == 0;
  self->skips_python = strcmp(python, "none") == 0;
  kineto_args_prepare();
  const pd_status status = input_open(&self->input, path);
  if (status == PD_OK) {
    *state = self;
    return PD_OK;
  }
  const int why = errno;
  free(self);
  return status == PD_IO ? host->fail(host, status, "cannot be read: %s", strerror(why)) : status;
}

static pd_status next_window(void *state, const pd_intake *intake) {
  kineto_reader *self = state;
  if (self->done) return PD_STOP;
  self->done = true;
  self->intake = intake;
  const pd_status status = kineto_file_read(self);
  input_close(&self->input); /* its buffers are not held while the window is analysed */
  return status;
}

static void close_file(void *state) {
  kineto_reader *self = state;
  input_close(&self->input);
  kineto_names_free(&self->names);
  kineto_collectives_free(&self->collectives);
  free(self);
}

PD_READER("kineto", "1.0", "traces of torch.profiler: Kineto's JSON, plain, gzip or zip", kineto_options, rows,
          .probe = probe, .open = open_file, .next_window = next_window, .close = close_file)
