/* See verdict_evidence.h. */
#include "verdict_evidence.h"

#include "idle_words.h"

#include <pdhost/quantity.h>

#include <math.h>
#include <string.h>

/* What takes less of the steps, in percent, or gains less, is not worth a word; more others than these are not either.
 */
#define SAID_PERCENT 1
/* Printed, it is "0.0 %". */
#define NOTHING_PERCENT 0.05
/* What this share of the resamples names is said in the evidence: a verdict is sure when nine tenths agree. */
#define OPEN_SHARE 0.1
enum { OTHERS_SAID = 3 };
/* A place that has less of the calls, or of the time in them, is not worth a name. */
#define PLACE_SHARE (1.0 / 3)

static int64_t total(const table_work *work, uint32_t owner) {
  int64_t sum = 0;
  for (uint64_t s = 0; s < work->facts->step_count; s++) sum += work->ledger->rows[s * LEDGER_OWNER_COUNT + owner];
  return sum;
}

static const char *owned(const table_work *work, uint32_t owner) {
  return table_time_text(work->arena, (double)total(work, owner) / (double)work->facts->step_count);
}

/* "574", "1.25". */
static const char *count_per_step(const table_work *work, uint64_t count) {
  return arena_format(work->arena, "%.4g", (double)count / (double)work->facts->step_count);
}

static const char *bytes_per_step(const table_work *work, uint64_t bytes) {
  char text[32];
  pd_text_bytes(text, sizeof text, (double)bytes / (double)work->facts->step_count);
  return arena_text(work->arena, text, strlen(text));
}

/* What the ledger has of the cause: it asks for marks that our own windows alone have. */
static const char *ledger_says(const table_work *work, uint32_t cause) {
  const ledger *of = work->ledger;
  if (!(work->facts->trace->facts & PD_FACT_TRAIN)) return "";
  switch (cause) {
  case VERDICT_input_bound:
    return arena_format(work->arena, "; the device waits for a batch: I/O %s, CPU work %s, hand-over %s a step",
                        owned(work, LEDGER_input_io), owned(work, LEDGER_input_cpu),
                        owned(work, LEDGER_input_handover));
  case VERDICT_forced_sync:
    return arena_format(work->arena, "; %s blocking calls a step inside train_step, the device idle behind them for %s",
                        count_per_step(work, of->blocking_calls), owned(work, LEDGER_forced_sync));
  case VERDICT_allocator:
    return arena_format(work->arena, "; %s temporaries of %s together a step: %s in kernels on them, %s idle",
                        count_per_step(work, of->allocations), bytes_per_step(work, of->allocated_bytes),
                        owned(work, LEDGER_temporaries), owned(work, LEDGER_allocator));
  case VERDICT_launch_bound:
    return arena_format(work->arena,
                        "; %s launches a step: %s idle while the host launches, %s between queued ones, %s "
                        "in kernels too short to be worth one",
                        count_per_step(work, of->launches), owned(work, LEDGER_launch), owned(work, LEDGER_launch_gap),
                        owned(work, LEDGER_tiny_kernels));
  case VERDICT_serial_streams:
    return arena_format(work->arena, "; kernels of one stream run for %s a step while those of another wait for them",
                        owned(work, LEDGER_serialised));
  case VERDICT_pageable_copy:
    return arena_format(work->arena, "; %s a step in pageable copies alone, %s idle while they are staged",
                        owned(work, LEDGER_copy_pageable), owned(work, LEDGER_transfer));
  default: return "";
  }
}

/* A device of threads does not say how full it was: what passes cost follows from shapes. */
static bool passes_not_known(const table_work *work) {
  const pd_trace *trace = work->facts->trace;
  return work->gains->passes > 1 && trace->device && !trace->device->is_cuda && !trace->shapes.count;
}

static const char *passes_say(const table_work *work, uint32_t cause) {
  if (cause != VERDICT_small_batch && passes_not_known(work))
    return arena_format(work->arena,
                        "; what %llu passes through the model a step cost is not known without "
                        "profile.record_shapes",
                        (unsigned long long)work->gains->passes);
  if (cause != VERDICT_small_batch) return "";
  return arena_format(work->arena, "; %llu passes through the model a step, with %s launches together",
                      (unsigned long long)work->gains->passes, count_per_step(work, work->ledger->launches));
}

/* What makes waits for input less than sure. */
static const char *input_says(const table_work *work, uint32_t cause) {
  if (cause != VERDICT_input_bound) return "";
  if (work->gains->input_unmarked)
    return "; no wait for a loader is marked: the host calls nothing for a while and then copies to the device";
  if (work->gains->input_by_pace)
    return arena_format(work->arena,
                        "; the loader's workers need %s for a batch: the loop was slow enough to wait for none while "
                        "it was recorded",
                        table_time_text(work->arena, work->gains->loader_ns));
  return work->gains->input_in_few ? "; few of the steps have the wait: record more of them" : "";
}

static const char *waiting_says(uint32_t cause) {
  return cause == VERDICT_device_side
             ? "; no record says what the work waits for, which may be work that was not recorded"
             : "";
}

/* The share of the steps' time that these owners of the ledger have. */
static double share_of(const table_work *work, const uint32_t *owners, size_t count) {
  int64_t all = 0, theirs = 0;
  for (uint64_t s = 0; s < work->facts->step_count; s++) {
    const int64_t *row = &work->ledger->rows[s * LEDGER_OWNER_COUNT];
    for (uint32_t o = 0; o < LEDGER_OWNER_COUNT; o++) all += row[o];
    for (size_t i = 0; i < count; i++) theirs += row[owners[i]];
  }
  return all > 0 ? (double)theirs / (double)all : 0;
}

double verdict_copying(const table_work *work) {
  static const uint32_t copies[] = {LEDGER_copy_read, LEDGER_copy_late, LEDGER_copy_pageable, LEDGER_copy_pinned,
                                    LEDGER_copy_device};
  return share_of(work, copies, sizeof copies / sizeof *copies);
}

double verdict_communicating(const table_work *work) {
  const uint32_t owner = LEDGER_communication;
  return share_of(work, &owner, 1);
}

/* What a graph saves of launching, where it is less than all. */
static const char *as_graph(const table_work *work, uint32_t cause) {
  const gains_cause *of = &work->gains->causes[cause];
  if (!work->is_cuda || 100 * (of->gain - of->captured) < SAID_PERCENT) return "";
  return arena_format(work->arena, "; as one CUDA graph of the same kernels %s",
                      table_time_text(work->arena, work->gains->step_ns * (1 - of->captured)));
}

/* What the figures leave out, or that it is not known. */
static const char *recording_adds(const table_work *work) {
  const gains *of = work->gains;
  const double more = of->recorded_ns - of->step_ns;
  if (more >= of->recorded_ns * SAID_PERCENT / 100)
    return arena_format(work->arena, "; recording adds %s a step%s, left out here", table_time_text(work->arena, more),
                        of->cost_known ? "" : " by its usual cost");
  return "";
}

/* "pageable copies" of "pageable copies: the device waits ...". */
static const char *short_text(arena *memory, uint32_t cause) {
  return arena_text(memory, verdict_text(cause), strcspn(verdict_text(cause), ":"));
}

static const char *closeness(const table_work *work, uint32_t cause) {
  const uint32_t other = work->gains->close;
  if (other == VERDICT_COUNT || other == cause) return "";
  return arena_format(work->arena, "; close: if recording cost half or 1.5 times as much it would be %s",
                      short_text(work->arena, other));
}

static const char *nearness(const table_work *work) {
  const gains *of = work->gains;
  if (of->near == VERDICT_COUNT || of->near == of->close) return "";
  return arena_format(work->arena, "; near: %s", verdict_named_gain(work->arena, of, of->near));
}

/* A fact that is missing, and what hangs on it. */
static const char *besides(const table_work *work) {
  const gains *of = work->gains;
  if (of->beside == VERDICT_COUNT) return "";
  return arena_format(work->arena,
                      "; no operations were recorded: of what counts as launching, %s a step may belong to %s",
                      table_time_text(work->arena, of->beside_ns), verdict_named_gain(work->arena, of, of->beside));
}

uint32_t verdict_rival(const gains *of, uint32_t cause) {
  uint32_t rival = VERDICT_COUNT;
  for (uint32_t c = 0; c < VERDICT_COUNT; c++)
    if (c != cause && of->named[c] && (rival == VERDICT_COUNT || of->named[c] > of->named[rival])) rival = c;
  return rival;
}

/* At least a tenth of the draws name the cause: the evidence says so. */
static bool is_open(const gains *of, uint32_t cause) {
  return (double)of->named[cause] >= OPEN_SHARE * (double)of->draws && of->named[cause];
}

/* What many resamples name instead. */
static const char *instead(const table_work *work, uint32_t cause) {
  const gains *of = work->gains;
  const uint32_t rival = verdict_rival(of, cause);
  if (rival == VERDICT_COUNT || !is_open(of, rival)) return "";
  return arena_format(work->arena, "; %.0f %% of the resamples say %s",
                      100 * (double)of->named[rival] / (double)of->draws, short_text(work->arena, rival));
}

/* The table of steps has the host's time: a loop that never waits ends its steps before its device does. */
static const char *pace(const table_work *work) {
  int64_t longest = 0;
  for (uint64_t i = 0; i < work->facts->step_count; i++) {
    const pd_trace_step *step = facts_step(work->facts, i);
    if (step->end_ns - step->start_ns > longest) longest = step->end_ns - step->start_ns;
  }
  if (work->gains->recorded_ns <= (1 + SAID_PERCENT / 100.0) * (double)longest) return "";
  return "; that is the pace of the device, which the host runs ahead of";
}

/* Where most of the cause's calls are made, or how many places make them. */
static const char *where(const table_work *work) {
  const place *of = &work->gains->where;
  const uint64_t steps = work->facts->step_count;
  if (!of->operation || !steps) return "";
  const char *module = of->module ? arena_format(work->arena, " in %s", facts_text(work->facts, of->module)) : "";
  const char *line = of->frame ? arena_format(work->arena, " at %s", facts_text(work->facts, of->frame)) : "";
  const char *all = count_per_step(work, of->of_calls);
  if (of->share < PLACE_SHARE)
    return arena_format(work->arena, "; the %s calls a step are made in %u places, none of which makes a third", all,
                        of->places);
  const bool is_few = (double)of->calls < PLACE_SHARE * (double)of->of_calls;
  const char *time = is_few ? arena_format(work->arena, ", with %.0f %% of their time,", 100 * of->share) : "";
  return arena_format(work->arena, "; %s of the %s calls a step%s are made by %s%s%s", count_per_step(work, of->calls),
                      all, time, facts_text(work->facts, of->operation), module, line);
}

/* A loader that is just fast enough becomes the limit when steps get shorter. */
static const char *loader_as_slow(const table_work *work) {
  const gains *of = work->gains;
  const double least = work->is_cuda ? GAINS_LEAST_CUDA : GAINS_LEAST_OTHER;
  if (of->loader_ns < (1 - least) * of->step_ns) return "";
  return arena_format(work->arena,
                      "; the loader's workers need %s for a batch, and with as many of them a step takes no less",
                      table_time_text(work->arena, of->loader_ns));
}

const char *verdict_evidence(const table_work *work, uint32_t cause) {
  const gains *of = work->gains;
  const gains_cause *one = &of->causes[cause];
  const char *children = cause == VERDICT_input_bound ? idle_words_children(work) : "";
  const char *rest =
      arena_format(work->arena, "%s%s%s%s%s%s%s%s", idle_words(work), children, pace(work), recording_adds(work),
                   closeness(work, cause), nearness(work), besides(work), instead(work, cause));
  if (cause == VERDICT_none)
    return arena_format(work->arena, "a step takes %s, and the device is busy for %s of it%s%s%s",
                        table_time_text(work->arena, of->step_ns),
                        table_time_text(work->arena, of->busy * of->recorded_ns), loader_as_slow(work),
                        passes_say(work, cause), rest);
  if (cause == VERDICT_profiler)
    return arena_format(work->arena, "a step takes %s, without the recorder %s%s",
                        table_time_text(work->arena, of->recorded_ns), table_time_text(work->arena, of->step_ns),
                        loader_as_slow(work));
  const char *figures = arena_format(
      work->arena, "a step takes %s, without it %s (%s to %s); the device is busy for %s of it",
      table_time_text(work->arena, of->step_ns), table_time_text(work->arena, of->step_ns * (1 - one->gain)),
      table_time_text(work->arena, of->step_ns * (1 - one->high)),
      table_time_text(work->arena, of->step_ns * (1 - one->low)),
      table_time_text(work->arena, of->busy * of->recorded_ns));
  return arena_format(work->arena, "%s%s%s%s%s%s%s%s", figures, as_graph(work, cause), ledger_says(work, cause),
                      passes_say(work, cause), input_says(work, cause), waiting_says(cause),
                      cause == of->cause ? where(work) : "", rest);
}

const char *verdict_named_gain(arena *memory, const gains *of, uint32_t cause) {
  if (cause == VERDICT_none) return short_text(memory, cause);
  return arena_format(memory, "%s (%.1f %%)", short_text(memory, cause), 100 * of->causes[cause].gain);
}

/* The gain of launching is followed by what a graph saves, by which it is named. */
static const char *other_gain(const table_work *work, uint32_t cause) {
  const gains_cause *of = &work->gains->causes[cause];
  if (cause != VERDICT_launch_bound || !work->is_cuda || 100 * (of->gain - of->captured) < SAID_PERCENT)
    return verdict_named_gain(work->arena, work->gains, cause);
  return arena_format(work->arena, "%s (%.1f %%, as a CUDA graph %.1f %%)", short_text(work->arena, cause),
                      100 * of->gain, 100 * fmax(0, of->captured));
}

const char *verdict_other_causes(const table_work *work, uint32_t cause) {
  const gains *of = work->gains;
  bool said[VERDICT_COUNT] = {false};
  const char *text = NULL;
  for (uint32_t c = 0; c < VERDICT_COUNT; c++) said[c] = c == cause || c == of->near || is_open(of, c);
  for (int n = 0; n < OTHERS_SAID; n++) {
    uint32_t best = VERDICT_none;
    for (uint32_t c = 0; c < VERDICT_none; c++)
      if (!said[c] && of->causes[c].applies && (best == VERDICT_none || of->causes[c].gain > of->causes[best].gain))
        best = c;
    if (best == VERDICT_none || 100 * of->causes[best].gain < (n ? SAID_PERCENT : NOTHING_PERCENT)) break;
    said[best] = true;
    const char *one = other_gain(work, best);
    text = text ? arena_format(work->arena, "%s, %s", text, one) : one;
  }
  return text ? text : "nothing else";
}
