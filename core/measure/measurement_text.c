/* See measurement_text.h. */
#include "measurement_text.h"

#include "base/statistics.h"

#include <stdlib.h>

enum { FUNCTIONS_SHOWN = 10 };
enum { SPREAD_BLOCKS = 4 }; /* below that a range between quartiles says nothing */

static void print_spread(FILE *out, const statistics *all, const char *name, const time_unit *unit) {
  fprintf(out, "%s%.2f %s (%.2f to %.2f)", name, all->iqr / unit->s, unit->symbol, all->p25 / unit->s,
          all->p75 / unit->s);
}

static void print_host(const pd_measurement *self, const statistics *all, FILE *out) {
  const time_unit unit = statistics_unit(all->median);
  const bool several = all->count > 1;
  fprintf(out, "  %s%.2f %s\n", several ? "Median: " : "", all->median / unit.s, unit.symbol);
  if (all->count >= SPREAD_BLOCKS) {
    print_spread(out, all, "  IQR:    ", &unit);
    fputc('\n', out);
  }
  fprintf(out, "  %llu measurement%s, %llu runs %s %llu thread%s\n", (unsigned long long)all->count, several ? "s" : "",
          (unsigned long long)self->number_per_run, several ? "per measurement," : ",",
          (unsigned long long)self->threads, self->threads > 1 ? "s" : "");
}

static void print_warm_up(const pd_warm_up *of, FILE *out) {
  static const char *const words[] = {[PD_SETTLED] = "steady",
                                      [PD_TREND] = "not steady",
                                      [PD_SETTLED_UNKNOWN] = "not judged, its time holds too few blocks;"};
  if (of->decided == PD_SETTLED_OFF) return;
  fprintf(out, "  Warmed: %s after %llu block%s, %.2f s\n", words[of->decided], (unsigned long long)of->blocks,
          of->blocks == 1 ? "" : "s", of->spent_s);
}

static void print_more(const pd_measurement *self, const statistics *host, const statistics *device, FILE *out) {
  const time_unit unit = statistics_unit(host->mean), empty = statistics_unit(self->timer_overhead_s);
  if (host->count > 1)
    fprintf(out, "  Mean:   %.2f %s, %d significant figure%s\n", host->mean / unit.s, unit.symbol, host->figures,
            host->figures > 1 ? "s" : "");
  if (host->count >= SPREAD_BLOCKS)
    fprintf(out, "  Tail:   p90 %.2f %s, p99 %.2f, max %.2f; MAD %.2f %s\n", host->p90 / unit.s, unit.symbol,
            host->p99 / unit.s, host->max / unit.s, host->mad / unit.s, unit.symbol);
  if (device->count) {
    const time_unit other = statistics_unit(device->median);
    fprintf(out, "  Device: %.2f %s", device->median / other.s, other.symbol);
    if (device->count >= SPREAD_BLOCKS) print_spread(out, device, ", IQR ", &other);
    fputc('\n', out);
  }
  print_warm_up(&self->warm_up, out);
  fprintf(out, "  Empty:  %.2f %s a block of no runs%s%s\n", self->timer_overhead_s / empty.s, empty.symbol,
          self->cold_cache ? "; cold cache" : "", self->partial ? "; PARTIAL: ended before its rule was met" : "");
}

static void print_instructions(const pd_instructions *of, FILE *out) {
  instruction_figures step;
  char text[32], least[32], most[32], name[256];
  if (!of->repeats) return;
  instructions_figures(of, &step);
  fprintf(out, "  Instructions: %s a step", instructions_text(step.median, text));
  if (of->repeats > 1)
    fprintf(out, " (%s to %s in %llu counts)", instructions_text(step.min, least), instructions_text(step.max, most),
            (unsigned long long)of->repeats);
  fprintf(out, ", %llu step%s a count, %s\n", (unsigned long long)of->steps, of->steps == 1 ? "" : "s", of->tool);
  for (uint64_t i = 0; i < of->function_count && i < FUNCTIONS_SHOWN; i++) {
    const pd_function_count *at = &of->functions[i];
    const double count = (double)at->count / (double)of->steps;
    fprintf(out, "  %14s %5.1f %%  %s\n", instructions_text(count, text),
            step.median > 0 ? 100 * count / step.median : 0,
            instructions_function(at->name, at->object, name, sizeof name));
  }
}

static void print_warning(const char *text, FILE *out) {
  fputs("  WARNING: ", out);
  for (; *text; text++) {
    fputc(*text, out);
    if (*text == '\n') fputs("           ", out);
  }
  fputc('\n', out);
}

/* The figures of one run; all zero where there are no such times. */
static pd_status figures(const pd_measurement *self, bool device, statistics *all) {
  double *runs = malloc((self->block_count ? self->block_count : 1) * sizeof *runs);
  if (!runs) return PD_NO_MEMORY;
  const uint64_t count = measurement_run_times(self, device, runs) == PD_OK ? self->block_count : 0;
  const bool made = statistics_make(runs, count, all);
  free(runs);
  return made ? PD_OK : PD_NO_MEMORY;
}

pd_status measurement_print(const pd_measurement *self, FILE *out) {
  statistics host, device;
  char title[512];
  if (figures(self, false, &host) != PD_OK || figures(self, true, &device) != PD_OK) return PD_NO_MEMORY;
  fprintf(out, "<pdhost measurement of %s on %s, %s>\n%s\n", self->scenario, self->device, self->method,
          measurement_title(self, title, sizeof title));
  if (self->description && self->description[0]) fprintf(out, "%s\n", self->description);
  print_host(self, &host, out);
  for (uint64_t i = 0; i < self->warning_count; i++) print_warning(self->warnings[i], out);
  print_more(self, &host, &device, out);
  print_instructions(&self->instructions, out);
  return PD_OK;
}
