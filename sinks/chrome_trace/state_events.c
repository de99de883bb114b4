/* What the system saw of the launching threads: for each of them a track of its states, below the threads. */
#include "event_writer.h"

#include "../lib/json_writer.h"

#include <pdhost/host_states.h>

#include <stdio.h>
#include <string.h>

enum { WORDS = 128 };

static void write_state(event_writer *writer, const pd_state_row *row) {
  char words[WORDS], quoted[6 * WORDS + 2]; /* json_quoted_room */
  pd_host_state_words(row->state, pd_trace_string(writer->trace, row->name)->text, words, sizeof words);
  const name_text name = {.quoted = quoted, .length = json_quote(quoted, words, strlen(words))};
  char *at = EVENT_BEGIN(writer, "{\"ph\":\"X\",\"cat\":\"host_state\",\"name\":", &name);
  at = event_host_ids(writer, at, STATE_TRACK + row->thread);
  at = event_times(writer, at, row->start_ns, row->end_ns);
  event_end(writer, at);
}

static void name_track(event_writer *writer, uint32_t thread) {
  const pd_thread *at = PD_AT(pd_thread, &writer->trace->threads, thread);
  const uint32_t pid = writer->trace->pid + writer->host_offset, tid = STATE_TRACK + thread;
  char text[256];
  snprintf(text, sizeof text, "what thread %u (%.160s) was at", at->tid,
           pd_trace_string(writer->trace, at->name)->text);
  event_metadata_text(writer, "thread_name", pid, tid, "name", text);
  event_metadata_number(writer, "thread_sort_index", pid, tid, "sort_index", tid);
}

void state_events_write(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  uint32_t named = PD_NONE;
  for (uint64_t i = 0; i < trace->states.count; i++) { /* sorted by thread */
    const pd_state_row *row = PD_AT(pd_state_row, &trace->states, i);
    if (!event_in_part(writer, row->start_ns)) continue;
    if (row->thread != named) name_track(writer, row->thread);
    named = row->thread;
    write_state(writer, row);
  }
}
