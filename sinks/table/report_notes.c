/* See report_notes.h. */
#include "report_notes.h"

#include <pdhost/loss_names.h>
#include <pdhost/text_columns.h>

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NOTES_SHOWN = 3 };

/* The bytes of `string` up to its last comma, colon or semicolon that fits into `columns`; 0: there is none. */
static size_t whole_clauses(const char *string, size_t columns) {
  size_t found = 0;
  for (size_t i = 0; string[i]; i++)
    if (strchr(",:;", string[i]) && string[i + 1] == ' ' && pd_text_columns(string, i) <= columns) found = i;
  return found;
}

/* The note after the folder of the file that it begins with; NULL: it begins with no file. */
static const char *file_note(const char *string) {
  const char *end = strstr(string, ": "), *name = string;
  const size_t bytes = end ? (size_t)(end - string) : 0;
  const bool is_word = strcspn(string, " ") > bytes;
  if (!end || (string[0] != '/' && !is_word) || !(memchr(string, '/', bytes) || memchr(string, '.', bytes)))
    return NULL;
  for (const char *at = string; at + 1 < end; at++)
    if (*at == '/') name = at + 1;
  return name;
}

/* The file's name, and below it what is said of it, in as many lines as it takes: the name would fill the only one. */
static void put_file_note(text *out, const char *note, size_t columns) {
  const char *words = strstr(note, ": ") + 2;
  char name[NAME_MAX + 1];
  snprintf(name, sizeof name, "%.*s", (int)(words - 1 - note), note);
  text_add_cut(out, name, columns);
  text_add(out, "\n");
  text_wrap(out, words, columns, 4);
}

/* One line of a note: standard error has the whole of it. What is said of a file is there whole. */
static void put_note(text *out, const char *string, size_t columns, uint32_t *count) {
  static const char more[] = " ...";
  if ((*count)++ >= NOTES_SHOWN) return;
  text_add(out, "  ");
  const size_t room = columns - 2 - strlen(more);
  const char *of_file = pd_text_columns(string, strlen(string)) > columns - 2 ? file_note(string) : NULL;
  if (of_file && pd_text_columns(of_file, strlen(of_file)) > columns - 2) {
    put_file_note(out, of_file, columns);
    return;
  }
  if (of_file) string = of_file;
  const size_t bytes = pd_text_columns(string, strlen(string)) > columns - 2 ? whole_clauses(string, room) : 0;
  if (bytes) {
    text_add_bytes(out, string, bytes);
    text_add(out, more);
  } else {
    text_add_cut(out, string, columns);
  }
  text_add(out, "\n");
}

void report_notes(text *out, const pd_summary *summary, size_t columns) {
  const size_t at = out->length;
  uint32_t count = 0;
  char line[160];
  text_bold(out, "Notes");
  text_add(out, "\n");
  if (!isnan(summary->coverage) && summary->coverage < 1) {
    snprintf(line, sizeof line, "only %.2f %% of the launches have their device record", 100 * summary->coverage);
    put_note(out, line, columns, &count);
  }
  for (pd_loss i = 0; i < PD_LOSS_COUNT; i++) {
    if (!summary->lost[i]) continue;
    snprintf(line, sizeof line, "%" PRIu64 " %s", summary->lost[i], pd_loss_text(i));
    put_note(out, line, columns, &count);
  }
  for (uint64_t i = 0; PD_HAS(pd_summary, summary, notes) && i < summary->notes.count; i++)
    put_note(out, *PD_AT(pd_note, &summary->notes, i), columns, &count);
  if (count > NOTES_SHOWN) text_format(out, "  and %u more, on standard error\n", count - NOTES_SHOWN);
  if (!count) out->length = at;
  if (!count && out->data) out->data[at] = 0;
}
