/*
 * Source lines. See source_lines.h.
 *
 * libdw is looked for at run time, so that nothing depends on it. What is declared here is the part of its headers that
 * is used; libdw.so.1 has kept it since 2014.
 */
#include "source_lines.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { TAG_INLINED = 0x1D, TAG_SUBPROGRAM = 0x2E, AT_CALL_FILE = 0x58, AT_CALL_LINE = 0x59 };

typedef struct dwfl_callbacks {
  void (*find_elf)(void), (*find_debuginfo)(void), (*section_address)(void);
  char **debuginfo_path;
} dwfl_callbacks;

typedef struct dwarf_die {
  void *address, *unit, *abbreviation;
  long padding;
} dwarf_die;

typedef struct dwarf_attribute {
  unsigned code, form;
  unsigned char *value;
  void *unit;
} dwarf_attribute;

typedef struct libdw {
  dwfl_callbacks callbacks;
  void *(*begin)(const dwfl_callbacks *);
  void (*end)(void *dwfl);
  int (*report_process)(void *dwfl, pid_t);
  int (*report_end)(void *dwfl, void (*removed)(void), void *argument);
  void *(*module_at)(void *dwfl, uint64_t address);
  dwarf_die *(*unit_at)(void *module, uint64_t address, uint64_t *bias);
  dwarf_die *(*next_unit)(void *module, dwarf_die *last, uint64_t *bias);
  int (*has_address)(dwarf_die *, uint64_t address);
  int (*scopes_at)(dwarf_die *unit, uint64_t address, dwarf_die **scopes);
  int (*scopes_of)(dwarf_die *, dwarf_die **scopes);
  int (*tag)(dwarf_die *);
  dwarf_attribute *(*attribute)(dwarf_die *, unsigned name, dwarf_attribute *);
  int (*number)(dwarf_attribute *, uint64_t *);
  int (*files)(dwarf_die *unit, void **files, size_t *count);
  const char *(*file_path)(void *files, size_t index, uint64_t *time, uint64_t *bytes);
  void *(*line_at)(dwarf_die *unit, uint64_t address);
  const char *(*line_path)(void *line, uint64_t *time, uint64_t *bytes);
  int (*line_number)(void *line, int *);
  bool found;
} libdw;

static libdw dw;
static pthread_once_t dw_once = PTHREAD_ONCE_INIT;

static void find_libdw(void) {
  static char *default_path;
  const struct {
    const char *name;
    void *pointer;
  } wanted[] = {
      {"dwfl_linux_proc_find_elf", &dw.callbacks.find_elf},
      /* Files of this machine alone: the standard search may ask a server. */
      {"dwfl_build_id_find_debuginfo", &dw.callbacks.find_debuginfo},
      {"dwfl_begin", &dw.begin},
      {"dwfl_end", &dw.end},
      {"dwfl_linux_proc_report", &dw.report_process},
      {"dwfl_report_end", &dw.report_end},
      {"dwfl_addrmodule", &dw.module_at},
      {"dwfl_module_addrdie", &dw.unit_at},
      {"dwfl_module_nextcu", &dw.next_unit},
      {"dwarf_haspc", &dw.has_address},
      {"dwarf_getscopes", &dw.scopes_at},
      {"dwarf_getscopes_die", &dw.scopes_of},
      {"dwarf_tag", &dw.tag},
      {"dwarf_attr", &dw.attribute},
      {"dwarf_formudata", &dw.number},
      {"dwarf_getsrcfiles", &dw.files},
      {"dwarf_filesrc", &dw.file_path},
      {"dwarf_getsrc_die", &dw.line_at},
      {"dwarf_linesrc", &dw.line_path},
      {"dwarf_lineno", &dw.line_number},
  };
  void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  dw.found = library != NULL;
  for (size_t i = 0; dw.found && i < sizeof wanted / sizeof wanted[0]; i++) {
    void *symbol = dlsym(library, wanted[i].name);
    memcpy(wanted[i].pointer, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
    dw.found = symbol != NULL;
  }
  dw.callbacks.debuginfo_path = &default_path;
  /* It stays loaded for later windows. */
}

source_lines *source_lines_open(void) {
  void *dwfl;
  pthread_once(&dw_once, find_libdw);
  dwfl = dw.found ? dw.begin(&dw.callbacks) : NULL;
  if (!dwfl) return NULL;
  if (dw.report_process(dwfl, getpid()) || dw.report_end(dwfl, NULL, NULL)) {
    dw.end(dwfl);
    return NULL;
  }
  return dwfl;
}

void source_lines_close(source_lines *self) {
  if (self) dw.end(self);
}

/* The compilation unit that holds the address: by the index, which some compilers leave out and which answers with the
 * nearest unit where none holds it, or by asking them all. */
static dwarf_die *find_unit(source_lines *self, uint64_t address, uint64_t *bias) {
  void *module = dw.module_at(self, address);
  dwarf_die *unit = module ? dw.unit_at(module, address, bias) : NULL;
  if (!module || (unit && dw.has_address(unit, address - *bias) > 0)) return unit;
  unit = NULL;
  do unit = dw.next_unit(module, unit, bias);
  while (unit && dw.has_address(unit, address - *bias) <= 0);
  return unit;
}

static bool number_of(dwarf_die *die, unsigned name, uint64_t *number) {
  dwarf_attribute room, *found = dw.attribute(die, name, &room);
  return found && !dw.number(found, number);
}

/* Where the outermost function that was inlined around the address is called; false where none was. */
static bool find_inlining(dwarf_die *unit, uint64_t address, const char **path, int *number) {
  dwarf_die *scopes = NULL, *around = NULL;
  uint64_t file = 0, line = 0;
  void *files = NULL;
  size_t file_count = 0;
  int count = dw.scopes_at(unit, address, &scopes), at = 0, outermost = -1;
  while (at < count && dw.tag(&scopes[at]) != TAG_INLINED && dw.tag(&scopes[at]) != TAG_SUBPROGRAM) at++;
  /* Around an inlined function stand the scopes of its text; those of its place are asked for. */
  count = at < count && dw.tag(&scopes[at]) == TAG_INLINED ? dw.scopes_of(&scopes[at], &around) : 0;
  for (int i = 0; i < count && dw.tag(&around[i]) != TAG_SUBPROGRAM; i++)
    if (dw.tag(&around[i]) == TAG_INLINED) outermost = i;
  if (outermost >= 0 && number_of(&around[outermost], AT_CALL_FILE, &file) &&
      number_of(&around[outermost], AT_CALL_LINE, &line) && line <= INT32_MAX && !dw.files(unit, &files, &file_count) &&
      file < file_count) {
    *path = dw.file_path(files, file, NULL, NULL);
    *number = (int)line;
  }
  free(scopes);
  free(around);
  return *path != NULL;
}

bool source_lines_find(source_lines *self, const void *code, char *text, size_t size) {
  uint64_t bias = 0;
  const char *path = NULL, *slash;
  int number = 0;
  dwarf_die *unit = self ? find_unit(self, (uintptr_t)code, &bias) : NULL;
  if (!unit) return false;
  if (!find_inlining(unit, (uintptr_t)code - bias, &path, &number)) {
    void *line = dw.line_at(unit, (uintptr_t)code - bias);
    path = line ? dw.line_path(line, NULL, NULL) : NULL;
    if (!path || dw.line_number(line, &number)) return false;
  }
  slash = strrchr(path, '/');
  (void)snprintf(text, size, "%s:%d", slash ? slash + 1 : path, number);
  return number > 0;
}
