/* The file as a whole: an object with traceEvents, or the list of events alone; to the last byte that can be read. */
#include "kineto.h"

/* Bytes between two reports of progress. */
enum { PROGRESS_BYTES = 8 << 20 };

static const char *begin_of(const kineto_reader *self) { return self->input.data + self->input.begin; }
static const char *end_of(const kineto_reader *self) { return self->input.data + self->input.end; }
static void go_to(kineto_reader *self, const char *at) { self->input.begin = (size_t)(at - self->input.data); }
static uint64_t offset_of(const kineto_reader *self, const char *at) {
  return self->input.offset + (uint64_t)(at - self->input.data);
}

/* Passes over blanks and returns the next byte; 0 at the end of the file. */
static char next_byte(kineto_reader *self) {
  for (;;) {
    const char *at = scan_blanks(begin_of(self), end_of(self));
    go_to(self, at);
    if (at < end_of(self)) return *at;
    if (!input_more(&self->input)) return 0;
  }
}

static void met(kineto_oddity *self, uint64_t at) {
  if (!self->count++) self->first = at;
}

/* Whether `key`, 8 bytes at least, is one that an event begins with. */
static bool is_event_key(const char *key) {
  static const char *const keys[] = {"\"ph\"", "\"cat\"", "\"name\"", "\"pid\"", "\"ts\""};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (memcmp(key, keys[i], strlen(keys[i])) == 0) return true;
  return false;
}

/* Behind something that is not an event: to the { before the next "ph", or "cat" or "name" where an event begins with
 * it. False: there is none. */
static bool find_next_event(kineto_reader *self) {
  if (begin_of(self) < end_of(self)) go_to(self, begin_of(self) + 1); /* not the same one again */
  for (;;) {
    const char *at = begin_of(self), *end = end_of(self);
    while (at < end && (at = memchr(at, '{', (size_t)(end - at)))) {
      const char *key = scan_blanks(at + 1, end);
      if (end - key < 8) break;
      if (is_event_key(key)) {
        go_to(self, at);
        return true;
      }
      at++;
    }
    go_to(self, at && at < end ? at : end);
    if (!input_more(&self->input)) {
      go_to(self, end_of(self));
      return false;
    }
  }
}

/* Passes over a bracket that ends the list of events, or the object around it, and the comma behind it. True: an event
 * follows at once, so that the bracket is one too many and the list goes on. */
static bool is_bracket_too_many(kineto_reader *self) {
  enum { ENOUGH = 64 };
  const uint64_t where = offset_of(self, begin_of(self));
  go_to(self, begin_of(self) + 1);
  if (next_byte(self) == ',') {
    go_to(self, begin_of(self) + 1);
    (void)next_byte(self);
  }
  while (end_of(self) - begin_of(self) < ENOUGH && input_more(&self->input)) continue;
  const char *at = begin_of(self), *end = end_of(self);
  if (at == end || *at != '{' || !is_event_key(scan_blanks(at + 1, end))) return false;
  met(&self->brackets, where);
  return true;
}

/* A quote too many turns what is text and what is not round, up to the next such quote, and what lies between would be
 * one event. Longer than most, it is looked at for the key that each event has once. */
static bool holds_another(const char *at, const char *end) {
  enum { LONG_EVENT = 2048 };
  static const char key[] = "\"ph\"";
  if (end - at < LONG_EVENT) return false;
  const char *first = memmem(at, (size_t)(end - at), key, sizeof key - 1);
  return first && memmem(first + 1, (size_t)(end - first - 1), key, sizeof key - 1);
}

/* One event at the buffer's begin. False: the file ends within it. */
static bool read_event(kineto_reader *self) {
  for (;;) {
    kineto_event event;
    bool cut = false;
    const char *at = begin_of(self), *end = end_of(self);
    const char *after = kineto_event_scan(&self->layout, self->skips_python, at, end, &event, &cut);
    const bool is_several = holds_another(at, after ? after : end_of(self));
    if (after && !is_several) {
      kineto_event_take(self, &event, offset_of(self, at));
      go_to(self, after);
      return true;
    }
    if (cut && !is_several && input_more(&self->input)) continue;
    /* What follows such an event is read all the same. */
    const uint64_t where = offset_of(self, begin_of(self));
    if (find_next_event(self)) {
      met(&self->malformed, where);
      return true;
    }
    if (!cut) met(&self->malformed, where);
    return false;
  }
}

/* Behind the [. True: the list is whole. */
static bool read_events(kineto_reader *self) {
  uint64_t told = 0;
  for (;;) {
    const char byte = next_byte(self);
    if (byte == 0) return false;
    if (byte == ']') {
      if (!is_bracket_too_many(self)) return true;
      continue;
    }
    if (byte == ',') {
      go_to(self, begin_of(self) + 1);
      continue;
    }
    if (byte == '{') {
      if (!read_event(self)) return false;
    } else {
      met(&self->malformed, offset_of(self, begin_of(self)));
      if (!find_next_event(self)) return false;
    }
    if (self->no_memory) return false;
    if (self->input.taken - told >= PROGRESS_BYTES) {
      told = self->input.taken;
      self->intake->progress(self->intake, told, self->input.bytes);
    }
  }
}

/* Whether one of the file's members that are asked for begins at this quote. */
static bool is_known_member(const char *at, const char *end) {
  static const char *const keys[] = {"\"traceEvents\"", "\"deviceProperties\"", "\"distributedInfo\"",
                                     "\"baseTimeNanoseconds\""};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const size_t bytes = strlen(keys[i]);
    if (memcmp(at, keys[i], bytes) != 0) continue;
    const char *colon = scan_blanks(at + bytes, end);
    return colon < end && *colon == ':';
  }
  return false;
}

/* A quote too many makes one value of all that follows, the list of events in it. The quotes of a value that is a text
 * are escaped. */
static bool holds_list(const char *at, const char *end) {
  static const char key[] = "\"traceEvents\"";
  while ((at = memmem(at, (size_t)(end - at), key, sizeof key - 1))) {
    at = scan_blanks(at + sizeof key - 1, end);
    if (at < end && *at == ':' && *scan_blanks(at + 1, end) == '[') return true;
  }
  return false;
}

typedef enum member_end { MEMBER_DONE, MEMBER_EVENTS, MEMBER_DAMAGED, MEMBER_CUT } member_end;

/* A member of the file's object, at its key. MEMBER_EVENTS: the list of events follows, after its [. */
static member_end read_member(kineto_reader *self) {
  for (;;) {
    bool cut = false;
    scan_text key, value;
    const char *begin = begin_of(self), *end = end_of(self), *at = scan_key(begin, end, &key, &cut);
    if (at && at < end && *at == '[' && SCAN_IS(key, "traceEvents")) {
      self->has_list = true;
      go_to(self, at + 1);
      return MEMBER_EVENTS;
    }
    if (at) at = scan_value(at, end, &value, &cut);
    if (!self->has_list && holds_list(begin + 1, at ? at : end)) return MEMBER_DAMAGED;
    if (at) {
      self->has_bare_event |= SCAN_IS(key, "ph");
      kineto_header_take(self, key, value);
      go_to(self, at);
      return MEMBER_DONE;
    }
    if (!cut) return MEMBER_DAMAGED;
    if (!input_more(&self->input)) return MEMBER_CUT;
  }
}

/* To the next member that is known. False: there is none. The events that lie between are behind the list's end. */
static bool find_next_member(kineto_reader *self) {
  enum { LONGEST = 64 };
  if (begin_of(self) < end_of(self)) go_to(self, begin_of(self) + 1); /* not the same one again */
  for (;;) {
    const char *at = begin_of(self), *end = end_of(self);
    while (at < end && (at = memchr(at, '"', (size_t)(end - at))) && end - at >= LONGEST) {
      if (is_known_member(at, end)) {
        go_to(self, at);
        return true;
      }
      if (self->has_list && memcmp(at, "\"ph\"", 4) == 0) met(&self->behind, offset_of(self, at));
      at++;
    }
    go_to(self, at && at < end ? at : end);
    if (!input_more(&self->input)) {
      go_to(self, end_of(self));
      return false;
    }
  }
}

/* Behind a member that is no JSON, or a } before the list of events, which is the object's end where no member follows.
 * False: none does. */
static bool skip_damage(kineto_reader *self) {
  const uint64_t from = offset_of(self, begin_of(self));
  const bool may_end = *begin_of(self) == '}', found = find_next_member(self);
  if (may_end && !found) return false;
  met(&self->skipped, from);
  self->skipped_bytes += offset_of(self, begin_of(self)) - from;
  return found;
}

/* False: the file ends before the object does. */
static bool read_object(kineto_reader *self) {
  for (;;) {
    const char byte = next_byte(self);
    if (byte == '}' && self->has_list) {
      if (!is_bracket_too_many(self)) return true;
      if (!read_events(self)) return false;
      continue;
    }
    if (byte == '}') {
      if (!skip_damage(self)) return true;
      continue;
    }
    if (byte == 0) return false;
    if (byte == ',') {
      go_to(self, begin_of(self) + 1);
      continue;
    }
    switch (read_member(self)) {
    case MEMBER_DONE: break;
    case MEMBER_EVENTS:
      if (!read_events(self)) return false;
      break;
    case MEMBER_DAMAGED:
      if (!skip_damage(self)) return true;
      break;
    case MEMBER_CUT: return false;
    }
  }
}

/* What comes after the last bracket is looked at all the same: damage shows only there. */
static void drain(kineto_reader *self) {
  if (!next_byte(self)) return;
  while (find_next_member(self)) continue;
}

/* One event in a thousand may be no JSON, as one with a quote in its name: what that takes away shows in what is
 * missing beside it. The same holds for events that are not read, or of which the length is not known. */
static bool misses_events(const kineto_reader *self) {
  enum { BEARABLE = 1000 };
  const uint64_t few = self->kept / BEARABLE;
  return self->input.broken || !self->complete || self->behind.count || self->malformed.count > few ||
         self->pairs.count > few || self->endless.count > few;
}

static void skip_mark(kineto_reader *self) {
  while (end_of(self) - begin_of(self) < 3 && input_more(&self->input)) continue;
  if (end_of(self) - begin_of(self) >= 3 && memcmp(begin_of(self), KINETO_MARK, 3) == 0)
    go_to(self, begin_of(self) + 3);
}

pd_status kineto_file_read(kineto_reader *self) {
  skip_mark(self);
  const char byte = next_byte(self);
  if (byte == '[') {
    go_to(self, begin_of(self) + 1);
    self->has_list = true;
    self->complete = read_events(self);
  } else if (byte == '{') {
    go_to(self, begin_of(self) + 1);
    self->complete = read_object(self);
  } else {
    return kineto_say_no_json(self);
  }
  if (self->no_memory) return PD_NO_MEMORY;
  if (self->complete) drain(self);
  kineto_collectives_give(self);
  kineto_tell_oddities(self);
  self->intake->progress(self->intake, self->input.taken, self->input.bytes);
  self->source.size = sizeof self->source;
  self->source.partial = misses_events(self);
  self->source.facts = self->facts;
  self->source.base_ns = self->base_ns;
  self->source.versions = self->versions[0] ? self->versions : NULL;
  self->source.devices = self->devices;
  self->intake->source(self->intake, &self->source);
  return self->kept ? PD_OK : kineto_say_nothing_kept(self);
}
