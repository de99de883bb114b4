/* See rank_report.h. */
#include "rank_report.h"

#include "base/json_text.h"
#include "base/wrap.h"

#include <pdhost/quantity.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERDICT_INDENT = 9, HELPS_INDENT = 15 };
#define RANKS_FORMAT "pdhost.ranks/1"

typedef struct figure {
  char text[32];
} figure;

/* "8.86 ms" */
static figure time_of(double ns) {
  figure out = {""};
  pd_text_time(out.text, sizeof out.text, ns);
  return out;
}

/* In a column, whose heading has the unit. */
static void print_figure(int width, double value) {
  const int decimals = pd_decimals(value), room = width - 3; /* for 0, the point and a space */
  printf(" %*.*f", width, decimals < room ? decimals : room, value);
}

/* "input-bound" of "input-bound: the device waits for data". */
static void cause_name(uint32_t cause, char *out, size_t room) {
  const char *text = verdict_text(cause);
  (void)snprintf(out, room, "%.*s", (int)strcspn(text, ":"), text);
}

/* What the late rank does meanwhile. */
static void late_because(const rank_summary *self, char *out, size_t room) {
  char name[128];
  if (self->cause == VERDICT_none) {
    (void)snprintf(out, room, "its device computes %s longer%s", time_of(self->cause_ns).text,
                   self->verdict == RANKS_SLOW_DEVICE ? " in kernels of the same sizes" : "");
  } else if (self->cause < VERDICT_none) {
    cause_name(self->cause, name, sizeof name);
    (void)snprintf(out, room, "%s, %s more than on the others", name, time_of(self->cause_ns).text);
  } else {
    (void)snprintf(out, room, "what it does meanwhile is not known");
  }
}

static const char *late_name(ranks_verdict of) {
  return of == RANKS_UNEVEN ? "uneven work" : of == RANKS_SLOW_DEVICE ? "slow device" : "straggler";
}

static void straggler_sentence(const rank_summary *self, char text[RANK_SENTENCE_BYTES]) {
  const rank_figures *of = &self->ranks[self->straggler];
  char why[RANK_SENTENCE_BYTES / 2];
  late_because(self, why, sizeof why);
  (void)snprintf(text, RANK_SENTENCE_BYTES,
                 "%s: the others wait %s a step for rank %u: %s. Without it a step would take %s, not %s "
                 "(%.1f %% less)",
                 late_name(self->verdict), time_of(of->caused_ns).text, of->side->rank, why,
                 time_of((1 - self->share) * self->step_ns).text, time_of(self->step_ns).text, 100 * self->share);
}

/* What recording hides. */
static void possible_sentence(const rank_summary *self, char text[RANK_SENTENCE_BYTES]) {
  char what[RANK_SENTENCE_BYTES / 3], why[RANK_SENTENCE_BYTES / 4];
  if (self->verdict == RANKS_NOT_OVERLAPPED) {
    (void)snprintf(what, sizeof what, "communication does not overlap");
  } else {
    late_because(self, why, sizeof why);
    (void)snprintf(what, sizeof what, "%s on rank %u: %s", late_name(self->verdict),
                   self->ranks[self->straggler].side->rank, why);
  }
  (void)snprintf(text, RANK_SENTENCE_BYTES,
                 "possibly %s. Recording slows all hosts down, which hides it. Not recorded, a step would take about "
                 "%s, and %s without this (%.1f %% less)",
                 what, time_of(self->unrecorded_ns).text, time_of((1 - self->share) * self->unrecorded_ns).text,
                 100 * self->share);
}

/* What recording may hide. */
static void hidden_sentence(const rank_summary *self, char text[RANK_SENTENCE_BYTES]) {
  char what[RANK_SENTENCE_BYTES / 3];
  if (self->hidden != RANKS_NOT_OVERLAPPED)
    (void)snprintf(what, sizeof what, "the device of rank %u computes %s longer than the others'",
                   self->ranks[self->straggler].side->rank, time_of(self->cause_ns).text);
  else
    (void)snprintf(what, sizeof what, "there are transfers beside which nothing is computed");
  (void)snprintf(
      text, RANK_SENTENCE_BYTES,
      "withheld: %s. Recording slows the hosts down so much that it cannot be said whether this holds up the "
      "steps. Record again without shapes and stacks",
      what);
}

static void add_late(const rank_summary *self, char text[RANK_SENTENCE_BYTES]) {
  const size_t used = strlen(text);
  if (self->late_ns > 0)
    (void)snprintf(text + used, RANK_SENTENCE_BYTES - used,
                   ". Besides, the others wait for rank %u: without that a step would take %s less",
                   self->ranks[self->straggler].side->rank, time_of(self->late_ns).text);
}

void rank_report_sentence(const rank_summary *self, char text[RANK_SENTENCE_BYTES]) {
  if (self->withheld[0]) {
    (void)snprintf(text, RANK_SENTENCE_BYTES, "withheld: %s", self->withheld);
    return;
  }
  if (self->is_possible) {
    possible_sentence(self, text);
    return;
  }
  switch (self->verdict) {
  case RANKS_STRAGGLER:
  case RANKS_UNEVEN:
  case RANKS_SLOW_DEVICE: straggler_sentence(self, text); break;
  case RANKS_COMM_BOUND:
    (void)snprintf(text, RANK_SENTENCE_BYTES,
                   "communication-bound: %.1f %% of the step are transfers that no computing hides", 100 * self->share);
    break;
  case RANKS_NOT_OVERLAPPED:
    (void)snprintf(text, RANK_SENTENCE_BYTES,
                   "communication does not overlap: %.1f %% of the step are transfers beside which nothing is computed",
                   100 * self->share);
    break;
  default:
    if (self->matched && self->steps < RANKS_STEPS_LEAST)
      (void)snprintf(text, RANK_SENTENCE_BYTES, "withheld: %u steps that all files have are too few, %d are needed",
                     self->steps, RANKS_STEPS_LEAST);
    else if (self->hidden != RANKS_NONE)
      hidden_sentence(self, text);
    else if (self->matched && self->of > self->count)
      (void)snprintf(text, RANK_SENTENCE_BYTES,
                     "no rank of these %u holds up the others; of %u ranks, so that transfers may hold waits for those "
                     "that are not here",
                     self->count, self->of);
    else if (self->matched)
      (void)snprintf(text, RANK_SENTENCE_BYTES, "balanced: no rank holds up the others, and transfers are hidden");
    else if (!self->unmatched)
      (void)snprintf(text, RANK_SENTENCE_BYTES,
                     "withheld: the files hold no collective, so they do not tell which rank waits for another");
    else
      (void)snprintf(text, RANK_SENTENCE_BYTES, "withheld: the files have no collective of the same step in common");
    break;
  }
  add_late(self, text);
}

/* What helps the ranks of an inference server, where that is not what helps those that train; NULL: it is the same. */
static const char *server_helps(const rank_summary *self) {
  switch (self->verdict) {
  case RANKS_STRAGGLER: return self->cause < VERDICT_none ? verdict_server_helps(self->cause) : NULL;
  case RANKS_UNEVEN:
    return "Give all ranks as much work: layers and experts that are divided evenly, and requests whose lengths add up "
           "to the same. If they have as much, look for another program on that rank's device.";
  case RANKS_COMM_BOUND:
    return "Send fewer bytes: activations of fewer bits, or a model on fewer ranks; or use faster links.";
  case RANKS_NOT_OVERLAPPED:
    return "Divide a batch in two, so that one half computes while the other one communicates, or put the model on "
           "fewer ranks.";
  default: return NULL;
  }
}

const char *rank_report_helps(const rank_summary *self) {
  const char *server = self->count && self->ranks[0].side->is_server ? server_helps(self) : NULL;
  if (server) return server;
  switch (self->verdict) {
  case RANKS_STRAGGLER:
    return self->cause < VERDICT_none ? verdict_helps(self->cause)
                                      : "Look at the late rank's own trace for what it does before its launches.";
  case RANKS_UNEVEN:
    return "Give all ranks as much work: batches of one size, sequences whose lengths add up to the same, layers and "
           "experts that are divided evenly. If they have as much, look for another program on that rank's device.";
  case RANKS_SLOW_DEVICE:
    return "Compare the clocks, temperatures and power limits of the ranks' devices, and look for another program on "
           "the slow one, and for data that makes the same kernels do more.";
  case RANKS_COMM_BOUND:
    return "Send fewer bytes: gradients in bfloat16, several batches between two averages, or larger batches; or use "
           "faster links.";
  case RANKS_NOT_OVERLAPPED:
    return "Reduce gradients in buckets while the backward pass goes on, on a stream of their own, as "
           "DistributedDataParallel does.";
  default: return NULL;
  }
}

enum { MESSAGES_SHOWN = 6, NAME_SHOWN = 28 };

/* The largest messages whose size is known. */
static void print_messages(const rank_summary *self) {
  if (!self->message_count || !self->messages[0].bytes || !self->steps) return;
  printf("\n%-*s %9s %8s %8s %9s %9s\n", NAME_SHOWN, "collective", "MB", "a step", "ms", "GB/s", "bus GB/s");
  for (uint32_t i = 0; i < self->message_count && i < MESSAGES_SHOWN && self->messages[i].bytes; i++) {
    const rank_message *at = &self->messages[i];
    printf("%-*.*s", NAME_SHOWN, NAME_SHOWN, at->name);
    print_figure(9, 1e-6 * (double)at->bytes);
    printf(" %8.3g", (double)at->count / self->steps);
    print_figure(8, 1e-6 * at->transfer_ns / (double)at->count);
    print_figure(9, at->algorithm);
    if (at->bus > 0)
      print_figure(9, at->bus);
    else
      printf(" %9s", "n/a");
    printf("\n");
  }
}

void rank_report_head(const rank_summary *self) {
  char text[RANK_SENTENCE_BYTES];
  rank_report_sentence(self, text);
  printf("Ranks");
  wrap_print(text, 5, VERDICT_INDENT);
  if (!rank_report_helps(self)) return;
  printf("  What helps");
  wrap_print(rank_report_helps(self), 12, HELPS_INDENT);
}

/* Waits are known from durations, which takes for granted that a collective ends on all ranks at once. Starts, by
 * clocks that were compared, say how far that is so. */
static void print_clocks(const rank_summary *self) {
  char text[400];
  const bool agree = self->skew_difference_ns <= (double)self->bound_ns;
  (void)snprintf(text, sizeof text,
                 "clocks: known to %s, drift %s. Waits by the starts of collectives differ by %s on "
                 "average%s",
                 time_of((double)self->bound_ns).text, time_of((double)self->drift_ns).text,
                 time_of(self->skew_difference_ns).text,
                 agree ? "."
                       : ", more than the clocks explain: a collective does not end on all ranks at once, and "
                         "single waits are known no better than that.");
  printf("\n");
  wrap_print(text, 0, 0);
}

void rank_report_figures(const rank_summary *self) {
  printf("\nMilliseconds of a step (%u steps on all ranks, %" PRIu64 " collectives%s)\n", self->steps, self->matched,
         self->unmatched ? ", some not on all" : "");
  printf("%5s %8s %8s %8s %8s %8s %8s %9s %8s\n", "rank", "step", "compute", "comm", "overlap", "wait", "transfer",
         "uncovered", "delays");
  for (uint32_t r = 0; r < self->count; r++) {
    const rank_figures *of = &self->ranks[r];
    printf("%5u", of->side->rank);
    const double columns[] = {of->step_ns,          of->side->compute_ns, of->side->comm_ns,
                              of->side->overlap_ns, of->wait_ns,          of->transfer_ns};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) print_figure(8, 1e-6 * columns[i]);
    print_figure(9, 1e-6 * of->exposed_transfer_ns);
    print_figure(8, 1e-6 * of->caused_ns);
    printf("\n");
  }
  print_messages(self);
  if (self->bound_ns >= 0) print_clocks(self);
  wrap_print(
      "wait: in collectives, for ranks that come later. uncovered: of the transfer, with no computing beside it. "
      "delays: what the others wait for this rank.",
      0, 0);
}

/* Exact sums, which no rounding of a mean by step takes apart. */
static json_t *parts_value(const rank_parts *of) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I}", "steps_ns", (json_int_t)of->steps_ns, "computation_ns",
                   (json_int_t)of->computation_ns, "overlap_ns", (json_int_t)of->overlap_ns, "communication_ns",
                   (json_int_t)of->communication_ns, "other_ns", (json_int_t)of->other_ns);
}

static json_t *operation_value(const rank_operation *of) {
  const bool is_sized = of->sized == of->calls;
  return json_pack("{s:s?, s:I, s:I, s:o, s:I, s:I, s:I, s:I}", "name", of->name, "calls", (json_int_t)of->calls,
                   "on_all", (json_int_t)of->common, "bytes",
                   is_sized ? json_integer((json_int_t)of->bytes) : json_null(), "latency_ns",
                   (json_int_t)of->latency_ns, "on_all_latency_ns", (json_int_t)of->common_ns, "wait_ns",
                   (json_int_t)of->wait_ns, "transfer_ns", (json_int_t)of->transfer_ns);
}

static json_t *operations_value(const rank_operations *of) {
  json_t *all = json_array();
  for (uint32_t i = 0; i < of->count && all; i++) (void)json_text_append(all, operation_value(&of->rows[i]));
  return all;
}

static json_t *causes_value(const rank_side *side) {
  json_t *all = json_object();
  for (uint32_t c = 0; c < VERDICT_none && all; c++)
    if (side->has_causes && side->idle_ns[c] > 0)
      (void)json_object_set_new(all, verdict_key(c), json_real(side->idle_ns[c]));
  return all;
}

static json_t *rank_value(const rank_figures *of) {
  const rank_side *side = of->side;
  return json_pack("{s:I, s:s, s:b, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:o, s:o}",
                   "rank", (json_int_t)side->rank, "file", side->path, "rank_known", side->ranks > 0, "steps",
                   (json_int_t)side->step_count, "step_ns", of->step_ns, "compute_ns", side->compute_ns,
                   "communication_ns", side->comm_ns, "overlap_ns", side->overlap_ns, "wait_ns", of->wait_ns,
                   "transfer_ns", of->transfer_ns, "exposed_wait_ns", of->exposed_wait_ns, "exposed_transfer_ns",
                   of->exposed_transfer_ns, "need_ns", of->need_ns, "caused_wait_ns", of->caused_ns, "last",
                   (json_int_t)of->last, "steps_last", (json_int_t)of->steps_last, "idle_ns", causes_value(side),
                   "total", parts_value(&side->parts), "operations", operations_value(&of->operations));
}

static json_t *clocks_value(const rank_summary *self) {
  if (!self->count || self->bound_ns < 0) return json_null();
  return json_pack("{s:I, s:I, s:f}", "bound_ns", (json_int_t)self->bound_ns, "drift_ns", (json_int_t)self->drift_ns,
                   "skew_difference_ns", self->skew_difference_ns);
}

static json_t *messages_value(const rank_summary *self) {
  json_t *all = json_array();
  for (uint32_t i = 0; i < self->message_count && all; i++) {
    const rank_message *at = &self->messages[i];
    (void)json_text_append(all,
                           json_pack("{s:s, s:I, s:I, s:f, s:f, s:f}", "name", at->name, "bytes", (json_int_t)at->bytes,
                                     "count", (json_int_t)at->count, "transfer_ns", at->transfer_ns / (double)at->count,
                                     "algorithm_gb_per_s", at->algorithm, "bus_gb_per_s", at->bus));
  }
  return all;
}

const rank_figures *rank_report_late(const rank_summary *self) {
  const bool names_rank =
      self->verdict == RANKS_STRAGGLER || self->verdict == RANKS_UNEVEN || self->verdict == RANKS_SLOW_DEVICE;
  return names_rank ? &self->ranks[self->straggler] : NULL;
}

const char *rank_report_verdict(const rank_summary *self) {
  const bool is_told = self->verdict != RANKS_NONE || self->hidden == RANKS_NONE;
  return is_told && self->matched && self->steps >= RANKS_STEPS_LEAST ? ranks_verdict_key(self->verdict) : "withheld";
}

const char *rank_report_cause(const rank_summary *self) {
  if (!rank_report_late(self) || self->cause >= VERDICT_COUNT) return NULL;
  return self->cause == VERDICT_none ? ranks_verdict_key(self->verdict) : verdict_key(self->cause);
}

bool rank_report_json(const rank_summary *self, FILE *out) {
  const rank_figures *late = rank_report_late(self);
  char words[RANK_SENTENCE_BYTES];
  rank_report_sentence(self, words);
  json_t *ranks = json_array();
  for (uint32_t r = 0; r < self->count && ranks; r++)
    if (json_array_append_new(ranks, rank_value(&self->ranks[r])) != 0) {
      json_decref(ranks);
      ranks = NULL;
    }
  json_t *document = json_pack(
      "{s:s, s:s, s:b, s:s, s:s?, s:f, s:o, s:s?, s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "format", RANKS_FORMAT,
      "verdict", rank_report_verdict(self), "possible", self->is_possible, "sentence", words, "helps",
      rank_report_helps(self), "share", self->share, "straggler", late ? json_integer(late->side->rank) : json_null(),
      "cause", rank_report_cause(self), "cause_ns", late ? self->cause_ns : 0.0, "steps", (json_int_t)self->steps,
      "collectives", (json_int_t)self->matched, "collectives_not_on_all", (json_int_t)self->unmatched, "step_ns",
      self->count ? json_real(self->step_ns) : json_null(), "ranks", ranks, "messages", messages_value(self), "clocks",
      clocks_value(self));
  return json_text_write(document, 3, JSON_TEXT_ROUNDED, out);
}
