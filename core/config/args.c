/* See args.h. getopt_long splits the words; names are compared whole, since it takes beginnings of them too. */
#include "args.h"

#include "base/log.h"
#include "base/progress_line.h"
#include "base/suggest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LONG = 256 };

typedef struct parser {
  args_set *sets;
  uint32_t set_count;
  const char *where;
  error *err;
  int argc;
  char **argv;          /* as typed */
  char **words;         /* with '-' for '_' in the names of long options */
  struct option *longs; /* all rows of all sets, in order */
  char *letters;
  int shift; /* getopt sees the words from here on, this one as the program's name */
} parser;

#define USAGE(p, fault, ...) error_add((p)->err, PD_INVALID, (fault), __VA_ARGS__)

static bool same_name(const char *name, const char *typed, size_t bytes) {
  if (strlen(name) != bytes) return false;
  for (size_t i = 0; i < bytes; i++) {
    const int a = name[i] == '_' ? '-' : name[i], b = typed[i] == '_' ? '-' : typed[i];
    if (a != b) return false;
  }
  return true;
}

const args_option *args_find(const args_option *rows, uint32_t count, const char *typed, size_t bytes) {
  for (uint32_t i = 0; i < count; i++) {
    const bool is_letter = bytes == 2 && typed[0] == '-' && rows[i].letter && typed[1] == rows[i].letter;
    if (is_letter || same_name(rows[i].name, typed, bytes)) return &rows[i];
  }
  return NULL;
}

/* Row `index` of all sets. */
static const args_option *row_at(const parser *p, uint32_t index, args_set **set) {
  for (uint32_t i = 0; i < p->set_count; i++) {
    *set = &p->sets[i];
    if (index < p->sets[i].count) return &p->sets[i].rows[index];
    index -= p->sets[i].count;
  }
  return NULL;
}

static const args_option *row_of(const parser *p, int code, args_set **set) {
  if (code >= FIRST_LONG) return row_at(p, (uint32_t)(code - FIRST_LONG), set);
  const char typed[2] = {'-', (char)code};
  for (uint32_t i = 0; i < p->set_count; i++) {
    *set = &p->sets[i];
    const args_option *row = args_find(p->sets[i].rows, p->sets[i].count, typed, 2);
    if (row) return row;
  }
  return NULL;
}

static void normalise(char *word) {
  for (char *at = word; word[0] == '-' && word[1] == '-' && *at && *at != '='; at++)
    if (*at == '_') *at = '-';
}

/* getopt's own tables. */
static bool set_up(parser *p) {
  uint32_t count = 0, used = 0;
  for (uint32_t i = 0; i < p->set_count; i++) count += p->sets[i].count;
  p->longs = calloc(count + 1, sizeof *p->longs);
  p->letters = calloc(2 * count + 3, 1);
  p->words = calloc((size_t)p->argc + 1, sizeof *p->words);
  if (!p->longs || !p->letters || !p->words) return false;
  static const int has_argument[] = {[ARGS_NONE] = no_argument,
                                     [ARGS_OPTIONAL] = optional_argument,
                                     [ARGS_NEXT] = optional_argument,
                                     [ARGS_REQUIRED] = required_argument};
  char *letter = p->letters;
  *letter++ = '-'; /* words in their order */
  *letter++ = ':';
  for (uint32_t i = 0; i < count; i++) {
    args_set *set;
    const args_option *row = row_at(p, i, &set);
    char *name = strdup(row->name + 2);
    if (!name) return false;
    for (char *at = name; *at; at++)
      if (*at == '_') *at = '-';
    p->longs[used++] = (struct option){.name = name, .has_arg = has_argument[row->value], .val = (int)(FIRST_LONG + i)};
    if (!row->letter || strchr(p->letters + 1, row->letter)) continue;
    *letter++ = row->letter;
    if (row->value == ARGS_REQUIRED) *letter++ = ':';
  }
  for (int i = 0; i < p->argc; i++) {
    p->words[i] = strdup(p->argv[i]);
    if (!p->words[i]) return false;
    normalise(p->words[i]);
  }
  return true;
}

static void tear_down(parser *p) {
  for (uint32_t i = 0; p->longs && p->longs[i].name; i++) free((char *)p->longs[i].name);
  for (int i = 0; p->words && i < p->argc; i++) free(p->words[i]);
  free(p->longs);
  free(p->letters);
  free(p->words);
}

/* "-num_workers" was meant as "--num_workers". */
static bool suggest_two_dashes(const parser *p, const char *text, suggest *near) {
  const size_t bytes = strcspn(text, "=");
  for (uint32_t i = 0; i < p->set_count; i++)
    for (uint32_t row = 0; text[1] != '-' && row < p->sets[i].count; row++)
      if (same_name(p->sets[i].rows[row].name + 1, text, bytes)) {
        near->best = p->sets[i].rows[row].name;
        near->best_distance = 0;
        return true;
      }
  return false;
}

static void unknown(const parser *p, const char *text) {
  const size_t bytes = text[1] == '-' ? strcspn(text, "=") : strlen(text);
  char hint[160], name[128];
  snprintf(name, sizeof name, "%.*s", (int)bytes, text);
  suggest near = {.wanted = name};
  /* One letter away from -x is every other letter. */
  if (!suggest_two_dashes(p, text, &near))
    for (uint32_t i = 0; bytes > 2 && i < p->set_count; i++)
      for (uint32_t row = 0; row < p->sets[i].count; row++)
        if (args_help_text(&p->sets[i].rows[row])) suggest_offer(&near, p->sets[i].rows[row].name);
  if (!suggest_text(&near, hint, sizeof hint)[0])
    snprintf(hint, sizeof hint, "; see pdhost %.*s%s--help", (int)strcspn(p->where, ":"), p->where,
             p->where[0] ? " " : "");
  USAGE(p, FAULT_OPTION, "%s%.*s: no such option%s", p->where, (int)bytes, text, hint);
}

/* The name of a row as it was typed. */
static const char *typed_name(const args_option *row, const char *text, char *room, size_t size) {
  if (text[1] == '-')
    snprintf(room, size, "%s", row->name);
  else
    snprintf(room, size, "-%c", row->letter);
  return room;
}

static void take(const parser *p, args_set *set, const args_option *row, const char *text, const char *value) {
  char name[64];
  if (row->take(set->user, row, value, p->err)) return;
  USAGE(p, FAULT_ARGUMENT, "%s%s%s%s: not allowed%s%s", p->where, typed_name(row, text, name, sizeof name),
        value ? " " : "", value ? value : "", row->allowed ? "; allowed: " : "", row->allowed ? row->allowed : "");
}

static bool is_exact(const char *text, const char *name) {
  return text[1] != '-' || same_name(name, text, strcspn(text, "="));
}

/* getopt goes on after word `last`. */
static void restart(parser *p, int last) {
  p->shift = last;
  /* With 0 getopt forgets the word that it is in. It then begins at 1. */
  static char name[] = "pdhost";
  char *const empty[] = {name, NULL};
  optind = 0;
  (void)getopt_long(1, empty, p->letters, p->longs, NULL);
}

/* optarg, of the words as they were typed. */
static const char *own_value(const parser *p, int first) {
  if (!optarg) return NULL;
  const int last = p->shift + optind - 1;
  if (optarg == p->words[last]) return p->argv[last];
  return p->argv[first] + (optarg - p->words[first]);
}

/* What getopt returned for the option in word `first`. */
static void take_option(parser *p, int code, int first) {
  const char *text = p->argv[first];
  args_set *set = NULL;
  char name[64];
  const bool is_mistake = code == '?' || code == ':';
  const args_option *row = is_mistake && !optopt ? NULL : row_of(p, is_mistake ? optopt : code, &set);
  if (row && !is_exact(text, row->name)) row = NULL;
  if (row && code == ':') {
    USAGE(p, FAULT_ARGUMENT, "%s%s: needs a value%s%s", p->where, typed_name(row, text, name, sizeof name),
          row->allowed ? "; allowed: " : "", row->allowed ? row->allowed : "");
  } else if (row && code == '?') {
    USAGE(p, FAULT_ARGUMENT, "%s%s: takes no value", p->where, row->name);
  } else if (!row) {
    unknown(p, text);
    if (p->shift + optind == first) restart(p, first); /* the letters after it are not named each */
    const char *next = p->argv[p->shift + optind];
    /* What follows was meant as its value, unless the option had it: as an abbreviation that getopt knows. */
    if (code == '?' && !strchr(text, '=') && next && next[0] != '-') optind++;
  } else {
    const char *value = own_value(p, first);
    if (!value && row->value == ARGS_NEXT && p->argv[p->shift + optind] && p->argv[p->shift + optind][0] != '-')
      value = p->argv[p->shift + optind++];
    if (!set->kept) take(p, set, row, text, value);
  }
}

/* The words of an option that its set only keeps. */
static void keep(const parser *p, int code, int first) {
  args_set *set = NULL;
  const args_option *row = code == '?' || code == ':' ? NULL : row_of(p, code, &set);
  for (int i = first; row && set->kept && i < p->shift + optind; i++) set->kept[set->kept_count++] = p->argv[i];
}

pd_status args_parse(args_set *sets, uint32_t set_count, args_word word, void *word_user, const char *where, int argc,
                     char **argv, error *err) {
  parser p = {.sets = sets, .set_count = set_count, .where = where, .err = err, .argc = argc, .argv = argv};
  if (!set_up(&p)) {
    tear_down(&p);
    return error_no_memory(err);
  }
  bool goes_on = true;
  optind = 0; /* getopt begins anew */
  opterr = 0;
  while (goes_on) {
    const int first = p.shift + (optind ? optind : 1);
    const int code = getopt_long(argc - p.shift, p.words + p.shift, p.letters, p.longs, NULL);
    if (code == -1) break;
    if (code == 1) {
      goes_on = word(word_user, p.argv[first], err);
    } else {
      take_option(&p, code, first);
      keep(&p, code, first);
    }
  }
  for (int i = p.shift + optind; goes_on && i < argc; i++) goes_on = word(word_user, argv[i], err); /* after "--" */
  tear_down(&p);
  return err->count ? err->status : PD_OK;
}

/* ---- values ---- */

/* A number, then `unit` or nothing. */
static bool number(const char *text, const char *unit, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && (*end == '\0' || strcmp(end, unit) == 0) && *value >= 0;
}

static void *field(void *user, const args_option *self) { return (char *)user + self->code; }

bool args_take_flag(void *user, const args_option *self, const char *value, error *err) {
  (void)err;
  *(bool *)field(user, self) = !value;
  return !value;
}

bool args_take_text(void *user, const args_option *self, const char *value, error *err) {
  (void)err;
  *(const char **)field(user, self) = value;
  return value[0] != '\0';
}

bool args_take_share(void *user, const args_option *self, const char *value, error *err) {
  (void)err;
  double *share = field(user, self);
  const bool read = number(value, "%", share);
  *share /= 100;
  return read && *share <= 1;
}

bool args_take_seconds(void *user, const args_option *self, const char *value, error *err) {
  (void)err;
  double *seconds = field(user, self);
  static const struct {
    const char *name;
    double s;
  } units[] = {{"s", 1}, {"m", 60}, {"h", 3600}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (!number(value, units[i].name, seconds)) continue;
    *seconds *= value[strlen(value) - 1] == units[i].name[0] ? units[i].s : 1;
    return *seconds > 0 && *seconds <= 86400;
  }
  return false;
}

bool args_take_progress(void *user, const args_option *self, const char *value, error *err) {
  (void)user;
  (void)self;
  (void)err;
  return progress_choose(value);
}

/* One of the row's own choices. */
bool args_take_format(void *user, const args_option *self, const char *value, error *err) {
  static const char *const names[] = {"text", "json", "csv", "md"};
  (void)err;
  for (int i = 0; i < 4; i++)
    if (strcmp(value, names[i]) == 0 && strstr(self->allowed, names[i])) {
      *(args_format *)field(user, self) = (args_format)i;
      return true;
    }
  return false;
}

bool args_take_color(void *user, const args_option *self, const char *value, error *err) {
  static const char *const names[] = {"auto", "always", "never"};
  (void)user;
  (void)self;
  (void)err;
  for (int i = 0; i < 3; i++)
    if (strcmp(value ? value : "always", names[i]) == 0) {
      log_set_color((log_color)i);
      return true;
    }
  return false;
}
