/* See top_recording.h. */
#include "top_recording.h"

#include "top_shares.h"

#include "capture/record_board.h"

#include <pdhost/quantity.h>

#include <inttypes.h>

enum { NAME_WIDTH = TOP_NAME_WIDTH };

static void print_state(const record_live *of, int64_t now_ns, FILE *out) {
  static const char *const states[] = {
      [RECORD_WAIT] = "not begun yet", [RECORD_GO] = "going on", [RECORD_STOP] = "over", [RECORD_PAUSE] = "paused"};
  const uint32_t state = atomic_load_explicit(&of->state, memory_order_relaxed);
  const uint32_t processes = atomic_load_explicit(&of->processes, memory_order_relaxed);
  const int64_t since_ns = atomic_load_explicit(&of->since_ns, memory_order_relaxed);
  char text[32];
  fprintf(out, "%-*s%s, %u process%s\n", NAME_WIDTH, "The recording",
          state < sizeof states / sizeof *states ? states[state] : "of another version", processes,
          processes == 1 ? "" : "es");
  if (!since_ns) return;
  pd_text_time(text, sizeof text, (double)(now_ns - since_ns));
  fprintf(out, "%-*s%s ago\n", NAME_WIDTH, "First call", text);
}

static void print_second(const record_live_second *of, FILE *out) {
  char text[32];
  fprintf(out, "%-*s%" PRIu64 " launches\n", NAME_WIDTH, "A second", of->launches);
  if (of->step_ns > 0) {
    pd_text_time(text, sizeof text, of->step_ns);
    fprintf(out, "%-*s%s%s\n", NAME_WIDTH, "  a step", text, of->steps ? "" : ", the last one; none ended meanwhile");
  }
  if (of->devices)
    fprintf(out, "%-*s%" PRIu64 "\n", NAME_WIDTH, "GPUs at work", of->devices);
  else
    fprintf(out, "%-*snone\n", NAME_WIDTH, "GPUs at work");
  top_shares_print(of, out);
}

void top_recording_print(const record_live *of, int64_t now_realtime_ns, FILE *out) {
  const record_live_second second = record_live_last(of, now_realtime_ns);
  const uint64_t lost = atomic_load_explicit(&of->lost, memory_order_relaxed);
  print_state(of, now_realtime_ns, out);
  print_second(&second, out);
  fprintf(out, "%-*s%" PRIu64 " in all\n", NAME_WIDTH, "Launches",
          atomic_load_explicit(&of->launches, memory_order_relaxed));
  if (lost)
    fprintf(out, "%-*s%" PRIu64 " records\n", NAME_WIDTH, "Lost", lost);
  else
    fprintf(out, "%-*snothing\n", NAME_WIDTH, "Lost");
}
