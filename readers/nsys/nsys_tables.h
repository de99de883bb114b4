/* An export's tables: any may be missing, and so may any column of one: versions of Nsight Systems differ. */
#ifndef READERS_NSYS_NSYS_TABLES_H
#define READERS_NSYS_NSYS_TABLES_H

#include <pdhost/reader.h>

#include <sqlite3.h>
#include <stdbool.h>

/* The rows of one table, with the columns in the order asked for; what the table lacks is NULL in every row. */
typedef struct nsys_rows {
  sqlite3 *file;
  sqlite3_stmt *statement;
  const char *table;
  uint64_t read;
  bool damaged; /* the file cannot be read any further here */
} nsys_rows;

bool nsys_has_table(sqlite3 *file, const char *table);
bool nsys_has_column(sqlite3 *file, const char *table, const char *column);

/* `columns`: names, one blank between two. `where`: SQL after WHERE with ?1 for `process`, used where the table has
 * the column `filter`; both may be NULL. False: there is no such table, or its first page is damaged (`damaged` is
 * set). To be closed where true. */
bool nsys_rows_open(nsys_rows *self, sqlite3 *file, const char *table, const char *columns, const char *filter,
                    const char *where, int64_t process);
/* False: there is none left, or `damaged`. */
bool nsys_rows_next(nsys_rows *self);
void nsys_rows_close(nsys_rows *self);

/* Column `at` of the row. */
bool nsys_has(const nsys_rows *self, int at);
int64_t nsys_integer(const nsys_rows *self, int at);  /* 0 where there is none */
uint32_t nsys_small(const nsys_rows *self, int at);   /* 0 for what is no uint32_t */
const char *nsys_text(const nsys_rows *self, int at); /* "" where there is none; until the next row */

#endif
