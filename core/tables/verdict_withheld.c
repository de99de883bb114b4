/* See verdict_withheld.h. */
#include "verdict_withheld.h"

#include "verdict_evidence.h"

#include "trace/trace_steps.h"

#include <math.h>
#include <string.h>

bool verdict_steps_unknown(const trace_facts *facts) {
  const pd_trace *trace = facts->trace;
  return facts_is_read(trace) && facts->step_count == 1 && !(trace->facts & PD_FACT_STEPS) && !trace->steps_found;
}

static const char *steps_unknown(const pd_trace *trace, arena *memory) {
  const char *note = trace->steps_note;
  return arena_format(
      memory, "withheld: the program's loop was not found, so that its steps are not known%s%s; name them by --step",
      note ? ": " : "", note ? note : "");
}

/* What to do about it, where pdhost did not record the steps itself. */
static const char *too_few_steps(const trace_facts *facts, arena *memory) {
  const unsigned long long count = facts->step_count;
  return arena_format(memory, "withheld: %llu active step%s too few, %d are needed%s", count,
                      count == 1 ? " is" : "s are", VERDICT_MIN_STEPS,
                      facts_is_read(facts->trace) ? ": record more of them" : "");
}

/* Records of another program that no number ties to the calls. NULL: there are few. */
static const char *unnumbered(const trace_facts *facts, arena *memory) {
  uint64_t count = 0;
  char text[96];
  for (uint64_t i = 0; i < facts->activity_count; i++) count += !facts_activity(facts, i)->detail.correlation;
  if (!facts_is_read(facts->trace) || !facts->call_count ||
      (double)count <= (1 - VERDICT_MIN_COVERAGE) * (double)facts->activity_count)
    return NULL;
  return arena_format(memory, "withheld: %s", trace_unnumbered_text(text, sizeof text, count));
}

/* Launches of another program's recording that have no device record, where all but a few are its last ones. NULL: they
 * are not. */
static const char *late_launches(const trace_facts *facts, arena *memory) {
  const uint64_t late = facts_is_read(facts->trace) ? trace_late_launches(facts->trace) : 0;
  uint64_t launches = 0, matched = 0;
  for (uint64_t i = 0; i < facts->step_count; i++) {
    launches += facts_step(facts, i)->launches;
    matched += facts_step(facts, i)->matched;
  }
  if (!late || (double)matched < VERDICT_MIN_COVERAGE * (double)(launches - late)) return NULL;
  return arena_format(memory,
                      "withheld: launches at the end of the recording, whose work may have run after it: %llu of %llu",
                      (unsigned long long)late, (unsigned long long)launches);
}

/* What to do about each reason. */
typedef struct reason {
  const char *why, *helps;
} reason;

static reason reason_of(const trace_facts *facts, const gains *of, arena *memory, bool *unknown) {
  const pd_trace *trace = facts->trace;
  const double coverage = pd_trace_coverage(trace);
  if (trace->partial && facts_is_read(trace))
    return (reason){"withheld: a part of the file could not be read, so that events are missing",
                    "Copy or export the whole file once more, or record again and let the profiler end by itself. The "
                    "notes say what is missing."};
  if (trace->profile != PD_PROFILE_FULL)
    return (reason){
        arena_format(memory, "withheld: no device records%s%s", trace->profile_note ? ": " : "",
                     trace->profile_note ? trace->profile_note : ""),
        "Record the device's work too: kernels and copies, with the calls that launch them. The notes say if the "
        "file has records of a device that are not read."};
  if (isnan(coverage))
    return (reason){
        "withheld: operations ran, and not one launch of theirs was recorded",
        "Record the runtime's calls too, so that device work is tied to its launches. The notes say if the file "
        "has records of a device that are not read."};
  const char *without_number = unnumbered(facts, memory);
  if (without_number)
    return (reason){without_number, "Analyse the file as the profiler wrote it, with the numbers of its calls."};
  const char *late = coverage < VERDICT_MIN_COVERAGE ? late_launches(facts, memory) : NULL;
  if (late) return (reason){late, "Synchronise with the device before the recording ends, or record for longer."};
  if (coverage < VERDICT_MIN_COVERAGE)
    return (reason){
        arena_format(memory, "withheld: only %.2f %% of the launches have their device record", 100 * coverage),
        "Record fewer steps at a time, so that the profiler drops nothing."};
  if (of->unlinked > 1 - VERDICT_MIN_COVERAGE)
    return (reason){arena_format(memory, "withheld: %.2f %% of the device records have no launch", 100 * of->unlinked),
                    "Begin and end the recording between two steps, and record the runtime's calls."};
  if (facts->step_count < VERDICT_MIN_STEPS) {
    *unknown = verdict_steps_unknown(facts);
    return (reason){*unknown ? steps_unknown(trace, memory) : too_few_steps(facts, memory),
                    arena_format(memory, "%s at least %d steps, each marked as one.",
                                 *unknown ? "Name the range that is one step, or record" : "Record",
                                 VERDICT_MIN_STEPS)};
  }
  if (!of->is_judged)
    return (reason){"withheld: the steps have no launches with device records",
                    "Record steps that give the device work, with the runtime's calls."};
  if (of->miss_median > GAINS_MISS_MEDIAN || of->miss_worst > GAINS_MISS_WORST)
    return (reason){arena_format(memory,
                                 "withheld: replayed with nothing removed, a step differs from the recorded one by "
                                 "%.1f %% (median) and %.1f %% (worst)",
                                 100 * of->miss_median, 100 * of->miss_worst),
                    "Record more steps that are alike, without an evaluation or a checkpoint among them."};
  const uint32_t rival = verdict_rival(of, of->cause);
  if (of->cause != VERDICT_none && of->agreeing * 2 < of->draws && rival != VERDICT_COUNT)
    return (reason){arena_format(memory,
                                 "withheld: %s or %s: the steps differ too much to say which; %.0f %% of their "
                                 "resamples agree on the first",
                                 verdict_named_gain(memory, of, of->cause), verdict_named_gain(memory, of, rival),
                                 100 * (double)of->agreeing / (double)of->draws),
                    "Record more steps that are alike, after the first ones of the program."};
  /* A stall in few of the steps: not each draw of them has it, so that it has no name, but most have. */
  if (of->cause == VERDICT_none && of->busy < VERDICT_BUSY_ENOUGH && rival != VERDICT_COUNT &&
      of->named[rival] * 2 > of->draws)
    return (reason){arena_format(memory,
                                 "withheld: %s or nothing: the steps differ too much to say which; %.0f %% of their "
                                 "resamples have it",
                                 verdict_named_gain(memory, of, rival),
                                 100 * (double)of->named[rival] / (double)of->draws),
                    "Record more steps: few of these have it."};
  return (reason){NULL, NULL};
}

const char *verdict_withheld(const trace_facts *facts, const gains *of, arena *memory, verdict_remedy *remedy) {
  bool unknown = false;
  const reason found = reason_of(facts, of, memory, &unknown);
  if (found.why && remedy) *remedy = (verdict_remedy){found.helps, unknown};
  return found.why;
}
