/* What a file or a folder is, by what it begins with. [main thread] */
#ifndef CORE_CLI_OPEN_KIND_H
#define CORE_CLI_OPEN_KIND_H

#include "base/error.h"

typedef enum open_kind {
  OPEN_UNKNOWN,
  OPEN_TRACE,       /* JSON that Perfetto reads */
  OPEN_TRACE_GZ,    /* the same, compressed */
  OPEN_EVENTS,      /* a TensorBoard event file, or a folder with some below it */
  OPEN_TRACES,      /* a folder of traces */
  OPEN_CSV,         /* a csv file, or a folder of them */
  OPEN_METRICS,     /* what the json sink writes */
  OPEN_MEASUREMENT, /* what [run] mode = benchmark writes */
  OPEN_TRUTH,
  OPEN_MANIFEST,
  OPEN_WINDOW,  /* .pdw */
  OPEN_CAPTURE, /* .pdcap */
  OPEN_PAGE,    /* what the html sink writes */
  OPEN_PAGES,   /* a folder with such a page */
  OPEN_STACKS,  /* folded call stacks */
  OPEN_INI
} open_kind;

/* CODE_USAGE: there is no such file, or it cannot be read. */
pd_status open_kind_of(const char *path, open_kind *out, error *err);
const char *open_kind_name(open_kind kind);

#endif
