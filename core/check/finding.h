/*
 * What is wrong in a trace: one finding for each kind, with how often, and the worst one in words.
 *
 * A finding says that the file cannot be right: figures made of it may be wrong. What is merely worth knowing (a field
 * that profilers are known to leave empty, work that was launched before the recording began) is a note.
 */
#ifndef CORE_CHECK_FINDING_H
#define CORE_CHECK_FINDING_H

#include <pdhost/plugin.h>

#include <stdbool.h>

/* X(NAME, key, what is counted) */
#define CHECK_KINDS(X)                                                                                                 \
  X(FILE_DAMAGED, "file_damaged", "parts of the file that cannot be read")                                             \
  X(IMPLAUSIBLE_TIME, "implausible_time", "events at a time that cannot be theirs")                                    \
  X(NEGATIVE_TIME, "negative_time", "events that end before they begin")                                               \
  X(ZERO_TIME, "zero_time", "device records without a length")                                                         \
  X(CLOCK_QUANTUM, "clock_quantum", "kinds of events whose clock is coarse")                                           \
  X(WORK_BEFORE_LAUNCH, "work_before_launch", "device records that begin before the call that launched them")          \
  X(STREAM_OVERLAP, "stream_overlap", "device records that begin before the one before them on their stream ends")     \
  X(CHILD_OUTSIDE_PARENT, "child_outside_parent", "host events that end after the event around them")                  \
  X(COPY_TOO_FAST, "copy_too_fast", "copies faster than any link between host and device")                             \
  X(OCCUPANCY_ZERO, "occupancy_zero", "kernels with occupancy 0 that have warps on the device")                        \
  X(RECORDED_TWICE, "recorded_twice", "device records that are in the file twice")                                     \
  X(WORK_WITHOUT_LAUNCH, "work_without_launch", "device records without the call that launched them")                  \
  X(LAUNCH_WITHOUT_WORK, "launch_without_work", "launches without a device record")                                    \
  X(RECORDS_LOST, "records_lost", "records that the profiler says it lost")                                            \
  X(RANK_TWICE, "rank_twice", "files of a rank that another file is of at the same time")                              \
  X(RANK_COUNT, "rank_count", "files that differ in how many ranks there are")                                         \
  X(RANK_APART, "rank_apart", "files of another time than the first one")                                              \
  X(RANK_CLOCK, "rank_clock", "files whose clock differs from the first one's")

typedef enum check_kind {
#define X(name, key, text) CHECK_##name,
  CHECK_KINDS(X)
#undef X
      CHECK_KIND_COUNT
} check_kind;

#define CHECK_NO_BYTE UINT64_MAX
enum { CHECK_NOTES = 24, CHECK_TEXT = 512 };

typedef struct check_finding {
  uint64_t count;
  double worst;                /* how bad the worst one is, in a measure of the kind's own */
  uint64_t byte;               /* of it, in the decompressed file; CHECK_NO_BYTE: not known */
  uint64_t other_byte;         /* of another one, where the worst of the damage has no place; or CHECK_NO_BYTE */
  char worst_text[CHECK_TEXT]; /* it, in words */
} check_finding;

typedef struct check_findings {
  check_finding of[CHECK_KIND_COUNT];
  char notes[CHECK_NOTES][CHECK_TEXT]; /* what there is no room for is left out */
  uint32_t note_count;
} check_findings;

/* Counts one more; true: it is the worst so far, and finding_say is to say which it is. */
bool finding_add(check_findings *self, check_kind kind, double how_bad, uint64_t byte);
void finding_say(check_findings *self, check_kind kind, const char *format, ...) PD_PRINTF(3, 4);
/* Counts `count` more parts of the file that cannot be read, the first of them at `byte`. The words about most of them
 * are the worst, and the others are notes. A count of 0 is one part. */
void finding_damage(check_findings *self, uint64_t count, uint64_t byte, const char *text);
void finding_note(check_findings *self, const char *format, ...) PD_PRINTF(2, 3);

/* Kinds with a finding. */
uint32_t finding_count(const check_findings *self);
const char *finding_key(check_kind kind);
const char *finding_text(check_kind kind);

#endif
