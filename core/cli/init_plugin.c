/* See init_plugin.h. */
#include "init_plugin.h"

#include "templates.h"

#include "abi/plugins.h"
#include "base/files.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 48, PATH_BYTES = 4096 };

/* One file of a plugin. `target`: its name; a '*' stands for the plugin's. */
typedef struct skeleton_file {
  const char *source, *target;
} skeleton_file;

typedef struct skeleton {
  pd_kind kind;
  bool cpp;
  const char *word;         /* in the sources, replaced by the plugin's name */
  skeleton_file sources[4]; /* the first is the one to begin with; ended by a NULL source */
  const char *compiled;     /* what a compiler is given, with '*' */
  const char *libraries[2]; /* for CMake, for the Makefile */
  const char *run;          /* a command that uses it, with '*' */
} skeleton;

static const skeleton skeletons[] = {
    {PD_KIND_SCENARIO, false, "new_scenario", {{"scenario.c", "*.c"}}, "*.c", {"", ""}, "pdhost --scenario ./*.so"},
    {PD_KIND_SCENARIO,
     true,
     "new_scenario",
     {{"scenario.cpp", "*.cpp"}},
     "*.cpp",
     {"", ""},
     "pdhost --scenario ./*.so"},
    {PD_KIND_SINK,
     false,
     "new_sink",
     {{"sink.c", "*.c"}},
     "*.c",
     {"", ""},
     "pdhost --scenario dataloader --sink table --sink ./*.so"},
    {PD_KIND_SINK,
     true,
     "new_sink",
     {{"sink.cpp", "*.cpp"}},
     "*.cpp",
     {"", ""},
     "pdhost --scenario dataloader --sink table --sink ./*.so"},
    {PD_KIND_DEVICE,
     false,
     "new_device",
     {{"device.c", "*.c"}, {"device_ops.c", "*_ops.c"}, {"device.h", "*.h"}},
     "*.c *_ops.c",
     {" LIBRARIES m", "-lm"},
     "pdhost --scenario control --device ./*.so"},
    {PD_KIND_READER,
     false,
     "new_reader",
     {{"reader.c", "*.c"}},
     "*.c",
     {"", ""},
     "pdhost analyze --reader ./*.so FILE"},
};

static const skeleton_file project_files[] = {
    {"CMakeLists.txt.in", "CMakeLists.txt"}, {"Makefile.in", "Makefile"}, {"README.md.in", "README.md"}};
enum { PROJECT_FILES = sizeof project_files / sizeof project_files[0] };

static const skeleton *find(pd_kind kind, bool cpp) {
  for (size_t i = 0; i < sizeof skeletons / sizeof skeletons[0]; i++)
    if (skeletons[i].kind == kind && skeletons[i].cpp == cpp) return &skeletons[i];
  return NULL;
}

static const char *text_of(const char *name) {
  const template_file *at = template_files;
  while (at->name && strcmp(at->name, name) != 0) at++;
  return at->text;
}

static void upper(const char *text, char *out, size_t room) {
  size_t i = 0;
  for (; text[i] && i + 1 < room; i++) out[i] = (char)toupper((unsigned char)text[i]);
  out[i] = '\0';
}

/* `text` with the plugin's name for each '*'. */
static void named(const char *text, const char *name, char *out, size_t room) {
  size_t used = 0;
  out[0] = '\0';
  for (; *text && used < room; text++)
    used +=
        (size_t)snprintf(out + used, room - used, "%.*s", *text == '*' ? NAME_BYTES : 1, *text == '*' ? name : text);
}

/* ---- replacing words ---- */

enum { WORDS = 15, WORD_BYTES = 160 };
typedef struct words {
  struct {
    const char *from;
    char to[WORD_BYTES];
  } pairs[WORDS];
  uint32_t count;
} words;

static void add_word(words *self, const char *from, const char *to, const char *name) {
  self->pairs[self->count].from = from;
  named(to, name, self->pairs[self->count++].to, WORD_BYTES);
}

static void make_words(words *self, const skeleton *what, const char *name) {
  static const char *const macros[] = {"", "NEW_SCENARIO", "NEW_SINK", "NEW_DEVICE", "NEW_READER"};
  const char *kind = plugin_kind_name(what->kind);
  char text[NAME_BYTES + 1];
  self->count = 0;
  upper(name, text, sizeof text);
  add_word(self, macros[what->kind], text, name);
  upper(kind, text, sizeof text);
  add_word(self, "@KIND@", text, name);
  add_word(self, "@kind@", kind, name);
  add_word(self, what->word, name, name);
  add_word(self, "@NAME@", name, name);
  add_word(self, "@LANGUAGES@", what->cpp ? "CXX" : "C", name);
  add_word(self, "@FLAGS@", what->cpp ? "CXXFLAGS" : "CFLAGS", name);
  add_word(self, "@COMPILER@", what->cpp ? "CXX" : "CC", name);
  add_word(self, "@STANDARD@", what->cpp ? "-std=c++20" : "-std=gnu11", name);
  add_word(self, "@MAIN@", what->sources[0].target, name);
  add_word(self, "@SOURCES@", what->compiled, name);
  char list[WORD_BYTES] = "";
  for (size_t i = 0; what->sources[i].source; i++)
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? " " : "", what->sources[i].target);
  add_word(self, "@FILES@", list, name);
  snprintf(list, sizeof list, "%s%s", what->compiled, what->libraries[0]);
  add_word(self, "@CMAKE_SOURCES@", list, name);
  add_word(self, "@LIBRARIES@", what->libraries[1], name);
  add_word(self, "@RUN@", what->run, name);
}

/* Writes `text` with each word replaced. */
static void write_replaced(FILE *to, const char *text, const words *all) {
  while (*text) {
    uint32_t i = 0;
    while (i < all->count && strncmp(text, all->pairs[i].from, strlen(all->pairs[i].from)) != 0) i++;
    if (i == all->count) {
      putc(*text++, to);
      continue;
    }
    fputs(all->pairs[i].to, to);
    text += strlen(all->pairs[i].from);
  }
}

/* ---- files ---- */

static void path_of(char *path, const char *folder, const char *target, const char *name) {
  char file[NAME_BYTES + 64];
  named(target, name, file, sizeof file);
  snprintf(path, PATH_BYTES, "%s/%s", folder, file);
}

static pd_status refuse_existing(const skeleton_file *list, size_t count, const char *folder, const char *name,
                                 error *err) {
  char path[PATH_BYTES];
  struct stat about;
  for (size_t i = 0; i < count && list[i].source; i++) {
    path_of(path, folder, list[i].target, name);
    if (lstat(path, &about) == 0)
      return error_set(err, PD_IO, CODE_OUTPUT, "init: %s exists already; nothing was written", path);
  }
  return PD_OK;
}

static pd_status write_files(const skeleton_file *list, size_t count, const char *folder, const char *name,
                             const words *all, error *err) {
  char path[PATH_BYTES];
  for (size_t i = 0; i < count && list[i].source; i++) {
    path_of(path, folder, list[i].target, name);
    FILE *to = fopen(path, "wxe");
    if (!to) return error_set(err, PD_IO, CODE_OUTPUT, "init: %s cannot be written: %s", path, strerror(errno));
    write_replaced(to, text_of(list[i].source), all);
    const bool failed = ferror(to) != 0;
    if (fclose(to) != 0 || failed) {
      const int cause = errno;
      unlink(path);
      return error_set(err, PD_IO, CODE_OUTPUT, "init: %s cannot be written: %s", path, strerror(cause));
    }
    printf("%s\n", path);
  }
  return PD_OK;
}

static bool is_name(const char *name) {
  if (!islower((unsigned char)name[0]) || strlen(name) >= NAME_BYTES) return false;
  for (; *name; name++)
    if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) && *name != '_') return false;
  return true;
}

pd_status init_plugin(pd_kind kind, const char *name, bool cpp, const char *folder, error *err) {
  const skeleton *what = find(kind, cpp);
  if (!what)
    return error_set(err, PD_UNSUPPORTED, CODE_USAGE,
                     "init: a device is written in C; leave out --lang, and add C++ files to its CMakeLists.txt");
  if (!is_name(name))
    return error_set(err, PD_INVALID, CODE_USAGE,
                     "init: \"%s\": use lower-case letters, digits and _ for a plugin's name, a letter first", name);
  char message[512];
  pd_status status = refuse_existing(what->sources, 4, folder, name, err);
  if (status == PD_OK) status = refuse_existing(project_files, PROJECT_FILES, folder, name, err);
  if (status != PD_OK) return status;
  if (files_make_folder(folder, message, sizeof message) != PD_OK)
    return error_set(err, PD_IO, CODE_OUTPUT, "init: %s", message);
  words all;
  make_words(&all, what, name);
  status = write_files(what->sources, 4, folder, name, &all, err);
  return status == PD_OK ? write_files(project_files, PROJECT_FILES, folder, name, &all, err) : status;
}
