/*
 * A TFRecord file: each record is its length, a checksum of that, the data and a checksum of the data.
 * [loop thread]
 *
 * Unlike the other sinks' files it is appended to in place, under its final name and its own descriptor: TensorBoard
 * reads it while the run goes on, and a run that is killed leaves every whole record readable.
 */
#ifndef SINKS_TENSORBOARD_RECORD_FILE_H
#define SINKS_TENSORBOARD_RECORD_FILE_H

#include <pdhost/plugin.h>

typedef struct record_file record_file;

/* Makes `folder` and in it events.out.tfevents.<seconds>.<host>.<pid>.<n>, with the first n that is free. */
pd_status record_file_open(const pd_host *host, const char *folder, int64_t seconds, const char *host_name,
                           uint32_t pid, record_file **out);
/* Buffers a record; what is buffered is written once it is 64 KiB. A failed write sticks. */
pd_status record_file_add(record_file *self, const void *data, size_t bytes);
/* Writes what is buffered. On failure the file is cut back to its last whole record. */
pd_status record_file_flush(record_file *self);
/* Does not flush. A file without a record is removed. NULL is fine. */
void record_file_close(record_file *self);
const char *record_file_path(const record_file *self);

#endif
