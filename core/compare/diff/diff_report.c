/* See diff_report.h: for people. */
#include "diff_report.h"

#include "base/text_width.h"
#include "base/visible.h"
#include "base/wrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  NAME_COLUMNS = 35,
  FIGURE_COLUMNS = 9,
  TEXT_INDENT = 9,
  TEXT_BYTES = DIFF_REPORT_BYTES / 2,
  NAME_BYTES = 4096,
  LINE_COLUMNS = 79
};

/* ---- pieces ---- */

/* Three significant digits, never an exponent. */
static const char *number(double value, bool with_sign, char text[32]) {
  const double size = fabs(value);
  if (size < 0.0005) return "0";
  const int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  snprintf(text, 32, with_sign ? "%+.*f" : "%.*f", digits, value);
  return text;
}
static const char *ms(double ns, char text[32]) { return number(1e-6 * ns, false, text); }
static const char *ms_change(double ns, char text[32]) { return number(1e-6 * ns, true, text); }

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
  printf("%*s%*s%*s", FIGURE_COLUMNS, ms(ns[0], a), FIGURE_COLUMNS, ms(ns[1], b), FIGURE_COLUMNS,
         ms_change(change->change, of));
  if (change->low >= change->high)
    putchar('\n'); /* no step differs from another: no spread is known */
  else
    printf("  %s to %s\n", ms_change(change->low, low), ms_change(change->high, high));
}

/* ---- the sentence ---- */

/* A change that explains a good part of the step's, for certain. */
static bool explains(const difference *self, const resample_change *of) {
  const double step = self->change.change;
  return (of->low > 0 || of->high < 0) && of->change * step > 0 && fabs(of->change) >= 0.25 * fabs(step);
}

/* The cause, or else the part of the step, that explains most of the change. False: none does for certain. */
static bool explain(const difference *self, char text[TEXT_BYTES]) {
  char a[32], b[32];
  const diff_list *of = &self->lists[DIFF_LEDGER];
  for (uint32_t i = 0; i < self->cause_count && self->verdict != OUTCOME_UNCLEAR; i++) {
    const diff_cause *at = &self->causes[i];
    const char *name = verdict_text(at->cause);
    if (!explains(self, &at->change)) continue;
    snprintf(text, TEXT_BYTES, "\"%.*s\" costs %s ms a step in B and %s ms in A", (int)strcspn(name, ":"), name,
             ms(at->gains[1].ns, b), ms(at->gains[0].ns, a));
    return true;
  }
  for (uint32_t i = 0; i < of->count; i++) {
    const diff_row *row = &of->rows[i];
    if (!explains(self, &row->change)) continue;
    snprintf(text, TEXT_BYTES, "\"%s\" takes %s ms of it in B and %s ms in A", row->name, ms(row->ns[1], b),
             ms(row->ns[0], a));
    return true;
  }
  return false;
}

void diff_report_sentence(const difference *self, char *text, size_t room) {
  char a[32], b[32], why[TEXT_BYTES] = "no part of it changed for certain";
  if (self->sides[0]->cut || self->sides[1]->cut)
    strcpy(why, "but events are missing");
  else if (!explain(self, why) && !self->has_device)
    strcpy(why, "the files do not say what the device did in it");
  const char *in_b = ms(self->median_ns[1], b), *in_a = ms(self->median_ns[0], a);
  if (self->verdict == OUTCOME_SAME)
    snprintf(text, room, "A step takes as long in B as in A: %s and %s ms.", in_b, in_a);
  else if (self->median_ns[0] > 0)
    snprintf(text, room, "A step takes %s ms in B and %s ms in A (%+.1f %%): %s.", in_b, in_a,
             100 * (self->median_ns[1] / self->median_ns[0] - 1), why);
  else
    snprintf(text, room, "A step takes %s ms in B and no time in A.", in_b);
}

static void print_sentence(const difference *self, bool color) {
  char text[DIFF_REPORT_BYTES];
  diff_report_sentence(self, text, sizeof text);
  const char *word = comparison_word(self->verdict);
  printf("%s%s%s", color ? comparison_color(self->verdict) : "", word, color ? "\033[0m" : "");
  wrap_print(text, (int)strlen(word), TEXT_INDENT);
}

static void print_note(void *user, const char *text) {
  (void)user;
  wrap_print(text, 0, TEXT_INDENT);
}

void diff_report_notes(const difference *self, void (*tell)(void *user, const char *text), void *user) {
  const diff_side *a = self->sides[0], *b = self->sides[1];
  char text[TEXT_BYTES];
  const uint32_t least = a->step_count < b->step_count ? a->step_count : b->step_count;
  if (least < DIFF_STEPS_LEAST) {
    snprintf(text, sizeof text, "%u step%s on a side %s too few for a direction; record %d or more in both.", least,
             least == 1 ? "" : "s", least == 1 ? "is" : "are", DIFF_STEPS_LEAST);
    tell(user, text);
  } else if (self->verdict == OUTCOME_UNCLEAR && !a->cut && !b->cut) {
    tell(user, "The steps of a side differ so much that chance alone may have parted the two; record more of them.");
  }
  if (a->has_device != b->has_device) {
    snprintf(text, sizeof text, "%s has no device records, so only the steps are compared.", a->has_device ? "B" : "A");
    tell(user, text);
  }
  if (strcmp(a->device, b->device) != 0) {
    char left[256], right[256];
    visible_copy(left, sizeof left, a->device);
    visible_copy(right, sizeof right, b->device);
    snprintf(text, sizeof text, "A ran on %s and B on %s.", left[0] ? left : "a device without a name",
             right[0] ? right : "a device without a name");
    tell(user, text);
  }
  for (int side = 0; side < 2; side++) {
    const diff_side *of = self->sides[side];
    if (of->cut) {
      snprintf(text, sizeof text,
               "A part of %c could not be read: what changed is not known. Copy the whole file again.", 'A' + side);
      tell(user, text);
      continue; /* its gains are withheld for that */
    }
    if (of->gain_steps || !of->withheld) continue;
    snprintf(text, sizeof text, "The gains of %c are %s.", 'A' + side, of->withheld);
    tell(user, text);
  }
}

/* ---- the tables ---- */

static void print_side(char letter, const diff_side *of) {
  char text[NAME_BYTES];
  const int behind = snprintf(text, sizeof text, "  %u step%s", of->step_count, of->step_count == 1 ? "" : "s");
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
  char a[32], b[32], of[32];
  print_heading("Milliseconds of a step");
  print_name("Whole step, median", 0, NAME_COLUMNS);
  printf("%*s%*s%*s\n", FIGURE_COLUMNS, ms(self->median_ns[0], a), FIGURE_COLUMNS, ms(self->median_ns[1], b),
         FIGURE_COLUMNS, ms_change(self->median_ns[1] - self->median_ns[0], of));
  print_name("Whole step, mean", 0, NAME_COLUMNS);
  print_figures(self->mean_ns, &self->change);
}

static const char *mark_of(const diff_row *row) {
  if (!row->shapes[0]) return "new: ";
  if (!row->shapes[1]) return "gone: ";
  return strcmp(row->shapes[0], row->shapes[1]) != 0 ? "other shape: " : "";
}

/* Without the type that a kernel returns, which is the same of all. */
static const char *short_name(const char *name) { return strncmp(name, "void ", 5) == 0 ? name + 5 : name; }

static bool is_worth_a_line(const difference *self, const diff_row *row) {
  return fabs(row->change.change) >= DIFF_REPORT_LEAST * self->mean_ns[0];
}

static void print_list(const difference *self, diff_kind kind, const char *title) {
  const diff_list *of = &self->lists[kind];
  if (!of->count || !is_worth_a_line(self, &of->rows[0])) return;
  puts(title);
  for (uint32_t i = 0; i < of->count && is_worth_a_line(self, &of->rows[i]); i++) {
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
    if (fabs(at->change.change) < DIFF_REPORT_LEAST * self->mean_ns[0]) continue;
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
  diff_report_notes(self, print_note, NULL);
  print_steps(self);
  print_list(self, DIFF_LEDGER, "Where the step goes");
  print_causes(self);
  print_list(self, DIFF_KERNEL, "Kernels and copies");
  print_list(self, DIFF_OPERATOR,
             self->has_device ? "Operators, by the device time launched in them" : "Operators, by their own host time");
  print_counts(self);
}
