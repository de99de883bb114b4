/* Capture files, whatever their bytes: refused, or every window that is read merges. The checksums are set right first,
 * so that what they would keep out gets in. */
#include "fuzz.h"

#include "right_capture.h"

#include "trace/saved_window.h"

#include <stdlib.h>
#include <string.h>

static void read_windows(const capture_reader *reader) {
  saved_strings strings;
  if (saved_strings_open(&strings) != PD_OK) return;
  for (uint64_t i = 0; i < reader->count; i++) {
    saved_window window;
    pd_trace *trace = NULL;
    const capture_record *at = &reader->records[i];
    if (at->kind == CAPTURE_STRINGS)
      (void)saved_strings_add(&strings, reader->memory + at->at, at->bytes, at->at + at->bytes);
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
    if (right) right_capture(copy, bytes);
    if (capture_open_memory(&reader, copy, bytes) == PD_OK) read_windows(&reader);
    capture_reader_close(&reader);
  }
  free(copy);
  return 0;
}
