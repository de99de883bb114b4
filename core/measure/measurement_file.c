/* See measurement_file.h. */
#include "measurement_file.h"

#include "abi/services.h"
#include "base/error.h"
#include "base/log.h"

#include "measurement_json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A table that files are opened by, for `path`'s messages. */
typedef struct output {
  services none;
  service_host *host;
  const pd_files *files;
} output;

static bool output_open(output *self) {
  *self = (output){.none = {.files = files_open()}};
  self->host = self->none.files ? service_host_open(&self->none, "measurements") : NULL;
  if (!self->host) return false;
  const pd_host *table = service_host_table(self->host);
  self->files = table->extension(table, PD_EXT_FILES);
  return true;
}

static void output_close(output *self) {
  service_host_close(self->host);
  files_close(self->none.files);
}

/* Prints why the last call failed. */
static int refuse(const output *self, const char *path) {
  char message[1024] = "";
  if (self->host) service_host_take_message(self->host, message, sizeof message);
  if (message[0])
    error_line_print(FAULT_MEMORY, NULL, "%s", message);
  else
    error_line_print(FAULT_MEMORY, NULL, "%s: %s", path, service_status_text(PD_NO_MEMORY));
  return message[0] ? CODE_OUTPUT : CODE_INTERNAL;
}

int measurement_file_check(const char *path) {
  struct stat info;
  output out;
  pd_file *file = NULL;
  /* A reader at the other end of a pipe would take a look for the whole. */
  if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && S_ISFIFO(info.st_mode))) return CODE_DONE;
  int code = CODE_DONE;
  if (!output_open(&out) || out.files->open(out.files, path, &file) != PD_OK)
    code = refuse(&out, path);
  else
    out.files->discard(file);
  output_close(&out);
  return code;
}

int measurement_file_write(const char *path, const pd_measurement *rows, uint64_t count) {
  output out;
  pd_file *file = NULL;
  int code = CODE_DONE;
  char *text = measurements_to_json(rows, count);
  const bool open = output_open(&out) && text;
  pd_status status = open ? out.files->open(out.files, path, &file) : PD_NO_MEMORY;
  if (status == PD_OK) {
    status = out.files->write(file, text, strlen(text));
    if (status == PD_OK)
      status = out.files->commit(file);
    else
      out.files->discard(file);
    files_force(out.none.files);
  }
  if (status != PD_OK) code = refuse(&out, path);
  free(text);
  output_close(&out);
  return code;
}
