/* What is said of a file: what is odd about it, and why it cannot be read. See kineto.h. */
#include "kineto.h"

#include "base/shell_word.h"

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

void kineto_tell_oddities(const kineto_reader *self) {
  tell(self, &self->malformed, "event is not JSON and is left out", "events are not JSON and are left out");
  tell(self, &self->brackets, "bracket too many in the list of events is passed over",
       "brackets too many in the list of events are passed over");
  tell(self, &self->behind, "event stands behind the end of the list of events and is left out",
       "events stand behind the end of the list of events and are left out");
  tell(self, &self->untimed, "event has no time and is left out", "events have no time and are left out");
  tell(self, &self->unnamed, "event has no name", "events have no name");
  tell(self, &self->pairs,
       "event begins or ends a range (ph B, E) and is left out, since only ranges with a length (ph X) are read",
       "events begin or end a range (ph B, E) and are left out, since only ranges with a length (ph X) are read");
  tell(self, &self->endless, "event has no length (dur) and is read with a length of 0",
       "events have no length (dur) and are read with a length of 0");
  tell_skipped(self);
  tell_unread(self);
  if (self->facts & PD_FACT_FRAMES_SKIPPED)
    self->intake->odd(self->intake, PD_ODD_NOTE, self->left_python,
                      "%llu Python functions are skipped, as --no-python says: stacks hold none, and Evidence names no "
                      "line",
                      (unsigned long long)self->left_python);
  if (self->input.next_member[0])
    self->intake->odd(self->intake, PD_ODD_DAMAGE, 1,
                      "only %s in the archive is read, and %s behind it is left out; unpack the archive, and give its "
                      "folder to read all traces",
                      self->input.member, self->input.next_member);
  else if (self->input.more_files)
    self->intake->odd(self->intake, PD_ODD_NOTE, 1,
                      "the archive holds more files, which are left out: unpack it to read them");
  if (self->input.surplus)
    self->intake->odd(self->intake, PD_ODD_NOTE, self->input.surplus,
                      "%llu bytes follow the compressed data and are left out",
                      (unsigned long long)self->input.surplus);
  tell_end(self);
}

/* Events one after the other, which other tools write a line at a time. */
static pd_status say_no_list(const kineto_reader *self) {
  static const char into_list[] = "sed '1s/^/[/; $!s/$/,/; $s/$/]/'";
  const pd_host *host = self->host;
  if (strcmp(self->path, "-") == 0)
    return host->fail(host, PD_INVALID,
                      "cannot be read: it has one event a line, without a list around them; make a list of them, as in "
                      "%s TRACE | pdhost analyze -",
                      into_list);
  char file[SHELL_WORD_BYTES];
  return host->fail(host, PD_INVALID,
                    "cannot be read: it has one event a line, without a list around them; make a list of them with "
                    "zcat -f %s | %s > NEW.json",
                    shell_word_in(file, self->path), into_list);
}

pd_status kineto_say_nothing_kept(const kineto_reader *self) {
  const unsigned long long left = self->left;
  if (!self->complete || self->behind.count || self->malformed.count || self->untimed.count || self->skipped.count)
    return PD_STOP;
  if (self->has_bare_event && !self->has_list) return say_no_list(self);
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

pd_status kineto_say_no_json(const kineto_reader *self) {
  const pd_host *host = self->host;
  if (self->input.broken) return host->fail(host, PD_INVALID, "cannot be read: %s", self->input.broken);
  if (self->input.member[0])
    return host->fail(host, PD_INVALID,
                      "cannot be read: %s in the archive is not JSON; unpack the archive, and give "
                      "the trace in it",
                      self->input.member);
  if (self->input.offset + self->input.end == 0)
    return host->fail(host, PD_INVALID, "cannot be read: it is empty%s",
                      strcmp(self->path, "-") == 0 ? "; send a trace to it, as in pdhost analyze - < trace.json" : "");
  /* From its first byte on, which may have been passed over as a blank. */
  const pd_status status = kineto_refuse_other(self, self->input.data, self->input.end);
  return status != PD_OK ? status : host->fail(host, PD_INVALID, "is not JSON: it begins with neither { nor [");
}
