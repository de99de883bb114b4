/* Sets the checksums of what may be a capture right. */
#ifndef TESTS_FUZZ_RIGHT_CAPTURE_H
#define TESTS_FUZZ_RIGHT_CAPTURE_H

#include "capture/crc32c.h"
#include "capture/format.h"

#include <stddef.h>
#include <string.h>

static void right_capture(uint8_t *data, size_t bytes) {
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

#endif
