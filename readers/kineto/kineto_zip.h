/* The head of a file within a .zip archive, by APPNOTE 4.3.7 of PKWARE. */
#ifndef READERS_KINETO_KINETO_ZIP_H
#define READERS_KINETO_KINETO_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZIP_HEAD_BYTES = 30 };

typedef struct zip_head {
  size_t name_bytes, extra_bytes; /* what follows the head, before the data */
  uint64_t data_bytes;            /* compressed */
  bool is_sized;                  /* else data_bytes is not known */
  bool is_deflated, is_stored, is_encrypted;
} zip_head;

/* Whether the bytes, at least 4, begin such a head. */
bool zip_is_head(const uint8_t *at);
/* What a file in it is by its name. A folder is nothing, nor is what macOS adds. */
typedef enum zip_kind { ZIP_NOTHING, ZIP_OTHER, ZIP_TRACE } zip_kind;
zip_kind zip_kind_of(const char *name, size_t bytes);
/* Reads the head in ZIP_HEAD_BYTES bytes. */
zip_head zip_read_head(const uint8_t *at);

#endif
