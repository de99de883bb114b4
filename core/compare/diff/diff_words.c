/* See diff_words.h. */
#include "diff_words.h"

#include "base/visible.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = DIFF_WORDS_BYTES / 2 };
/* Per cent: steps whose interval reaches further are not called equal. */
enum { EQUAL_MOST = 5 };

/* Three significant digits, never an exponent. */
static const char *number(double value, bool with_sign, char text[32]) {
  const double size = fabs(value);
  if (size < 0.0005) return "0";
  const int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  snprintf(text, 32, with_sign ? "%+.*f" : "%.*f", digits, value);
  return text;
}
const char *diff_words_ms(double ns, char text[32]) { return number(1e-6 * ns, false, text); }
const char *diff_words_ms_change(double ns, char text[32]) { return number(1e-6 * ns, true, text); }

bool diff_words_is_worth(const difference *self, const resample_change *of) {
  return fabs(of->change) >= DIFF_WORDS_LEAST * self->mean_ns[0];
}

/* ---- the sentence ---- */

const char *diff_words_subject(const difference *self) {
  const bool a = self->sides[0]->has_loop, b = self->sides[1]->has_loop;
  return a && b ? "step" : a || b ? "step or recording" : "recording";
}

const char *diff_words_goes(const difference *self) {
  return self->sides[0]->has_loop && self->sides[1]->has_loop ? "Where the step goes" : "Where the time goes";
}

/* What the sentence names: a cause, or a row. */
typedef struct part {
  char name[64];
  const char *verb, *of; /* "takes", " of it" */
  double ns[2], change;
} part;

/* Whether the sentence may name a change, which is the same for all rows. Where no interval is known, it names what is
 * largest. `share`: only what is a good part of the step's own change. */
static bool can_be_named(const difference *self, const resample_change *of, bool is_sure, bool share) {
  const double step = self->change.change;
  if (share) return is_sure && of->change * step > 0 && fabs(of->change) >= 0.25 * fabs(step);
  return (is_sure || !self->has_spread) && diff_words_is_worth(self, of);
}

/* Leaves `out` alone where it has a larger one. */
static void take_cause(const difference *self, bool share, part *out) {
  for (uint32_t i = 0; i < self->cause_count; i++) {
    const diff_cause *at = &self->causes[i];
    const char *name = verdict_text(at->cause);
    if (!can_be_named(self, &at->change, at->is_sure, share)) continue;
    if (fabs(at->change.change) <= out->change) return;
    *out = (part){.verb = "costs", .of = " a step", .ns = {at->gains[0].ns, at->gains[1].ns}};
    out->change = fabs(at->change.change);
    snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(name, ":"), name);
    return; /* the largest comes first */
  }
}

static void take_row(const difference *self, diff_kind kind, bool share, part *out) {
  const diff_list *of = &self->lists[kind];
  for (uint32_t i = 0; i < of->count; i++) {
    const diff_row *row = &of->rows[i];
    if (!can_be_named(self, &row->change, row->is_sure, share)) continue;
    if (fabs(row->change.change) <= out->change) return;
    *out = (part){.verb = "takes", .of = kind == DIFF_LEDGER ? " of it" : "", .ns = {row->ns[0], row->ns[1]}};
    out->change = fabs(row->change.change);
    visible_copy(out->name, sizeof out->name, row->name);
    return;
  }
}

/* The cause, or else the part of the step, that explains most of the change. What none explains: the largest change of
 * a cause or a part; kernels and operators, which may lie beside other work, where neither has one. */
static bool explain(const difference *self, char text[TEXT_BYTES]) {
  char a[32], b[32];
  const char *before = "";
  part of = {.change = 0};
  if (self->verdict == OUTCOME_FASTER || self->verdict == OUTCOME_SLOWER) {
    take_cause(self, true, &of);
    if (!of.verb) take_row(self, DIFF_LEDGER, true, &of);
    if (!of.verb) before = "no one part explains that; ";
  }
  if (!of.verb) {
    take_cause(self, false, &of);
    take_row(self, DIFF_LEDGER, false, &of);
  }
  if (!of.verb) {
    take_row(self, DIFF_KERNEL, false, &of);
    take_row(self, DIFF_OPERATOR, false, &of);
  }
  if (!of.verb) return false;
  snprintf(text, TEXT_BYTES, "%s\"%s\" %s %s ms%s in B and %s ms in A", before, of.name, of.verb,
           diff_words_ms(of.ns[1], b), of.of, diff_words_ms(of.ns[0], a));
  return true;
}

/* Per cent by which a step of B may differ from one of A, by the interval. */
static double reach_of(const difference *self) {
  return 100 * fmax(fabs(self->step.low - 1), fabs(self->step.high - 1));
}

/* More steps could show that they are the same. */
static bool is_nearly_equal(const difference *self) {
  return self->has_spread && fabs(self->step.ratio - 1) <= self->margin && reach_of(self) <= EQUAL_MOST;
}

void diff_words_sentence(const difference *self, char *text, size_t room) {
  char a[32], b[32], why[TEXT_BYTES];
  const diff_side *const *sides = self->sides;
  const char *in_b = diff_words_ms(self->median_ns[1], b), *in_a = diff_words_ms(self->median_ns[0], a), *begins = ": ";
  if (sides[0]->has_loop != sides[1]->has_loop) {
    const int looped = sides[1]->has_loop;
    snprintf(text, room, "A step of %c takes %s ms, and the whole recording of %c takes %s ms.", 'A' + looped,
             looped ? in_b : in_a, 'B' - looped, looped ? in_a : in_b);
    return;
  }
  const char *what = sides[0]->has_loop ? "A step" : "The whole recording";
  const bool is_explained = explain(self, why);
  if (self->verdict == OUTCOME_SAME) {
    const int length = snprintf(text, room, "A step takes as long in B as in A: %s and %s ms, equal within %.1f %%",
                                in_b, in_a, reach_of(self));
    snprintf(text + length, room - (size_t)length, "%s%s.", is_explained ? "; but " : "", is_explained ? why : "");
    return;
  }
  if (sides[0]->cut || sides[1]->cut)
    strcpy(why, "but events are missing");
  else if (!is_explained && !self->has_device)
    snprintf(why, sizeof why, "what the device did in it is not known of %s",
             sides[0]->has_device   ? "B"
             : sides[1]->has_device ? "A"
                                    : "either");
  else if (!is_explained)
    snprintf(why, sizeof why, "no part of it changed for certain by %.1f %% or more", 100 * DIFF_WORDS_LEAST);
  else if (is_nearly_equal(self))
    begins = ", but ";
  if (self->median_ns[0] > 0)
    snprintf(text, room, "%s takes %s ms in B and %s ms in A (%+.1f %%)%s%s.", what, in_b, in_a,
             100 * (self->median_ns[1] / self->median_ns[0] - 1), begins, why);
  else
    snprintf(text, room, "%s takes %s ms in B and no time in A.", what, in_b);
}

/* ---- the notes ---- */

typedef struct notes {
  void (*tell)(void *user, const char *text);
  void *user;
} notes;

static void tell_loops(const difference *self, const notes *to) {
  char text[TEXT_BYTES];
  const diff_side *a = self->sides[0], *b = self->sides[1];
  if (!a->has_loop && !b->has_loop) {
    to->tell(to->user, "No loop was found in A, and none in B: the whole recordings are compared.");
  } else if (!a->has_loop || !b->has_loop) {
    snprintf(text, sizeof text, "No loop was found in %c: the whole recording is compared.", a->has_loop ? 'B' : 'A');
    to->tell(to->user, text);
  }
  for (int side = 0; side < 2; side++) {
    const uint32_t count = self->sides[side]->left_out;
    if (!count) continue;
    snprintf(text, sizeof text, "No loop was found in %u window%s of %c, which %s left out.", count,
             count == 1 ? "" : "s", 'A' + side, count == 1 ? "is" : "are");
    to->tell(to->user, text);
  }
}

/* Why no direction is given of steps. */
static void tell_doubt(const difference *self, const notes *to) {
  char text[TEXT_BYTES];
  const diff_side *a = self->sides[0], *b = self->sides[1];
  const uint32_t least = a->step_count < b->step_count ? a->step_count : b->step_count;
  if (!a->has_loop || !b->has_loop) return;
  if (least < DIFF_STEPS_LEAST)
    snprintf(text, sizeof text, "%u step%s on a side %s too few for a direction; record %d or more in both.", least,
             least == 1 ? "" : "s", least == 1 ? "is" : "are", DIFF_STEPS_LEAST);
  else if (self->verdict != OUTCOME_UNCLEAR || a->cut || b->cut || self->step.ratio <= 0)
    return;
  else if (is_nearly_equal(self))
    snprintf(text, sizeof text,
             "The step is equal within %.1f %%, and the margin is %.3g %%: record more steps to be sure.",
             reach_of(self), 100 * self->margin);
  else
    strcpy(text, "The steps of a side differ so much that chance alone may have parted the two; record more of them.");
  to->tell(to->user, text);
}

/* Records that no step launched are in no row. */
static void tell_records(const difference *self, const notes *to) {
  char text[TEXT_BYTES];
  const bool is_one = self->sides[0]->has_device != self->sides[1]->has_device;
  const bool is_loop = self->sides[0]->has_loop && self->sides[1]->has_loop;
  const char *compared = !is_one   ? ""
                         : is_loop ? ", so only the steps are compared"
                                   : ", so only the times are compared";
  for (int side = 0; side < 2; side++) {
    const diff_side *of = self->sides[side];
    if (of->has_device || (!of->records && !is_one)) continue;
    if (of->records)
      snprintf(text, sizeof text, "%c has %llu device records, but %s%s.", 'A' + side, (unsigned long long)of->records,
               of->calls ? "not one with the call that launched it" : "no calls that launched them", compared);
    else
      snprintf(text, sizeof text, "%c has no device records%s.", 'A' + side, compared);
    to->tell(to->user, text);
  }
}

static void tell_devices(const difference *self, const notes *to) {
  char text[TEXT_BYTES], names[2][256];
  const diff_side *a = self->sides[0], *b = self->sides[1];
  visible_copy(names[0], sizeof names[0], a->device);
  visible_copy(names[1], sizeof names[1], b->device);
  if (!*a->device && !*b->device) {
    if (a->records && b->records) to->tell(to->user, "The files do not name their devices.");
    return;
  }
  if (strcmp(a->device, b->device) == 0) return;
  if ((!*a->device && !a->records) || (!*b->device && !b->records)) return; /* it has none to name */
  if (*a->device && *b->device)
    snprintf(text, sizeof text, "A ran on %s and B on %s.", names[0], names[1]);
  else
    snprintf(text, sizeof text, "%c ran on %s; the file of %c does not name its device.", *a->device ? 'A' : 'B',
             *a->device ? names[0] : names[1], *a->device ? 'B' : 'A');
  to->tell(to->user, text);
}

void diff_words_notes(const difference *self, void (*tell)(void *user, const char *text), void *user) {
  const notes to = {tell, user};
  char text[TEXT_BYTES];
  tell_loops(self, &to);
  tell_doubt(self, &to);
  tell_records(self, &to);
  tell_devices(self, &to);
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
