/* See launched_windows.h. */
#include "launched_windows.h"

#include "launch_sequence.h"

#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

/* Adds how often each name came. */
static bool add_names(json_t *names, const pd_trace *trace, const launch_sequence *of) {
  bool ok = names != NULL;
  for (uint64_t i = 0; i < trace->strings.count && ok; i++) {
    if (!of->counts[i]) continue;
    const char *name = pd_trace_string(trace, (uint32_t)i)->text;
    const json_int_t before = json_integer_value(json_object_get(names, name));
    ok = json_text_add(names, name, json_integer(before + (json_int_t)of->counts[i]));
  }
  return ok;
}

static bool add_apart(launched_windows *self, const pd_trace *trace, const launch_sequence *of) {
  json_t *names = json_object();
  if (!self->apart) self->apart = json_array();
  if (!self->apart || !add_names(names, trace, of)) {
    json_decref(names);
    return false;
  }
  return json_text_append(self->apart,
                          json_pack("{s:I, s:I, s:b, s:I, s:I, s:s, s:o}", "window", (json_int_t)trace->window, "steps",
                                    (json_int_t)trace->steps.count, "partial", (int)trace->partial, "operations",
                                    (json_int_t)of->operations, "launches", (json_int_t)of->launches, "sha256",
                                    of->sha256, "names", names));
}

static bool add_other(launched_windows *self, const pd_trace *trace, const launch_sequence *of) {
  if (!self->others++) {
    self->first_other = trace->window;
    self->names = json_object();
    sha256_begin(&self->sum);
  }
  self->steps += trace->steps.count;
  self->partial |= trace->partial;
  self->operations += of->operations;
  self->launches += of->launches;
  sha256_add(&self->sum, of->sha256, strlen(of->sha256));
  return add_names(self->names, trace, of);
}

bool launched_windows_add(launched_windows *self, const pd_trace *trace) {
  launch_sequence found;
  if (launch_sequence_find(trace, &found) != PD_OK) return false;
  const bool is_apart = json_array_size(self->apart) < LAUNCHED_WINDOWS_APART;
  const bool ok = is_apart ? add_apart(self, trace, &found) : add_other(self, trace, &found);
  free(found.counts);
  return ok;
}

json_t *launched_windows_json(const launched_windows *self) {
  json_t *all = self->apart ? json_copy(self->apart) : json_array();
  if (!self->others) return all;
  char text[SHA256_TEXT_BYTES];
  sha256 sum = self->sum;
  sha256_end(&sum, text);
  json_t *others = json_pack("{s:I, s:I, s:I, s:b, s:I, s:I, s:s, s:O}", "window", (json_int_t)self->first_other,
                             "windows", (json_int_t)self->others, "steps", (json_int_t)self->steps, "partial",
                             (int)self->partial, "operations", (json_int_t)self->operations, "launches",
                             (json_int_t)self->launches, "sha256", text, "names", self->names);
  if (json_text_append(all, others)) return all;
  json_decref(all);
  return NULL;
}

void launched_windows_free(launched_windows *self) {
  json_decref(self->apart);
  json_decref(self->names);
}
