/* See guard_report.h. */
#include "guard_report.h"

#include "run/nvml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The clock may fall by this much unnoticed. */
#define CLOCK_WARN 0.95

PD_PRINTF(3, 4) static pd_status note(pd_measurement *out, const char *key, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return pairs_set(&out->conditions, key, text);
}

static pd_status report_machine(const guard_facts *facts, pd_measurement *out) {
  char text[256];
  pd_status status = note(out, "cores", "%u", facts->cores);
  if (status == PD_OK && facts->load_before >= 0)
    status = note(out, "load_average", "%.2f before, %.2f after", facts->load_before, facts->load_after);
  if (status != PD_OK || facts->other_cores < 0) return status;
  status = note(out, "busy_cores", "%.2f with this process, %.2f with others", facts->own_cores, facts->other_cores);
  if (status != PD_OK || facts->other_cores < GUARD_OTHERS_WARN * facts->cores) return status;
  snprintf(text, sizeof text,
           "Other programs kept %.1f of %u cores busy during the measurement.\nRun it on a quiet machine.",
           facts->other_cores, facts->cores);
  return measurement_warn(out, text);
}

static pd_status report_stop(const guard_facts *facts, pd_measurement *out) {
  char text[256];
  if (!guard_tells_stop(facts, text, sizeof text)) return PD_OK;
  text[0] = 'T';
  const size_t used = strlen(text);
  snprintf(text + used, sizeof text - used, ".\nThe blocks that it fell into took longer for that.");
  const pd_status status = note(out, "stood_still", "%.3f s", facts->stopped_s);
  return status == PD_OK ? measurement_warn(out, text) : status;
}

static pd_status report_clocks(const guard_facts *facts, pd_measurement *out, bool *trusted) {
  char reasons[256], text[512];
  if (!facts->looks) return PD_OK;
  nvml_reasons_text(facts->reasons, reasons, sizeof reasons);
  pd_status status = note(out, "sm_clock", "%u MHz at the end, %u at least, %u at most; %u looks", facts->last_sm_mhz,
                          facts->least_sm_mhz, facts->most_sm_mhz, facts->looks);
  if (status == PD_OK) status = note(out, "clock_limits", "%s", reasons);
  if (status != PD_OK) return status;
  const uint64_t slowing = nvml_slowing(facts->reasons);
  if (slowing) {
    if (nvml_disturbing(facts->reasons)) *trusted = false;
    snprintf(text, sizeof text, "The GPU slowed itself down: %s.\nIts clock was %u MHz at least, of %u.",
             nvml_reasons_text(slowing, reasons, sizeof reasons), facts->least_sm_mhz, facts->most_sm_mhz);
    return measurement_warn(out, text);
  }
  if (facts->least_sm_mhz >= CLOCK_WARN * facts->last_sm_mhz) return PD_OK;
  snprintf(text, sizeof text,
           "The GPU's clock rose from %u to %u MHz during the measurement.\nGive it more run.warmup_steps.",
           facts->least_sm_mhz, facts->last_sm_mhz);
  return measurement_warn(out, text);
}

pd_status guard_report(const guard_facts *facts, pd_measurement *out, bool *trusted) {
  pd_status status = report_machine(facts, out);
  if (status == PD_OK) status = report_stop(facts, out);
  return status == PD_OK ? report_clocks(facts, out, trusted) : status;
}
