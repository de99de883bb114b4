/* See baselines.h. */
#include "baselines.h"

#include "base/files.h"
#include "base/visible.h"
#include "base/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MOST = 64, LIST_BYTES = 512 };
#define FILE_MOST ((size_t)1 << 30)
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

const char *baselines_folder(const char *folder) {
  const char *set = getenv(BASELINES_ENVIRONMENT);
  if (folder) return folder;
  return set && *set ? set : BASELINES_FOLDER;
}

static char *path_of(const char *folder, const char *name, error *err) {
  char *path = NULL;
  const size_t length = strlen(name);
  if (!length || length > NAME_MOST || name[0] == '.' || strspn(name, LETTERS) != length) {
    char shown[4 * NAME_MOST];
    visible_copy(shown, sizeof shown, name);
    error_set(
        err, PD_INVALID, CODE_USAGE,
        "compare: \"%s\" is not the name of a baseline; use up to %d letters, digits, '_', '-' and '.', not '.' first",
        shown, NAME_MOST);
  } else if (asprintf(&path, "%s/%s.json", folder, name) < 0) {
    error_no_memory(err);
    path = NULL;
  }
  return path;
}

static int is_baseline(const struct dirent *of) {
  const size_t length = strlen(of->d_name);
  return of->d_name[0] != '.' && length > 5 && strcmp(of->d_name + length - 5, ".json") == 0;
}

/* "main, release", as far as there is room. */
static void list_names(const char *folder, char *text, size_t room) {
  struct dirent **found = NULL;
  const int count = scandir(folder, &found, is_baseline, alphasort);
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < count; i++) {
    char shown[LIST_BYTES];
    visible_copy(shown, sizeof shown, found[i]->d_name);
    shown[strlen(shown) - 5] = '\0';
    if (used + strlen(shown) + 3 < room)
      used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", shown);
    free(found[i]);
  }
  free(found);
}

char *baselines_find(const char *folder, const char *name, error *err) {
  char names[LIST_BYTES];
  char *path = path_of(folder, name, err);
  if (!path || access(path, F_OK) == 0) return path;
  list_names(folder, names, sizeof names);
  error_set(err, PD_INVALID, CODE_CONFIG, "compare: %s: no such baseline; %s%s%s", path,
            names[0] ? "there are: " : "save one with: pdhost compare --save-baseline ", names[0] ? names : name,
            names[0] ? "" : " FILE.json");
  free(path);
  return NULL;
}

static pd_status write_whole(const char *path, const char *text, size_t bytes, error *err) {
  char *temporary;
  FILE *out = files_open_stream(path, &temporary);
  if (out) (void)fwrite(text, 1, bytes, out);
  if (out && files_end_stream(out, true, path, temporary)) return PD_OK;
  return error_set(err, PD_IO, CODE_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
}

pd_status baselines_save(const char *folder, const char *name, const char *from, error *err) {
  char why[ERROR_LINE_BYTES], *text;
  size_t bytes;
  char *path = path_of(folder, name, err);
  if (!path) return err->status;
  pd_status status = files_make_folder(folder, why, sizeof why);
  if (status != PD_OK) error_set(err, status, CODE_OUTPUT, "compare: --save-baseline: %s", why);
  if (status == PD_OK) {
    status = whole_file_read(from, "a baseline", FILE_MOST, &text, &bytes, why, sizeof why);
    if (status != PD_OK) error_set(err, status, CODE_CONFIG, "%s", why);
  }
  if (status == PD_OK) {
    status = write_whole(path, text, bytes, err);
    free(text);
  }
  if (status == PD_OK) fprintf(stderr, "pdhost: wrote %s\n", path);
  free(path);
  return status;
}
