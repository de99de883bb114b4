/* Capture files, whatever their bytes: refused, or every window that is read merges. The checksums are set right first,
 * so that what they would keep out gets in. */
#include "capture/crc32c.h"
#include "trace/saved_window.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void set_checksums(uint8_t *data, size_t bytes) {
  capture_file_head file;
  if (bytes < sizeof file) return;
  memcpy(&file, data, sizeof file);
  file.crc = crc32c(0, &file, offsetof(capture_file_head, crc));
  memcpy(data, &file, sizeof file);
  for (size_t at = sizeof file; bytes - at >= sizeof(capture_head);) {
    capture_head head;
    memcpy(&head, data + at, sizeof head);
    const size_t left = bytes - at - sizeof head;
    if (head.bytes > left) return;
    head.payload_crc = crc32c(0, data + at + sizeof head, head.bytes);
    head.crc = crc32c(0, &head, offsetof(capture_head, crc));
    memcpy(data + at, &head, sizeof head);
    const size_t padded = ((size_t)head.bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (padded > left) return;
    at += sizeof head + padded;
  }
}

static void read_windows(const capture_reader *reader) {
  saved_strings strings;
  if (saved_strings_open(&strings, reader) != PD_OK) return;
  for (uint64_t i = 0; i < reader->count; i++) {
    saved_window window;
    pd_trace *trace = NULL;
    if (reader->records[i].kind == CAPTURE_STRINGS) (void)saved_strings_add(&strings, reader, &reader->records[i]);
    if (reader->records[i].kind != CAPTURE_WINDOW) continue;
    if (saved_window_load(&window, reader, i, &strings) != PD_OK) continue;
    if (saved_window_merge(&window, &trace) == PD_OK) trace_free(trace);
    saved_window_free(&window);
  }
  saved_strings_close(&strings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  capture_reader reader;
  uint8_t *copy = malloc(bytes ? bytes : 1);
  if (!copy) return 0;
  if (bytes) memcpy(copy, data, bytes);
  for (int right = 0; right < 2; right++) {
    if (right) set_checksums(copy, bytes);
    if (capture_open_memory(&reader, copy, bytes) == PD_OK) read_windows(&reader);
    capture_reader_close(&reader);
  }
  free(copy);
  return 0;
}
