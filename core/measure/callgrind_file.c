/* See callgrind_file.h. */
#include "callgrind_file.h"

#include "base/whole_file.h"

#include <pdhost/array.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More is no profile of one step: a large program's has some ten thousand functions. */
enum { MAX_FILE_BYTES = 256 << 20, MAX_ID = 1 << 22, MAX_COLUMNS = 16 };
#define MAX_COUNT ((uint64_t)1 << 62)

/* A name is in the text once, as "(7) main", and later as "(7)". */
typedef struct name_table {
  const char **names; /* by number; NULL: not seen */
  uint64_t room;
} name_table;

typedef struct row {
  const char *name, *object;
  uint64_t count;
} row;

typedef struct parser {
  const char *name;
  uint64_t line;
  name_table functions, objects;
  const char *object; /* of the lines that follow */
  row *rows;          /* one per fn= line; the last one is open */
  uint64_t row_count, row_room;
  const char *tool;
  int columns, ir; /* positions before a line's costs, and where among these Ir is; ir -1: not known yet */
  bool skips;      /* the next costs are those of a call */
  bool whole;      /* its totals were seen */
  uint64_t total;
  char *why;
  size_t room;
  pd_status status;
} parser;

PD_PRINTF(2, 3) static void refuse(parser *p, const char *format, ...) {
  char problem[256];
  va_list args;
  va_start(args, format);
  vsnprintf(problem, sizeof problem, format, args);
  va_end(args);
  if (p->status == PD_OK) snprintf(p->why, p->room, "%s:%llu: %s", p->name, (unsigned long long)p->line, problem);
  p->status = PD_INVALID;
}

static void no_memory(parser *p) {
  if (p->status == PD_OK) snprintf(p->why, p->room, "%s: out of memory", p->name);
  p->status = PD_NO_MEMORY;
}

/* ---- names ---- */

/* What "(7) main", "(7)" or "main" stands for; NULL on a mistake. */
static const char *resolve(parser *p, name_table *table, const char *text) {
  if (text[0] != '(' || text[1] < '0' || text[1] > '9') return text;
  char *end;
  errno = 0;
  const unsigned long long id = strtoull(text + 1, &end, 10);
  if (errno || *end != ')' || id > MAX_ID) {
    refuse(p, "\"%.40s\" is not the number of a name", text);
    return NULL;
  }
  end++;
  while (*end == ' ') end++;
  if (!PD_ARRAY_FIT_ZERO(table->names, table->room, id + 1)) {
    no_memory(p);
    return NULL;
  }
  if (*end) table->names[id] = end;
  if (!table->names[id]) refuse(p, "(%llu) was given no name before", id);
  return table->names[id];
}

static void open_row(parser *p, const char *text) {
  const char *name = resolve(p, &p->functions, text);
  if (!name) return;
  if (!PD_ARRAY_FIT(p->rows, p->row_room, p->row_count + 1)) {
    no_memory(p);
    return;
  }
  p->rows[p->row_count++] = (row){.name = name, .object = p->object};
}

/* ---- lines ---- */

/* Reads a number at *at and moves after it and its blanks. */
static bool take_number(const char **at, uint64_t *value) {
  char *end;
  if (**at < '0' || **at > '9') return false;
  errno = 0;
  *value = strtoull(*at, &end, 0);
  if (errno || (*end && *end != ' ') || *value > MAX_COUNT) return false;
  while (*end == ' ') end++;
  *at = end;
  return true;
}

/* The Ir among a line's costs; those at its end that are zero may be missing. */
static uint64_t take_ir(parser *p, const char *at) {
  uint64_t found = 0;
  if (p->ir < 0) refuse(p, "costs before a line \"events:\" that has Ir");
  for (int i = 0; *at && p->status == PD_OK; i++) {
    uint64_t value;
    if (!take_number(&at, &value))
      refuse(p, "\"%.40s\" is not a count", at);
    else if (i == p->ir)
      found = value;
  }
  return found;
}

static bool is_position(char c) { return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '*'; }

static void take_costs(parser *p, const char *at) {
  const bool skipped = p->skips;
  p->skips = false;
  for (int i = 0; i < p->columns; i++) {
    if (!is_position(*at)) {
      refuse(p, "\"%.40s\" is not a position", at);
      return;
    }
    at += strcspn(at, " ");
    while (*at == ' ') at++;
  }
  const uint64_t count = take_ir(p, at);
  if (skipped || p->status != PD_OK) return;
  if (!p->row_count) {
    refuse(p, "costs of no function");
    return;
  }
  uint64_t *sum = &p->rows[p->row_count - 1].count;
  if (count > MAX_COUNT - *sum)
    refuse(p, "more instructions than can be counted");
  else
    *sum += count;
}

/* Where `word` is among the words of `text`, or how many words there are. */
static int find_word(const char *text, const char *word, int *count) {
  int found = -1;
  for (*count = 0; *text && *count < MAX_COLUMNS; ++*count) {
    const size_t length = strcspn(text, " ");
    if (length == strlen(word) && strncmp(text, word, length) == 0) found = *count;
    text += length;
    while (*text == ' ') text++;
  }
  return found;
}

static const char *value_of(const char *line, const char *key) {
  const size_t length = strlen(key);
  if (strncmp(line, key, length) != 0) return NULL;
  line += length;
  while (*line == ' ') line++;
  return line;
}

static bool take_header(parser *p, const char *line) {
  const char *value;
  int count;
  if ((value = value_of(line, "creator:"))) {
    p->tool = value;
  } else if ((value = value_of(line, "positions:"))) {
    (void)find_word(value, "line", &count);
    p->columns = count;
  } else if ((value = value_of(line, "events:"))) {
    p->ir = find_word(value, "Ir", &count);
  } else if ((value = value_of(line, "totals:"))) {
    p->total = take_ir(p, value);
    p->whole = true;
  } else {
    return false;
  }
  return true;
}

static bool take_spec(parser *p, const char *line) {
  const char *value;
  if ((value = value_of(line, "fn="))) {
    open_row(p, value);
  } else if ((value = value_of(line, "cfn="))) {
    (void)resolve(p, &p->functions, value);
  } else if ((value = value_of(line, "ob="))) {
    p->object = resolve(p, &p->objects, value);
  } else if ((value = value_of(line, "cob="))) {
    (void)resolve(p, &p->objects, value);
  } else if (value_of(line, "calls=")) {
    p->skips = true;
  } else {
    return false;
  }
  return true;
}

static void take_line(parser *p, const char *line) {
  if (!*line || *line == '#') return;
  if (is_position(*line)) {
    take_costs(p, line);
    return;
  }
  if (take_spec(p, line) || take_header(p, line)) return;
  if (!strpbrk(line, ":=")) refuse(p, "\"%.40s\" is not a line of Callgrind", line);
}

/* ---- functions ---- */

static int by_name(const void *a_, const void *b_) {
  const row *a = a_, *b = b_;
  const int order = strcmp(a->name, b->name);
  return order ? order : strcmp(a->object, b->object);
}

static int by_count(const void *a_, const void *b_) {
  const pd_function_count *a = a_, *b = b_;
  if (a->count != b->count) return a->count < b->count ? 1 : -1;
  const int order = strcmp(a->name, b->name);
  return order ? order : strcmp(a->object, b->object);
}

static const char *without_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void add_function(parser *p, const row *from, callgrind_profile *out) {
  pd_function_count *to = &out->functions[out->function_count];
  *to = (pd_function_count){.name = strdup(from->name), .object = strdup(from->object), .count = from->count};
  out->function_count++;
  if (!to->name || !to->object) no_memory(p);
}

/* A function has a row for each place in the file that has costs of it. */
static void merge(parser *p, callgrind_profile *out) {
  out->functions = calloc(p->row_count ? p->row_count : 1, sizeof *out->functions);
  if (!out->functions) no_memory(p);
  for (uint64_t i = 0; i < p->row_count; i++) p->rows[i].object = without_folder(p->rows[i].object);
  if (p->row_count) qsort(p->rows, p->row_count, sizeof *p->rows, by_name);
  for (uint64_t i = 0, next; i < p->row_count && p->status == PD_OK; i = next) {
    row sum = p->rows[i];
    for (next = i + 1; next < p->row_count && by_name(&sum, &p->rows[next]) == 0; next++) {
      if (p->rows[next].count > MAX_COUNT - sum.count) refuse(p, "more instructions than can be counted");
      sum.count += p->rows[next].count;
    }
    if (sum.count && p->status == PD_OK) add_function(p, &sum, out);
  }
  if (p->status == PD_OK && out->function_count)
    qsort(out->functions, out->function_count, sizeof *out->functions, by_count);
}

/* ---- the whole ---- */

/* `text` ends with a zero and is cut into lines. */
static void parse(parser *p, char *text, const char *end, callgrind_profile *out) {
  for (char *line = text; line < end && p->status == PD_OK;) {
    char *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = line + (end - line);
    *stop = '\0';
    p->line++;
    if (strlen(line) != (size_t)(stop - line)) refuse(p, "has a byte of zero");
    take_line(p, line);
    line = stop + 1;
  }
  if (p->status == PD_OK && !p->whole)
    refuse(p, "ends without a line \"totals:\": it was cut short; is the disk full?");
  if (p->status == PD_OK) merge(p, out);
  if (p->status == PD_OK && !(out->tool = strdup(p->tool))) no_memory(p);
}

pd_status callgrind_profile_parse(const char *text, size_t bytes, const char *name, callgrind_profile *out, char *why,
                                  size_t room) {
  parser p = {.name = name, .object = "", .tool = "", .columns = 1, .ir = -1, .why = why, .room = room};
  *out = (callgrind_profile){.tool = NULL};
  if (room) why[0] = '\0';
  char *copy = malloc(bytes + 1);
  if (copy) {
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    parse(&p, copy, copy + bytes, out);
  } else {
    no_memory(&p);
  }
  out->total = p.total;
  if (p.status != PD_OK) callgrind_profile_clear(out);
  free(p.functions.names);
  free(p.objects.names);
  free(p.rows);
  free(copy);
  return p.status;
}

pd_status callgrind_profile_read(const char *path, callgrind_profile *out, char *why, size_t room) {
  char *text;
  size_t bytes;
  *out = (callgrind_profile){.tool = NULL};
  pd_status status = whole_file_read(path, "a profile", MAX_FILE_BYTES, &text, &bytes, why, room);
  if (status == PD_OK) status = callgrind_profile_parse(text, bytes, path, out, why, room);
  free(text);
  return status;
}

void callgrind_profile_clear(callgrind_profile *self) {
  for (uint64_t i = 0; i < self->function_count; i++) {
    free(self->functions[i].name);
    free(self->functions[i].object);
  }
  free(self->functions);
  free(self->tool);
  *self = (callgrind_profile){.tool = NULL};
}

static uint64_t count_of(const callgrind_profile *self, const pd_function_count *function) {
  for (uint64_t i = 0; i < self->function_count; i++)
    if (strcmp(self->functions[i].name, function->name) == 0 &&
        strcmp(self->functions[i].object, function->object) == 0)
      return self->functions[i].count;
  return 0;
}

void callgrind_profile_take_off(callgrind_profile *self, const callgrind_profile *baseline) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < self->function_count; i++) {
    pd_function_count at = self->functions[i];
    const uint64_t off = count_of(baseline, &at);
    at.count = at.count > off ? at.count - off : 0;
    if (at.count) {
      self->functions[kept++] = at;
    } else {
      free(at.name);
      free(at.object);
    }
  }
  self->function_count = kept;
  if (kept) qsort(self->functions, kept, sizeof *self->functions, by_count);
}
