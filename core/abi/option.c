/* Option rows; see option.h. */
#include "option.h"

#include "option_number.h"
#include "option_text.h"

#include "base/suggest.h"
#include "base/visible.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool parse_bool(const char *text, option_value *value, char *why, size_t room) {
  static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcasecmp(text, words[i]) != 0) continue;
    value->truth = i % 2 == 1;
    return true;
  }
  return option_text_refuse(why, room, "not a boolean; write true or false (also yes, no, on, off, 1, 0)");
}

static bool parse_choice(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
  suggest near = {.wanted = text};
  for (const char *const *choice = row->choices; *choice; choice++) {
    if (strcmp(*choice, text) == 0) {
      value->text = *choice;
      return true;
    }
    suggest_offer(&near, *choice);
  }
  char choices[512], hint[128];
  option_text_choices(row, choices, sizeof choices);
  snprintf(why, room, "no such choice; allowed: %s%s", choices, suggest_text(&near, hint, sizeof hint));
  return false;
}

/* Some of the choices, separated by spaces or commas. */
static bool parse_list(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
  for (const char *at = text + strspn(text, ", "); *at; at += strspn(at, ", ")) {
    char word[64], reason[640];
    option_value one;
    const size_t bytes = strcspn(at, ", ");
    snprintf(word, sizeof word, "%.*s", (int)(bytes < sizeof word ? bytes : sizeof word), at);
    if (bytes >= sizeof word || !parse_choice(row, word, &one, reason, sizeof reason)) {
      snprintf(why, room, "\"%s\": %s", word, bytes < sizeof word ? reason : "no such choice");
      return false;
    }
    at += bytes;
  }
  value->text = text;
  return true;
}

bool option_parse(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
  memset(value, 0, sizeof *value);
  why[0] = '\0';
  switch (row->type) {
  case PD_BOOL: return parse_bool(text, value, why, room);
  case PD_CHOICE: return parse_choice(row, text, value, why, room);
  case PD_STRING:
    if (row->choices) return parse_list(row, text, value, why, room);
    value->text = text;
    if (visible_is(text)) return true;
    snprintf(why, room, "holds a control character; leave it out");
    return false;
  case PD_PATH: value->text = text; return true;
  case PD_INT:
    for (int64_t i = 0; row->choices && row->choices[i]; i++)
      if (strcmp(row->choices[i], text) == 0) {
        value->integer = -1 - i;
        return true;
      }
    if (row->choices && isalpha((unsigned char)text[0])) {
      char range[640];
      snprintf(why, room, "no such choice; allowed: %s", option_text_allowed(row, true, range, sizeof range));
      return false;
    }
    break;
  case PD_FLOAT:
  case PD_BYTES:
  case PD_DURATION: break;
  default: return option_text_refuse(why, room, "the row has an unknown type");
  }
  return option_number_take(row, text, value, why, room);
}

void option_store(const pd_option *row, const option_value *value, void *options) {
  char *field = (char *)options + row->offset;
  switch (row->type) {
  case PD_BOOL: memcpy(field, &value->truth, sizeof value->truth); break;
  case PD_FLOAT: memcpy(field, &value->real, sizeof value->real); break;
  case PD_STRING:
  case PD_CHOICE:
  case PD_PATH: memcpy(field, &value->text, sizeof value->text); break;
  default: memcpy(field, &value->integer, sizeof value->integer); break;
  }
}

bool option_equal(const pd_option *row, const option_value *a, const option_value *b) {
  switch (row->type) {
  case PD_BOOL: return a->truth == b->truth;
  case PD_FLOAT: return !(a->real < b->real) && !(a->real > b->real);
  case PD_STRING:
  case PD_CHOICE:
  case PD_PATH: return strcmp(a->text, b->text) == 0;
  default: return a->integer == b->integer;
  }
}

/* ---- the row itself ---- */

static size_t field_bytes(pd_type type) {
  switch (type) {
  case PD_BOOL: return sizeof(bool);
  case PD_FLOAT: return sizeof(double);
  case PD_STRING:
  case PD_CHOICE:
  case PD_PATH: return sizeof(const char *);
  default: return sizeof(int64_t);
  }
}

static bool key_is_sound(const char *key) {
  if (!key || !(key[0] >= 'a' && key[0] <= 'z') || strlen(key) > 48) return false;
  for (; *key; key++)
    if (!((*key >= 'a' && *key <= 'z') || (*key >= '0' && *key <= '9') || *key == '_')) return false;
  return true;
}

static bool check_texts(const pd_option *row, char *why, size_t room) {
  const struct { const char *name, *text; } texts[] = {{"min", row->min}, {"max", row->max}, {"def", row->def}};
  option_value values[3] = {{.integer = 0}};
  char reason[512];
  for (int i = 0; i < 3; i++) {
    if (!texts[i].text) continue;
    const bool good = i < 2 ? option_number_parse(row, texts[i].text, &values[i], reason, sizeof reason)
                            : option_parse(row, texts[i].text, &values[i], reason, sizeof reason);
    if (good) continue;
    snprintf(why, room, "%s = \"%s\": %s", texts[i].name, texts[i].text, reason);
    return false;
  }
  if (row->min && row->max &&
      (row->type == PD_FLOAT ? values[0].real > values[1].real : values[0].integer > values[1].integer)) {
    snprintf(why, room, "min = \"%s\" is above max = \"%s\"", row->min, row->max);
    return false;
  }
  return true;
}

bool option_check_row(const pd_option *row, uint32_t options_size, char *why, size_t room) {
  if (!key_is_sound(row->key)) return option_text_refuse(why, room, "its key is not of the form [a-z][a-z0-9_]*");
  if (row->type < PD_BOOL || row->type > PD_DURATION) {
    snprintf(why, room, "type %u is none of 1 .. %d", row->type, PD_DURATION);
    return false;
  }
  if (!row->help || !row->help[0]) return option_text_refuse(why, room, "it has no help text");
  const size_t bytes = field_bytes(row->type);
  if ((size_t)row->offset + bytes > options_size || row->offset % bytes != 0) {
    snprintf(why, room, "offset %u does not fit a %s in a struct of %u bytes", row->offset, option_type_name(row->type),
             options_size);
    return false;
  }
  if (row->type == PD_CHOICE && (!row->choices || !row->choices[0]))
    return option_text_refuse(why, room, "it has no choices");
  if (row->choices && row->type != PD_CHOICE && row->type != PD_STRING && row->type != PD_INT)
    return option_text_refuse(why, room, "choices belong to a choice");
  if ((row->min || row->max) && !option_text_is_number(row->type))
    return option_text_refuse(why, room, "bounds belong to a number");
  if (!option_number_knows_unit(row)) {
    snprintf(why, room, "unit \"%s\" is none of a %s", row->unit, option_type_name(row->type));
    return false;
  }
  return check_texts(row, why, room);
}
