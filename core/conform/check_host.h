/* A host for the conformance checks: keeps messages, writes no file, trains nothing, fails where it is told to, and
 * sees what is called on a thread that it is not for. */
#ifndef CORE_CONFORM_CHECK_HOST_H
#define CORE_CONFORM_CHECK_HOST_H

#include <pdhost/sink.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <pthread.h>
#include <stdatomic.h>

typedef struct check_host {
  pd_host table;
  char message[1024]; /* of the last fail(), "" when there was none */
  char misuse[256];   /* the first call that broke a rule of the ABI, "" when none did */
  pthread_t loop;     /* the thread that check_host_init was called on */
  pthread_mutex_t lock;
  pd_train train;
  pd_truth truth;
  pd_files files;
  pd_record record;
  pd_analysis watched_analysis; /* `analysis`, with its threads watched */
  uint32_t recording;           /* what pd_record.enabled points at */
  const pd_analysis *analysis;
  const pd_record *own_record; /* a real recorder's, in place of `record`; NULL: none */
  bool has_train;              /* false: the training kit is not there */
  bool kit_fails;              /* true: every call of the kit's step fails with PD_DEVICE */
  bool disk_full;              /* true: writes fail with PD_IO, as on /dev/full */
  uint64_t fail_call;          /* the call of kit or files that fails, from 1; 0: none */
  uint64_t calls;              /* of kit and files that may fail, so far */
  bool call_failed;            /* that one was reached */
  bool in_truth, in_device_truth;
  uint64_t kit_calls, kit_failures;
  int64_t live_tensors; /* made and not freed */
  int64_t open_files;   /* neither committed nor discarded */
  uint64_t bytes_written, writes_failed, files_committed;
  atomic_llong open_ranges;
} check_host;

void check_host_init(check_host *self);

#endif
