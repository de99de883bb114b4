/* See html_charts.h. */
#include "html_charts.h"

#include <math.h>

enum { WIDTH = 1000, LEFT = 20, NAME = 16, ROW = 60, AXIS = 26, DOTS_MOST = 2000, JITTERS = 7 };

static double most_of(const html_dots *lines, uint32_t count) {
  double most = 0;
  for (uint32_t i = 0; i < count; i++)
    for (uint64_t v = 0; v < lines[i].count; v++) most = fmax(most, lines[i].values[v]);
  return most > 0 ? most : 1;
}

/* 1, 2 or 5 times a power of ten, so that there are three to eight of them. */
static double tick_of(double most) {
  const double power = pow(10, floor(log10(most / 3)));
  const double times = most / 3 / power;
  return power * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
}

static double x_of(double value, double most) { return LEFT + value / most * (WIDTH - LEFT - 20); }

static void axis(html_page *page, double most, double bottom, const char *unit) {
  const double tick = tick_of(most);
  for (int i = 0; i * tick <= most * 1.0001; i++) {
    const double at = i * tick;
    html_page_markup(page, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"%.1f\"/>", x_of(at, most),
                     x_of(at, most), bottom);
    html_page_markup(page, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.6g ", x_of(at, most), bottom + 14, at);
    html_page_text(page, unit);
    html_page_markup(page, "</text>\n");
  }
}

/* Its name, and the dots below it; those of one value lie a little apart, by the order of the values. */
static void line(html_page *page, const html_dots *of, double most, double top) {
  const double middle = top + NAME + (ROW - NAME) / 2.0;
  const uint64_t every = of->count / DOTS_MOST + 1;
  html_page_markup(page, "<text x=\"%d\" y=\"%.1f\">", LEFT + 4, top + 12);
  html_page_text(page, of->name);
  html_page_markup(page, "</text>\n");
  for (uint64_t i = 0; i < of->count; i += every)
    html_page_markup(page, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x_of(of->values[i], most),
                     middle + ((double)(i / every % JITTERS) - (JITTERS - 1) / 2.0) * 4);
  html_page_markup(page, "\n<line class=\"median\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                   x_of(of->median, most), x_of(of->median, most), top + NAME + 2, top + ROW - 2);
}

void html_charts_dots(html_page *page, const char *title, const html_dots *lines, uint32_t count, const char *unit) {
  const double most = most_of(lines, count), bottom = (double)count * ROW;
  html_page_markup(page, "<svg class=\"dots\" role=\"img\" viewBox=\"0 0 %d %.0f\" aria-label=\"", WIDTH,
                   bottom + AXIS);
  html_page_text(page, title);
  html_page_markup(page, "\">\n");
  axis(page, most, bottom, unit);
  for (uint32_t i = 0; i < count; i++) line(page, &lines[i], most, (double)i * ROW);
  html_page_markup(page, "</svg>\n");
}

void html_charts_interval(html_page *page, double value, double low, double high, double from, double to, double zero) {
  const double scale = to > from ? 100 / (to - from) : 0, start = scale * (zero - from);
  html_page_markup(page, "<td><svg class=\"interval\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
                         "aria-hidden=\"true\">");
  if (isfinite(value)) {
    const double at = scale * (value - from);
    html_page_markup(page, "<rect class=\"gain\" height=\"10\" x=\"%.2f\" width=\"%.2f\"/>", fmin(at, start),
                     fabs(at - start));
  }
  html_page_markup(page, "<line class=\"zero\" y1=\"0\" y2=\"10\" x1=\"%.2f\" x2=\"%.2f\"/>", start, start);
  if (isfinite(low) && isfinite(high) && low < high)
    html_page_markup(page, "<line class=\"whisker\" y1=\"5\" y2=\"5\" x1=\"%.2f\" x2=\"%.2f\"/>", scale * (low - from),
                     scale * (high - from));
  html_page_markup(page, "</svg></td>");
}
