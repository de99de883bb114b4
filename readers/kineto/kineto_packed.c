/* Compressed files that are not read, to say how to unpack them. See kineto.h. */
#include "kineto.h"

static const struct {
  char magic[8];
  size_t bytes;
  const char *name, *unpack, *pipe;
} formats[] = {{"\xFD"
                "7zXZ",
                6, "xz", "xz -dk", "xz -dc"},
               {"\x28\xB5\x2F\xFD", 4, "zstd", "zstd -d", "zstd -dc"},
               {"BZh", 3, "bzip2", "bzip2 -dk", "bzip2 -dc"},
               {"\x04\x22\x4D\x18", 4, "lz4", "lz4 -d", "lz4 -dc"}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

/* FORMATS: it is none of them. */
static size_t format_of(const char *first, uint64_t bytes) {
  size_t i = 0;
  while (i < FORMATS && !(bytes > formats[i].bytes && memcmp(first, formats[i].magic, formats[i].bytes) == 0)) i++;
  return i;
}

bool kineto_is_packed(const char *first, uint64_t bytes) { return format_of(first, bytes) < FORMATS; }

pd_status kineto_refuse_packed(const kineto_reader *self, const char *first, uint64_t bytes) {
  const size_t i = format_of(first, bytes);
  if (i == FORMATS) return PD_OK;
  if (strcmp(self->path, "-") == 0)
    return self->host->fail(self->host, PD_INVALID,
                            "is compressed with %s, and only plain, gzip and zip files are read; unpack it before it "
                            "comes here, as in %s TRACE | pdhost analyze -",
                            formats[i].name, formats[i].pipe);
  return self->host->fail(self->host, PD_INVALID,
                          "is compressed with %s, and only plain, gzip and zip files are read; unpack it with %s %s",
                          formats[i].name, formats[i].unpack, self->path);
}
