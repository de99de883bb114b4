/* A host for the conformance checks: keeps messages, writes no file, trains nothing, and fails where it is told to. */
#ifndef CORE_HOST_CHECK_HOST_H
#define CORE_HOST_CHECK_HOST_H

#include <pdhost/sink.h>
#include <pdhost/train.h>

typedef struct check_host {
  pd_host table;
  char message[1024]; /* of the last fail(), "" when there was none */
  pd_train train;
  pd_files files;
  pd_record record;
  uint32_t recording; /* what pd_record.enabled points at */
  const pd_analysis *analysis;
  const pd_record *own_record; /* a real recorder's, in place of `record`; NULL: none */
  bool has_train;              /* false: the training kit is not there */
  bool kit_fails;              /* true: every call of the kit's step fails with PD_DEVICE */
  bool disk_full;              /* true: writes fail with PD_IO, as on /dev/full */
  uint64_t kit_calls, kit_failures;
  int64_t live_tensors; /* made and not freed */
  int64_t open_files;   /* neither committed nor discarded */
  uint64_t bytes_written, writes_failed;
} check_host;

void check_host_init(check_host *self);

#endif
