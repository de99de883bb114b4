/* See views.h. */
#include "views.h"

#include <string.h>

const char *const views_ids[] = {
    "summary",      "all",         "run",          "verdict",          "operators",     "breakdown",
    "gains",        "ledger",      "ledger_steps", "device_figures",   "active_steps",  "device_summary",
    "overview",     "model",       "distributed",  "operator_summary", "kernels",       "memcpy",
    "userdefined",  "memory",      "memory_peak",  "memory_churn",     "memory_blocks", "kernel_operators",
    "flops",        "modules",     "stacks",       "stacks_device",    "perf_summary",  "ranks_parts",
    "ranks_ledger", "collectives", "messages",     "idle_reasons",     "idle_code",     "children",
    "series",       NULL};

static bool begins(const char *id, size_t bytes, const char *with) {
  return bytes >= strlen(with) && !strncmp(id, with, strlen(with));
}

bool views_is_late(const char *id, size_t bytes) {
  return begins(id, bytes, "ranks_") || begins(id, bytes, "collectives") || begins(id, bytes, "messages");
}

const char *views_reason(const pd_run *run, const char *id, size_t bytes) {
  if (run->timer_only) return "profile.timer_only = true records no trace; only perf_summary is there";
  if (begins(id, bytes, "memory") && !run->profile_memory) return "profile.profile_memory = true records it";
  if (begins(id, bytes, "flops") && !run->with_flops) return "profile.with_flops = true computes it";
  if (begins(id, bytes, "idle_") || begins(id, bytes, "children"))
    return "only pdhost record sees what the host does, --host-samples none switches that off, and --torch adds code";
  if (begins(id, bytes, "series")) return "profile.series_every records it";
  if (begins(id, bytes, "modules") && !run->with_modules) return "profile.with_modules = true records it";
  if (views_is_late(id, bytes)) return "there are not several ranks with collectives";
  return "the device gave no records";
}
