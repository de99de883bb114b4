/* Tables as an analysis would give them to a sink. */
#ifndef TESTS_SINKS_SINK_TABLES_H
#define TESTS_SINKS_SINK_TABLES_H

#include <pdhost/analysis.h>

#include <math.h>

/* The operator table with two metrics, two rows of these names, and a footer. */
static inline const pd_table_set *two_rows(const char *first_name, const char *second_name) {
  static const pd_metric name = {.key = "name", .heading = "Name", .unit = PD_UNIT_TEXT};
  static const pd_metric total = {.key = "cpu_time_total", .heading = "CPU total", .unit = PD_UNIT_NS};
  static const pd_metric share = {.key = "cpu_percent", .heading = "CPU %", .unit = PD_UNIT_PERCENT};
  static const pd_metric *const columns[] = {&name, &total, &share};
  static pd_cell first[] = {{.v.text = ""}, {.v.i = 1500}, {.v.d = 37.5, .is_double = 1}};
  static pd_cell second[] = {{.v.text = ""}, {.missing = 1}, {.v.d = (double)NAN, .is_double = 1}};
  static const pd_cell sum[] = {{.v.text = "total"}, {.v.i = 1500}, {.missing = 1}};
  static const pd_table_row rows[] = {{first, 0, 0}, {second, 1, 0}};
  static const pd_table_row footer = {sum, 0, 0};
  static const pd_table table = {.size = sizeof table,
                                 .column_count = 3,
                                 .id = "operators",
                                 .title = "Operator Summary",
                                 .columns = columns,
                                 .rows = {rows, 2, sizeof *rows},
                                 .footer = &footer};
  static const pd_table *const tables[] = {&table};
  static const pd_table_set set = {.size = sizeof set, .count = 1, .tables = tables};
  first[0].v.text = first_name;
  second[0].v.text = second_name;
  return &set;
}

/* The table of a run: 400 images a second. */
static inline const pd_table_set *one_average(void) {
  static const pd_metric name = {.key = "name", .heading = "Name", .unit = PD_UNIT_TEXT};
  static const pd_metric average = {.key = "avg", .heading = "avg", .unit = PD_UNIT_NONE};
  static const pd_metric *const columns[] = {&name, &average};
  static const pd_cell cells[] = {{.v.text = "ips"}, {.v.d = 400, .is_double = 1}};
  static const pd_table_row rows[] = {{cells, 0, 0}};
  static const pd_table table = {.size = sizeof table,
                                 .column_count = 2,
                                 .id = "perf_summary",
                                 .title = "Perf Summary",
                                 .columns = columns,
                                 .rows = {rows, 1, sizeof *rows}};
  static const pd_table *const tables[] = {&table};
  static const pd_table_set set = {.size = sizeof set, .count = 1, .tables = tables};
  return &set;
}

#endif
