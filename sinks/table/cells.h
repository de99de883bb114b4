/* One cell of a table as text. */
#ifndef SINKS_TABLE_CELLS_H
#define SINKS_TABLE_CELLS_H

#include <pdhost/analysis.h>

typedef enum cell_time { CELL_AUTO, CELL_S, CELL_MS, CELL_US, CELL_NS } cell_time;

/* "auto", "s", "ms", "us", "ns". */
cell_time cell_time_of(const char *name);
const char *cell_time_name(cell_time unit);
/* Writes at most `room` bytes; a missing cell is empty. Texts are not cell_write's: see cell->v.text. `digits`: that
 * many significant ones, but of bytes and counts, and never finer than the unit is shown with; 0: that fine. */
void cell_write(char *out, size_t room, const pd_metric *metric, const pd_cell *cell, cell_time unit, uint32_t digits);
/* A value of a series, whose row says what it is counted in: bytes and bytes per second in the unit that they are best
 * read in, others with three significant digits and three decimals at most. */
void cell_write_series(char *out, size_t room, double value, const char *unit);
/* A time in a fixed unit, with this number of decimals, and with the unit's name if `suffix`; a missing cell is empty.
 */
void cell_write_time(char *out, size_t room, const pd_cell *cell, cell_time unit, uint32_t decimals, bool suffix);
/* The unit for a column whose largest time this is: s, ms or us. */
cell_time cell_time_for(int64_t most_ns);
/* Decimals that show `least_ns` with two significant digits in a fixed unit; as many as the unit has at least, down to
 * a nanosecond at most. */
uint32_t cell_time_decimals(cell_time unit, int64_t least_ns);

#endif
