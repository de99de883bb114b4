/* The trace's clock. See clock.h. */
#include "clock.h"

#include <pdhost/clocks.h>
#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  CLOCK_TRIES = 5,
  CLOCK_STEP_NS = 1000,        /* a smaller difference is the reading's own noise */
  CLOCK_SPACING_NS = 100000,   /* points nearer than this would turn that noise into slope */
  CLOCK_CALIBRATE_NS = 200000, /* of the first slope, until a window brings better ones */
  CLOCK_SHIFT = 48
};

/* Stamps are others' and may be anything: what lies farther off than this is moved here, so that no sum overflows. */
#define CLOCK_FAR_NS (INT64_MAX / 2)

__extension__ typedef unsigned __int128 wide;

static int64_t read_realtime(void *state) {
  (void)state;
  return pd_clock_ns(CLOCK_REALTIME);
}
static int64_t read_monotonic(void *state) {
  (void)state;
  return pd_clock_ns(CLOCK_MONOTONIC);
}
static uint64_t read_realtime_ticks(void *state) { return (uint64_t)read_realtime(state); }
#ifdef TRACE_CLOCK_HAS_TSC
static uint64_t read_tsc(void *state) {
  (void)state;
  return __builtin_ia32_rdtsc();
}
#endif

/* Whether one line of the file holds all `words`, as words of their own. */
static bool file_has(const char *path, const char *const *words, size_t count) {
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t size = 0;
  bool found = false;
  if (!file) return false;
  while (!found && getline(&line, &size, file) >= 0) {
    size_t seen = 0;
    for (size_t i = 0; i < count; i++) {
      size_t length = strlen(words[i]);
      for (const char *at = strstr(line, words[i]); at; at = strstr(at + 1, words[i])) {
        bool head = at == line || at[-1] == ' ' || at[-1] == '\t';
        bool tail = at[length] == ' ' || at[length] == '\n' || at[length] == '\0';
        if (head && tail) {
          seen++;
          break;
        }
      }
    }
    found = seen == count;
  }
  free(line);
  (void)fclose(file);
  return found;
}

bool clock_tsc_usable(const char *cpuinfo_path, const char *clocksource_path) {
  static const char *const flags[] = {"constant_tsc", "nonstop_tsc"};
  static const char *const source[] = {"tsc"};
  return file_has(cpuinfo_path, flags, 2) && file_has(clocksource_path, source, 1);
}

static clock_anchor take_anchor(const clock_source *source) {
  clock_anchor best = {0};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < CLOCK_TRIES; i++) {
    uint64_t first = source->ticks(source->state);
    int64_t before_ns = source->monotonic_ns(source->state);
    int64_t realtime_ns = source->realtime_ns(source->state);
    int64_t after_ns = source->monotonic_ns(source->state);
    uint64_t last = source->ticks(source->state);
    uint64_t width = last - first;
    if (i && width >= best_width) continue;
    best_width = width;
    best = (clock_anchor){.ticks = first + width / 2,
                          .realtime_ns = realtime_ns,
                          .monotonic_ns = before_ns + (after_ns - before_ns) / 2,
                          .width_ns = after_ns - before_ns};
  }
  return best;
}

static uint64_t slope_between(const clock_point *from, uint64_t ticks, int64_t monotonic_ns) {
  wide rise = (wide)(uint64_t)(monotonic_ns - from->monotonic_ns) << CLOCK_SHIFT;
  return (uint64_t)(rise / (ticks - from->ticks));
}

/* The axis must never run backwards: a point that would bend it back is left out. */
static pd_status add_point(trace_clock *self, const clock_anchor *anchor) {
  uint64_t count = self->point_count, slope = (uint64_t)1 << CLOCK_SHIFT;
  if (count) {
    const clock_point *last = &self->points[count - 1];
    bool ahead = anchor->ticks > last->ticks && anchor->monotonic_ns - last->monotonic_ns >= CLOCK_SPACING_NS;
    if (!ahead) return PD_OK;
    slope = slope_between(last, anchor->ticks, anchor->monotonic_ns);
  }
  if (!PD_ARRAY_FIT(self->points, self->point_capacity, count + 1)) return PD_NO_MEMORY;
  if (count) self->points[count - 1].slope = slope;
  self->points[count] = (clock_point){.ticks = anchor->ticks, .monotonic_ns = anchor->monotonic_ns, .slope = slope};
  self->point_count++;
  return PD_OK;
}

static pd_status add_zone(trace_clock *self, int64_t from_ns, int64_t delta_ns) {
  if (!PD_ARRAY_FIT(self->zones, self->zone_capacity, self->zone_count + 1)) return PD_NO_MEMORY;
  self->zones[self->zone_count++] = (clock_zone){.from_ns = from_ns, .to_ns = INT64_MAX, .delta_ns = delta_ns};
  return PD_OK;
}

pd_status trace_clock_open(trace_clock *self, const clock_source *source) {
  memset(self, 0, sizeof *self);
  if (source) {
    self->source = *source;
  } else {
    self->source = (clock_source){read_realtime_ticks, read_realtime, read_monotonic, NULL};
#ifdef TRACE_CLOCK_HAS_TSC
    self->tsc = clock_tsc_usable("/proc/cpuinfo", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (self->tsc) self->source.ticks = read_tsc;
#endif
  }
  self->last = take_anchor(&self->source);
  self->offset_ns = self->last.realtime_ns - self->last.monotonic_ns;
  pd_status status = add_point(self, &self->last);
  if (status != PD_OK || source) return status;
  int64_t until_ns = self->last.monotonic_ns + CLOCK_CALIBRATE_NS;
  while (read_monotonic(NULL) < until_ns) {}
  self->last = take_anchor(&self->source);
  return add_point(self, &self->last);
}

void trace_clock_close(trace_clock *self) {
  free(self->points);
  free(self->zones);
  self->points = NULL;
  self->zones = NULL;
}

pd_status trace_clock_window_begin(trace_clock *self) {
  clock_anchor anchor = take_anchor(&self->source);
  /* The last point of before stays: it gives the first slope, and time to what lies just before the window. */
  if (self->point_count > 1) {
    self->points[0] = self->points[self->point_count - 1];
    self->point_count = 1;
  }
  self->zone_count = 0;
  self->last = anchor;
  self->offset_ns = anchor.realtime_ns - anchor.monotonic_ns;
  pd_status status = add_point(self, &anchor);
  return status != PD_OK ? status : add_zone(self, anchor.monotonic_ns, 0);
}

pd_status trace_clock_anchor(trace_clock *self) {
  clock_anchor anchor = take_anchor(&self->source);
  int64_t jump_ns = (anchor.realtime_ns - anchor.monotonic_ns) - (self->last.realtime_ns - self->last.monotonic_ns);
  int64_t noise_ns = CLOCK_STEP_NS + anchor.width_ns + self->last.width_ns;
  pd_status status = PD_OK;
  if (self->zone_count && (jump_ns > noise_ns || jump_ns < -noise_ns)) {
    self->zones[self->zone_count - 1].to_ns = anchor.monotonic_ns;
    status = add_zone(self, self->last.monotonic_ns, anchor.realtime_ns - anchor.monotonic_ns - self->offset_ns);
  }
  self->last = anchor;
  return status != PD_OK ? status : add_point(self, &anchor);
}

int64_t trace_clock_from_ticks(const trace_clock *self, uint64_t ticks) {
  uint64_t low = 0, high = self->point_count;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (self->points[middle].ticks <= ticks)
      low = middle;
    else
      high = middle;
  }
  const clock_point *point = &self->points[low];
  int64_t base_ns = point->monotonic_ns + self->offset_ns;
  uint64_t distance = ticks >= point->ticks ? ticks - point->ticks : point->ticks - ticks;
  wide half = (wide)1 << (CLOCK_SHIFT - 1);
  wide exact = ((wide)distance * point->slope + half) >> CLOCK_SHIFT;
  int64_t ns = exact > CLOCK_FAR_NS ? CLOCK_FAR_NS : (int64_t)(uint64_t)exact;
  return ticks >= point->ticks ? base_ns + ns : base_ns - ns;
}

int64_t trace_clock_from_realtime(const trace_clock *self, int64_t realtime_ns) {
  if (realtime_ns < -CLOCK_FAR_NS) realtime_ns = -CLOCK_FAR_NS;
  if (realtime_ns > CLOCK_FAR_NS) realtime_ns = CLOCK_FAR_NS;
  if (!self->zone_count) return realtime_ns;
  for (uint64_t i = 0; i < self->zone_count; i++) {
    const clock_zone *zone = &self->zones[i];
    int64_t monotonic_ns = realtime_ns - self->offset_ns - zone->delta_ns;
    if (monotonic_ns >= zone->from_ns && monotonic_ns <= zone->to_ns) return realtime_ns - zone->delta_ns;
  }
  /* Before the window, or in the gap that a step forward left. */
  bool before = realtime_ns - self->offset_ns < self->zones[0].from_ns;
  return realtime_ns - (before ? 0 : self->zones[self->zone_count - 1].delta_ns);
}

uint64_t trace_clock_steps(const trace_clock *self) { return self->zone_count ? self->zone_count - 1 : 0; }
