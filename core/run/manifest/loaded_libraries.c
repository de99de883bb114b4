/* See loaded_libraries.h. */
#include "loaded_libraries.h"

#include "base/json_text.h"
#include "base/sha256.h"

#include <pdhost/array.h>

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HASHED_MOST = 64 << 20 };

typedef struct library {
  char *path;
  char id[LOADED_LIBRARY_ID_BYTES]; /* "": no build id */
} library;

typedef struct library_list {
  library *all;
  uint32_t count, room;
  bool failed;
} library_list;

/* A note's name and description each begin at a multiple of 4 bytes. */
static size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

static void read_notes(const char *at, size_t bytes, char id[LOADED_LIBRARY_ID_BYTES]) {
  static const char prefix[] = "build-id:";
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof note);
    const size_t name = sizeof note, body = name + padded(note.n_namesz), whole = body + padded(note.n_descsz);
    if (whole > bytes || whole < body || body < name) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at + name, "GNU", 4) == 0 &&
        2 * (size_t)note.n_descsz + sizeof prefix <= LOADED_LIBRARY_ID_BYTES) {
      size_t used = (size_t)snprintf(id, LOADED_LIBRARY_ID_BYTES, "%s", prefix);
      for (size_t i = 0; i < note.n_descsz; i++, used += 2)
        (void)snprintf(id + used, LOADED_LIBRARY_ID_BYTES - used, "%02x", (unsigned char)at[body + i]);
      return;
    }
    at += whole;
    bytes -= whole;
  }
}

static void read_parts(const struct dl_phdr_info *info, char id[LOADED_LIBRARY_ID_BYTES]) {
  for (ElfW(Half) i = 0; i < info->dlpi_phnum && !id[0]; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader says where the notes are in memory */
    if (part->p_type == PT_NOTE) read_notes((const char *)(info->dlpi_addr + part->p_vaddr), part->p_memsz, id);
  }
}

static int note_library(struct dl_phdr_info *info, size_t bytes, void *user) {
  library_list *list = user;
  (void)bytes;
  if (!info->dlpi_name || info->dlpi_name[0] != '/') return 0; /* the program, and what the kernel maps */
  if (!PD_ARRAY_FIT(list->all, list->room, list->count + 1)) {
    list->failed = true;
    return 1;
  }
  library *to = &list->all[list->count];
  *to = (library){.path = strdup(info->dlpi_name)};
  list->failed = !to->path;
  if (list->failed) return 1;
  list->count++;
  read_parts(info, to->id);
  return 0;
}

static void hash(const char *path, char id[LOADED_LIBRARY_ID_BYTES]) {
  char text[SHA256_TEXT_BYTES];
  struct stat at;
  if (stat(path, &at) != 0)
    (void)snprintf(id, LOADED_LIBRARY_ID_BYTES, "not readable");
  else if (at.st_size > HASHED_MOST)
    (void)snprintf(id, LOADED_LIBRARY_ID_BYTES, "bytes:%lld", (long long)at.st_size);
  else
    (void)snprintf(id, LOADED_LIBRARY_ID_BYTES, "sha256:%s", sha256_file(path, text) ? text : "not readable");
}

/* ---- one ---- */

typedef struct wanted_library {
  const char *path; /* "": the program, as the loader names it */
  char *id;
} wanted_library;

static int find_library(struct dl_phdr_info *info, size_t bytes, void *user) {
  const wanted_library *wanted = user;
  (void)bytes;
  if (strcmp(info->dlpi_name ? info->dlpi_name : "", wanted->path) != 0) return 0;
  read_parts(info, wanted->id);
  return 1;
}

void loaded_libraries_id(const char *path, char id[LOADED_LIBRARY_ID_BYTES]) {
  wanted_library wanted = {.path = path, .id = id};
  id[0] = '\0';
  (void)dl_iterate_phdr(find_library, &wanted);
  if (!id[0]) hash(path[0] ? path : "/proc/self/exe", id);
}

/* ---- all ---- */

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b) {
  return strcmp(name_of(((const library *)a)->path), name_of(((const library *)b)->path));
}

bool loaded_libraries_add(struct json_t *object, bool (*leave_out)(const void *user, const char *path),
                          const void *user) {
  library_list list = {.all = NULL};
  (void)dl_iterate_phdr(note_library, &list);
  bool ok = !list.failed;
  if (list.count) qsort(list.all, list.count, sizeof *list.all, by_name);
  for (uint32_t i = 0; i < list.count; i++) {
    library *at = &list.all[i];
    if (ok && !leave_out(user, at->path)) {
      if (!at->id[0]) hash(at->path, at->id);
      ok = json_text_add(object, name_of(at->path), json_text_of(at->id));
    }
    free(at->path);
  }
  free(list.all);
  return ok;
}
