/* Option rows as JSON; see help_json.h. */
#include "help_json.h"

#include "abi/option.h"

#include <stdio.h>

void help_json_text(const char *text) {
  if (!text) {
    printf("null");
    return;
  }
  putchar('"');
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at == '"' || *at == '\\')
      printf("\\%c", *at);
    else if (*at < 0x20)
      printf("\\u%04x", *at);
    else
      putchar(*at);
  }
  putchar('"');
}

static void member(const char *name, const char *text) {
  printf(", \"%s\": ", name);
  help_json_text(text);
}

void help_json_row(const pd_option *row) {
  printf("{\"key\": ");
  help_json_text(row->key);
  member("type", option_type_name(row->type));
  member("default", row->def);
  member("min", row->min);
  member("max", row->max);
  member("unit", row->unit);
  printf(", \"choices\": ");
  if (row->choices) {
    putchar('[');
    for (const char *const *choice = row->choices; *choice; choice++) {
      if (choice != row->choices) printf(", ");
      help_json_text(*choice);
    }
    putchar(']');
  } else {
    printf("null");
  }
  member("help", row->help);
  putchar('}');
}
