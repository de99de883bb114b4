/* See sweep_curves.h. */
#include "sweep_curves.h"

#include "svg_curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 4096, BAR_WIDTH = 40 };

bool sweep_curves_exist(const sweep_plan *plan) {
  return !plan->draws.key_count || (plan->draws.key_count == 1 && distribution_is_numeric(&plan->draws.keys[0]));
}

/* ---- the axis ---- */

typedef struct point {
  const char *text;
  double value;  /* drawn */
  uint32_t cell; /* of the first series */
} point;

/* The values of the first key, and a series per combination of the others. */
typedef struct curve_axis {
  point *points;
  uint32_t count, series_count;
} curve_axis;

static int by_value(const void *a, const void *b) {
  const point *x = a, *y = b;
  return (x->value > y->value) - (x->value < y->value);
}

static bool make_axis(const sweep_plan *plan, curve_axis *out) {
  const bool drawn = plan->draws.key_count;
  const uint32_t count = drawn ? plan->draws.count : plan->axes[0].count;
  *out = (curve_axis){.points = calloc(count + 1u, sizeof *out->points), .count = count};
  if (!out->points) return false;
  out->series_count = plan->cell_count / count;
  for (uint32_t i = 0; i < count; i++) {
    point *at = &out->points[i];
    at->cell = i * out->series_count;
    at->text = sweep_plan_at(plan, at->cell, 0).value;
    if (drawn) (void)distribution_number(at->text, &at->value);
  }
  if (drawn) qsort(out->points, count, sizeof *out->points, by_value);
  return true;
}

static const char *series_name(const sweep_plan *plan, uint32_t series, char name[NAME_BYTES]) {
  return sweep_plan_name(plan, series, 1, sweep_plan_key_count(plan), name, NAME_BYTES);
}

/* ---- bars ---- */

static void print_series(const sweep_found *self, const curve_axis *x, uint32_t series, double most, int width) {
  for (uint32_t i = 0; i < x->count; i++) {
    const sample *of = sweep_found_at(self, x->points[i].cell + series);
    const int bar = of && most > 0 ? (int)lround(BAR_WIDTH * of->figures.median / most) : 0;
    printf("  %*s  %.*s", width, x->points[i].text, bar, "########################################");
    const time_unit unit = statistics_unit(of ? of->figures.median : 1);
    if (of)
      printf(" %.4g %s\n", statistics_trim(of->figures.median / unit.s, of->shown), unit.symbol);
    else
      printf("not measured\n");
  }
}

bool sweep_curves_print(const sweep_found *self) {
  const double most = sweep_found_at(self, sweep_found_extremes(self).worst)->figures.median;
  const config_assignment key = sweep_plan_at(self->plan, 0, 0);
  curve_axis x;
  int width = 0;
  if (!make_axis(self->plan, &x)) return false;
  for (uint32_t i = 0; i < x.count; i++)
    width = (int)strlen(x.points[i].text) > width ? (int)strlen(x.points[i].text) : width;
  for (uint32_t series = 0; series < x.series_count; series++) {
    char name[NAME_BYTES];
    series_name(self->plan, series, name);
    printf("\n%s.%s%s%s\n", key.section, key.key, name[0] ? " with " : "", name);
    print_series(self, &x, series, most, width);
  }
  free(x.points);
  return true;
}

/* ---- the picture ---- */

typedef struct curve_data {
  svg_series *series;
  char **names;
  double *values; /* of each series: y, low, high; then the places on the axis */
  const char **texts;
} curve_data;

static void free_data(curve_data *data, uint32_t count) {
  for (uint32_t i = 0; data->names && i < count; i++) free(data->names[i]);
  free(data->names);
  free(data->series);
  free(data->values);
  free(data->texts);
}

static bool make_series(const sweep_found *self, const curve_axis *x, double unit_s, curve_data *data) {
  for (uint32_t i = 0; i < x->series_count; i++) {
    char name[NAME_BYTES];
    double *y = data->values + (size_t)3 * i * x->count, *low = y + x->count, *high = low + x->count;
    data->names[i] = strdup(series_name(self->plan, i, name));
    if (!data->names[i]) return false;
    for (uint32_t k = 0; k < x->count; k++) {
      const sample *of = sweep_found_at(self, x->points[k].cell + i);
      y[k] = of ? of->figures.median / unit_s : (double)NAN;
      low[k] = of ? of->figures.p25 / unit_s : 0;
      high[k] = of ? of->figures.p75 / unit_s : 0;
    }
    data->series[i] =
        (svg_series){.name = data->names[i][0] ? data->names[i] : self->of, .y = y, .low = low, .high = high};
  }
  return true;
}

static bool is_logarithmic(const sweep_plan *plan) {
  return plan->draws.key_count && plan->draws.keys[0].kind == DISTRIBUTION_LOGUNIFORM;
}

/* Drawn values stand where they are between the least and the most of them, of loguniform ones by their logarithms.
 * NULL: listed ones, side by side. */
static const double *make_places(const sweep_plan *plan, const curve_axis *x, double *places) {
  if (!plan->draws.key_count) return NULL;
  const bool logarithmic = is_logarithmic(plan);
  for (uint32_t i = 0; i < x->count; i++) places[i] = logarithmic ? log(x->points[i].value) : x->points[i].value;
  const double low = places[0], range = places[x->count - 1] - low;
  for (uint32_t i = 0; i < x->count; i++) places[i] = range > 0 ? (places[i] - low) / range : 0.5;
  return places;
}

static void write_picture(const sweep_found *self, const curve_axis *x, const curve_data *data, const time_unit *unit,
                          FILE *out) {
  char title[NAME_BYTES], x_name[NAME_BYTES], y_name[128];
  const sample *best = sweep_found_at(self, sweep_found_extremes(self).best);
  const config_assignment key = sweep_plan_at(self->plan, 0, 0);
  snprintf(title, sizeof title, "%s on %s", sample_label(best), best->of->device);
  snprintf(x_name, sizeof x_name, "%s.%s%s", key.section, key.key, is_logarithmic(self->plan) ? ", logarithmic" : "");
  snprintf(y_name, sizeof y_name, "%s, %s (median and quartiles)", self->of, unit->symbol);
  for (uint32_t i = 0; i < x->count; i++) data->texts[i] = x->points[i].text;
  const svg_curves picture = {.title = title,
                              .x_name = x_name,
                              .y_name = y_name,
                              .x = data->texts,
                              .places =
                                  make_places(self->plan, x, data->values + (size_t)3 * x->series_count * x->count),
                              .x_count = x->count,
                              .series_count = x->series_count,
                              .series = data->series};
  svg_curves_write(&picture, out);
}

bool sweep_curves_write(const sweep_found *self, FILE *out) {
  const time_unit unit = statistics_unit(sweep_found_at(self, sweep_found_extremes(self).best)->figures.median);
  curve_axis x;
  if (!make_axis(self->plan, &x)) return false;
  curve_data data = {.series = calloc(x.series_count + 1u, sizeof *data.series),
                     .names = calloc(x.series_count + 1u, sizeof(void *)),
                     .values = calloc((size_t)(3 * x.series_count + 1u) * x.count, sizeof *data.values),
                     .texts = calloc(x.count + 1u, sizeof(void *))};
  const bool ok = data.series && data.names && data.values && data.texts && make_series(self, &x, unit.s, &data);
  if (ok) write_picture(self, &x, &data, &unit, out);
  free_data(&data, x.series_count);
  free(x.points);
  return ok;
}
