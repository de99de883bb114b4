/* See saved_key.h. */
#include "saved_key.h"

#include "base/child.h"
#include "base/sha256.h"
#include "base/version.h"
#include "config/cli_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHILD_SECONDS = 20, KEPT_HASHES = 64 };

/* ---- which files, found by a child: a plugin is loaded for it, and may crash ---- */

static void report_line(FILE *out, char kind, const char *path) { fprintf(out, "%c%s\n", kind, path); }

static void report_devices(const config *from, FILE *out) {
  plugin_file *files = NULL;
  uint32_t count = 0;
  if (from->device.plugin) report_line(out, 'p', from->device.plugin->path);
  if (from->device.plugin || plugins_scan(from->plugins, PD_KIND_DEVICE, &files, &count) != PD_OK) return;
  for (uint32_t i = 0; i < count; i++)
    if (!files[i].shadowed_by) report_line(out, 'p', files[i].path);
  plugins_scan_free(files, count);
}

static int report_files(void *user, int report) {
  const saved_run *self = user;
  static error err; /* large; the child's alone */
  cli_args args;
  config *loaded = NULL;
  int count = 0;
  FILE *out = fdopen(report, "w");
  char **words = out ? calloc(self->count + 1u, sizeof *words) : NULL; /* until the child ends */
  if (!words) return 1;
  for (uint32_t i = 0; i < self->count; i++)
    if (strcmp(self->words[i], "-q") != 0) words[count++] = self->words[i];
  error_clear(&err);
  log_set_level(PD_LOG_ERROR); /* the run warns of what it was given */
  if (cli_args_parse(&args, NULL, count, words, &err) != PD_OK || config_load(&args.input, &loaded, &err) != PD_OK)
    return 1;
  for (uint32_t i = 0; i < args.input.file_count; i++) report_line(out, 'c', args.input.files[i]);
  if (loaded->scenario.plugin) report_line(out, 'p', loaded->scenario.plugin->path);
  report_devices(loaded, out);
  for (uint32_t i = 0; i < loaded->sink_count; i++) report_line(out, 'p', loaded->sinks[i].plugin->path);
  return fflush(out) == 0 ? 0 : 1;
}

/* ---- what they hold ---- */

/* A file that the run reads, as lines that cannot be taken for a word of the command. */
static void note_file(const char *path, FILE *out) {
  char *line = NULL;
  size_t room = 0;
  ssize_t bytes;
  FILE *file = fopen(path, "r");
  fprintf(out, "# %s\n", path);
  while (file && (bytes = getline(&line, &room, file)) >= 0) {
    const bool whole = bytes && line[bytes - 1] == '\n';
    fprintf(out, "#   ");
    fwrite(line, 1, (size_t)bytes, out);
    if (!whole) fputc('\n', out);
  }
  free(line);
  if (file) fclose(file);
}

/* Hundreds of cells ask for the same files. */
static bool find_hash(const char *path, char text[SHA256_TEXT_BYTES]) {
  static struct {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec changed;
    char text[SHA256_TEXT_BYTES];
  } kept[KEPT_HASHES];
  static uint32_t count;
  struct stat at;
  if (stat(path, &at) != 0) return false;
  for (uint32_t i = 0; i < count && i < KEPT_HASHES; i++)
    if (kept[i].device == at.st_dev && kept[i].inode == at.st_ino && kept[i].bytes == at.st_size &&
        kept[i].changed.tv_sec == at.st_ctim.tv_sec && kept[i].changed.tv_nsec == at.st_ctim.tv_nsec) {
      memcpy(text, kept[i].text, SHA256_TEXT_BYTES);
      return true;
    }
  if (!sha256_file(path, text)) return false;
  const uint32_t place = count++ % KEPT_HASHES;
  kept[place].device = at.st_dev;
  kept[place].inode = at.st_ino;
  kept[place].bytes = at.st_size;
  kept[place].changed = at.st_ctim;
  memcpy(kept[place].text, text, SHA256_TEXT_BYTES);
  return true;
}

/* By its name alone: in another place the same file does the same. */
static void note_code(const char *path, FILE *out) {
  char text[SHA256_TEXT_BYTES];
  const char *slash = strrchr(path, '/');
  fprintf(out, "# sha256 %s %s\n", find_hash(path, text) ? text : "unknown", slash ? slash + 1 : path);
}

static void note_files(const saved_run *self, FILE *out) {
  child_result found;
  saved_run run = *self; /* which the child does not change */
  if (!child_call(report_files, &run, CHILD_SECONDS, &found) || found.exit_code != 0) return;
  if (strlen(found.text) + 1 == sizeof found.text) return; /* cut */
  char *rest = NULL;
  for (char *line = strtok_r(found.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    if (line[0] == 'c')
      note_file(line + 1, out);
    else
      note_code(line + 1, out);
}

char *saved_key_text(const saved_run *self, size_t *bytes) {
  char *text = NULL;
  FILE *out = open_memstream(&text, bytes);
  if (!out) return NULL;
  for (uint32_t i = 0; i < self->count; i++) fprintf(out, "%s\n", self->words[i]);
  fprintf(out, "# pdhost %s\n", version_text());
  note_code(self->words[0], out);
  note_files(self, out);
  const bool failed = ferror(out);
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}
