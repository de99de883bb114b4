/* See diff_report.h: for people. */
#include "diff_report.h"

#include "diff_words.h"

#include "base/text_width.h"
#include "base/visible.h"
#include "base/wrap.h"

#include <stdio.h>
#include <string.h>

enum { NAME_COLUMNS = 35, FIGURE_COLUMNS = 9, TEXT_INDENT = 9, NAME_BYTES = 4096, LINE_COLUMNS = 79 };

/* ---- pieces ---- */

/* So much of the text as fits, its end marked; blanks after it. */
static void print_name(const char *text, int indent, int width) {
  char shown[NAME_BYTES];
  visible_copy(shown, sizeof shown, text);
  size_t bytes = strlen(shown);
  const int room = width - indent;
  const bool cut = text_width(shown) > room;
  while (cut && bytes && (text_width_of(shown, bytes) > room - 3 || (shown[bytes] & 0xC0) == 0x80)) bytes--;
  const int taken = text_width_of(shown, bytes) + (cut ? 3 : 0);
  printf("%*s%.*s%s%*s", indent, "", (int)bytes, shown, cut ? "..." : "", taken < room ? room - taken : 0, "");
}

static void print_figures(const double ns[2], const resample_change *change) {
  char a[32], b[32], of[32], low[32], high[32];
  printf("%*s%*s%*s", FIGURE_COLUMNS, diff_words_ms(ns[0], a), FIGURE_COLUMNS, diff_words_ms(ns[1], b), FIGURE_COLUMNS,
         diff_words_ms_change(change->change, of));
  if (!(change->low < change->high))
    putchar('\n'); /* no interval, or no step differs from another: no spread is known */
  else
    printf("  %s to %s\n", diff_words_ms_change(change->low, low), diff_words_ms_change(change->high, high));
}

/* ---- the sentence and the notes ---- */

static void print_sentence(const difference *self, bool color) {
  char text[DIFF_WORDS_BYTES];
  diff_words_sentence(self, text, sizeof text);
  const char *word = comparison_word(self->verdict);
  printf("%s%s%s", color ? comparison_color(self->verdict) : "", word, color ? "\033[0m" : "");
  wrap_print(text, (int)strlen(word), TEXT_INDENT);
}

static void print_note(void *user, const char *text) {
  (void)user;
  wrap_print(text, 0, TEXT_INDENT);
}

/* ---- the tables ---- */

static void print_side(char letter, const diff_side *of) {
  char text[NAME_BYTES];
  const int behind = of->has_loop
                         ? snprintf(text, sizeof text, "  %u step%s", of->step_count, of->step_count == 1 ? "" : "s")
                         : snprintf(text, sizeof text, "  no loop");
  const char *slash = strrchr(of->path, '/');
  printf("%c  ", letter);
  print_name(slash ? slash + 1 : of->path, 0, LINE_COLUMNS - 3 - behind);
  puts(text);
}

static void print_heading(const char *text) {
  printf("\n%-*s%*s%*s%*s  95 %% interval\n", NAME_COLUMNS, text, FIGURE_COLUMNS, "A", FIGURE_COLUMNS, "B",
         FIGURE_COLUMNS, "change");
}

static void print_steps(const difference *self) {
  char a[32], b[32], of[32], text[64];
  const char *subject = diff_words_subject(self);
  snprintf(text, sizeof text, "Milliseconds of a %s", subject);
  print_heading(text);
  snprintf(text, sizeof text, "Whole %s, median", subject);
  print_name(text, 0, NAME_COLUMNS);
  printf("%*s%*s%*s\n", FIGURE_COLUMNS, diff_words_ms(self->median_ns[0], a), FIGURE_COLUMNS,
         diff_words_ms(self->median_ns[1], b), FIGURE_COLUMNS,
         diff_words_ms_change(self->median_ns[1] - self->median_ns[0], of));
  snprintf(text, sizeof text, "Whole %s, mean", subject);
  print_name(text, 0, NAME_COLUMNS);
  print_figures(self->mean_ns, &self->change);
}

static const char *mark_of(const diff_row *row) {
  if (!row->shapes[0]) return "new: ";
  if (!row->shapes[1]) return "gone: ";
  return strcmp(row->shapes[0], row->shapes[1]) != 0 ? "other shape: " : "";
}

/* Without the type that a kernel returns, which is the same of all. */
static const char *short_name(const char *name) { return strncmp(name, "void ", 5) == 0 ? name + 5 : name; }

static void print_list(const difference *self, diff_kind kind, const char *title) {
  const diff_list *of = &self->lists[kind];
  if (!of->count || !diff_words_is_worth(self, &of->rows[0].change)) return;
  puts(title);
  for (uint32_t i = 0; i < of->count && diff_words_is_worth(self, &of->rows[i].change); i++) {
    const diff_row *row = &of->rows[i];
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s", mark_of(row), short_name(row->name));
    print_name(name, 2, NAME_COLUMNS);
    print_figures(row->ns, &row->change);
  }
}

static void print_causes(const difference *self) {
  bool titled = false;
  for (uint32_t i = 0; i < self->cause_count; i++) {
    const diff_cause *at = &self->causes[i];
    if (!diff_words_is_worth(self, &at->change)) continue;
    char name[128];
    const char *text = verdict_text(at->cause);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    if (!titled) puts("What a step would save without a cause");
    titled = true;
    print_name(name, 2, NAME_COLUMNS);
    print_figures((const double[]){at->gains[0].ns, at->gains[1].ns}, &at->change);
  }
}

static void print_counts(const difference *self) {
  static const char *const names[] = {[DIFF_KERNEL] = "kernels", [DIFF_OPERATOR] = "operators"};
  bool first = true;
  for (diff_kind kind = DIFF_KERNEL; kind < DIFF_KIND_COUNT; kind++) {
    const diff_list *of = &self->lists[kind];
    if (!of->added && !of->gone) continue;
    printf("%s%s %u new, %u gone", first ? "\nBy name and shape: " : "; ", names[kind], of->added, of->gone);
    first = false;
  }
  if (!first) putchar('\n');
}

void diff_report_text(const difference *self, bool color) {
  print_side('A', self->sides[0]);
  print_side('B', self->sides[1]);
  print_sentence(self, color);
  diff_words_notes(self, print_note, NULL);
  print_steps(self);
  print_list(self, DIFF_LEDGER, diff_words_goes(self));
  print_causes(self);
  print_list(self, DIFF_KERNEL, "Kernels and copies");
  print_list(self, DIFF_OPERATOR,
             self->has_device ? "Operators, by the device time launched in them" : "Operators, by their own host time");
  print_counts(self);
}
