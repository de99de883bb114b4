/* See svg_curves.h. */
#include "svg_curves.h"

#include <math.h>
#include <string.h>

enum {
  WIDTH = 720,
  HEIGHT = 440,
  LEFT = 70,
  RIGHT = 20,
  TOP = 40,
  BOTTOM = 60,
  LEGEND_ROW = 18,
  COLORS = 8,
  CHARACTER = 7
};

/* Okabe and Ito's colours, which all eyes tell apart. */
static const char *const colors[COLORS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                           "#e69f00", "#56b4e9", "#000000", "#f0e442"};

static void write_text(const char *text, FILE *out) {
  for (; *text; text++) {
    const unsigned char byte = (unsigned char)*text;
    if (byte == '&')
      fputs("&amp;", out);
    else if (byte == '<')
      fputs("&lt;", out);
    else if (byte == '>')
      fputs("&gt;", out);
    else if (byte >= ' ' && byte < 127)
      fputc(byte, out);
  }
}

static void label(FILE *out, double x, double y, const char *anchor, const char *text) {
  fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  write_text(text, out);
  fputs("</text>\n", out);
}

static double x_at(const svg_curves *self, uint32_t i) {
  const double room = WIDTH - LEFT - RIGHT;
  if (self->places) return LEFT + room * (0.05 + 0.9 * self->places[i]);
  return self->x_count > 1 ? LEFT + room * (0.05 + 0.9 * i / (self->x_count - 1)) : LEFT + room / 2;
}

static double y_at(double value, double top) { return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top; }

static double highest(const svg_curves *self) {
  double most = 0;
  for (uint32_t s = 0; s < self->series_count; s++)
    for (uint32_t i = 0; i < self->x_count; i++)
      if (!isnan(self->series[s].y[i])) most = fmax(most, fmax(self->series[s].y[i], self->series[s].high[i]));
  return most > 0 ? most : 1;
}

/* 1, 2 or 5 times a power of ten, so that there are four to ten of them. */
static double tick_of(double top) {
  const double power = pow(10, floor(log10(top / 4)));
  const double times = top / 4 / power;
  return power * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
}

/* The values below the axis, without those that would stand in the one before. */
static void write_values(const svg_curves *self, FILE *out) {
  double end = 0;
  for (uint32_t i = 0; i < self->x_count; i++) {
    const double half = CHARACTER / 2.0 * (double)strlen(self->x[i]), x = x_at(self, i);
    if (i && x - half < end) continue;
    label(out, x, HEIGHT - BOTTOM + 18, "middle", self->x[i]);
    end = x + half + CHARACTER;
  }
}

static void write_axes(const svg_curves *self, double top, FILE *out) {
  const double tick = tick_of(top);
  for (int i = 0; i * tick <= top * 1.0001; i++) {
    char text[32];
    const double y = y_at(i * tick, top);
    fprintf(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, y, WIDTH - RIGHT, y);
    snprintf(text, sizeof text, "%.6g", i * tick);
    label(out, LEFT - 8, y + 4, "end", text);
  }
  write_values(self, out);
  label(out, LEFT + (WIDTH - LEFT - RIGHT) / 2.0, HEIGHT - BOTTOM + 42, "middle", self->x_name);
  label(out, WIDTH / 2.0, 20, "middle", self->title);
  fprintf(out, "<text transform=\"translate(18 %.1f) rotate(-90)\" text-anchor=\"middle\">",
          TOP + (HEIGHT - TOP - BOTTOM) / 2.0);
  write_text(self->y_name, out);
  fputs("</text>\n", out);
}

/* Points that were measured, joined where neighbours both were. */
static void write_series(const svg_curves *self, uint32_t index, double top, FILE *out) {
  const svg_series *at = &self->series[index];
  const char *color = colors[index % COLORS];
  fprintf(out, "<g stroke=\"%s\" fill=\"%s\">\n", color, color);
  for (uint32_t i = 0; i < self->x_count; i++) {
    if (isnan(at->y[i])) continue;
    const double x = x_at(self, i), y = y_at(at->y[i], top);
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke-width=\"1\"/>\n", x,
            y_at(at->low[i], top), x, y_at(at->high[i], top));
    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", x, y);
    if (i && !isnan(at->y[i - 1]))
      fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke-width=\"2\"/>\n", x_at(self, i - 1),
              y_at(at->y[i - 1], top), x, y);
  }
  fputs("</g>\n", out);
}

static void write_legend(const svg_curves *self, FILE *out) {
  for (uint32_t i = 0; i < self->series_count; i++) {
    const double y = HEIGHT + LEGEND_ROW * (double)i;
    fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", LEFT, y - 10,
            colors[i % COLORS]);
    label(out, LEFT + 20, y, "start", self->series[i].name);
  }
}

void svg_curves_write(const svg_curves *self, FILE *out) {
  const double top = highest(self);
  const uint32_t height = HEIGHT + LEGEND_ROW * self->series_count;
  fprintf(out,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
          "height=\"%u\" viewBox=\"0 0 %d %u\" font-family=\"sans-serif\" font-size=\"13\">\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          WIDTH, height, WIDTH, height);
  write_axes(self, top, out);
  for (uint32_t i = 0; i < self->series_count; i++) write_series(self, i, top, out);
  write_legend(self, out);
  fputs("</svg>\n", out);
}
