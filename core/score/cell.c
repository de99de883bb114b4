/* See cell.h. */
#include "cell.h"

#include "run/saved_run.h"

#include <stdio.h>
#include <string.h>

enum { ARGUMENT_BYTES = 1024, COMMAND_BYTES = 16384 };

/* ---- the command ---- */

/* Each word of `list` after `flag`; words that are the flag already are left out. */
static void words(saved_run *self, const char *flag, const char *list) {
  while (*list) {
    const size_t length = strcspn(list, " ");
    char text[ARGUMENT_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)length, list);
    if (length && strcmp(text, flag) != 0) {
      saved_run_word(self, flag);
      saved_run_word(self, text);
    }
    list += length;
    list += strspn(list, " ");
  }
}

static void make_command(saved_run *self, const corpus *all, const corpus_cell *cell, const char *fix,
                         const char *program, const char *folder) {
  const corpus_group *group = &all->groups[cell->group];
  char text[ARGUMENT_BYTES];
  saved_run_word(self, program);
  saved_run_word(self, "-q");
  for (uint32_t i = 0; i < all->set_count; i++) words(self, "-o", all->sets[i]);
  if (all->size_count) words(self, "-o", all->sizes[cell->size]);
  saved_run_word(self, "--scenario");
  saved_run_word(self, group->scenario);
  words(self, "-o", group->set);
  snprintf(text, sizeof text, "%u", cell->seed);
  saved_run_set(self, "run.seed", text);
  if (cell->dial != CORPUS_GROUPS)
    saved_run_set(self, all->groups[cell->dial].dial, all->groups[cell->dial].values[cell->value]);
  if (fix) words(self, "-o", fix);
  saved_run_set(self, "run.trace_dir", folder);
  saved_run_word(self, "--sink");
  saved_run_word(self, "window");
  words(self, "--sink", all->sinks);
}

/* ---- the run ---- */

static char failure[2 * ERROR_LINE_BYTES];

const char *cell_failure(void) { return failure; }

/* A window that cannot be read counts as a failed run. */
static void read_run(const char *place, reading *out) {
  static error unreadable; /* large; the main thread's alone */
  char path[ARGUMENT_BYTES + 24], line[ERROR_LINE_BYTES];
  snprintf(path, sizeof path, "%s/window0.pdw", place);
  error_clear(&unreadable);
  if (!reading_of(path, out, &unreadable))
    snprintf(failure, sizeof failure, "%s; what its run said: %s/log", error_first_line(&unreadable, line, sizeof line),
             place);
  snprintf(path, sizeof path, "%s/truth/truth.json", place);
  out->label = truth_label_read(path);
}

/* Whether the run in `place` was given every word of `list`. */
static bool was_given(const char *place, const char *list) {
  char path[ARGUMENT_BYTES + 16], text[COMMAND_BYTES], word[ARGUMENT_BYTES];
  snprintf(path, sizeof path, "%s/command", place);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const size_t bytes = fread(text, 1, sizeof text - 1, file);
  text[bytes] = '\0';
  fclose(file);
  for (; *list; list += strspn(list, " ")) {
    const int length = (int)strcspn(list, " ");
    snprintf(word, sizeof word, "\n%.*s\n", length, list);
    if (!strstr(text, word)) return false;
    list += length;
  }
  return true;
}

bool cell_run(const cell_runner *self, const corpus_cell *cell, const char *fix, const char *suffix, reading *out,
              bool *was_there, error *err) {
  char name[ARGUMENT_BYTES / 2], place[ARGUMENT_BYTES];
  char line[ERROR_LINE_BYTES];
  saved_run command = {.words = NULL};
  int code = CODE_DONE;
  corpus_cell_name(self->corpus, cell, name, sizeof name);
  snprintf(place, sizeof place, "%s/%s%s", self->folder, name, suffix);
  make_command(&command, self->corpus, cell, fix, self->program, place);
  *was_there = self->only_read || saved_run_is_there(&command, place);
  *out = READING_FAILED;
  /* The exit code does not count: saved_run_is_there() is true only for a run that ended well. */
  bool ok = *was_there || saved_run_do(&command, place, &code, err);
  const bool is_it = self->only_read ? !fix || was_given(place, fix) : saved_run_is_there(&command, place);
  if (ok && is_it)
    read_run(place, out);
  else if (self->only_read)
    snprintf(failure, sizeof failure, "no run with these settings is in %s", place);
  else if (ok)
    snprintf(failure, sizeof failure, "its run did not end well: %s; what it said: %s/log",
             saved_run_said(place, line, sizeof line), place);
  saved_run_clear(&command);
  return ok;
}
