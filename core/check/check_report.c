/* See check_report.h. */
#include "check_report.h"

#include "base/json_text.h"
#include "base/visible.h"

#include <pdhost/quantity.h>
#include <stdio.h>

/* ---- text ---- */

static void print_visible(const char *text) {
  char shown[CHECK_TEXT * VISIBLE_GROWTH];
  visible_copy(shown, sizeof shown, text);
  fputs(shown, stdout);
}

static void print_findings(const check_findings *findings) {
  for (int i = 0; i < CHECK_KIND_COUNT; i++) {
    const check_finding *at = &findings->of[i];
    if (!at->count) continue;
    printf("  %-20s %7llu  %s\n  %28s  worst: ", finding_key((check_kind)i), (unsigned long long)at->count,
           finding_text((check_kind)i), "");
    print_visible(at->worst_text);
    if (at->byte != CHECK_NO_BYTE)
      printf("; at byte %llu", (unsigned long long)at->byte);
    else if (at->other_byte != CHECK_NO_BYTE)
      printf("; other damage is at byte %llu", (unsigned long long)at->other_byte);
    putchar('\n');
  }
  for (uint32_t i = 0; i < findings->note_count; i++) {
    fputs("  note: ", stdout);
    print_visible(findings->notes[i]);
    putchar('\n');
  }
}

static void print_file(const check_file *file) {
  const uint32_t found = finding_count(&file->findings);
  print_visible(file->path);
  if (file->code != CODE_DONE) {
    puts(": not checked");
    return;
  }
  if (found)
    printf(": %u kind%s of findings", found, found == 1 ? "" : "s");
  else
    fputs(": no findings", stdout);
  printf(" in %llu device record%s, %llu call%s and %llu range%s (%s)\n", (unsigned long long)file->works,
         file->works == 1 ? "" : "s", (unsigned long long)file->calls, file->calls == 1 ? "" : "s",
         (unsigned long long)file->ranges, file->ranges == 1 ? "" : "s", file->reader);
  print_findings(&file->findings);
}

void check_report_text(const check_file *files, uint32_t count, const check_findings *together, uint32_t skipped) {
  uint32_t bad = 0, unread = 0;
  for (uint32_t i = 0; i < count; i++) {
    print_file(&files[i]);
    unread += files[i].code != CODE_DONE;
    bad += files[i].code == CODE_DONE && finding_count(&files[i].findings) > 0;
  }
  if (skipped)
    printf("%u file%s skipped: %s\n", skipped, skipped == 1 ? "" : "s",
           skipped == 1 ? "it is not a trace" : "they are not traces");
  if (count == 1) return;
  if (finding_count(together) || together->note_count) {
    puts("the files together:");
    print_findings(together);
  }
  const uint32_t shared = finding_count(together);
  printf("%u of %u files have findings%s", bad, count, shared ? " of their own" : "");
  if (shared) printf(", and the files together have %u kind%s of findings", shared, shared == 1 ? "" : "s");
  if (unread) printf(", %u could not be read", unread);
  putchar('\n');
}

/* ---- JSON ---- */

static json_t *findings_json(const check_findings *findings) {
  json_t *list = json_array();
  for (int i = 0; i < CHECK_KIND_COUNT; i++) {
    const check_finding *at = &findings->of[i];
    if (!at->count) continue;
    json_t *row = json_pack("{s:s, s:s, s:I, s:s}", "kind", finding_key((check_kind)i), "text",
                            finding_text((check_kind)i), "count", (json_int_t)at->count, "worst", at->worst_text);
    if (at->byte != CHECK_NO_BYTE)
      json_object_set_new(row, "byte", json_integer((json_int_t)at->byte));
    else if (at->other_byte != CHECK_NO_BYTE)
      json_object_set_new(row, "other_byte", json_integer((json_int_t)at->other_byte));
    json_array_append_new(list, row);
  }
  return list;
}

static json_t *notes_json(const check_findings *findings) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < findings->note_count; i++) json_array_append_new(list, json_string(findings->notes[i]));
  return list;
}

static json_t *quantum_json(int64_t ns) { return ns ? json_integer((json_int_t)ns) : json_null(); }

static json_t *file_json(const check_file *file) {
  if (file->code != CODE_DONE) return json_pack("{s:s, s:b}", "path", file->path, "checked", 0);
  return json_pack("{s:s, s:b, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "path", file->path, "checked", 1, "reader",
                   file->reader, "device_records", (json_int_t)file->works, "calls", (json_int_t)file->calls, "ranges",
                   (json_int_t)file->ranges, "host_quantum_ns", quantum_json(file->clock.host_ns), "device_quantum_ns",
                   quantum_json(file->clock.device_ns), "findings", findings_json(&file->findings), "notes",
                   notes_json(&file->findings));
}

bool check_report_json(const check_file *files, uint32_t count, const check_findings *together, uint32_t skipped) {
  json_t *list = json_array();
  bool clean = finding_count(together) == 0;
  for (uint32_t i = 0; i < count; i++) {
    clean = clean && files[i].code == CODE_DONE && !finding_count(&files[i].findings);
    json_array_append_new(list, file_json(&files[i]));
  }
  json_t *all = json_pack("{s:b, s:o, s:I, s:o, s:o}", "clean", clean, "files", list, "skipped", (json_int_t)skipped,
                          "findings", findings_json(together), "notes", notes_json(together));
  return json_text_print(all, JSON_INDENT(2));
}
