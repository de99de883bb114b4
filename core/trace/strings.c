/* The string table. See strings.h. */
#include "strings.h"

#include "kept/room.h"

#include "base/hash.h"

#include <pdhost/array.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  uint64_t hash;
  size_t length;
  struct entry *older; /* in the same room */
  uint32_t id;
  bool in_room; /* else of the heap */
  char text[];
} entry;

/* Open addressing. A table that has been replaced stays until close, for readers that still look into it. */
typedef struct index_table {
  struct index_table *older;
  uint64_t mask;
  _Atomic(entry *) slots[];
} index_table;

struct string_table {
  _Atomic(index_table *) index;
  trace_room *room;     /* NULL: the heap */
  pthread_mutex_t lock; /* of everything below */
  entry **by_id;
  uint32_t count, capacity;
};

/* Length of the well-formed sequence at `text`, or 0; then *bad is the length of the maximal bad one. */
static size_t sequence_length(const unsigned char *text, size_t left, size_t *bad) {
  unsigned char lead = text[0], low = 0x80, high = 0xBF;
  size_t need;
  *bad = 1;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    need = 2;
  else if (lead >= 0xE0 && lead <= 0xEF)
    need = 3;
  else if (lead >= 0xF0 && lead <= 0xF4)
    need = 4;
  else
    return 0;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (size_t i = 1; i < need; i++) {
    if (i >= left || text[i] < low || text[i] > high) {
      *bad = i;
      return 0;
    }
    low = 0x80;
    high = 0xBF;
  }
  return need;
}

size_t strings_make_valid(const char *text, size_t length, char *out) {
  static const unsigned char replacement[3] = {0xEF, 0xBF, 0xBD}; /* U+FFFD */
  const unsigned char *from = (const unsigned char *)text;
  size_t made = 0;
  for (size_t at = 0; at < length;) {
    size_t bad, good = sequence_length(from + at, length - at, &bad);
    if (good) {
      if (out) memcpy(out + made, text + at, good);
      made += good;
      at += good;
    } else {
      if (out) memcpy(out + made, replacement, sizeof replacement);
      made += sizeof replacement;
      at += bad;
    }
  }
  return made;
}

static entry *find(const index_table *index, uint64_t hash, const char *text, size_t length) {
  for (uint64_t at = hash & index->mask;; at = (at + 1) & index->mask) {
    entry *found = atomic_load_explicit(&index->slots[at], memory_order_acquire);
    if (!found) return NULL;
    if (found->hash == hash && found->length == length && !memcmp(found->text, text, length)) return found;
  }
}

static void put(index_table *index, entry *added) {
  uint64_t at = added->hash & index->mask;
  while (atomic_load_explicit(&index->slots[at], memory_order_relaxed)) at = (at + 1) & index->mask;
  atomic_store_explicit(&index->slots[at], added, memory_order_release);
}

static index_table *index_new(uint64_t size) {
  index_table *index = calloc(1, sizeof *index + size * sizeof index->slots[0]);
  if (index) index->mask = size - 1;
  return index;
}

static entry *entry_new(const string_table *self, size_t length) {
  const size_t bytes = sizeof(entry) + length + 1;
  entry *made = self->room ? room_take(self->room, bytes) : NULL;
  if (made) {
    made->in_room = true;
    return made;
  }
  made = malloc(bytes);
  if (made) made->in_room = false;
  return made;
}

static void entry_free(entry *gone) {
  if (gone && !gone->in_room) free(gone);
}

/* From now on a reader of the room finds it. Under the lock. */
static void publish(const string_table *self, entry *added) {
  if (!added->in_room) return;
  added->older = atomic_load_explicit(&self->room->texts, memory_order_relaxed);
  atomic_store_explicit(&self->room->texts, added, memory_order_release);
}

/* Adds a text that is valid and not there; 0 on no memory. Under the lock. */
static uint32_t add(string_table *self, uint64_t hash, const char *text, size_t length) {
  index_table *index = atomic_load_explicit(&self->index, memory_order_relaxed);
  if (self->count == UINT32_MAX) return 0;
  if (!PD_ARRAY_FIT(self->by_id, self->capacity, self->count + 1)) return 0;
  entry *added = entry_new(self, length);
  if (!added) return 0;
  added->hash = hash;
  added->length = length;
  added->id = self->count;
  memcpy(added->text, text, length);
  added->text[length] = '\0';
  if ((uint64_t)self->count * 2 > index->mask) {
    index_table *bigger = index_new((index->mask + 1) * 2);
    if (!bigger) {
      entry_free(added);
      return 0;
    }
    for (uint32_t i = 1; i < self->count; i++) put(bigger, self->by_id[i]);
    bigger->older = index;
    atomic_store_explicit(&self->index, bigger, memory_order_release);
    index = bigger;
  }
  self->by_id[self->count++] = added;
  put(index, added);
  publish(self, added);
  return added->id;
}

pd_status strings_open_in(trace_room *room, string_table **out) {
  string_table *table = calloc(1, sizeof *table);
  *out = NULL;
  if (!table) return PD_NO_MEMORY;
  table->room = room;
  index_table *index = index_new(1024);
  table->by_id = malloc(256 * sizeof(entry *));
  entry *none = calloc(1, sizeof *none + 1);
  if (!index || !table->by_id || !none || pthread_mutex_init(&table->lock, NULL)) {
    free(index);
    free(table->by_id);
    free(none);
    free(table);
    return PD_NO_MEMORY;
  }
  atomic_init(&table->index, index);
  table->capacity = 256;
  table->by_id[0] = none; /* not in the index */
  table->count = 1;
  if (strings_intern(table, "(no memory)") != STRINGS_NO_MEMORY || table->count != 2) {
    strings_close(table);
    return PD_NO_MEMORY;
  }
  *out = table;
  return PD_OK;
}

pd_status strings_open(string_table **out) { return strings_open_in(NULL, out); }

/* No text of a run has this number: a room has no place for as many texts. */
enum { IDS_MOST = 1 << 24 };

/* Whether an entry is one, and its number smaller than `end`, as those of older ones are. */
static bool is_entry(const trace_room *room, const entry *at, uint32_t end) {
  return room_has_piece(room, at, sizeof *at) && at->id < end && at->length < SIZE_MAX - sizeof *at &&
         room_has_piece(room, at, sizeof *at + at->length + 1) && at->text[at->length] == '\0';
}

/* Those of the room from the first on, by id; NULL in between: it is not there. PD_INVALID: it has been overwritten. */
static pd_status entries_of(const trace_room *room, const entry ***out, uint32_t *end) {
  const entry *newest = atomic_load_explicit(&room->texts, memory_order_acquire);
  if (newest && !is_entry(room, newest, IDS_MOST)) return PD_INVALID;
  *end = newest ? newest->id + 1 : 0;
  *out = calloc((size_t)*end + 1, sizeof(entry *));
  if (!*out) return PD_NO_MEMORY;
  uint32_t below = *end;
  for (const entry *at = newest; at; at = at->older) {
    if (!is_entry(room, at, below)) return PD_INVALID;
    below = at->id;
    (*out)[below] = at;
  }
  return PD_OK;
}

pd_status strings_open_again(const trace_room *room, string_table **out) {
  uint32_t end = 0;
  const entry **rows = NULL;
  *out = NULL;
  pd_status status = entries_of(room, &rows, &end);
  if (status == PD_OK) status = strings_open(out);
  for (uint32_t id = STRINGS_NO_MEMORY + 1; status == PD_OK && id < end; id++) {
    char unknown[32];
    (void)snprintf(unknown, sizeof unknown, "(unknown) %u", id);
    if (strings_intern(*out, rows[id] ? rows[id]->text : unknown) != id) status = PD_NO_MEMORY;
  }
  if (status != PD_OK) strings_close(*out);
  if (status != PD_OK) *out = NULL;
  free(rows);
  return status;
}

void strings_close(string_table *self) {
  if (!self) return;
  for (index_table *index = atomic_load_explicit(&self->index, memory_order_relaxed), *older; index; index = older) {
    older = index->older;
    free(index);
  }
  for (uint32_t i = 0; i < self->count; i++) entry_free(self->by_id[i]);
  free(self->by_id);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static uint32_t look_up(string_table *self, const char *text, size_t length, bool may_add) {
  size_t valid = length;
  const char *use = text;
  char *made = NULL;
  uint32_t id = 0;
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)text[i] >= 0x80) {
      valid = strings_make_valid(text, length, NULL);
      made = malloc(valid + 1);
      if (!made) return may_add ? STRINGS_NO_MEMORY : 0;
      strings_make_valid(text, length, made);
      use = made;
      break;
    }
  uint64_t hash = hash_bytes(use, valid);
  entry *found = find(atomic_load_explicit(&self->index, memory_order_acquire), hash, use, valid);
  if (found) {
    id = found->id;
  } else if (may_add) {
    pthread_mutex_lock(&self->lock);
    found = find(atomic_load_explicit(&self->index, memory_order_relaxed), hash, use, valid);
    id = found ? found->id : add(self, hash, use, valid);
    if (!id) id = STRINGS_NO_MEMORY;
    pthread_mutex_unlock(&self->lock);
  }
  free(made);
  return id;
}

uint32_t strings_intern(string_table *self, const char *text) {
  return look_up(self, text ? text : "", text ? strlen(text) : 0, true);
}
uint32_t strings_intern_bytes(string_table *self, const char *text, size_t length) {
  return look_up(self, text, length, true);
}
uint32_t strings_find(string_table *self, const char *text) {
  return look_up(self, text ? text : "", text ? strlen(text) : 0, false);
}

uint32_t strings_count(string_table *self) {
  pthread_mutex_lock(&self->lock);
  uint32_t count = self->count;
  pthread_mutex_unlock(&self->lock);
  return count;
}

pd_string strings_get(string_table *self, uint32_t id) {
  pthread_mutex_lock(&self->lock);
  const entry *found = self->by_id[id < self->count ? id : 0];
  pthread_mutex_unlock(&self->lock);
  return (pd_string){.text = found->text, .length = found->length};
}
