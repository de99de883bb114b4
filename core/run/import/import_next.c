/* See import_next.h. */
#include "import_next.h"

#include "base/shell_word.h"

#include <stdlib.h>
#include <string.h>

/* "PROGRAM WORD 'FILE' BEHIND --step NAME --reader NAME --no-python". */
static char *command(const import_request *request, const char *const *words, const char *step, bool no_python) {
  enum { OPTIONS = 5 };
  const char *const options[OPTIONS] = {step ? "--step" : NULL, step, request->reader ? "--reader" : NULL,
                                        request->reader, no_python ? "--no-python" : NULL};
  size_t room = 1;
  for (uint32_t i = 0; words[i]; i++) room += shell_word_room(words[i]) + 1;
  for (uint32_t i = 0; i < OPTIONS; i++) room += options[i] ? shell_word_room(options[i]) + 1 : 0;
  char *text = malloc(room), *at = text;
  if (!text) return NULL;
  for (uint32_t i = 0; words[i]; i++) at = shell_word_put(i ? stpcpy(at, " ") : at, words[i]);
  for (uint32_t i = 0; i < OPTIONS; i++)
    if (options[i]) at = shell_word_put(stpcpy(at, " "), options[i]);
  return text;
}

/* The report on this file alone. */
static char *report_on(const import_request *request, const char *path, bool no_python) {
  return command(request, (const char *const[]){"pdhost", "analyze", path, NULL}, request->step, no_python);
}

void import_next_make(import_next *self, const config *settings, const import_request *request, const char *path,
                      bool no_python) {
  *self = (import_next){.compare = NULL};
  if (request->is_recording) {
    self->words.again = settings->command_line;
    if (settings->run.keep_capture) self->alone = report_on(request, path, no_python);
    return;
  }
  if (strcmp(path, "-") == 0) return;
  self->compare =
      command(request, (const char *const[]){"pdhost", "diff", path, "NEW", NULL}, request->step, no_python);
  self->steps = command(request, (const char *const[]){"pdhost", "analyze", path, NULL}, "NAME", no_python);
  self->alone = report_on(request, path, no_python);
  self->words.again = self->compare;
  self->words.steps = self->steps;
}

void import_next_free(import_next *self) {
  free(self->compare);
  free(self->steps);
  free(self->alone);
  *self = (import_next){.compare = NULL};
}
