/*
 * CUPTI's records to pd_activity, in batches, with every record checked and every loss counted.
 *
 * Records come in no order, a kernel before its launch call or long after it. A device record is handed on once its
 * call is known; what has no call when the window closes is handed on as it is, and the trace counts it. The decoder's
 * thread alone.
 */
#ifndef DEVICES_CUDA_CUPTI_DECODE_H
#define DEVICES_CUDA_CUPTI_DECODE_H

#include "cupti_allowlist.h"
#include "cupti_api.h"
#include "cupti_match.h"
#include "occupancy.h"

enum { CUPTI_BATCH = 512 };

typedef struct cupti_name {
  const char *pointer; /* where the library had it; it may hold another name by now */
  char *text;          /* what it held then */
  uint32_t id;
  uint32_t reserved;
} cupti_name;

typedef struct cupti_pending_list {
  pd_activity *rows;
  uint64_t count, capacity;
} cupti_pending_list;

/* One of several calls under one id. CUPTI 13.0 does that to a thread that was inside a call while kinds were switched
 * off: it misses the call's end, and takes all further calls for parts of that one until the library is given back. */
typedef struct cupti_twin {
  uint64_t shared, own; /* ids: as CUPTI had it, and as handed on */
  int64_t start_ns;
  pd_api_class api;
  bool used;     /* it had a device record before its id was shared */
  bool answered; /* as records are gone through: one of them is this call's */
} cupti_twin;

/* Since the decoder was opened. */
typedef struct cupti_counts {
  uint64_t records;   /* read from buffers */
  uint64_t handed_on; /* given to pd_record */
  uint64_t zero_stamped, implausible;
  uint64_t dropped;      /* by the library or a full pool; the collector's */
  uint64_t stale;        /* left over from before the window */
  uint64_t strays;       /* of them, in buffers of an earlier session */
  uint64_t surplus;      /* second records of one kernel's launch */
  uint64_t twins;        /* calls that had their id from another call */
  uint64_t nested;       /* driver calls that are part of a runtime call */
  uint64_t unknown;      /* of kinds or calls not asked for */
  uint64_t lost_memory;  /* for want of memory */
  uint64_t early;        /* device records that begin before their call */
  uint64_t buffer_bytes; /* mapped for records, at present; the collector's */
} cupti_counts;

/* A stream's capture on one thread. */
typedef struct cupti_capture {
  uint32_t thread;
  uint32_t open;
  int64_t from_ns;
} cupti_capture;

typedef struct cupti_decoder {
  const cupti_api *api;
  const pd_record *record; /* NULL: records are counted and let go */
  cupti_allowlist *calls;
  occupancy *fullness;
  cupti_match match;
  cupti_counts counts;
  bool keep;                  /* a window is open; else records only move the mark below */
  bool by_time;               /* calls before window_start_ns are not the window's */
  int64_t window_start_ns;    /* CLOCK_REALTIME */
  int64_t window_stop_ns;     /* calls begun later are not the window's either; INT64_MAX while it is open */
  int64_t early_ns;           /* by how much one of this window begins before its call, at most */
  uint64_t correlation_high;  /* newest 64-bit id */
  bool correlation_known;     /* an id has come since the library was attached */
  uint64_t stale_correlation; /* newest id from before the window */
  uint64_t later_correlation; /* oldest id from after it */
  cupti_name *names;          /* open addressing by pointer; a power of two */
  uint64_t name_count, name_size;
  cupti_pending_list orphans; /* device records without a call yet */
  cupti_pending_list early;   /* device records from before the window began, by the clocks */
  cupti_pending_list shared;  /* device records under the id of several calls */
  cupti_twin *twins;          /* those of these calls that have a device record */
  uint64_t twin_count, twin_capacity;
  uint64_t own_ids;           /* given to calls without one of their own */
  uint64_t parted;            /* such calls of this window */
  cupti_pending_list drivers; /* driver calls that may be part of a runtime call */
  cupti_capture captures[16];
  uint32_t batch_count;
  uint32_t overhead_names[16];
  pd_activity batch[CUPTI_BATCH];
} cupti_decoder;

void cupti_decoder_init(cupti_decoder *self, const cupti_api *api, const pd_record *record, cupti_allowlist *calls,
                        occupancy *fullness);
void cupti_decoder_free(cupti_decoder *self);

/* The library has been attached anew: ids start again and must not repeat. */
void cupti_decoder_session(cupti_decoder *self);
/* A window opens; `by_time`: records from before may still come. */
void cupti_decoder_window_open(cupti_decoder *self, int64_t start_ns, bool by_time);
/* The window's last call has begun by `stop_ns`; other threads go on. */
void cupti_decoder_window_stop(cupti_decoder *self, int64_t stop_ns);
/* Hands on what waited, and counts the kernels of graphs that have not come. */
void cupti_decoder_window_close(cupti_decoder *self);

/* Decodes one buffer and frees what its records own. */
void cupti_decoder_buffer(cupti_decoder *self, uint8_t *data, size_t valid_bytes);

/* Lets the records of a buffer from an earlier session go: their ids come again in this one. */
void cupti_decoder_skip(cupti_decoder *self, uint8_t *data, size_t valid_bytes);

/* Hands on device records whose calls have come since; whether nothing is due any more. */
bool cupti_decoder_settle(cupti_decoder *self);

#endif
