/* See table_build.h. */
#include "table_build.h"

#include <pdhost/quantity.h>

#include <math.h>
#include <string.h>

enum { MAX_COLUMNS = 64 };
typedef struct column_list {
  const pd_metric *at[MAX_COLUMNS];
} column_list;

void table_begin(table_build *build, arena *pool, bool is_cuda, const char *id, const char *title, const char *note) {
  column_list *columns;
  memset(build, 0, sizeof *build);
  build->arena = pool;
  build->is_cuda = is_cuda;
  build->table = arena_take(pool, sizeof *build->table);
  columns = arena_take(pool, sizeof *columns);
  if (!build->table || !columns) return;
  build->columns = columns->at;
  build->table->size = sizeof *build->table;
  build->table->id = id;
  build->table->title = title;
  build->table->note = note;
  build->table->columns = build->columns;
}

void table_note(table_build *build, const char *sentence) {
  if (build->arena->failed) return;
  const char *note = build->table->note ? build->table->note : "";
  build->table->note = arena_format(build->arena, "%s%s%s", note, *note ? " " : "", sentence);
}

void table_without_device(table_build *build, const char *why) {
  if (build->arena->failed) return;
  const char *sentence = arena_format(build->arena, "Device records are missing%s%s: what they would tell is left out.",
                                      why ? ", " : "", why ? why : "");
  if (sentence) table_note(build, sentence);
}

void table_column(table_build *build, metric_id id) {
  if (build->arena->failed || build->column_of[id] || build->table->column_count == MAX_COLUMNS) return;
  build->columns[build->table->column_count++] = registry_metric(id, build->is_cuda);
  build->column_of[id] = (uint8_t)build->table->column_count;
}

void table_columns(table_build *build, const metric_id *ids, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) table_column(build, ids[i]);
}

static pd_cell *take_cells(table_build *build) {
  pd_cell *cells;
  if (build->arena->failed) return NULL;
  cells = arena_take(build->arena, build->table->column_count * sizeof *cells);
  for (uint32_t c = 0; cells && c < build->table->column_count; c++) cells[c].missing = 1;
  return cells;
}

void table_row(table_build *build, uint32_t level) {
  uint64_t count = build->arena->failed ? 0 : build->table->rows.count;
  build->cells = take_cells(build);
  if (!build->cells) return;
  if (count == build->room) {
    uint64_t room = build->room ? build->room * 2 : 16;
    pd_table_row *rows = arena_take(build->arena, room * sizeof *rows);
    uint8_t *digits = arena_take(build->arena, (room + 1) * build->table->column_count);
    if (!rows || !digits) {
      build->cells = NULL;
      return;
    }
    if (count) memcpy(rows, build->rows, count * sizeof *rows);
    if (count) memcpy(digits, build->digits, count * build->table->column_count);
    if (build->table->digits) build->table->digits = digits;
    build->rows = rows;
    build->digits = digits;
    build->room = room;
    build->table->rows.data = rows;
    build->table->rows.stride = sizeof *rows;
  }
  build->rows[count] = (pd_table_row){.cells = build->cells, .level = level};
  build->table->rows.count = count + 1;
}

void table_row_flags(table_build *build, uint32_t flags) {
  if (build->cells && build->table->rows.count) build->rows[build->table->rows.count - 1].flags = flags;
}

void table_footer(table_build *build, const char *label) {
  pd_table_row *footer = build->arena->failed ? NULL : arena_take(build->arena, sizeof *footer);
  build->cells = take_cells(build);
  if (!footer || !build->cells) return;
  footer->cells = build->cells;
  build->table->footer = footer;
  build->cells[0].v.text = label;
  build->cells[0].missing = 0;
}

static pd_cell *cell_of(table_build *build, metric_id id) {
  return build->cells && build->column_of[id] ? &build->cells[build->column_of[id] - 1] : NULL;
}

void table_int(table_build *build, metric_id id, int64_t value) {
  pd_cell *cell = cell_of(build, id);
  if (cell) *cell = (pd_cell){.v.i = value};
}

void table_double(table_build *build, metric_id id, double value) {
  pd_cell *cell = cell_of(build, id);
  if (cell && isfinite(value)) *cell = (pd_cell){.v.d = value, .is_double = 1};
}

void table_string(table_build *build, metric_id id, const char *text) {
  pd_cell *cell = cell_of(build, id);
  if (cell && text) *cell = (pd_cell){.v.text = text};
}

void table_percent(table_build *build, metric_id id, int64_t part, int64_t whole) {
  if (whole) table_double(build, id, 100.0 * (double)part / (double)whole);
}

void table_digits_at(table_build *build, uint64_t row, metric_id id, uint32_t digits) {
  if (build->arena->failed || !build->column_of[id] || !build->digits) return;
  build->digits[row * build->table->column_count + build->column_of[id] - 1] = (uint8_t)digits;
  build->table->digits = build->digits;
}

void table_digits(table_build *build, metric_id id, uint32_t digits) {
  if (!build->cells) return;
  const uint64_t rows = build->table->rows.count;
  table_digits_at(build, build->table->footer ? rows : rows - 1, id, digits);
}

const pd_table *table_done(table_build *build) { return build->arena->failed ? NULL : build->table; }

const char *table_time_text(arena *memory, double ns) {
  char text[32];
  pd_text_time(text, sizeof text, ns);
  return arena_text(memory, text, strlen(text));
}
