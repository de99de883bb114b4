/* See tuned_file.h. */
#include "tuned_file.h"

#include "config/assignments.h"
#include "config/config_variant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool refuse(const char *path, error *err) {
  if (errno == EEXIST)
    error_set(err, PD_IO, CODE_OUTPUT,
              "tune: %s: is there already, and is not written over; name another with --output", path);
  else
    error_set(err, PD_IO, CODE_OUTPUT, "tune: %s: %s; name another file with --output", path, strerror(errno));
  return false;
}

bool tuned_file_check(const char *path, error *err) {
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return refuse(path, err);
  close(file);
  (void)unlink(path);
  return true;
}

/* What tune changed; NULL: the user had it so. */
static const tune_step *tuned_by(const tune_path *of, const pd_setting *at) {
  char key[TUNE_TEXT];
  const tune_step *found = NULL;
  const int length = snprintf(key, sizeof key, "%s.%s=", at->section, at->key);
  for (uint32_t i = 0; i < of->count; i++) {
    const tune_step *step = &of->steps[i];
    const char *in = step->kept ? strstr(step->settings, key) : NULL;
    if (in && length > 0 && (in == step->settings || in[-1] == ' ')) found = step;
  }
  return found;
}

static bool print(const config *settings, const tune_path *of, FILE *out) {
  const char *section = "";
  fprintf(out, "; Written by pdhost tune.\n");
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    if (!config_set_by_user(at)) continue;
    if (strcmp(section, at->section) != 0) fprintf(out, "\n[%s]\n", at->section);
    section = at->section;
    const tune_step *by = tuned_by(of, at);
    if (by)
      fprintf(out, "; measured: the step takes %.1f %% less (%.1f to %.1f)\n", 100 * (1 - by->got.of.of.ratio),
              100 * (1 - by->got.of.of.high), 100 * (1 - by->got.of.of.low));
    fprintf(out, "%s = %s\n", at->key, at->value);
  }
  return !ferror(out);
}

/* The configuration with all that is kept; NULL: see `err`. */
static config *load(const cli_args *args, const tune_path *of, error *err) {
  config_input input = args->input;
  config *settings = NULL;
  assignments more;
  if (!assignments_parse(of->settings, "tune", &more, err)) return NULL;
  config_assignment *all = calloc(input.assignment_count + more.count + 1u, sizeof *all);
  if (all) {
    if (input.assignment_count) memcpy(all, input.assignments, input.assignment_count * sizeof *all);
    if (more.count) memcpy(all + input.assignment_count, more.all, more.count * sizeof *all);
    input.assignments = all;
    input.assignment_count += more.count;
    (void)config_load(&input, &settings, err);
  } else {
    error_no_memory(err);
  }
  free(all);
  assignments_free(&more);
  return settings;
}

bool tuned_file_write(const char *path, const cli_args *args, const tune_path *of, error *err) {
  config *settings = load(args, of, err);
  if (!settings) return false;
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  FILE *out = file < 0 ? NULL : fdopen(file, "w");
  bool ok = out && print(settings, of, out);
  if (out) ok = fclose(out) == 0 && ok;
  config_free(settings);
  return ok || refuse(path, err);
}
