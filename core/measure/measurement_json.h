/* Measurements as JSON text, docs/schema/measurements.schema.json, and back. Every number survives unchanged. */
#ifndef CORE_MEASURE_MEASUREMENT_JSON_H
#define CORE_MEASURE_MEASUREMENT_JSON_H

#include "measurement.h"

#define MEASUREMENTS_FORMAT "pdhost.measurements/1"

/* A file of `count` measurements as text, to be freed. NULL on no memory. */
char *measurements_to_json(const pd_measurement *rows, uint64_t count);

/* Adds the measurements of a text to `out`; `name` is the file's, for messages. On failure `out` is as it was and `why`
 * is one line that says where the text is wrong. Keys it does not know are passed over: a later version may have more.
 */
pd_status measurements_from_json(const char *text, size_t bytes, const char *name, pd_measurements *out, char *why,
                                 size_t room);
/* The same of a text that is parsed already. */
struct json_t;
pd_status measurements_from_document(const struct json_t *document, const char *name, pd_measurements *out, char *why,
                                     size_t room);
/* A file as JSON, to be given back with json_decref; NULL: `status` and `why` say why. */
struct json_t *measurements_parse(const char *path, pd_status *status, char *why, size_t room);
/* The same for a file. */
pd_status measurements_read(const char *path, pd_measurements *out, char *why, size_t room);

#endif
