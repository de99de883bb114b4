/* The page of help of a command, made of its rows; see args.h. */
#include "args.h"

#include "core_options.h"
#include "base/wrap.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 30 };

const char *args_help_text(const args_option *self) {
  if (self->help) return self->help[0] ? self->help : NULL;
  for (uint32_t i = 0; self->key && i < CORE_SECTION_COUNT; i++) {
    const core_section *at = core_section_at(i);
    for (uint32_t row = 0; strcmp(at->name, self->section) == 0 && row < at->count; row++)
      if (strcmp(at->rows[row].key, self->key) == 0) return at->rows[row].help;
  }
  return NULL;
}

const char *args_title(const args_option *self, char *text, size_t room) {
  const bool is_loose = self->value == ARGS_OPTIONAL || self->value == ARGS_NEXT;
  char letter[8] = "";
  if (self->letter) snprintf(letter, sizeof letter, "-%c, ", self->letter);
  snprintf(text, room, "%s%s%s%s%s", letter, self->name,
           !self->argument                ? ""
           : self->value == ARGS_OPTIONAL ? "[="
           : self->value == ARGS_NEXT     ? " ["
                                          : " ",
           self->argument ? self->argument : "", self->argument && is_loose ? "]" : "");
  return text;
}

static void print_usage(const args_command *self) {
  const char *at = self->usage;
  do {
    const size_t bytes = strcspn(at, "\n");
    char form[512];
    snprintf(form, sizeof form, "%.*s", (int)bytes, at);
    const int used = printf("%s pdhost %s ", at == self->usage ? "usage:" : "      ", self->name);
    wrap_print(form, used, used);
    at += bytes + (at[bytes] == '\n');
  } while (*at);
}

static void print_paragraphs(const char *text) {
  while (*text) {
    const char *end = strstr(text, "\n\n");
    const size_t bytes = end ? (size_t)(end - text) : strlen(text);
    char paragraph[2048];
    snprintf(paragraph, sizeof paragraph, "%.*s", (int)bytes, text);
    putchar('\n');
    wrap_print(paragraph, 0, 0);
    text += bytes + (end ? 2 : 0);
  }
}

static void print_options(const args_option *rows, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    char title[128];
    if (rows[i].group || i == 0) printf("\n%s\n", rows[i].group ? rows[i].group : "options");
    const char *help = args_help_text(&rows[i]);
    if (!help) continue;
    const int used = printf("  %s", args_title(&rows[i], title, sizeof title));
    wrap_print(help, used < HELP_COLUMN ? used : HELP_COLUMN + 1, HELP_COLUMN);
  }
}

static void print_examples(const char *text) {
  printf("\nexamples\n");
  while (*text) {
    const size_t line = strcspn(text, "\n"), bytes = strcspn(text, "\t\n");
    printf("  %.*s\n", (int)bytes, text);
    if (bytes < line) printf("      %.*s\n", (int)(line - bytes - 1), text + bytes + 1);
    text += line + (text[line] == '\n');
  }
}

void args_print_help(const args_command *self) {
  print_usage(self);
  print_paragraphs(self->description);
  if (self->option_count) print_options(self->options, self->option_count);
  if (self->takes_run_options) printf("\nThe options of a run are taken too: see pdhost run --help.\n");
  if (self->examples) print_examples(self->examples);
}
