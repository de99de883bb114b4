/* See judge.h. */
#include "judge.h"

#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOWER 1.01

static uint32_t name_index(cause_names *self, const char *name) {
  for (uint32_t i = 0; i < self->count; i++)
    if (!strcmp(self->all[i], name)) return i;
  if (self->count == FIGURES_CAUSES) {
    if (!self->left_over) self->left_over = name;
    return 0;
  }
  self->all[self->count] = name;
  return self->count++;
}

/* The median step of the runs that are baselines of `class`; 0 where none ended well. */
static double baseline_step(const score *self, uint32_t class, double *room) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < self->corpus->cell_count; i++) {
    const corpus_cell *cell = &self->corpus->cells[i];
    if (cell->is_baseline && cell->baseline == class && self->readings[i].step_ns > 0)
      room[count++] = self->readings[i].step_ns;
  }
  stats_sort(room, count);
  return stats_quantile(room, count, 0.5);
}

/* A scenario's own cure has a key of [scenario]; one of the core's alone has none. */
static bool is_own(const fix_trial *fix) {
  return fix->settings && (!strncmp(fix->settings, "scenario.", 9) || strstr(fix->settings, " scenario."));
}

static double fix_error(const reading *of, const fix_trial *fix) {
  if (!(of->expected_ns > 0 && fix->step_ns > 0)) return NAN;
  const double pace = fix->without_ns > 0 && of->step_ns > 0 ? fix->without_ns / of->step_ns : 1; /* of its machine */
  return fabs(of->expected_ns * pace - fix->step_ns) / fix->step_ns;
}

/* Both effects were measured. */
static bool is_mixed(const corpus_group *group, const reading *of) {
  return group->also[0] && of->step_ns > 0 && !isnan(of->label.effect) && !isnan(of->label.also);
}

/* The widest interval of a saving that judges a gain: of steps of 0.2 ms, the three rounds of a run may differ by a
 * half. */
#define KNOWN_WIDTH 0.10
/* By how much the step that a cure shortens may differ from those of the window. Machines change their pace: a step of
 * 0.79 ms took 1.04 ms two seconds later, and its graph saved twice as much. */
#define KNOWN_PACE 0.10

/* Whether a cure was measured at the window's pace. Its rounds have no recorder, and neither have the run's own: their
 * steps take equally long. The steps before the window take no longer than that. They may take less, since the loader
 * has batches ready then. The recorded steps of the window take no less. */
static bool is_of_pace(const reading *of, const truth_label_cure *at) {
  const double own_ns = of->label.step_ns;
  if (at->step_ns <= 0) return true;
  if (own_ns > 0 && fabs(at->step_ns - own_ns) > KNOWN_PACE * own_ns) return false;
  return at->step_ns >= (1 - KNOWN_PACE) * of->unprofiled_ns &&
         (of->recorded_ns <= 0 || at->step_ns <= (1 + KNOWN_PACE) * of->recorded_ns);
}

/* Whether what a cure saves is known well enough to judge by. */
static bool is_known(const reading *of, const truth_label_cure *at) {
  return at->high - at->low <= KNOWN_WIDTH && is_of_pace(of, at);
}

/* What a cause of a mixed run costs, and the ends of its interval. */
typedef struct cost {
  double share, low, high;
} cost;

/* It is what its first cure saves of those that remove nothing beside it, if that is known; else what the step takes
 * less without the injection. The loop's thread also loads what was not injected. */
static cost mixed_cost(const reading *of, const char *cause, double injected) {
  for (uint32_t i = 0; i < of->label.cure_count; i++) {
    const truth_label_cure *at = &of->label.cures[i];
    if (at->predicted && !strcmp(at->cause, cause) && is_known(of, at)) return (cost){at->share, at->low, at->high};
  }
  return (cost){injected, injected, injected};
}

static cost first_cost(const corpus_group *group, const reading *of) {
  return mixed_cost(of, group->expect, of->label.effect);
}

static cost second_cost(const corpus_group *group, const reading *of) {
  return mixed_cost(of, group->also, of->label.also);
}

static bool is_other(const corpus_group *group, const reading *of) {
  return is_mixed(group, of) && second_cost(group, of).share > first_cost(group, of).share;
}

/* The cure that saves most of a run, of those that remove nothing beside their cause: for the injected cause, or for
 * causes that were not injected. NULL: none was run. */
static const truth_label_cure *best_cure(const corpus_group *group, const reading *of, bool injected) {
  const truth_label_cure *best = NULL;
  for (uint32_t i = 0; i < of->label.cure_count; i++) {
    const truth_label_cure *at = &of->label.cures[i];
    const bool is_expected = strcmp(at->cause, group->expect) == 0;
    if (!at->predicted || !is_of_pace(of, at)) continue;
    if (injected ? !is_expected : is_expected || !strcmp(at->cause, group->also)) continue;
    if (!best || at->share > best->share) best = at;
  }
  return best;
}

/* What the cause of an injection costs, as the run measured it: what its cure saves, else what the step takes less
 * without the injection. NaN: it measured neither. Without small operations the device has less work, too, so that only
 * a graph says what launching costs: a run of graphs has no such cost. */
static double injected_effect(const corpus_group *group, const reading *of) {
  const truth_label_cure *best = best_cure(group, of, true);
  if (is_mixed(group, of)) return fmax(first_cost(group, of).share, second_cost(group, of).share);
  if (best) return best->share;
  return of->in_graphs && !strcmp(group->expect, "launch_bound") ? 0 : of->label.effect;
}

/* The cure that may say what a run is held up by: of a run that measured no effect of its injection, none does. */
static const truth_label_cure *rival_cure(const corpus_group *group, const reading *of) {
  const truth_label_cure *best = best_cure(group, of, false);
  return best && of->least > 0 && !group->by_baselines ? best : NULL;
}

/* What a cure of another cause has to save more than: the injection's cost. It is `least` where nothing is injected,
 * and the larger of the two where the injection is not on the path. */
static double costs_beside(const corpus_group *group, const reading *of, double least) {
  if (!strcmp(group->expect, "none")) return least;
  const double injected = injected_effect(group, of);
  return group->off_path ? fmax(least, injected) : injected;
}

/* What else than its injection a run is held up by: a cure saves as much as makes a cause, and more than leaving the
 * injection out. NULL: nothing. */
static const truth_label_cure *own_cause(const corpus_group *group, const reading *of) {
  const truth_label_cure *best = rival_cure(group, of);
  if (!best || best->share < of->least) return NULL;
  return best->low > costs_beside(group, of, of->least / 2) ? best : NULL;
}

/* Whether a cure of the window's pace tells what this cause alone costs. */
static bool is_told(const reading *of, const char *cause) {
  for (uint32_t i = 0; i < of->label.cure_count; i++) {
    const truth_label_cure *at = &of->label.cures[i];
    if (at->predicted && is_of_pace(of, at) && !strcmp(at->cause, cause)) return true;
  }
  return false;
}

/* Whether a cure may save as much as makes a cause, but removes more than that or was measured at another pace, and
 * none tells what this cause alone costs. */
static bool may_have_cause(const reading *of) {
  if (!(of->least > 0 && of->step_ns > 0)) return false; /* a run that failed is wrong */
  for (uint32_t i = 0; i < of->label.cure_count; i++) {
    const truth_label_cure *at = &of->label.cures[i];
    if ((!is_of_pace(of, at) || at->high >= of->least) && !is_told(of, at->cause)) return true;
  }
  return false;
}

/* The same of a run with an injection, whose cures of more than their cause do not count: whether one of another pace
 * may save more than the injection costs, or was to tell what that costs. */
static bool may_have_other(const corpus_group *group, const reading *of) {
  for (uint32_t i = 0; i < of->label.cure_count; i++) {
    const truth_label_cure *at = &of->label.cures[i];
    if (!at->predicted || is_of_pace(of, at) || is_told(of, at->cause)) continue;
    if (!strcmp(at->cause, group->expect)) {
      if (at->is_graph) return true; /* control steps do not tell what launching costs */
    } else if (strcmp(at->cause, group->also) != 0 && at->high > costs_beside(group, of, of->least)) {
      return true;
    }
  }
  return false;
}

/* Whether chance decides on which side of the limit the run lies, or which of two causes is the larger; or whether
 * nothing tells what a baseline is held up by. */
static bool is_borderline(const corpus_group *group, const reading *of) {
  const bool is_baseline = !strcmp(group->expect, "none");
  const truth_label_cure *best = rival_cure(group, of);
  const cost first = first_cost(group, of), second = second_cost(group, of);
  if (is_mixed(group, of) && first.low < second.high && second.low < first.high) return true;
  if (!group->by_baselines && (is_baseline ? may_have_cause(of) : may_have_other(group, of))) return true;
  if (!best || (!is_baseline && !group->off_path && best->share < of->least)) return false;
  const double limit = costs_beside(group, of, of->least);
  return best->low < limit && best->high > limit;
}

const char *judge_truth(const corpus_group *group, const reading *of) {
  const truth_label_cure *own = own_cause(group, of);
  if (own) return own->cause;
  return is_other(group, of) ? group->also : group->expect;
}

/* For each cause, the first cure whose saving its gain predicts. */
static void take_gain_errors(const reading *of, judged *out) {
  for (uint32_t i = 0; i < of->label.cure_count && of->step_ns > 0; i++) {
    const truth_label_cure *at = &of->label.cures[i];
    bool is_first = at->predicted;
    for (uint32_t k = 0; k < i; k++)
      is_first &= !of->label.cures[k].predicted || strcmp(of->label.cures[k].cause, at->cause) != 0;
    const double predicted = at->is_graph ? of->captured : reading_share(of, at->cause);
    if (!is_first) continue;
    if (!is_known(of, at))
      out->unknown_gains++;
    else
      out->gain_errors[out->gain_count++] = 100 * (predicted - at->share);
  }
}

static double mixed_error(const corpus_group *group, const reading *of) {
  if (!is_mixed(group, of)) return NAN;
  return 0.5 * (fabs(reading_share(of, group->expect) - first_cost(group, of).share) +
                fabs(reading_share(of, group->also) - second_cost(group, of).share));
}

/* What the verdict says of the program: that recording takes the most time is said where nothing of it does. */
static const char *blamed(const reading *of) { return strcmp(of->cause, "profiler") ? of->cause : "none"; }

bool judge_is_slower(double step_ns, double with_ns) { return step_ns > 0 && with_ns > SLOWER * step_ns; }

static bool is_slower(const fix_trial *fix) { return fix->settings && judge_is_slower(fix->without_ns, fix->step_ns); }

/* What the verdict says that its cause saves: of launching, where a graph measured that, what a graph is to save. */
static double share_of(const reading *of, const truth_label_cure *measured) {
  const bool by_graph = measured && measured->is_graph && !strcmp(of->cause, measured->cause);
  return by_graph ? of->captured : of->share;
}

/* Small effects do not count; a run that failed counts as wrong whatever its effect. */
static void judge_cell(score *self, uint32_t i, double base) {
  const corpus_cell *cell = &self->corpus->cells[i];
  const corpus_group *group = &self->corpus->groups[cell->group];
  const reading *of = &self->readings[i];
  const double measured = injected_effect(group, of);
  const bool is_measured = !isnan(measured) && !group->by_baselines,
             has_effect = of->step_ns > 0 && (is_measured || base > 0);
  const double against_runs = has_effect ? 1 - base / of->step_ns : 0;
  const truth_label_cure *own = own_cause(group, of);
  const double injected = is_measured ? measured : against_runs;
  const double effect = own ? own->share : cell->is_baseline ? 0 : injected;
  const bool is_small = !cell->is_baseline && has_effect && effect < self->corpus->min_effect;
  self->judged[i] = (judged){.truth = name_index(&self->causes, judge_truth(group, of)),
                             .verdict = name_index(&self->causes, blamed(of)),
                             .counts = !is_small && !is_borderline(group, of),
                             .off_path = is_small && group->off_path,
                             .untold = may_have_cause(of) || (group->off_path && is_borderline(group, of)),
                             .held_out = cell->held_out,
                             .effect = effect,
                             .share = share_of(of, own ? own : best_cure(group, of, true)),
                             .repeatable = of->repeatable,
                             .idle_ns = of->idle_ns,
                             .unknown_ns = of->unknown_ns,
                             .mixed_error = mixed_error(group, of),
                             .fix_error = fix_error(of, &self->fixes[i]),
                             .fix_is_own = is_own(&self->fixes[i]),
                             .fix_without_step = self->fixes[i].settings && !(self->fixes[i].step_ns > 0),
                             .fix_is_slower = is_slower(&self->fixes[i])};
  take_gain_errors(of, &self->judged[i]);
}

/* The cells of a part, into `out`; their number. */
static uint32_t choose(const score *self, uint32_t part, judged *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < self->corpus->cell_count; i++)
    if (part == PART_ALL || self->judged[i].held_out == (part == PART_HELD_OUT)) out[count++] = self->judged[i];
  return count;
}

/* The same cells with a rival's verdict, which comes without figures. */
static void choose_rival(score *self, uint32_t part, uint32_t which, judged *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < self->corpus->cell_count; i++) {
    if (part != PART_ALL && self->judged[i].held_out != (part == PART_HELD_OUT)) continue;
    const char *verdict = self->readings[i].rivals[which];
    out[count] = self->judged[i];
    out[count].fix_error = out[count].mixed_error = NAN;
    out[count].fix_without_step = out[count].fix_is_slower = false;
    out[count].gain_count = 0;
    out[count++].verdict = name_index(&self->causes, verdict ? verdict : "failed");
  }
}

/* All names first, so that every part has the same causes. */
static void name_rivals(score *self) {
  for (uint32_t i = 0; i < self->corpus->cell_count; i++)
    for (uint32_t r = 0; r < RIVAL_COUNT; r++)
      (void)name_index(&self->causes, self->readings[i].rivals[r] ? self->readings[i].rivals[r] : "failed");
}

static bool make_part(score *self, uint32_t part, judged *room) {
  static const struct {
    const char *key, *title;
  } names[PART_COUNT] = {{"all", "all cells"}, {"calibration", "calibration"}, {"held_out", "held out"}};
  score_part *out = &self->parts[part];
  out->key = names[part].key;
  out->title = names[part].title;
  const uint32_t count = choose(self, part, room);
  bool ok = figures_make(room, count, self->causes.count, &out->ours);
  for (uint32_t r = 0; ok && r < RIVAL_COUNT; r++) {
    choose_rival(self, part, r, room);
    ok = figures_make(room, count, self->causes.count, &out->rivals[r]);
  }
  return ok;
}

bool score_judge(score *self, error *err) {
  const uint32_t count = self->corpus->cell_count;
  double *bases = calloc(self->corpus->baseline_classes + 1u, sizeof *bases),
         *steps = malloc((count + 1u) * sizeof *steps);
  judged *room = calloc(count + 1u, sizeof *room);
  bool ok = bases && steps && room;
  self->causes = (cause_names){.all = {"none"}, .count = 1};
  for (uint32_t c = 0; ok && c < self->corpus->baseline_classes; c++) bases[c] = baseline_step(self, c, steps);
  for (uint32_t i = 0; ok && i < count; i++) judge_cell(self, i, bases[self->corpus->cells[i].baseline]);
  if (ok) name_rivals(self);
  ok = ok && !self->causes.left_over;
  self->part_count = self->corpus->hold_out > 1 ? PART_COUNT : 1;
  for (uint32_t part = 0; ok && part < self->part_count; part++) ok = make_part(self, part, room);
  free(bases);
  free(steps);
  free(room);
  if (self->causes.left_over)
    error_set(err, PD_INVALID, CODE_CONFIG, "score: %s: verdicts of more than %d names; leave causes out of the corpus",
              self->causes.left_over, FIGURES_CAUSES);
  else if (!ok)
    error_no_memory(err);
  return ok;
}
