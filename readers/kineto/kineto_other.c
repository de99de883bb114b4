/* Files that cannot be read as they are, to say what to do with them. See kineto.h. */
#include "kineto.h"

#include "base/shell_word.h"

#define PACKED ", and only plain, gzip and zip files are read; unpack it"
#define WIDE "is text in UTF-16, and only UTF-8 is read; convert it"
#define TO_UTF_8 "iconv -f UTF-16 -t UTF-8"
#define PAGE                                                                                                           \
  "is a web page (HTML) and not a trace; give the trace itself, and if this file was downloaded, open it in a "        \
  "browser to see what the server says"

/* "FILE: SAYS with FIX FILE END"; for standard input "-: SAYS before it comes here, as in PIPE TRACE". */
static const struct {
  const char *magic; /* in letters of either case */
  size_t at;
  const char *says, *fix, *end, *pipe; /* fix NULL: there is nothing to type */
} formats[] = {{"\xFD"
                "7zXZ",
                0, "is compressed with xz" PACKED, "xz -dk", "", "xz -dc"},
               {"\x28\xB5\x2F\xFD", 0, "is compressed with zstd" PACKED, "zstd -d", "", "zstd -dc"},
               {"BZh", 0, "is compressed with bzip2" PACKED, "bzip2 -dk", "", "bzip2 -dc"},
               {"\x04\x22\x4D\x18", 0, "is compressed with lz4" PACKED, "lz4 -d", "", "lz4 -dc"},
               {"ustar", 257, "is a tar archive" PACKED, "tar -xf", "", "tar -xOf"},
               {"\xFF\xFE", 0, WIDE, TO_UTF_8, " > NEW.json", TO_UTF_8},
               {"\xFE\xFF", 0, WIDE, TO_UTF_8, " > NEW.json", TO_UTF_8},
               {"version https://git-lfs", 0,
                "is a pointer of Git LFS and not the trace itself; get the trace with git lfs pull in its repository",
                NULL, NULL, NULL},
               {"<!doctype html", 0, PAGE, NULL, NULL, NULL},
               {"<html", 0, PAGE, NULL, NULL, NULL}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static bool is_it(size_t format, const char *first, uint64_t bytes) {
  const size_t at = formats[format].at, length = strlen(formats[format].magic);
  return bytes > at + length && strncasecmp(first + at, formats[format].magic, length) == 0;
}

/* FORMATS: it is none of them. */
static size_t format_of(const char *first, uint64_t bytes) {
  size_t i = 0;
  while (i < FORMATS && !is_it(i, first, bytes)) i++;
  return i;
}

bool kineto_is_other(const char *first, uint64_t bytes) { return format_of(first, bytes) < FORMATS; }

pd_status kineto_refuse_other(const kineto_reader *self, const char *first, uint64_t bytes) {
  const size_t i = format_of(first, bytes);
  const pd_host *host = self->host;
  if (i == FORMATS) return PD_OK;
  if (!formats[i].fix) return host->fail(host, PD_INVALID, "%s", formats[i].says);
  if (strcmp(self->path, "-") == 0)
    return host->fail(host, PD_INVALID, "%s before it comes here, as in %s TRACE | pdhost analyze -", formats[i].says,
                      formats[i].pipe);
  char file[SHELL_WORD_BYTES];
  return host->fail(host, PD_INVALID, "%s with %s %s%s", formats[i].says, formats[i].fix,
                    shell_word_in(file, self->path), formats[i].end);
}
