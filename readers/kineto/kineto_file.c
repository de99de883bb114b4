/* The file as a whole: an object with traceEvents, or the list of events alone; to the last byte that can be read. */
#include "kineto.h"

#include <stdio.h>

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

static void tell(const kineto_reader *self, const kineto_oddity *what, const char *one, const char *more) {
  if (!what->count) return;
  self->intake->place(self->intake, what->first);
  self->intake->odd(self->intake, PD_ODD_DAMAGE, what->count, "%llu %s, the first at byte %llu",
                    (unsigned long long)what->count, what->count == 1 ? one : more, (unsigned long long)what->first);
}

static void tell_skipped(const kineto_reader *self) {
  if (!self->skipped.count) return;
  self->intake->place(self->intake, self->skipped.first);
  self->intake->odd(self->intake, PD_ODD_DAMAGE, self->skipped.count,
                    "%llu bytes beside the list of events are not JSON and are left out, the first at byte %llu",
                    (unsigned long long)self->skipped_bytes, (unsigned long long)self->skipped.first);
}

static void tell_unread(const kineto_reader *self) {
  if (!self->unread.count) return;
  self->intake->place(self->intake, self->unread.first);
  self->intake->odd(self->intake, PD_ODD_DAMAGE, self->unread.count,
                    "%llu records of a device (hpu_op, mtia_ccp_events or mtia_insight) are not read: pdhost does not "
                    "know whether they are calls or work of the device",
                    (unsigned long long)self->unread.count);
}

static void tell_end(const kineto_reader *self) {
  const uint64_t end = self->input.offset + self->input.end;
  if (!self->input.broken && self->complete) return;
  self->intake->place(self->intake, end);
  if (self->input.broken)
    self->intake->odd(self->intake, PD_ODD_DAMAGE, 1, "%s: what was read up to byte %llu is used", self->input.broken,
                      (unsigned long long)end);
  else
    self->intake->odd(self->intake, PD_ODD_DAMAGE, 1,
                      "the file ends in the middle, at byte %llu: what was read up to there is used",
                      (unsigned long long)end);
}

static void tell_oddities(const kineto_reader *self) {
  tell(self, &self->malformed, "event is not JSON and is left out", "events are not JSON and are left out");
  tell(self, &self->brackets, "bracket too many in the list of events is passed over",
       "brackets too many in the list of events are passed over");
  tell(self, &self->behind, "event stands behind the end of the list of events and is left out",
       "events stand behind the end of the list of events and are left out");
  tell(self, &self->untimed, "event has no time and is left out", "events have no time and are left out");
  tell(self, &self->unnamed, "event has no name", "events have no name");
  tell_skipped(self);
  tell_unread(self);
  if (self->facts & PD_FACT_FRAMES_SKIPPED)
    self->intake->odd(self->intake, PD_ODD_NOTE, self->left_python,
                      "%llu Python functions are skipped, as --no-python says: stacks hold none, and Evidence names no "
                      "line",
                      (unsigned long long)self->left_python);
  if (self->input.more_files)
    self->intake->odd(self->intake, PD_ODD_NOTE, 1,
                      "the archive holds more files, which are left out: unpack it to read them");
  if (self->input.surplus)
    self->intake->odd(self->intake, PD_ODD_NOTE, self->input.surplus,
                      "%llu bytes follow the compressed data and are left out",
                      (unsigned long long)self->input.surplus);
  tell_end(self);
}

/* What comes after the last bracket is looked at all the same: damage shows only there. */
static void drain(kineto_reader *self) {
  if (!next_byte(self)) return;
  while (find_next_member(self)) continue;
}

/* One event in a thousand may be no JSON, as one with a quote in its name: what that takes away shows in what is
 * missing beside it. */
static bool misses_events(const kineto_reader *self) {
  enum { BEARABLE = 1000 };
  return self->input.broken || !self->complete || self->behind.count || self->malformed.count * BEARABLE > self->kept;
}

static void skip_mark(kineto_reader *self) {
  while (end_of(self) - begin_of(self) < 3 && input_more(&self->input)) continue;
  if (end_of(self) - begin_of(self) >= 3 && memcmp(begin_of(self), KINETO_MARK, 3) == 0)
    go_to(self, begin_of(self) + 3);
}

/* Why a whole file has nothing to be read. */
static pd_status say_nothing_kept(const kineto_reader *self) {
  const unsigned long long left = self->left;
  if (!self->complete || self->behind.count || self->malformed.count || self->untimed.count || self->skipped.count)
    return PD_STOP;
  if (!left)
    return self->host->fail(self->host, PD_INVALID, "cannot be read: it has no events, as if nothing was recorded");
  if (self->left_python == left)
    return self->host->fail(self->host, PD_INVALID,
                            "cannot be read: its %llu events are Python functions alone; record the activities CPU and "
                            "CUDA, too",
                            left);
  if (2 * self->left_pairs > left)
    return self->host->fail(self->host, PD_INVALID,
                            "cannot be read: its events are pairs of begin and end (B and E); torch.profiler writes "
                            "events with a length (X)");
  return self->host->fail(self->host, PD_INVALID,
                          "cannot be read: none of its %llu events has a category of torch.profiler, such as cpu_op or "
                          "kernel; another tool wrote it",
                          left);
}

/* Why a file is none that could be read. */
static pd_status say_no_json(const kineto_reader *self) {
  const pd_host *host = self->host;
  if (self->input.broken) return host->fail(host, PD_INVALID, "cannot be read: %s", self->input.broken);
  if (self->input.offset + self->input.end == 0)
    return host->fail(host, PD_INVALID, "cannot be read: it is empty%s",
                      strcmp(self->path, "-") == 0 ? "; send a trace to it, as in pdhost analyze - < trace.json" : "");
  /* From its first byte on, which may have been passed over as a blank. */
  const pd_status status = kineto_refuse_packed(self, self->input.data, self->input.end);
  return status != PD_OK ? status : host->fail(host, PD_INVALID, "is not JSON: it begins with neither { nor [");
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
    return say_no_json(self);
  }
  if (self->no_memory) return PD_NO_MEMORY;
  if (self->complete) drain(self);
  kineto_collectives_give(self);
  tell_oddities(self);
  self->intake->progress(self->intake, self->input.taken, self->input.bytes);
  self->source.size = sizeof self->source;
  self->source.partial = misses_events(self);
  self->source.facts = self->facts;
  self->source.base_ns = self->base_ns;
  self->source.versions = self->versions[0] ? self->versions : NULL;
  self->source.devices = self->devices;
  self->intake->source(self->intake, &self->source);
  return self->kept ? PD_OK : say_nothing_kept(self);
}
