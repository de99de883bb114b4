/* The json sink's document of a run, docs/schema/metrics.schema.json, read as a measurement of its steps. [any thread]
 */
#ifndef CORE_COMPARE_RUN_DOCUMENT_H
#define CORE_COMPARE_RUN_DOCUMENT_H

#include "measure/measurement.h"

struct json_t;

/* Which time of a step counts. */
typedef enum run_time { RUN_TIME_ITERATION, RUN_TIME_STEP, RUN_TIME_WAIT } run_time;

/* Whether a document is one of a run, and not a file of measurements. */
bool run_document_is(const struct json_t *document);
/* The times of the active steps, in blocks of as many as there are workers, or of whole epochs where those end on the
 * way. `path` is for messages. On failure `row` is empty and `why` says what is wrong: PD_INVALID or PD_NO_MEMORY. */
pd_status run_document_read(const struct json_t *document, const char *path, run_time time, pd_measurement *row,
                            char *why, size_t room);
/* The same of a file. */
bool run_document_read_file(const char *path, run_time time, pd_measurement *row, char *why, size_t room);

/* A row of the ledger of the device's time. */
typedef struct run_part {
  char *category;
  double per_step_s; /* over the steps of all windows that have a ledger */
} run_part;

/* What a run said of itself. All zeros: nothing. */
typedef struct run_account {
  char *verdict; /* of the last window that has one; NULL: none has */
  run_part *parts;
  uint32_t part_count, part_room;
  uint64_t steps; /* in the ledger */
} run_account;

/* PD_NO_MEMORY leaves `out` empty. Tables that the document lacks are left out. */
pd_status run_account_read(const struct json_t *document, run_account *out);
/* Seconds of a step; 0 where there is no such row. */
double run_account_part(const run_account *self, const char *category);
void run_account_free(run_account *self);

#endif
