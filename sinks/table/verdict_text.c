/* See verdict_text.h. */
#include "verdict_text.h"

#include <pdhost/text_columns.h>
#include <pdhost/quantity.h>

#include <string.h>

enum { LABEL = 11, VALUE_AT = 2 + LABEL + 2, TITLE_AT = 9, FIGURE_ROOM = 48 };

const pd_cell *verdict_cell(const pd_table *table, const char *key) {
  const pd_table_row *row = PD_AT(pd_table_row, &table->rows, 0);
  for (uint32_t c = 0; c < table->column_count; c++)
    if (!strcmp(table->columns[c]->key, key)) return row->cells[c].missing ? NULL : &row->cells[c];
  return NULL;
}

static const char *text_of(const pd_table *table, const char *key) {
  const pd_cell *cell = verdict_cell(table, key);
  return cell ? cell->v.text : NULL;
}

/* "  Evidence     ..." */
static void labelled(text *out, const char *label, const char *sentence, size_t columns) {
  const size_t at = out->length;
  text_wrap(out, sentence, columns, VALUE_AT);
  if (!out->failed && out->length > at + VALUE_AT) memcpy(out->data + at + 2, label, strlen(label));
}

/* "33.5 ms -> 17.8 ms expected (1.9x)": both in the larger one's unit. */
static void step_sentence(text *out, const pd_table *table) {
  const pd_cell *now = verdict_cell(table, "verdict_step"), *then = verdict_cell(table, "verdict_expected");
  char figure[FIGURE_ROOM];
  if (!now) return;
  pd_text_time(figure, sizeof figure, (double)now->v.i);
  text_add(out, figure);
  if (!then) return;
  const pd_scale unit = pd_time_scale((double)now->v.i);
  const double value = (double)then->v.i / unit.size;
  text_format(out, " -> %.*f %s expected", unit.size > 1 ? pd_decimals(value) : 0, value, unit.name);
  const double ratio = then->v.i > 0 ? (double)now->v.i / (double)then->v.i : 0;
  if (ratio >= 1.005) text_format(out, " (%.*fx)", ratio < 2 ? 2 : ratio < 10 ? 1 : 0, ratio);
}

static void share_sentence(text *out, const pd_table *table) {
  const pd_cell *share = verdict_cell(table, "verdict_share"), *sure = verdict_cell(table, "verdict_repeatable");
  char figure[FIGURE_ROOM];
  if (share) {
    pd_text_percent(figure, sizeof figure, share->v.d);
    text_format(out, "%s of the step%s", figure, sure ? "; " : "");
  }
  if (sure) text_format(out, "repeatable in %.0f %% of resamples of the steps", sure->v.d);
}

void verdict_command(text *out, const char *command, size_t columns, size_t indent) {
  size_t used = indent, continued = 0;
  while (*command) {
    /* A quoted word keeps its blanks. */
    size_t length = 0;
    for (bool quoted = false; command[length] && (quoted || command[length] != ' '); length++)
      if (command[length] == '\'') quoted = !quoted;
    /* An option and its value stay together. */
    const char *value = command + length + strspn(command + length, " ");
    const size_t value_bytes = command[0] == '-' && value[0] != '-' ? strcspn(value, " ") : 0;
    const size_t width = pd_text_columns(command, length),
                 both = width + (value_bytes ? 1 + pd_text_columns(value, value_bytes) : 0);
    if (used + continued + both + 2 > columns && used > indent) {
      text_add(out, " \\\n");
      text_repeat(out, ' ', indent + 2);
      used = indent + 2;
      continued = 0;
    }
    if (continued) text_add(out, " ");
    text_add_bytes(out, command, length);
    used += continued + width;
    continued = 1;
    command += length;
    while (*command == ' ') command++;
  }
  text_add(out, "\n");
}

static void command(text *out, const char *label, const char *words, size_t columns) {
  if (!words) return;
  text_format(out, "  %-*s  ", LABEL, label);
  verdict_command(out, words, columns, VALUE_AT);
}

void verdict_block(text *out, const pd_table *table, size_t columns) {
  const char *title = text_of(table, "verdict"), *evidence = text_of(table, "verdict_evidence"),
             *others = text_of(table, "verdict_others"), *next = text_of(table, "verdict_next"),
             *helps = text_of(table, "verdict_helps"), *after = text_of(table, "verdict_after");
  text sentence = {0};
  const size_t at = out->length;
  text_wrap(&sentence, title ? title : "", columns, TITLE_AT);
  out->failed = out->failed || sentence.failed;
  if (sentence.failed) {
    text_free(&sentence);
    return;
  }
  if (out->colour) text_add(out, "\033[1m");
  text_add(out, "Verdict");
  text_add(out, sentence.length ? sentence.data + 7 : "\n");
  if (out->colour && !out->failed && out->length > at) {
    out->length--; /* the style ends before the line does */
    text_add(out, "\033[0m\n");
  }
  sentence.length = 0;
  share_sentence(&sentence, table);
  const char *cause = text_of(table, "verdict_cause");
  const bool is_found = !cause || strcmp(cause, "none") != 0;
  if (sentence.length) labelled(out, is_found ? "Gain" : "Busy", sentence.data, columns);
  sentence.length = 0;
  step_sentence(&sentence, table);
  if (sentence.length) labelled(out, "Step", sentence.data, columns);
  if (evidence) labelled(out, "Evidence", evidence, columns);
  if (others) labelled(out, "Others", others, columns);
  /* A command that takes the cause away says more than words; for another program there is none. */
  if (helps && !next) labelled(out, "What helps", helps, columns);
  command(out, "Try next", next, columns);
  command(out, "Afterwards", after, columns);
  out->failed = out->failed || sentence.failed;
  text_free(&sentence);
}

void verdict_line(text *out, const pd_table *table, size_t columns) {
  const char *title = text_of(table, "verdict");
  size_t bytes = title ? strlen(title) : 0;
  if (!title) return;
  if (TITLE_AT + pd_text_columns(title, bytes) > columns) {
    const size_t name = strcspn(title, ":(");
    bytes = name < bytes && TITLE_AT + pd_text_columns(title, name) <= columns
                ? name
                : pd_text_fit(title, bytes, columns - TITLE_AT);
  }
  while (bytes && title[bytes - 1] == ' ') bytes--;
  if (out->colour) text_add(out, "\033[1m");
  text_add(out, "Verdict  ");
  text_add_bytes(out, title, bytes);
  if (out->colour) text_add(out, "\033[0m");
}
