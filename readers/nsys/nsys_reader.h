/* The nsys reader: one process of an SQLite export of Nsight Systems into one window. Private to this folder. */
#ifndef READERS_NSYS_READER_H
#define READERS_NSYS_READER_H

#include "nsys_tables.h"

#include "../lib/range_roles.h"
#include "../lib/spans.h"

enum { NSYS_DEVICES = 64, NSYS_PROCESSES = 4096 };

/* A row of StringIds, and what is known of the name: each is looked at once in a window. */
typedef struct nsys_name {
  int64_t key; /* its id in the file */
  uint32_t id; /* string id */
  pd_api_class api;
  bool used;
} nsys_name;

/* From the start to the end of a call, by start; `latest` is the latest end of those up to this one. */
typedef struct nsys_call {
  int64_t start, end, latest;
} nsys_call;

typedef struct nsys_reader {
  const pd_host *host;
  const char *path;
  sqlite3 *file;
  int64_t processes[NSYS_PROCESSES]; /* what globalPid and globalTid have above their lowest 24 bits; -1: any */
  uint32_t process_count, next;
  uint64_t bytes, page_bytes; /* of the file, and of a page of it; 0: not known */
  /* For the window that is read: */
  const pd_intake *intake;
  int64_t process;
  sqlite3_stmt *strings;
  nsys_name *names;
  uint64_t name_count, name_room;
  nsys_call *calls;
  uint64_t call_count, call_room;
  int64_t *launches; /* by thread of the intake */
  uint32_t thread_room;
  int64_t base_ns;
  pd_facts facts;
  spans spans;
  uint64_t kept, unended, kernel_launches;
  bool no_memory, is_partial; /* is_partial: the file lacks what events need */
  pd_device_props devices[NSYS_DEVICES];
  char device_names[NSYS_DEVICES][64];
  uint32_t device_count;
} nsys_reader;

/* The name with that id of StringIds; of NULL "". NULL: no memory. */
const nsys_name *nsys_name_of(nsys_reader *self, const nsys_rows *rows, int at);
/* The thread of a globalTid. */
uint32_t nsys_thread_of(const nsys_reader *self, int64_t global_tid);
/* Opens a table of the process's rows, which have the column `filter` for it: globalPid or globalTid. */
bool nsys_open_rows(nsys_reader *self, nsys_rows *rows, const char *table, const char *columns, const char *filter);
/* Closes it, and tells the user what of it could not be read. */
void nsys_close_rows(nsys_reader *self, nsys_rows *rows);

/* Tells which of `columns`, one blank between two, the table lacks; its rows are not read as events without them. */
void nsys_tell_lacking(nsys_reader *self, const char *table, const char *columns);

void nsys_read_calls(nsys_reader *self);
void nsys_read_ranges(nsys_reader *self);
void nsys_read_waits(nsys_reader *self);   /* after the calls */
void nsys_read_devices(nsys_reader *self); /* what the devices are; before their records */
void nsys_read_device(nsys_reader *self);  /* their records */
/* The date, what the profiler says of itself, and the facts that the rows showed. */
void nsys_tell_source(nsys_reader *self);
void nsys_find_processes(nsys_reader *self);

#endif
