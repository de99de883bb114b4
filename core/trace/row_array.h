/* Growing arrays of rows, and ids of rows by their content. What has a reader's rows uses them. [loop thread] */
#ifndef CORE_TRACE_ROW_ARRAY_H
#define CORE_TRACE_ROW_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* A growing array; `data` is NULL while it is empty. */
typedef struct row_array {
  void *data;
  uint64_t count, room;
} row_array;
/* Room for one more row of `bytes`; NULL on no memory. The row is zeroed and counted. */
void *row_array_add(row_array *rows, size_t bytes);

/* Frees the rows; the array is empty then. */
void row_array_free(row_array *rows);

/* Ids by content: finds equal rows of an array. */
typedef struct row_index {
  uint32_t *slots; /* index + 1; 0: free */
  uint64_t mask;
} row_index;
/* The index of the row equal to `row`, which is added to `rows` where there is none. PD_NONE on no memory. */
uint32_t row_index_find(row_index *self, row_array *rows, const void *row, size_t bytes);

#endif
