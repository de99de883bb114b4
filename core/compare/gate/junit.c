/* See junit.h. */
#include "junit.h"

#include "base/files.h"
#include "base/visible.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* XML has no form for control characters, so they are shown as \xNN. */
static void write_text(FILE *out, const char *text) {
  char shown[VISIBLE_GROWTH * JUNIT_MESSAGE_BYTES];
  visible_copy(shown, sizeof shown, text);
  for (const char *at = shown; *at; at++) {
    switch (*at) {
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '&': fputs("&amp;", out); break;
    case '"': fputs("&quot;", out); break;
    default: fputc(*at, out); break;
    }
  }
}

static void write_finding(FILE *out, const char *element, const junit_case *of) {
  fprintf(out, "      <%s type=\"%s\" message=\"", element, comparison_word(of->verdict));
  write_text(out, of->message);
  fprintf(out, "\"/>\n");
}

static void write_case(FILE *out, const char *suite, const junit_case *of) {
  fprintf(out, "    <testcase classname=\"pdhost.%s\" name=\"", suite);
  write_text(out, of->name);
  fputc('"', out);
  if (isfinite(of->time_s)) fprintf(out, " time=\"%.9f\"", of->time_s);
  fprintf(out, ">\n");
  if (of->verdict == OUTCOME_SLOWER) write_finding(out, "failure", of);
  if (of->verdict == OUTCOME_UNCLEAR) write_finding(out, "error", of);
  fprintf(out, "      <system-out>");
  write_text(out, of->message);
  fprintf(out, "</system-out>\n    </testcase>\n");
}

pd_status junit_write(const char *path, const char *suite, const junit_case *cases, uint32_t count, error *err) {
  uint32_t failures = 0, errors = 0;
  char *temporary;
  FILE *out = files_open_stream(path, &temporary);
  if (!out) return error_set(err, PD_IO, CODE_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
  for (uint32_t i = 0; i < count; i++) {
    failures += cases[i].verdict == OUTCOME_SLOWER;
    errors += cases[i].verdict == OUTCOME_UNCLEAR;
  }
  fprintf(out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"pdhost %s\" tests=\"%u\" "
          "failures=\"%u\" errors=\"%u\" skipped=\"0\">\n",
          suite, count, failures, errors);
  for (uint32_t i = 0; i < count; i++) write_case(out, suite, &cases[i]);
  fprintf(out, "  </testsuite>\n</testsuites>\n");
  if (!files_end_stream(out, true, path, temporary))
    return error_set(err, PD_IO, CODE_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
  fprintf(stderr, "pdhost: wrote %s\n", path);
  return PD_OK;
}
