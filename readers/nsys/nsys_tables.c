/* See nsys_tables.h. */
#include "nsys_tables.h"

#include <stdio.h>
#include <string.h>

/* No view, no virtual table and no generated column: they would run what the file says. */
bool nsys_has_table(sqlite3 *file, const char *table) {
  sqlite3_stmt *statement = NULL;
  const char *sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 AND sql LIKE 'CREATE TABLE%' "
                    "AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden > 0)";
  const bool found = sqlite3_prepare_v2(file, sql, -1, &statement, NULL) == SQLITE_OK &&
                     sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
                     sqlite3_step(statement) == SQLITE_ROW;
  sqlite3_finalize(statement);
  return found;
}

bool nsys_has_column(sqlite3 *file, const char *table, const char *column) {
  return sqlite3_table_column_metadata(file, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* SELECT "start", NULL, "deviceId" FROM "TABLE" WHERE ...; false: it has no room. */
static bool write_select(sqlite3 *file, const char *table, const char *columns, const char *where, char *out,
                         size_t room) {
  size_t used = (size_t)snprintf(out, room, "SELECT ");
  for (const char *at = columns; *at && used < room;) {
    char name[64];
    const size_t bytes = strcspn(at, " ");
    if (bytes >= sizeof name) return false;
    memcpy(name, at, bytes);
    name[bytes] = '\0';
    const char *comma = at == columns ? "" : ", ";
    used += (size_t)(nsys_has_column(file, table, name) ? snprintf(out + used, room - used, "%s\"%s\"", comma, name)
                                                        : snprintf(out + used, room - used, "%sNULL", comma));
    at += bytes + strspn(at + bytes, " ");
  }
  if (used < room) used += (size_t)snprintf(out + used, room - used, " FROM \"%s\"", table);
  if (where && used < room) used += (size_t)snprintf(out + used, room - used, " WHERE %s", where);
  return used < room;
}

bool nsys_rows_open(nsys_rows *self, sqlite3 *file, const char *table, const char *columns, const char *filter,
                    const char *where, int64_t process) {
  char sql[2048];
  *self = (nsys_rows){.file = file, .table = table};
  if (!nsys_has_table(file, table)) return false;
  if (filter && !nsys_has_column(file, table, filter)) where = NULL;
  if (!write_select(file, table, columns, where, sql, sizeof sql)) return false;
  self->damaged = sqlite3_prepare_v2(file, sql, -1, &self->statement, NULL) != SQLITE_OK ||
                  (where && sqlite3_bind_int64(self->statement, 1, process) != SQLITE_OK);
  if (self->damaged) nsys_rows_close(self);
  return !self->damaged;
}

bool nsys_rows_next(nsys_rows *self) {
  const int result = sqlite3_step(self->statement);
  if (result == SQLITE_ROW) self->read++;
  self->damaged = result != SQLITE_ROW && result != SQLITE_DONE;
  return result == SQLITE_ROW;
}

void nsys_rows_close(nsys_rows *self) {
  sqlite3_finalize(self->statement);
  self->statement = NULL;
}

bool nsys_has(const nsys_rows *self, int at) { return sqlite3_column_type(self->statement, at) != SQLITE_NULL; }

int64_t nsys_integer(const nsys_rows *self, int at) { return sqlite3_column_int64(self->statement, at); }

uint32_t nsys_small(const nsys_rows *self, int at) {
  const int64_t number = nsys_integer(self, at);
  return number < 0 || number > UINT32_MAX ? 0 : (uint32_t)number;
}

const char *nsys_text(const nsys_rows *self, int at) {
  const unsigned char *text = sqlite3_column_text(self->statement, at);
  return text ? (const char *)text : "";
}
