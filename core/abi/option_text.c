/* What a row allows, in words. See option_text.h. */
#include "option_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *option_type_name(pd_type type) {
  static const char *const names[] = {"unknown", "bool", "int",   "float",   "string",
                                      "choice",  "path", "bytes", "duration"};
  return names[type <= PD_DURATION ? type : 0];
}

bool option_text_is_number(pd_type type) {
  return type == PD_INT || type == PD_FLOAT || type == PD_BYTES || type == PD_DURATION;
}

void option_text_choices(const pd_option *row, char *text, size_t room) {
  size_t used = 0;
  text[0] = '\0';
  for (const char *const *choice = row->choices; *choice && used < room; choice++) {
    const int wrote = snprintf(text + used, room - used, "%s%s", choice == row->choices ? "" : ", ", *choice);
    if (wrote > 0) used += (size_t)wrote;
  }
}

/* A bound that says its unit itself, as 60s does. */
static bool has_own_unit(const char *bound) {
  return bound && bound[0] && isalpha((unsigned char)bound[strlen(bound) - 1]);
}

/* "0 .. 256"; with the unit of bare numbers "0 .. 256 samples", and where a bound has a unit of its own "1ms .. 60s".
 */
static void list_range(const pd_option *row, bool with_unit, char *text, size_t room) {
  const char *suffix = with_unit && row->unit && (row->min || row->max) ? row->unit : "";
  const bool each = has_own_unit(row->min) || has_own_unit(row->max);
  const char *const bounds[2] = {row->min, row->max};
  const char *units[2];
  char words[512] = "";
  if (row->choices) option_text_choices(row, words, sizeof words); /* of a core row */
  for (int i = 0; i < 2; i++)
    units[i] = each && bounds[i] && !has_own_unit(bounds[i]) && strcmp(bounds[i], "0") != 0 ? suffix : "";
  snprintf(text, room, "%s%s .. %s%s%s%s%s%s", row->min ? row->min : "no limit", units[0],
           row->max ? row->max : "no limit", units[1], suffix[0] && !each ? " " : "", each ? "" : suffix,
           words[0] ? " or " : "", words);
}

const char *option_text_allowed(const pd_option *row, bool with_unit, char *text, size_t room) {
  text[0] = '\0';
  if (row->type == PD_CHOICE || (row->type == PD_STRING && row->choices))
    option_text_choices(row, text, room);
  else if (row->type == PD_BOOL)
    snprintf(text, room, "true, false");
  else if (row->min || row->max || option_text_is_number(row->type))
    list_range(row, with_unit, text, room);
  return text;
}

const char *option_allowed(const pd_option *row, char *text, size_t room) {
  return option_text_allowed(row, false, text, room);
}

bool option_text_refuse(char *why, size_t room, const char *text) {
  snprintf(why, room, "%s", text);
  return false;
}
