/* See file_out.h. */
#include "file_out.h"

#include <stdio.h>
#include <stdlib.h>

static pd_status write_file(void *to, const void *data, uint64_t bytes) {
  file_out *self = to;
  return self->files->write(self->file, data, bytes);
}

pd_status file_out_open(file_out *self, const pd_host *host, const char *path) {
  pd_status status;
  memset(self, 0, sizeof *self);
  self->host = host;
  self->files = host->extension(host, PD_EXT_FILES);
  if (!self->files) return host->fail(host, PD_UNSUPPORTED, "%s: this host has no %s", path, PD_EXT_FILES);
  self->path = strdup(path);
  if (!self->path || text_out_open(&self->out, write_file, self) != PD_OK) {
    status = host->fail(host, PD_NO_MEMORY, "%s: out of memory", path);
    goto out;
  }
  status = self->files->open(self->files, path, &self->file);
out:
  if (status != PD_OK) file_out_discard(self);
  return status;
}

pd_status file_out_open_result(file_out *self, const pd_host *host, const char *path, const char *kind,
                               const pd_run *run, const char *ending) {
  char *made = NULL;
  if (!path[0] && asprintf(&made, "%s/%s_%s.%s", run->trace_dir, kind, run->scenario, ending) < 0) {
    memset(self, 0, sizeof *self);
    return host->fail(host, PD_NO_MEMORY, "out of memory");
  }
  const pd_status status = file_out_open(self, host, made ? made : path);
  free(made);
  return status;
}

static pd_status commit(file_out *self, bool announced) {
  pd_status status = text_out_flush(&self->out);
  if (status == PD_OK) {
    status = self->files->commit(self->file);
    self->file = NULL;
    if (status == PD_OK && announced) self->files->announce(self->files, self->path);
  }
  file_out_discard(self);
  return status;
}

pd_status file_out_commit(file_out *self) { return commit(self, true); }
pd_status file_out_commit_silently(file_out *self) { return commit(self, false); }

void file_out_discard(file_out *self) {
  if (self->file) self->files->discard(self->file);
  self->file = NULL;
  text_out_close(&self->out);
  free(self->path);
  self->path = NULL;
}
