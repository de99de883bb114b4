/* See pairs.h. */
#include "pairs.h"

#include "rounds.h"
#include "sample_ratio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_label(const sample *a, const sample *b) { return strcmp(sample_label(a), sample_label(b)) == 0; }

/* env is left out: it is what tells two builds or machines apart. */
static bool same_task(const sample *a, const sample *b) {
  return a->of->threads == b->of->threads && same_label(a, b) && strcmp(sample_row_name(a), sample_row_name(b)) == 0 &&
         samples_same_text(a->of->description, b->of->description);
}

/* Whether both are what one `pdhost ab` measured, and nothing else was merged with it. */
static bool in_turns(const sample *a, const sample *b, rounds *turns) {
  return a->figures.count == a->of->block_count && b->figures.count == b->of->block_count &&
         rounds_of(a->of, a->times, b->of, b->times, turns);
}

/* For two samples that are all there are. What was measured in turns is to be compared, whatever it is called. */
static bool belong_together(const sample *a, const sample *b) {
  rounds turns;
  return same_label(a, b) || in_turns(a, b, &turns);
}

static bool add(sample_pairs *self, const sample *a, const sample *b, double margin) {
  sample_pair *to = &self->all[self->count++];
  *to = (sample_pair){.a = a, .b = b};
  to->timeless = !sample_takes_time(a) || !sample_takes_time(b);
  if (to->timeless) return true;
  rounds turns;
  if (in_turns(a, b, &turns)) {
    if (!rounds_ratio(&turns, &to->rounds)) return false;
    to->of = to->rounds.of;
    to->verdict = comparison_paired(&to->rounds, margin);
    return true;
  }
  sample_ratio found;
  if (!sample_ratio_of(a, b, margin, &found)) return false;
  to->of = found.of;
  to->verdict = found.found;
  return true;
}

/* The samples of file `other` against those of the first. */
static bool pair_files(const samples *from, uint32_t other, double margin, sample_pairs *out) {
  uint32_t count[2] = {0, 0};
  bool *taken = calloc(from->count, sizeof *taken);
  bool ok = taken != NULL;
  for (uint32_t i = 0; i < from->count; i++)
    if (from->all[i].file == 0 || from->all[i].file == other) count[from->all[i].file != 0]++;
  const bool only_one = count[0] == 1 && count[1] == 1;
  for (uint32_t i = 0; i < from->count && ok; i++) {
    const sample *a = &from->all[i];
    for (uint32_t k = 0; k < from->count && a->file == 0 && !taken[i] && ok; k++) {
      const sample *b = &from->all[k];
      if (b->file != other || taken[k] || !(only_one ? belong_together(a, b) : same_task(a, b))) continue;
      taken[i] = taken[k] = true;
      ok = add(out, a, b, margin);
    }
  }
  for (uint32_t i = 0; i < from->count && ok; i++)
    if (!taken[i] && (from->all[i].file == 0 || from->all[i].file == other))
      out->alone[out->alone_count++] = &from->all[i];
  free(taken);
  return ok;
}

bool sample_pairs_make(const samples *from, double margin, bool against, sample_pairs *out) {
  const uint32_t pairs = from->file_count > 1 ? from->file_count - 1 : 1; /* of files, each with every sample at most */
  *out = (sample_pairs){.all = calloc((size_t)pairs * (from->count + 1u), sizeof *out->all),
                        .alone = calloc((size_t)pairs * (from->count + 1u), sizeof(void *))};
  bool ok = out->all && out->alone;
  for (uint32_t other = 1; other < from->file_count && ok && (against || from->file_count == 2); other++)
    ok = pair_files(from, other, margin, out);
  if (ok && from->file_count == 1 && from->count == 2 && belong_together(&from->all[0], &from->all[1]))
    ok = add(out, &from->all[0], &from->all[1], margin);
  if (!ok) sample_pairs_free(out);
  return ok;
}

void sample_pairs_free(sample_pairs *self) {
  free(self->all);
  free(self->alone);
  *self = (sample_pairs){.all = NULL};
}

/* ", mul_sum" or ", mul_sum -> bmm". */
static void name_both(const char *a, const char *b, const char *before, FILE *out) {
  const bool same = samples_same_text(a, b);
  if (same && !(a && a[0])) return;
  fprintf(out, "%s%s", before, a && a[0] ? a : "(none)");
  if (!same) fprintf(out, " -> %s", b && b[0] ? b : "(none)");
}

const char *sample_pair_title(const sample_pair *self, char *text, size_t room) {
  const pd_measurement *a = self->a->of, *b = self->b->of;
  const char *described = self->a->file == self->b->file && !samples_same_text(a->description, b->description)
                              ? NULL /* the sides are called by it */
                              : a->description;
  FILE *out = fmemopen(text, room, "w");
  text[0] = '\0';
  if (!out) return text;
  name_both(sample_label(self->a), sample_label(self->b), "", out);
  name_both(a->sub_label, b->sub_label, ": ", out);
  name_both(described, self->a->file == self->b->file ? described : b->description, ", ", out);
  if (a->threads != b->threads)
    fprintf(out, ", %llu -> %llu threads", (unsigned long long)a->threads, (unsigned long long)b->threads);
  else if (a->threads > 1)
    fprintf(out, ", %llu threads", (unsigned long long)a->threads);
  fclose(out);
  text[room - 1] = '\0';
  return text;
}

const char *sample_pair_side(const samples *from, const sample *of, const sample *other, char *text, size_t room) {
  if (of->file != other->file)
    snprintf(text, room, "%s", from->names[of->file]);
  else if (!samples_same_text(of->of->description, other->of->description))
    snprintf(text, room, "%s", of->of->description ? of->of->description : "the one without a description");
  else if (!samples_same_text(of->of->env, other->of->env))
    snprintf(text, room, "%s", of->of->env ? of->of->env : "the one without an env");
  else if (of->of->threads != other->of->threads)
    snprintf(text, room, "%llu threads", (unsigned long long)of->of->threads);
  else
    (void)measurement_title(of->of, text, room);
  return text;
}

static void tell_pairs(const pd_pairs *a, const pd_pairs *b,
                       void (*tell)(void *user, const char *key, const char *a, const char *b), void *user) {
  for (uint64_t i = 0; i < a->count; i++) {
    const char *other = pairs_get(b, a->rows[i].key);
    if (!samples_same_text(a->rows[i].value, other)) tell(user, a->rows[i].key, a->rows[i].value, other);
  }
  for (uint64_t i = 0; i < b->count; i++)
    if (!pairs_get(a, b->rows[i].key)) tell(user, b->rows[i].key, NULL, b->rows[i].value);
}

void sample_pair_differences(const sample_pair *self,
                             void (*tell)(void *user, const char *key, const char *a, const char *b), void *user) {
  const pd_measurement *a = self->a->of, *b = self->b->of;
  if (!samples_same_text(a->scenario, b->scenario)) tell(user, "scenario", a->scenario, b->scenario);
  if (!samples_same_text(a->device, b->device)) tell(user, "device", a->device, b->device);
  tell_pairs(&a->versions, &b->versions, tell, user);
  tell_pairs(&a->options, &b->options, tell, user);
}
