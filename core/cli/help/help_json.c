/* See help_json.h. */
#include "help_json.h"

#include "abi/option.h"

static json_t *choices_of(const pd_option *row) {
  if (!row->choices) return json_null();
  json_t *array = json_array();
  for (const char *const *choice = row->choices; *choice; choice++)
    (void)json_text_append(array, json_text_of(*choice));
  return array;
}

json_t *help_json_row(const pd_option *row) {
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "key", json_text_of(row->key), "type",
                   json_text_of(option_type_name(row->type)), "default", json_text_of(row->def), "min",
                   json_text_of(row->min), "max", json_text_of(row->max), "unit", json_text_of(row->unit), "choices",
                   choices_of(row), "help", json_text_of(row->help));
}

json_t *help_json_rows(const pd_option *rows, uint32_t count) {
  json_t *array = json_array();
  for (uint32_t i = 0; i < count; i++)
    if (!json_text_append(array, help_json_row(&rows[i]))) {
      json_decref(array);
      return NULL;
    }
  return array;
}
