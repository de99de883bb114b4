/* See host_python.h. The program runs on while it is read: what does not hold together is no place. */
#include "host_python.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Fields of _Py_DebugOffsets, by 8 bytes. */
enum {
  VERSION = 1,
  FREE_THREADED = 2,
  RUNTIME_INTERPRETERS = 5,
  INTERPRETER_NEXT = 8,
  INTERPRETER_THREADS = 9,
  THREAD_NEXT = 21,
  THREAD_FRAME = 23,
  THREAD_NUMBER = 25,
  FRAME_SIZE = 28,
  FRAME_PREVIOUS = 29,
  FRAME_CODE = 30,
  FRAME_AT = 31,
  FRAME_OWNER = 33,
  CODE_FILE = 35,
  CODE_NAME = 36,
  CODE_LINES = 38,
  CODE_FIRST_LINE = 39,
  CODE_BEGIN = 43,
  OBJECT_TYPE = 45,
  TYPE_NAME = 47,
  BYTES_SIZE = 65,
  BYTES_BEGIN = 66,
  TEXT_STATE = 68,
  TEXT_LENGTH = 69,
  TEXT_ASCII = 70
};
enum { VERSION_3_13 = 0x030d };
/* The owner of a _PyInterpreterFrame that only C code has. */
enum { OWNER_C = 3 };
enum { INTERPRETERS = 16, THREADS = 1024, DEPTH = 100, OBJECT_BYTES = 512, LINE_BYTES = 16384, NAME_BYTES = 512 };

static bool read_memory(const host_python *self, uint64_t from, void *to, size_t bytes) {
  const struct iovec here = {to, bytes};
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): another process's */
  const struct iovec there = {(void *)(uintptr_t)from, bytes};
  return from && process_vm_readv(self->pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static uint64_t pointer_at(const host_python *self, uint64_t from) {
  uint64_t out = 0;
  return read_memory(self, from, &out, sizeof out) ? out : 0;
}

/* What lies in a copy of an object at this offset. */
static uint64_t word(const char *object, uint64_t at) {
  uint64_t out = 0;
  if (at <= OBJECT_BYTES - sizeof out) memcpy(&out, object + at, sizeof out);
  return out;
}

/* ---- the interpreter ---- */

static uint64_t section_in(int file, const char *wanted, uint64_t base) {
  Elf64_Ehdr head;
  Elf64_Shdr names, section;
  char name[32];
  if (pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof section)
    return 0;
  if (pread(file, &names, sizeof names, (off_t)(head.e_shoff + (uint64_t)head.e_shstrndx * sizeof names)) !=
      (ssize_t)sizeof names)
    return 0;
  for (uint32_t i = 0; i < head.e_shnum; i++) {
    if (pread(file, &section, sizeof section, (off_t)(head.e_shoff + i * sizeof section)) != (ssize_t)sizeof section)
      return 0;
    if (pread(file, name, strlen(wanted) + 1, (off_t)(names.sh_offset + section.sh_name)) ==
            (ssize_t)strlen(wanted) + 1 &&
        memcmp(name, wanted, strlen(wanted) + 1) == 0)
      return section.sh_addr + (head.e_type == ET_DYN ? base : 0);
  }
  return 0;
}

/* Python itself, or its library. */
static bool is_python(const char *path) {
  const char *name = strrchr(path, '/');
  return name && (strncmp(name + 1, "python", 6) == 0 || strncmp(name + 1, "libpython", 9) == 0);
}

static uint64_t find_runtime(pid_t pid) {
  char line[PATH_MAX + 128], path[PATH_MAX + 64];
  uint64_t found = 0;
  (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  FILE *maps = fopen(path, "re");
  while (maps && !found && fgets(line, sizeof line, maps)) {
    /* "start-end rights offset device inode  path"; proc(5) */
    const uint64_t start = strtoull(line, NULL, 16);
    const char *rights = strchr(line, ' '), *offset = rights ? strchr(rights + 1, ' ') : NULL;
    const char *of = strchr(line, '/');
    line[strcspn(line, "\n")] = '\0';
    if (!offset || !of || strtoull(offset, NULL, 16) || !is_python(of)) continue;
    (void)snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, of);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0) found = section_in(file, ".PyRuntime", start);
    if (file >= 0) (void)close(file);
  }
  if (maps) (void)fclose(maps);
  return found;
}

static bool is_known(const host_python *self) {
  return memcmp(self->offsets, "xdebugpy", 8) == 0 && self->offsets[VERSION] >> 16 == VERSION_3_13 &&
         !self->offsets[FREE_THREADED] && self->offsets[FRAME_SIZE] <= OBJECT_BYTES &&
         self->offsets[CODE_BEGIN] <= OBJECT_BYTES;
}

bool host_python_open(host_python *self, pid_t pid) {
  char path[64];
  *self = (host_python){.pid = pid, .runtime = find_runtime(pid)};
  if (!self->runtime || !read_memory(self, self->runtime, self->offsets, sizeof self->offsets) || !is_known(self)) {
    self->runtime = 0;
    return false;
  }
  (void)snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
  const ssize_t bytes = readlink(path, self->folder, sizeof self->folder - 2);
  if (bytes > 0) self->folder[bytes] = '/';
  self->folder[bytes > 0 ? bytes + 1 : 0] = '\0';
  return true;
}

static uint64_t frame_of(const host_python *self, pid_t tid) {
  const uint64_t *at = self->offsets;
  uint64_t interpreter = pointer_at(self, self->runtime + at[RUNTIME_INTERPRETERS]);
  for (int i = 0; interpreter && i < INTERPRETERS; i++) {
    uint64_t thread = pointer_at(self, interpreter + at[INTERPRETER_THREADS]);
    for (int t = 0; thread && t < THREADS; t++) {
      if (pointer_at(self, thread + at[THREAD_NUMBER]) == (uint64_t)tid)
        return pointer_at(self, thread + at[THREAD_FRAME]);
      thread = pointer_at(self, thread + at[THREAD_NEXT]);
    }
    interpreter = pointer_at(self, interpreter + at[INTERPRETER_NEXT]);
  }
  return 0;
}

/* ---- texts ---- */

static size_t put_utf8(char *out, uint32_t c) {
  if (c < 0x80) return out[0] = (char)c, 1;
  if (c < 0x800) return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 0x3f)), 2;
  if (c < 0x10000)
    return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 0x3f)), out[2] = (char)(0x80 | (c & 0x3f)),
           3;
  out[0] = (char)(0xf0 | (c >> 18 & 7));
  out[1] = (char)(0x80 | (c >> 12 & 0x3f));
  out[2] = (char)(0x80 | (c >> 6 & 0x3f));
  out[3] = (char)(0x80 | (c & 0x3f));
  return 4;
}

/* A text's state (PyASCIIObject): two bits, three of its width in bytes, one each for compact and ASCII. What is not
 * ASCII has two words more before its characters. */
static bool read_text(const host_python *self, uint64_t object, char *out, size_t room) {
  const uint64_t *at = self->offsets;
  char head[OBJECT_BYTES] = "", text[NAME_BYTES * 4];
  if (!object || at[TEXT_ASCII] > OBJECT_BYTES || !read_memory(self, object, head, at[TEXT_ASCII])) return false;
  const uint32_t state = (uint32_t)word(head, at[TEXT_STATE]), width = state >> 2 & 7;
  const uint64_t length = word(head, at[TEXT_LENGTH]), begin = at[TEXT_ASCII] + (state >> 6 & 1 ? 0 : 16);
  if (!(state >> 5 & 1) || length >= NAME_BYTES || (width != 1 && width != 2 && width != 4) ||
      (length && !read_memory(self, object + begin, text, length * width)))
    return false;
  size_t used = 0;
  for (uint64_t i = 0; i < length && used + 5 < room; i++) {
    uint32_t c = 0;
    memcpy(&c, text + i * width, width);
    used += put_utf8(out + used, c);
  }
  out[used] = '\0';
  return true;
}

/* ---- lines: CPython's InternalDocs/code_objects.md, "Format of the locations table" ---- */

static uint32_t take_number(const unsigned char *table, size_t bytes, size_t *at) {
  uint32_t out = 0;
  for (uint32_t shift = 0; *at < bytes; shift += 6) {
    const unsigned char b = table[(*at)++];
    if (shift < 32) out |= (uint32_t)(b & 0x3f) << shift;
    if (!(b & 0x40)) break;
  }
  return out;
}

static int take_signed(const unsigned char *table, size_t bytes, size_t *at) {
  const uint32_t number = take_number(table, bytes, at);
  return number & 1 ? -(int)(number >> 1) : (int)(number >> 1);
}

/* `unit`: which of the code's 2-byte units. -1: not known. */
static int line_in(const unsigned char *table, size_t bytes, uint64_t unit, int line) {
  uint64_t begin = 0;
  for (size_t at = 0; at < bytes;) {
    const unsigned char head = table[at++];
    const uint32_t form = head >> 3 & 15;
    if (form == 13 || form == 14) line += take_signed(table, bytes, &at);
    if (form == 14)
      for (int i = 0; i < 3; i++) (void)take_number(table, bytes, &at);
    if (form >= 10 && form <= 12) line += (int)form - 10;
    if (form <= 12) at += form < 10 ? 1 : 2;
    begin += (head & 7u) + 1;
    if (unit < begin) return form == 15 ? -1 : line;
  }
  return -1;
}

static int line_of(const host_python *self, uint64_t address, const char *code, uint64_t at) {
  static unsigned char table[LINE_BYTES]; /* the main thread's alone */
  const uint64_t object = word(code, self->offsets[CODE_LINES]), begin = address + self->offsets[CODE_BEGIN];
  uint64_t bytes = pointer_at(self, object + self->offsets[BYTES_SIZE]);
  if (!object || at < begin) return -1;
  if (bytes > sizeof table) bytes = sizeof table;
  if (!read_memory(self, object + self->offsets[BYTES_BEGIN], table, bytes)) return -1;
  return line_in(table, bytes, (at - begin) / 2, (int)(uint32_t)word(code, self->offsets[CODE_FIRST_LINE]));
}

/* ---- frames ---- */

/* Whether it is the program's own, and its path as a person in the program's folder would write it. */
static const char *own_path(const host_python *self, const char *path) {
  static const char *const foreign[] = {"/site-packages/", "/dist-packages/", "/lib/python3.13/"};
  if (path[0] == '<' || !path[0]) return NULL;
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
    if (strstr(path, foreign[i])) return NULL;
  const size_t bytes = strlen(self->folder);
  return bytes && strncmp(path, self->folder, bytes) == 0 ? path + bytes : path;
}

/* The memory may be another object's by now. */
static bool is_code(host_python *self, const char *object) {
  const uint64_t type = word(object, self->offsets[OBJECT_TYPE]);
  char name[5] = "";
  if (type && type == self->code_type) return true;
  if (!type || self->code_type ||
      !read_memory(self, pointer_at(self, type + self->offsets[TYPE_NAME]), name, sizeof name) ||
      memcmp(name, "code", sizeof name) != 0)
    return false;
  self->code_type = type;
  return true;
}

bool host_python_look(host_python *self, pid_t tid, char *place, size_t room) {
  const uint64_t *at = self->offsets;
  char frame[OBJECT_BYTES] = "", code[OBJECT_BYTES] = "", file[NAME_BYTES * 4], name[NAME_BYTES];
  uint64_t next = self->runtime ? frame_of(self, tid) : 0;
  for (int depth = 0; next && depth < DEPTH; depth++) {
    if (!read_memory(self, next, frame, at[FRAME_SIZE])) return false;
    next = word(frame, at[FRAME_PREVIOUS]);
    const uint64_t address = word(frame, at[FRAME_CODE]);
    if (at[FRAME_OWNER] >= at[FRAME_SIZE] || frame[at[FRAME_OWNER]] == OWNER_C) continue;
    if (!read_memory(self, address, code, at[CODE_BEGIN]) || !is_code(self, code)) return false;
    if (!read_text(self, word(code, at[CODE_FILE]), file, sizeof file)) return false;
    const char *path = own_path(self, file);
    if (!path) continue;
    const int line = line_of(self, address, code, word(frame, at[FRAME_AT]));
    if (line < 0 || !read_text(self, word(code, at[CODE_NAME]), name, sizeof name)) return false;
    return (size_t)snprintf(place, room, "%s:%d (%s)", path, line, name) < room;
  }
  return false;
}
