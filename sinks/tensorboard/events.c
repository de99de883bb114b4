/* See events.h. Messages of event.proto by protobuf-c. */
#include "events.h"

#include "event.pb-c.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DTYPE_DOUBLE = 2, DTYPE_STRING = 7, STACK_BYTES = 512 };

/* In two parts: nanoseconds since 1970 as one double are off by hundreds. */
double events_seconds(int64_t realtime_ns) {
  const int64_t seconds = realtime_ns / 1000000000;
  return (double)seconds + (double)(realtime_ns % 1000000000) / 1e9;
}

static pd_status add(const event_place *place, Pdtb__Event *event) {
  uint8_t stack[STACK_BYTES];
  event->wall_time = events_seconds(place->realtime_ns);
  event->step = place->step;
  const size_t bytes = pdtb__event__get_packed_size(event);
  uint8_t *packed = bytes <= sizeof stack ? stack : malloc(bytes);
  /* The message of the failure is the caller's: it knows what could not be stored. */
  if (!packed) return PD_NO_MEMORY;
  pdtb__event__pack(event, packed);
  const pd_status status = record_file_add(place->file, packed, bytes);
  if (packed != stack) free(packed);
  return status;
}

static pd_status add_value(const event_place *place, Pdtb__Value *value) {
  Pdtb__Event event = PDTB__EVENT__INIT;
  Pdtb__Summary summary = PDTB__SUMMARY__INIT;
  Pdtb__Value *values[] = {value};
  summary.n_value = 1;
  summary.value = values;
  event.what_case = PDTB__EVENT__WHAT_SUMMARY;
  event.summary = &summary;
  return add(place, &event);
}

/* protobuf-c takes texts as char *, and does not change them. */
static char *borrow(const char *text) {
  char *same;
  memcpy(&same, &text, sizeof same);
  return same;
}

static ProtobufCBinaryData borrow_bytes(const void *data, size_t bytes) {
  ProtobufCBinaryData same = {bytes, NULL};
  memcpy(&same.data, &data, sizeof same.data);
  return same;
}

pd_status events_version(const event_place *place) {
  Pdtb__Event event = PDTB__EVENT__INIT;
  event.what_case = PDTB__EVENT__WHAT_FILE_VERSION;
  event.file_version = borrow("brain.Event:2");
  return add(place, &event);
}

pd_status events_scalar(const event_place *place, const char *tag, double number) {
  Pdtb__Value value = PDTB__VALUE__INIT;
  if (!isfinite(number)) return PD_OK;
  value.tag = borrow(tag);
  value.what_case = PDTB__VALUE__WHAT_SIMPLE_VALUE;
  value.simple_value = (float)number;
  return add_value(place, &value);
}

static pd_status add_tensor(const event_place *place, const char *tag, const char *plugin, const char *description,
                            Pdtb__Tensor *tensor) {
  Pdtb__Value value = PDTB__VALUE__INIT;
  Pdtb__Metadata metadata = PDTB__METADATA__INIT;
  Pdtb__PluginData plugin_data = PDTB__PLUGIN_DATA__INIT;
  plugin_data.plugin_name = borrow(plugin);
  metadata.plugin_data = &plugin_data;
  if (description) metadata.summary_description = borrow(description);
  value.tag = borrow(tag);
  value.metadata = &metadata;
  value.what_case = PDTB__VALUE__WHAT_TENSOR;
  value.tensor = tensor;
  return add_value(place, &value);
}

static pd_status add_string(const event_place *place, const char *tag, const char *plugin, const void *data,
                            size_t bytes) {
  Pdtb__Tensor tensor = PDTB__TENSOR__INIT;
  Pdtb__Shape shape = PDTB__SHAPE__INIT; /* rank 0 */
  ProtobufCBinaryData strings[] = {borrow_bytes(data, bytes)};
  tensor.dtype = DTYPE_STRING;
  tensor.tensor_shape = &shape;
  tensor.n_string_val = 1;
  tensor.string_val = strings;
  return add_tensor(place, tag, plugin, NULL, &tensor);
}

pd_status events_text(const event_place *place, const char *tag, const char *markdown) {
  return add_string(place, tag, "text", markdown, strlen(markdown));
}

pd_status events_histogram(const event_place *place, const char *tag, const char *description, const double *rows,
                           uint32_t row_count) {
  Pdtb__Tensor tensor = PDTB__TENSOR__INIT;
  Pdtb__Shape shape = PDTB__SHAPE__INIT;
  Pdtb__Dimension dimensions[] = {PDTB__DIMENSION__INIT, PDTB__DIMENSION__INIT};
  Pdtb__Dimension *pointers[] = {&dimensions[0], &dimensions[1]};
  dimensions[0].size = row_count;
  dimensions[1].size = 3;
  shape.n_dim = 2;
  shape.dim = pointers;
  tensor.dtype = DTYPE_DOUBLE;
  tensor.tensor_shape = &shape;
  /* little-endian, as all our machines are */
  tensor.tensor_content = borrow_bytes(rows, (size_t)row_count * 3 * sizeof *rows);
  return add_tensor(place, tag, "histograms", description, &tensor);
}

pd_status events_plugin(const event_place *place, const char *tag, const char *plugin, const void *data, size_t bytes,
                        bool as_tensor) {
  if (as_tensor) return add_string(place, tag, plugin, data, bytes);
  Pdtb__Value value = PDTB__VALUE__INIT;
  Pdtb__Metadata metadata = PDTB__METADATA__INIT;
  Pdtb__PluginData plugin_data = PDTB__PLUGIN_DATA__INIT;
  plugin_data.plugin_name = borrow(plugin);
  plugin_data.content = borrow_bytes(data, bytes);
  metadata.plugin_data = &plugin_data;
  value.tag = borrow(tag);
  value.metadata = &metadata;
  return add_value(place, &value);
}
