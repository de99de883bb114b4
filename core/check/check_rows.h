/* The events of a trace as its file has them, each with its place in the file: nothing is sorted, cut or repaired yet.
 * A reader fills them through the table of pdhost/reader.h, a capture's window through check_rows_take. [loop thread]
 */
#ifndef CORE_CHECK_CHECK_ROWS_H
#define CORE_CHECK_CHECK_ROWS_H

#include "finding.h"

#include "trace/intake/memory_left.h"
#include "trace/row_array.h"
#include "trace/strings.h"

#include <pdhost/reader.h>

typedef struct check_range {
  int64_t start, end; /* as read */
  uint64_t byte;
  uint32_t name, thread;
} check_range;

typedef struct check_call {
  int64_t start, end;
  uint64_t byte, correlation;
  uint32_t name, thread;
  pd_api_class api;
  int32_t result;
} check_call;

typedef struct check_work {
  int64_t start, end;
  uint64_t byte, correlation, bytes;
  uint32_t name, stream; /* stream: index into streams */
  pd_activity_kind kind;
  uint32_t call;                 /* index into calls, or PD_NONE; set by check_device */
  pd_memory_kind from, to;       /* of a copy */
  uint32_t shared_bytes;         /* of a kernel, per block */
  float occupancy, warps_per_sm; /* occupancy < 0: the file says nothing */
} check_work;

typedef struct check_rows {
  pd_intake table;
  check_findings *findings;
  void (*progress)(uint64_t bytes, uint64_t of);
  void (*record)(void *user, const pd_captured *record); /* of a run's capture */
  void *record_user;
  string_table *strings;
  row_array ranges, calls, works;
  row_array streams; /* of pd_stream_row without a name */
  row_array threads; /* of uint64_t: process and thread */
  row_index stream_index, thread_index;
  uint64_t byte;    /* of the rows to come, and of damage */
  pd_source source; /* its texts are NULL */
  pd_device_props *devices;
  char (*device_names)[64];
  bool is_merged;      /* a window of ours: what was launched is known already, and what was lost was counted */
  memory_guard memory; /* dropped rows count, too */
  bool failed;         /* out of memory */
} check_rows;

/* `findings` is borrowed, and takes what shows while the rows come in. */
pd_status check_rows_open(check_rows **out, check_findings *findings);
void check_rows_close(check_rows *self);

/* A window that pdhost recorded. */
void check_rows_take(check_rows *self, const pd_trace *trace);

/* The text of string `id`, cut to what fits into a sentence. Valid until the next-but-three call. */
const char *check_rows_name(const check_rows *self, uint32_t id);
enum { CHECK_NUMBER = 32 };
/* "number 7", written into `text` of CHECK_NUMBER bytes; "no number" where there is none. */
const char *check_number(char *text, uint64_t correlation);
/* The device that stream `stream` is on; NULL: the file does not describe it. */
const pd_device_props *check_rows_device(const check_rows *self, uint32_t stream);
/* The earliest and latest time of any row; false: there is none. */
bool check_rows_extent(const check_rows *self, int64_t *least, int64_t *most);

#endif
