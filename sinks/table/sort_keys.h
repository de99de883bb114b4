/* What the options `sort_by` and `sorted_by` of the table sink mean. */
#ifndef SINKS_TABLE_SORT_KEYS_H
#define SINKS_TABLE_SORT_KEYS_H

/* The key of the metric that a table's rows are sorted by; NULL: the table's own order. torch's names and Paddle's say
 * cuda and GPU of any device. */
const char *sort_key_of(const char *table, const char *sort_by, const char *sorted_by);

#endif
