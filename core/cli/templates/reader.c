/* new_reader: reads text files of one event a line: its kind, track, start and end in nanoseconds, name and number.
 * Change `probe` and `take_line` to your format. */
#include <pdhost/reader.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST_LINE "# new_reader 1\n"

static pd_probe probe(const char *path, const void *first, uint64_t bytes) {
  const size_t length = strlen(FIRST_LINE);
  (void)path;
  return bytes >= length && memcmp(first, FIRST_LINE, length) == 0 ? PD_PROBE_YES : PD_PROBE_NO;
}

static pd_status reader_open(const pd_host *host, const void *options, const char *path, void **state) {
  (void)options;
  *state = fopen(path, "re");
  return *state ? PD_OK : host->fail(host, PD_IO, "cannot be read: %s", strerror(errno));
}

/* "step 1 0 900 train 3", "call 1 10 20 launch 7", "kernel 5 30 80 gemm 7": a call and its kernel share a number. */
static bool take_line(const pd_intake *intake, const char *line) {
  char kind[8], name[64];
  uint32_t track;
  int64_t start, end;
  uint64_t number;
  if (sscanf(line, "%7s %" SCNu32 " %" SCNd64 " %" SCNd64 " %63s %" SCNu64, kind, &track, &start, &end, name,
             &number) != 6)
    return false;
  pd_activity row = {.start = start, .end = end, .correlation = number, .thread = PD_NONE};
  row.name = intake->intern(intake, name, strlen(name));
  if (strcmp(kind, "kernel") == 0) {
    row.kind = PD_ACTIVITY_KERNEL;
    row.stream = track;
    row.u.kernel.occupancy = row.u.kernel.waves = -1; /* not known */
    intake->activity(intake, &row);
  } else if (strcmp(kind, "call") == 0) {
    row.kind = PD_ACTIVITY_RUNTIME;
    row.thread = intake->thread(intake, 1, track);
    row.u.api.api = strcmp(name, "launch") == 0 ? PD_API_LAUNCH : PD_API_OTHER;
    intake->activity(intake, &row);
  } else if (strcmp(kind, "step") == 0) {
    intake->step(intake, intake->thread(intake, 1, track), number, start, end);
  } else {
    return false;
  }
  return true;
}

static pd_status next_window(void *state, const pd_intake *intake) {
  char line[256];
  uint64_t bad = 0, taken = 0;
  for (uint64_t at = 0; fgets(line, sizeof line, state); at += strlen(line)) {
    intake->place(intake, at);
    if (line[0] == '#') continue;
    if (take_line(intake, line))
      taken++;
    else
      bad++;
  }
  if (bad) intake->odd(intake, PD_ODD_DAMAGE, bad, "%" PRIu64 " lines are not events and are left out", bad);
  intake->source(intake, &(pd_source){.size = sizeof(pd_source), .facts = PD_FACT_CALLS});
  return taken ? PD_OK : PD_STOP; /* the next time the file is at its end, and nothing is taken */
}

static void reader_close(void *state) { fclose(state); }

PD_READER_PLAIN("new_reader", "1.0", "text files of one event a line", .probe = probe, .open = reader_open,
                .next_window = next_window, .close = reader_close)
