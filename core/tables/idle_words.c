/* See idle_words.h. */
#include "idle_words.h"

#include "facts/child_use.h"
#include "facts/thread_states.h"

#include <pdhost/quantity.h>

/* What takes a smaller part of the steps is not worth a word, nor are more reasons than these. */
#define SAID_SHARE 0.01
enum { REASONS_SAID = 3 };
/* Shares of the idle time: where less is known, it says nothing of the rest; where that much is known, the words are
 * for all of it. */
#define LITTLE_KNOWN 0.5
#define MOST_KNOWN 0.9
/* Samples of the program's code that one place has, at least, in number and part, to be named. */
enum { PLACE_SAMPLES = 5 };
#define PLACE_SHARE 0.3

/* ", its Python code most often at train.py:42 (83 % of 120 samples)". */
static const char *place_words(const table_work *work, const idle_reasons *of) {
  const idle_place *most = of->places;
  if (!of->place_count || most->samples < PLACE_SAMPLES || (double)most->samples < PLACE_SHARE * (double)of->samples)
    return "";
  return arena_format(work->arena, ", with its Python code at %s in %.0f %% of %llu samples",
                      facts_text(work->facts, most->place), 100 * (double)most->samples / (double)of->samples,
                      (unsigned long long)of->samples);
}

static const char *reasons_words(const table_work *work, const idle_reasons *of) {
  const char *text = "";
  for (uint32_t i = 0; i < of->count && i < REASONS_SAID; i++) {
    char words[96];
    if ((double)of->rows[i].idle_ns < SAID_SHARE * (double)work->facts->steps_ns) break;
    idle_reason_words(work->facts, &of->rows[i], words, sizeof words);
    text = arena_format(work->arena, "%s%s%s for %s a step", text, text[0] ? ", " : "", words,
                        table_time_text(work->arena, (double)of->rows[i].idle_ns / (double)work->facts->step_count));
  }
  return text;
}

const char *idle_words(const table_work *work) {
  idle_reasons reasons;
  const char *text = "";
  const bool is_read = idle_reasons_open(work->facts, &reasons);
  const double known = reasons.idle_ns ? (double)reasons.known_ns / (double)reasons.idle_ns : 0;
  if (is_read && (double)reasons.idle_ns >= SAID_SHARE * (double)work->facts->steps_ns) {
    const char *said = known >= LITTLE_KNOWN ? reasons_words(work, &reasons) : "";
    if (said[0])
      text = arena_format(work->arena, "; while the device was idle the launching thread was %s", said);
    else if (known < LITTLE_KNOWN && (work->facts->trace->facts & PD_FACT_STATES))
      text = "; what the launching thread did while the device was idle was not seen for most of it";
    if (said[0] && known < MOST_KNOWN)
      text = arena_format(work->arena, "%s (seen for %.0f %% of that time)", text, 100 * known);
    text = arena_format(work->arena, "%s%s", text, text[0] ? place_words(work, &reasons) : "");
  }
  idle_reasons_free(&reasons);
  return text;
}

const char *idle_words_children(const table_work *work) {
  child_uses children;
  const char *text = "";
  double processors = 0, read = 0;
  const bool is_read = child_uses_open(work->facts, &children);
  for (uint32_t i = 0; i < children.count; i++) {
    processors += children.rows[i].processors;
    read += children.rows[i].read_per_s;
  }
  if (is_read && children.count && isfinite(processors)) {
    char bytes[32] = "";
    const bool is_one = children.count == 1;
    if (isfinite(read)) pd_text_bytes(bytes, sizeof bytes, read);
    text = arena_format(work->arena, "; its %u child process%s used %.2f processors%s%s%s", children.count,
                        is_one ? "" : "es together", processors, bytes[0] ? " and read " : "", bytes,
                        bytes[0] ? " a second" : "");
  }
  child_uses_free(&children);
  return text;
}
