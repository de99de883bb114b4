/* See diff_words.h. */
#include "diff_words.h"

#include "base/visible.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = DIFF_WORDS_BYTES / 2 };

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

/* A change that explains a good part of the step's, for certain. */
static bool explains(const difference *self, const resample_change *of, bool is_sure) {
  const double step = self->change.change;
  return is_sure && of->change * step > 0 && fabs(of->change) >= 0.25 * fabs(step);
}

/* The cause, or else the part of the step, that explains most of the change. False: none does for certain. */
static bool explain(const difference *self, char text[TEXT_BYTES]) {
  char a[32], b[32];
  const diff_list *of = &self->lists[DIFF_LEDGER];
  for (uint32_t i = 0; i < self->cause_count && self->verdict != OUTCOME_UNCLEAR; i++) {
    const diff_cause *at = &self->causes[i];
    const char *name = verdict_text(at->cause);
    if (!explains(self, &at->change, at->is_sure)) continue;
    snprintf(text, TEXT_BYTES, "\"%.*s\" costs %s ms a step in B and %s ms in A", (int)strcspn(name, ":"), name,
             diff_words_ms(at->gains[1].ns, b), diff_words_ms(at->gains[0].ns, a));
    return true;
  }
  for (uint32_t i = 0; i < of->count; i++) {
    const diff_row *row = &of->rows[i];
    if (!explains(self, &row->change, row->is_sure || !self->has_spread)) continue;
    snprintf(text, TEXT_BYTES, "\"%s\" takes %s ms of it in B and %s ms in A", row->name, diff_words_ms(row->ns[1], b),
             diff_words_ms(row->ns[0], a));
    return true;
  }
  return false;
}

void diff_words_sentence(const difference *self, char *text, size_t room) {
  char a[32], b[32], why[TEXT_BYTES];
  const diff_side *const *sides = self->sides;
  const char *in_b = diff_words_ms(self->median_ns[1], b), *in_a = diff_words_ms(self->median_ns[0], a);
  if (sides[0]->has_loop != sides[1]->has_loop) {
    const int looped = sides[1]->has_loop;
    snprintf(text, room, "A step of %c takes %s ms, and the whole recording of %c takes %s ms.", 'A' + looped,
             looped ? in_b : in_a, 'B' - looped, looped ? in_a : in_b);
    return;
  }
  const char *what = sides[0]->has_loop ? "A step" : "The whole recording";
  const bool is_explained = explain(self, why);
  if (self->verdict == OUTCOME_SAME) {
    snprintf(text, room, "A step takes as long in B as in A: %s and %s ms.", in_b, in_a);
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
    strcpy(why, "no part of it changed for certain");
  if (self->median_ns[0] > 0)
    snprintf(text, room, "%s takes %s ms in B and %s ms in A (%+.1f %%): %s.", what, in_b, in_a,
             100 * (self->median_ns[1] / self->median_ns[0] - 1), why);
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
  if (strcmp(a->device, b->device) == 0) return;
  visible_copy(names[0], sizeof names[0], a->device);
  visible_copy(names[1], sizeof names[1], b->device);
  snprintf(text, sizeof text, "A ran on %s and B on %s.", *names[0] ? names[0] : "a device without a name",
           *names[1] ? names[1] : "a device without a name");
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
