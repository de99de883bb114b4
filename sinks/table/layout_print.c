/* See layout_print.h. */
#include "layout_print.h"

#include <pdhost/text_columns.h>

#include <string.h>

size_t layout_heading_line(const char *heading, uint32_t line, const char **at) {
  for (;;) {
    size_t length = strcspn(heading, " ");
    if (length <= 2 && heading[length]) length += 1 + strcspn(heading + length + 1, " ");
    if (!strcmp(heading + length, " %")) length += 2;
    if (!line--) {
      *at = heading;
      return length;
    }
    heading += length;
    while (*heading == ' ') heading++;
  }
}

static size_t layout_heading_lines(const char *heading) {
  const char *at;
  uint32_t lines = 0;
  while (lines < HEADING_LINES && layout_heading_line(heading, lines, &at)) lines++;
  return lines;
}

static uint64_t row_number(const pd_table *table, const pd_table_row *row) {
  if (row == table->footer) return table->rows.count;
  return (uint64_t)((const char *)row - (const char *)table->rows.data) / table->rows.stride;
}

/* What the row is counted in, where it says so; NULL elsewhere. */
static const char *unit_of_row(const pd_table *table, const pd_table_row *row) {
  for (uint32_t c = 0; c < table->column_count; c++)
    if (!strcmp(table->columns[c]->key, "series_unit")) return row->cells[c].missing ? NULL : row->cells[c].v.text;
  return NULL;
}

const char *layout_cell_text(const layout *self, const shown_column *column, const pd_table_row *row, char *room,
                             size_t room_bytes) {
  const pd_cell *cell = &row->cells[column->index];
  if (column->is_text) return cell->missing ? "" : cell->v.text;
  const char *unit = cell->is_double && !cell->missing ? unit_of_row(self->table, row) : NULL;
  if (unit) {
    cell_write_series(room, room_bytes, cell->v.d, unit);
    return room;
  }
  if (column->decimals != PD_NONE)
    cell_write_time(room, room_bytes, cell, column->unit, column->decimals, self->options->unit == CELL_AUTO);
  else
    cell_write(room, room_bytes, self->table->columns[column->index], cell, self->options->unit,
               pd_table_digits(self->table, row_number(self->table, row), column->index));
  return room;
}

/* A line break or an escape in a name would leave the table. */
static void put_bytes(text *out, const char *string, size_t bytes) {
  for (size_t i = 0, from = 0; i <= bytes; i++) {
    const unsigned char c = i < bytes ? (unsigned char)string[i] : ' ';
    if (i < bytes && c >= ' ' && c != 0x7F) continue;
    text_add_bytes(out, string + from, i - from);
    if (i < bytes) text_add(out, " ");
    from = i + 1;
  }
}

/* Where " (file:line)" of a stack's first frame begins, and how long it is; 0 bytes of any other text. */
static const char *place_of(const char *string, size_t bytes, size_t *place_bytes) {
  const char *end = memchr(string, ')', bytes), *begin = end, *digit = end;
  *place_bytes = 0;
  if (!end) return string;
  while (digit > string && digit[-1] >= '0' && digit[-1] <= '9') digit--;
  if (digit == end || digit == string || digit[-1] != ':') return string;
  while (begin > string && *begin != ' ') begin--;
  if (begin == string || begin[1] != '(') return string;
  *place_bytes = (size_t)(end + 1 - begin);
  return begin;
}

static void put(text *out, const shown_column *column, const char *string, size_t bytes, size_t indent, bool last) {
  size_t width = pd_text_columns(string, bytes), room = column->width > indent ? column->width - indent : 0;
  if (column->is_text) text_repeat(out, ' ', indent < column->width ? indent : column->width);
  if (width > room && column->is_stack && room > 3) {
    size_t skipped = 0;
    while (pd_text_columns(string + skipped, bytes - skipped) > room - 3)
      skipped += pd_text_fit(string + skipped, bytes - skipped, 2);
    text_add(out, "...");
    put_bytes(out, string + skipped, bytes - skipped);
    if (!last) text_repeat(out, ' ', room - 3 - pd_text_columns(string + skipped, bytes - skipped));
  } else if (width > room) {
    /* A frame too long for its column loses a part of its function, and never its place. */
    size_t place_bytes, place = 0;
    const char *where = place_of(string, bytes, &place_bytes);
    place = pd_text_columns(where, place_bytes);
    if (room < place + 3 + TEXT_MIN || pd_text_columns(string, (size_t)(where - string)) + place <= room) place = 0;
    size_t kept = pd_text_fit(string, bytes, room > 3 ? room - 3 - place : room), used = pd_text_columns(string, kept);
    put_bytes(out, string, kept);
    if (room > 3) text_add(out, "...");
    if (place) put_bytes(out, where, place_bytes);
    width = used + (room > 3 ? 3 : 0) + place;
    if (!last && width < room) text_repeat(out, ' ', room - width);
  } else if (column->is_text) {
    put_bytes(out, string, bytes);
    if (!last) text_repeat(out, ' ', room - width);
  } else {
    text_repeat(out, ' ', room - width);
    put_bytes(out, string, bytes);
  }
  if (!last) text_repeat(out, ' ', GAP);
}

static void put_rule(const layout *self, text *out) {
  for (uint32_t c = 0; c < self->count; c++) {
    if (c) text_repeat(out, ' ', GAP);
    text_repeat(out, '-', self->columns[c].width);
  }
  text_add(out, "\n");
}

static void put_row(const layout *self, text *out, const pd_table_row *row) {
  for (uint32_t c = 0; c < self->count; c++) {
    char room[CELL_ROOM];
    const shown_column *column = &self->columns[c];
    const char *string = layout_cell_text(self, column, row, room, sizeof room);
    put(out, column, string, strlen(string), column->index == 0 ? 2 * (size_t)row->level : 0, c + 1 == self->count);
  }
  text_add(out, "\n");
}

static void put_headings(const layout *self, text *out) {
  size_t lines = 0;
  for (uint32_t c = 0; c < self->count; c++) {
    size_t own = layout_heading_lines(self->table->columns[self->columns[c].index]->heading);
    if (own > lines) lines = own;
  }
  for (size_t line = 0; line < lines; line++) {
    for (uint32_t c = 0; c < self->count; c++) {
      const char *heading = self->table->columns[self->columns[c].index]->heading, *at = "";
      size_t own = layout_heading_lines(heading), skip = lines - own, length = 0;
      if (line >= skip) length = layout_heading_line(heading, (uint32_t)(line - skip), &at);
      put(out, &self->columns[c], at, length, 0, c + 1 == self->count);
    }
    text_add(out, "\n");
  }
}

/* torch's footer names its figures; other tables have a last row. */
static void put_footer(const layout *self, text *out) {
  const pd_table *table = self->table;
  if (strcmp(table->id, "operators") != 0) {
    put_row(self, out, table->footer);
    return;
  }
  for (uint32_t c = 1; c < table->column_count; c++) {
    char room[CELL_ROOM];
    if (table->footer->cells[c].missing) continue;
    cell_write(room, sizeof room, table->columns[c], &table->footer->cells[c], self->options->unit,
               pd_table_digits(table, table->rows.count, c));
    text_format(out, "%s time total: %s\n", table->columns[c]->heading, room);
  }
}

void layout_print(const layout *self, text *out) {
  const pd_table *table = self->table;
  put_rule(self, out);
  put_headings(self, out);
  put_rule(self, out);
  for (uint64_t i = 0; i < self->row_count; i++) put_row(self, out, PD_AT(pd_table_row, &table->rows, i));
  if (!self->row_count) text_add(out, "(no rows)\n");
  put_rule(self, out);
  if (table->footer) put_footer(self, out);
}
