/* See kineto_zip.h. */
#include "kineto_zip.h"

#include <string.h>

static uint32_t number(const uint8_t *at, int bytes) {
  uint32_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
  return value;
}

bool zip_is_head(const uint8_t *at) { return memcmp(at, "PK\3\4", 4) == 0; }

zip_kind zip_kind_of(const char *name, size_t bytes) {
  static const char added[] = "__MACOSX/", ending[] = ".json";
  enum { ADDED = sizeof added - 1, ENDING = sizeof ending - 1 };
  const bool is_folder = !bytes || name[bytes - 1] == '/';
  if (is_folder || (bytes >= ADDED && memcmp(name, added, ADDED) == 0)) return ZIP_NOTHING;
  return bytes >= ENDING && memcmp(name + bytes - ENDING, ending, ENDING) == 0 ? ZIP_TRACE : ZIP_OTHER;
}

zip_head zip_read_head(const uint8_t *at) {
  enum { FLAGS = 6, METHOD = 8, BYTES = 18, NAME = 26, EXTRA = 28 };
  enum { ENCRYPTED = 1, SIZE_BEHIND = 8, STORED = 0, DEFLATED = 8 };
  const uint32_t flags = number(at + FLAGS, 2), method = number(at + METHOD, 2), bytes = number(at + BYTES, 4);
  return (zip_head){.name_bytes = number(at + NAME, 2),
                    .extra_bytes = number(at + EXTRA, 2),
                    .data_bytes = bytes,
                    .is_sized = !(flags & SIZE_BEHIND) && bytes != UINT32_MAX,
                    .is_deflated = method == DEFLATED,
                    .is_stored = method == STORED,
                    .is_encrypted = flags & ENCRYPTED};
}
