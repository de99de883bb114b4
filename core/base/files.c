/* Output files; see files.h. Any thread may open files; one file is its opener's alone. */
#include "files.h"

#include "progress_line.h"

#include <pdhost/array.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path of this run's: what another sink renamed to it would be lost without a word. */
typedef struct claim {
  char *path; /* with its folder as it is on the disk */
  const pd_host *holder;
  bool open, written;
} claim;

struct pd_file {
  const pd_host *host;
  files *owner;
  char *path;      /* final name; what it is, of standard output */
  char *temporary; /* NULL: standard output */
  claim *claim;    /* NULL: of standard output, a device or a pipe */
  int descriptor;
  pd_status failed;
};

typedef struct table_row {
  struct table_row *next;
  pd_files table;
  const pd_host *host;
  files *owner;
} table_row;

struct files {
  pthread_mutex_t lock;
  table_row *tables;
  void *claims; /* of tsearch */
  bool stdout_taken;
  _Atomic uint64_t *printed; /* to standard output, by this process and those before it; NULL: not counted */
  uint64_t given;            /* to this process, to be printed there */
  char prefix[32];
  char **announced;
  uint32_t announced_count, announced_room;
  char **ended; /* final names of files that were committed or given up */
  uint32_t ended_count, ended_room;
  uint32_t told, told_before; /* of the announced: lines were made of these; all, when the last line was asked */
  char *folder_line;
};

files *files_open(void) {
  files *self = calloc(1, sizeof *self);
  if (self) pthread_mutex_init(&self->lock, NULL);
  return self;
}

static void claim_free(void *given) {
  claim *self = given;
  if (!self) return;
  free(self->path);
  free(self);
}

void files_close(files *self) {
  if (!self) return;
  tdestroy(self->claims, claim_free);
  for (table_row *row = self->tables; row;) {
    table_row *next = row->next;
    free(row);
    row = next;
  }
  for (uint32_t i = 0; i < self->announced_count; i++) free(self->announced[i]);
  for (uint32_t i = 0; i < self->ended_count; i++) free(self->ended[i]);
  free(self->announced);
  free(self->ended);
  free(self->folder_line);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

void files_set_prefix(files *self, const char *prefix) {
  (void)snprintf(self->prefix, sizeof self->prefix, "%s", prefix);
}

void files_remove_unfinished(const files *self, uint32_t pid) {
  char beginning[32];
  snprintf(beginning, sizeof beginning, ".%u-", pid);
  for (uint32_t i = 0; i < self->announced_count; i++) files_remove_beginning_with(self->announced[i], beginning);
  for (uint32_t i = 0; i < self->ended_count; i++) files_remove_beginning_with(self->ended[i], beginning);
}

static void file_free(pd_file *file) {
  if (!file) return;
  free(file->path);
  free(file->temporary);
  free(file);
}

static bool is_dash(const char *path) { return strcmp(path, "-") == 0; }

static const char *spoken(const char *path) { return is_dash(path) ? "standard output" : path; }

/* The path that is meant where a sink says `path`; NULL on no memory. */
static char *own_path(const files *self, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char *made = NULL;
  if (is_dash(path) || !self->prefix[0] || strncmp(path, "/dev/", 5) == 0) return strdup(spoken(path));
  return asprintf(&made, "%.*s%s%s", (int)(name - path), path, self->prefix, name) < 0 ? NULL : made;
}

static pd_status open_stdout(files *self, pd_file *file) {
  pthread_mutex_lock(&self->lock);
  const bool taken = self->stdout_taken;
  self->stdout_taken = true;
  pthread_mutex_unlock(&self->lock);
  if (taken)
    return file->host->fail(file->host, PD_INVALID,
                            "standard output (\"-\") is taken by another sink: give this one a path");
  file->descriptor = STDOUT_FILENO;
  return PD_OK;
}

/* ---- which files this run writes ---- */

static int by_path(const void *a, const void *b) { return strcmp(((const claim *)a)->path, ((const claim *)b)->path); }

static void claim_release(pd_file *file, bool written) {
  claim *held = file->claim;
  if (!held) return;
  pthread_mutex_lock(&file->owner->lock);
  held->open = false;
  held->written = held->written || written;
  if (!held->written) {
    tdelete(held, &file->owner->claims, by_path);
    claim_free(held);
  }
  pthread_mutex_unlock(&file->owner->lock);
  file->claim = NULL;
}

/* One sink may write a file of its own anew; two of a run, or one twice at a time, would lose one of the two. */
static pd_status claim_take(pd_file *file) {
  pd_status status = PD_OK;
  claim *fresh = calloc(1, sizeof *fresh);
  if (fresh) fresh->path = files_path_on_disk(file->path);
  pthread_mutex_lock(&file->owner->lock);
  claim **found = fresh && fresh->path ? tsearch(fresh, &file->owner->claims, by_path) : NULL;
  claim *held = found ? *found : NULL;
  if (!held)
    status = PD_NO_MEMORY;
  else if (held != fresh && (held->open || held->holder != file->host))
    status = PD_INVALID;
  if (status == PD_OK) {
    held->holder = file->host;
    held->open = true;
    file->claim = held;
  }
  pthread_mutex_unlock(&file->owner->lock);
  if (held != fresh || !held) claim_free(fresh);
  if (status == PD_NO_MEMORY) return file->host->fail(file->host, status, "%s: out of memory", file->path);
  if (status != PD_OK)
    return file->host->fail(file->host, status, "%s: this run writes that file already: give this sink another path",
                            file->path);
  return PD_OK;
}

/* ---- the table ---- */

/* A pipe that no program reads is an error, not a wait without end. */
static int open_special(const char *path) {
  const int descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor >= 0) (void)fcntl(descriptor, F_SETFL, O_WRONLY);
  return descriptor;
}

static pd_status open_path(pd_file *file) {
  char message[512];
  char *slash = strrchr(file->path, '/');
  if (slash && slash != file->path) {
    *slash = '\0';
    const pd_status status = files_make_folder(file->path, message, sizeof message);
    *slash = '/';
    if (status != PD_OK) return file->host->fail(file->host, status, "%s", message);
  }
  struct stat info;
  if (stat(file->path, &info) == 0 && !S_ISREG(info.st_mode)) /* a device or pipe: nothing to rename */
    file->descriptor = open_special(file->path);
  else {
    const pd_status status = claim_take(file);
    if (status != PD_OK) return status;
    file->descriptor = files_open_temporary(file->path, &file->temporary);
  }
  if (file->descriptor >= 0) return PD_OK;
  const int cause = errno;
  claim_release(file, false);
  return file->host->fail(file->host, PD_IO, "%s: cannot be opened for writing: %s", file->path, strerror(cause));
}

static pd_status table_open(const pd_files *table, const char *path, pd_file **out) {
  const table_row *row = table->impl;
  *out = NULL;
  if (!path[0])
    return row->host->fail(row->host, PD_INVALID, "the path is empty: name a file, or - for standard output");
  pd_file *file = calloc(1, sizeof *file);
  if (file) file->path = own_path(row->owner, path);
  if (!file || !file->path) {
    file_free(file);
    return row->host->fail(row->host, PD_NO_MEMORY, "%s: out of memory", path);
  }
  file->host = row->host;
  file->owner = row->owner;
  file->descriptor = -1;
  const pd_status status = is_dash(path) ? open_stdout(row->owner, file) : open_path(file);
  if (status != PD_OK) {
    file_free(file);
    return status;
  }
  *out = file;
  return PD_OK;
}

static bool is_stdout(const pd_file *file) { return file->descriptor == STDOUT_FILENO && !file->temporary; }

static pd_status write_whole(pd_file *file, const void *data, uint64_t bytes) {
  const char *at = data;
  while (bytes > 0 && file->failed == PD_OK) {
    const ssize_t done = write(file->descriptor, at, bytes > 1u << 30 ? 1u << 30 : (size_t)bytes);
    if (done < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE && is_stdout(file)) return PD_OK; /* as of `| head`: the reader has what it wants */
      file->failed = file->host->fail(file->host, PD_IO, "%s: cannot be written: %s", file->path, strerror(errno));
      break;
    }
    at += done;
    bytes -= (uint64_t)done;
  }
  return file->failed;
}

/* Takes off what another process has printed. */
static void skip_printed(files *self, const char **data, uint64_t *bytes) {
  if (!self->printed) return;
  const uint64_t before = *self->printed > self->given ? *self->printed - self->given : 0;
  const uint64_t skipped = before < *bytes ? before : *bytes;
  self->given += *bytes;
  *data += skipped;
  *bytes -= skipped;
  *self->printed += *bytes;
}

/* Both may be the same terminal. */
static pd_status file_write(pd_file *file, const void *given, uint64_t bytes) {
  const char *data = given;
  if (!is_stdout(file)) return write_whole(file, data, bytes);
  skip_printed(file->owner, &data, &bytes);
  progress_hide();
  const pd_status status = write_whole(file, data, bytes);
  progress_show();
  return status;
}

static void release_stdout(pd_file *file) {
  pthread_mutex_lock(&file->owner->lock);
  file->owner->stdout_taken = false;
  pthread_mutex_unlock(&file->owner->lock);
}

/* To be forced to the disk; and a process before this one may have left it unfinished. Without memory neither is done.
 */
static void note_ended(files *self, const char *path) {
  pthread_mutex_lock(&self->lock);
  char *copy = PD_ARRAY_FIT(self->ended, self->ended_room, self->ended_count + 1) ? strdup(path) : NULL;
  if (copy) self->ended[self->ended_count++] = copy;
  pthread_mutex_unlock(&self->lock);
}

static void file_discard(pd_file *file) {
  if (!file) return;
  if (is_stdout(file)) {
    release_stdout(file);
  } else {
    close(file->descriptor);
    if (file->temporary) unlink(file->temporary);
    if (file->temporary) note_ended(file->owner, file->path);
    claim_release(file, false);
  }
  file_free(file);
}

static pd_status file_commit(pd_file *file) {
  const pd_host *host = file->host;
  pd_status status = file->failed;
  if (status != PD_OK) {
    file_discard(file);
    return status;
  }
  if (is_stdout(file)) {
    release_stdout(file);
    file_free(file);
    return PD_OK;
  }
  files_force_soon(file->descriptor);
  if (close(file->descriptor) != 0)
    status = host->fail(host, PD_IO, "%s: cannot be written: %s", file->path, strerror(errno));
  else if (file->temporary && rename(file->temporary, file->path) != 0)
    status = host->fail(host, PD_IO, "%s: cannot be renamed from %s: %s", file->path, file->temporary, strerror(errno));
  if (status != PD_OK && file->temporary) unlink(file->temporary);
  if (status == PD_OK && file->temporary) note_ended(file->owner, file->path);
  claim_release(file, status == PD_OK);
  file_free(file);
  return status;
}

void files_count_printed(files *self, _Atomic uint64_t *printed) { self->printed = printed; }

/* `copy` is taken; NULL on no memory: a line less for the user, the file is there. */
static void add_announced(files *self, char *copy) {
  pthread_mutex_lock(&self->lock);
  if (copy && PD_ARRAY_FIT(self->announced, self->announced_room, self->announced_count + 1))
    self->announced[self->announced_count++] = copy;
  else
    free(copy);
  pthread_mutex_unlock(&self->lock);
}

void files_announce(files *self, const char *path) { add_announced(self, strdup(path)); }

static void table_announce(const pd_files *table, const char *path) {
  files *self = ((const table_row *)table->impl)->owner;
  add_announced(self, own_path(self, path));
}

/* Length of the folder part of `path`, its last slash included. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool same_folder(const char *a, const char *b) {
  const size_t length = folder_length(a);
  return length == folder_length(b) && strncmp(a, b, length) == 0;
}

const char *files_next_written(files *self) {
  while (self->told < self->announced_count) {
    const uint32_t at = self->told++;
    const char *path = self->announced[at];
    uint32_t before = 0, together = 0;
    for (uint32_t other = self->told_before; other < self->announced_count; other++) {
      if (!same_folder(path, self->announced[other])) continue;
      together++;
      before += other < at;
    }
    if (together <= FILES_NAMED) return path;
    if (before) continue;
    free(self->folder_line);
    if (asprintf(&self->folder_line, "%u files in %.*s", together, (int)folder_length(path), path) >= 0)
      return self->folder_line;
    self->folder_line = NULL;
  }
  self->told_before = self->told;
  return NULL;
}

static const char *table_next_written(const pd_files *table) {
  return files_next_written(((const table_row *)table->impl)->owner);
}

const pd_files *files_table(files *self, const pd_host *host) {
  table_row *row = calloc(1, sizeof *row);
  if (!row) return NULL;
  row->host = host;
  row->owner = self;
  row->table = (pd_files){.size = sizeof(pd_files),
                          .impl = row,
                          .open = table_open,
                          .write = file_write,
                          .commit = file_commit,
                          .discard = file_discard,
                          .announce = table_announce,
                          .next_written = table_next_written};
  pthread_mutex_lock(&self->lock);
  row->next = self->tables;
  self->tables = row;
  pthread_mutex_unlock(&self->lock);
  return &row->table;
}

uint32_t files_announced_count(const files *self) { return self->announced_count; }
const char *files_announced(const files *self, uint32_t index) { return self->announced[index]; }
void files_force(const files *self) {
  files_force_paths(self->announced, self->announced_count, self->ended, self->ended_count);
}
