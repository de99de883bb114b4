/* See top_view.h. The run writes while this reads: what is read is behind what is written by a whole ring. */
#include "top_view.h"

#include "top_shares.h"

#include "base/statistics.h"

#include <pdhost/quantity.h>

#include <inttypes.h>
#include <stdlib.h>

enum { NAME_WIDTH = TOP_NAME_WIDTH };
#define SECOND_NS 1000000000

static const pd_step_stats *step_at(const board *of, uint64_t index) { return &of->steps[index % BOARD_STEPS]; }

/* The first step that ended after `since`, of those that are still there. */
static uint64_t first_since(const board *of, uint64_t count, int64_t since) {
  const uint64_t least = count > BOARD_STEPS / 2 ? count - BOARD_STEPS / 2 : 0;
  uint64_t first = count;
  while (first > least && step_at(of, first - 1)->end_realtime_ns > since) first--;
  return first;
}

bool top_view_second(const board *of, int64_t now_realtime_ns, top_second *out) {
  const uint64_t count = atomic_load_explicit(&of->step_count, memory_order_acquire);
  const uint64_t first = first_since(of, count, now_realtime_ns - SECOND_NS);
  double *costs = calloc(count - first + 1, sizeof *costs), all_ns = 0, wait_ns = 0, step_ns = 0;
  statistics spread = {0};
  *out = (top_second){.steps = count - first};
  if (!costs) return false;
  for (uint64_t i = first; i < count; i++) {
    const pd_step_stats *at = step_at(of, i);
    costs[i - first] = (double)at->batch_cost_ns;
    all_ns += (double)at->batch_cost_ns;
    wait_ns += (double)at->data_wait_ns;
    step_ns += (double)at->step_time_ns;
  }
  const bool ok = statistics_make(costs, count - first, &spread);
  free(costs);
  if (!ok || !(all_ns > 0)) return ok;
  out->median_ns = spread.median;
  out->least_ns = spread.min;
  out->most_ns = spread.max;
  out->wait = wait_ns / all_ns;
  out->step = step_ns / all_ns;
  out->between = 1 - out->wait - out->step;
  return true;
}

static void print_steps(const board *of, uint64_t count, int64_t now_ns, FILE *out) {
  static const char *const phases[] = {"warming up", "skipped", "not recorded", "warming the profiler up",
                                       "recorded",   "paused"};
  char text[32];
  const uint64_t open = atomic_load_explicit(&of->step, memory_order_acquire);
  const int64_t start_ns = atomic_load_explicit(&of->step_start_ns, memory_order_relaxed);
  fprintf(out, "%-*s%" PRIu64, NAME_WIDTH, "Steps done", count);
  if (count && step_at(of, count - 1)->phase < sizeof phases / sizeof phases[0])
    fprintf(out, ", the last one %s", phases[step_at(of, count - 1)->phase]);
  fprintf(out, "\n");
  if (!open || now_ns < start_ns) return;
  pd_text_time(text, sizeof text, (double)(now_ns - start_ns));
  fprintf(out, "%-*sstep %" PRIu64 ", for %s\n", NAME_WIDTH, "Under way", open - 1, text);
}

/* What keeps the run from its steps, where no step is under way. */
static void print_phase(const board *of, int64_t now_ns, FILE *out) {
  char text[32];
  const board_phase_row *phase = &of->phases[atomic_load_explicit(&of->phase, memory_order_acquire) % 2];
  if (!phase->name[0] || now_ns < phase->start_ns || atomic_load_explicit(&of->step, memory_order_acquire)) return;
  pd_text_time(text, sizeof text, (double)(now_ns - phase->start_ns));
  fprintf(out, "%-*s%.47s, for %s\n", NAME_WIDTH, "Under way", phase->name, text);
}

static void print_second(const top_second *of, FILE *out) {
  char median[32], least[32], most[32];
  if (!of->steps) {
    fprintf(out, "%-*sno step ended\n", NAME_WIDTH, "The last second");
    return;
  }
  pd_text_time(median, sizeof median, of->median_ns);
  pd_text_time(least, sizeof least, of->least_ns);
  pd_text_time(most, sizeof most, of->most_ns);
  fprintf(out, "%-*s%" PRIu64 " steps\n", NAME_WIDTH, "The last second", of->steps);
  fprintf(out, "%-*s%s (%s to %s)\n", NAME_WIDTH, "  a step", median, least, most);
  fprintf(out, "%-*s%5.1f %%\n", NAME_WIDTH, "  wait for data", 100 * of->wait);
  fprintf(out, "%-*s%5.1f %%\n", NAME_WIDTH, "  after the wait", 100 * of->step);
  fprintf(out, "%-*s%5.1f %%\n", NAME_WIDTH, "  between steps", 100 * of->between);
}

bool top_view_print(const board *of, int64_t now_realtime_ns, int64_t now_ns, FILE *out) {
  char text[32];
  top_second second;
  const uint64_t count = atomic_load_explicit(&of->step_count, memory_order_acquire);
  if (!top_view_second(of, now_realtime_ns, &second)) return false;
  print_steps(of, count, now_ns, out);
  if (!second.steps) print_phase(of, now_ns, out);
  print_second(&second, out);
  if (!count) return true;
  pd_text_bytes(text, sizeof text, (double)step_at(of, count - 1)->allocated_bytes);
  fprintf(out, "%-*s%s\n", NAME_WIDTH, "Device memory", text);
  return true;
}
