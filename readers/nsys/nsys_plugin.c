/* Reads what `nsys export --type sqlite` writes. */
#include "nsys_reader.h"

#include "base/shell_word.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQLITE_MAGIC "SQLite format 3"

static bool ends(const char *path, const char *with) {
  const size_t length = strlen(path), bytes = strlen(with);
  return length >= bytes && strcmp(path + length - bytes, with) == 0;
}

/* A report is recognised to say what to do with it. */
static pd_probe probe(const char *path, const void *first, uint64_t bytes) {
  if (ends(path, ".nsys-rep")) return PD_PROBE_MAYBE;
  if (bytes < sizeof SQLITE_MAGIC || memcmp(first, SQLITE_MAGIC, sizeof SQLITE_MAGIC) != 0) return PD_PROBE_NO;
  return memmem(first, (size_t)bytes, "CUPTI_ACTIVITY_KIND_", 20) ? PD_PROBE_YES : PD_PROBE_MAYBE;
}

/* Tables of which an export has at least one that this reader reads. */
static bool is_export(sqlite3 *file) {
  static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL",  "CUPTI_ACTIVITY_KIND_MEMCPY",
                                       "CUPTI_ACTIVITY_KIND_MEMSET",  "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                       "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"};
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
    if (nsys_has_table(file, tables[i])) return true;
  return false;
}

/* A file of others: nothing in it is run, no value is larger than a name can be, and all that is read is of one moment:
 * the transaction ends with the connection. */
static bool make_safe(sqlite3 *file) {
  enum { LONGEST = 64 << 20 };
  (void)sqlite3_limit(file, SQLITE_LIMIT_LENGTH, LONGEST);
  return sqlite3_db_config(file, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL) == SQLITE_OK &&
         sqlite3_exec(file, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON; BEGIN",
                      NULL, NULL, NULL) == SQLITE_OK;
}

static pd_status open_database(nsys_reader *self) {
  const pd_host *host = self->host;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
  const int opened = sqlite3_open_v2(self->path, &self->file, flags, NULL);
  if (opened == SQLITE_NOMEM) return PD_NO_MEMORY;
  if (opened != SQLITE_OK) return host->fail(host, PD_IO, "cannot be read: %s", sqlite3_errmsg(self->file));
  if (!make_safe(self->file) || sqlite3_exec(self->file, "SELECT 1 FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK)
    return host->fail(host, PD_INVALID, "cannot be read as SQLite: %s; export the report again, and decompress it",
                      sqlite3_errmsg(self->file));
  if (!is_export(self->file))
    return host->fail(host, PD_INVALID,
                      "is an SQLite file, and no export of Nsight Systems: it has none of its tables, such as "
                      "CUPTI_ACTIVITY_KIND_KERNEL");
  return PD_OK;
}

static uint64_t pragma(sqlite3 *file, const char *sql) {
  sqlite3_stmt *statement = NULL;
  int64_t value = 0;
  if (sqlite3_prepare_v2(file, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
    value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return value > 0 ? (uint64_t)value : 0;
}

/* Each process is read from the whole file. Pages that were read more than once are not known from others. */
static int tell_progress(void *state) {
  const nsys_reader *self = state;
  int pages = 0, unused;
  if (!self->intake || sqlite3_db_status(self->file, SQLITE_DBSTATUS_CACHE_MISS, &pages, &unused, 0) != SQLITE_OK)
    return 0;
  const uint64_t read = (uint64_t)pages * self->page_bytes, of_one = read < self->bytes ? read : self->bytes;
  self->intake->progress(self->intake, ((self->next - 1) * self->bytes + of_one) / self->process_count, self->bytes);
  return 0;
}

/* SQLite calls each time that it has run this many of its own instructions: a row takes some tens. */
static void watch_progress(nsys_reader *self) {
  enum { INSTRUCTIONS = 100000 };
  self->page_bytes = pragma(self->file, "PRAGMA page_size");
  self->bytes = self->page_bytes * pragma(self->file, "PRAGMA page_count");
  if (self->bytes) sqlite3_progress_handler(self->file, INSTRUCTIONS, tell_progress, self);
}

static void close_file(void *state) {
  nsys_reader *self = state;
  sqlite3_close(self->file);
  free(self);
}

static pd_status open_file(const pd_host *host, const void *options, const char *path, void **state) {
  (void)options;
  if (strcmp(path, "-") == 0)
    return host->fail(host, PD_INVALID, "an SQLite file cannot be read from standard input; give its path");
  if (ends(path, ".nsys-rep")) {
    char file[SHELL_WORD_BYTES];
    return host->fail(host, PD_INVALID, "a report cannot be read; export it with nsys export --type sqlite %s",
                      shell_word_in(file, path));
  }
  nsys_reader *self = calloc(1, sizeof *self);
  if (!self) return PD_NO_MEMORY;
  self->host = host;
  self->path = path;
  const pd_status status = open_database(self);
  if (status == PD_OK) {
    nsys_find_processes(self);
    watch_progress(self);
    *state = self;
  } else {
    close_file(self);
  }
  return status;
}

/* ---- one window ---- */

static void begin_window(nsys_reader *self, const pd_intake *intake) {
  int unused;
  (void)sqlite3_db_status(self->file, SQLITE_DBSTATUS_CACHE_MISS, &unused, &unused, 1);
  self->intake = intake;
  self->process = self->processes[self->next++];
  self->facts = 0;
  self->kept = self->unended = self->kernel_launches = self->device_count = 0;
  self->is_partial = false;
  self->name_count = self->call_count = 0;
  if (nsys_has_table(self->file, "StringIds") &&
      sqlite3_prepare_v2(self->file, "SELECT value FROM StringIds WHERE id = ?1", -1, &self->strings, NULL) !=
          SQLITE_OK)
    self->strings = NULL;
}

static void end_window(nsys_reader *self) {
  sqlite3_finalize(self->strings);
  free(self->names);
  free(self->calls);
  free(self->launches);
  spans_free(&self->spans);
  self->strings = NULL;
  self->names = NULL;
  self->calls = NULL;
  self->launches = NULL;
  self->name_room = self->call_room = self->thread_room = 0;
}

static pd_status next_window(void *state, const pd_intake *intake) {
  nsys_reader *self = state;
  if (self->next == self->process_count) return PD_STOP;
  begin_window(self, intake);
  nsys_read_devices(self);
  nsys_read_calls(self);
  nsys_read_ranges(self);
  nsys_read_waits(self);
  nsys_read_device(self);
  nsys_tell_source(self);
  intake->progress(intake, self->next * self->bytes / self->process_count, self->bytes);
  const pd_status status = self->no_memory ? PD_NO_MEMORY : self->kept ? PD_OK : PD_STOP;
  end_window(self);
  return status;
}

PD_READER_PLAIN("nsys", "1.0", "SQLite exports of Nsight Systems: nsys export --type sqlite", .probe = probe,
                .open = open_file, .next_window = next_window, .close = close_file)
