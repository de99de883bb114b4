/* Conformance checks of readers: files that are not there, or not theirs; see check_list.h. */
#include "check_host.h"
#include "check_list.h"
#include "trace/intake/intake.h"

#include <stdio.h>
#include <string.h>

static check_verdict probes(const check_target *target) {
  static const char noise[] = "\x7f"
                              "ELF\x01\x02\x03 no trace of anybody's \xff\xfe";
  const pd_reader_ops *ops = target->table->ops.reader;
  if (ops->probe("absent", "", 0) != PD_PROBE_NO) return check_verdict_of(CHECK_FAILED, "it takes an empty file");
  if (ops->probe("absent", noise, sizeof noise - 1) != PD_PROBE_NO)
    return check_verdict_of(CHECK_FAILED, "it takes a file that no profiler wrote");
  return check_ok();
}

/* Opens `path` and reads until a window is none. `opened` says whether open succeeded. */
static check_verdict read_it(const check_target *target, const char *path, bool *opened) {
  const pd_reader_ops *ops = target->table->ops.reader;
  check_host host;
  intake *rows = NULL;
  void *state = NULL, *options = check_options(target, NULL, NULL);
  check_verdict verdict = check_ok();
  check_host_init(&host);
  if (!options || intake_open(NULL, &rows) != PD_OK) {
    free(options);
    return check_verdict_of(CHECK_BROKEN, "out of memory");
  }
  pd_status status = ops->open(&host.table, options, path, &state);
  *opened = status == PD_OK;
  if (status != PD_OK && state) verdict = check_verdict_of(CHECK_FAILED, "open failed and set *state all the same");
  while (status == PD_OK) status = ops->next_window(state, intake_table(rows));
  if (*opened) ops->close(state);
  if (verdict.outcome == CHECK_OK && status != PD_STOP && status != PD_NO_MEMORY && !host.message[0])
    verdict = check_verdict_of(CHECK_FAILED, "it failed without a message");
  if (verdict.outcome == CHECK_OK && host.misuse[0]) verdict = check_verdict_of(CHECK_FAILED, "%s", host.misuse);
  intake_close(rows);
  free(options);
  return verdict;
}

static check_verdict absent(const check_target *target) {
  bool opened;
  check_verdict verdict = read_it(target, "no such folder/absent", &opened);
  if (verdict.outcome == CHECK_OK && opened)
    verdict = check_verdict_of(CHECK_FAILED, "it opens a file that is not there");
  return verdict;
}

static check_verdict noise(const check_target *target) {
  static const char *const contents[] = {"", "{", "[{", "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\"",
                                         "SQLite format 3"};
  check_verdict verdict = check_ok();
  for (size_t i = 0; i < sizeof contents / sizeof contents[0] && verdict.outcome == CHECK_OK; i++) {
    bool opened;
    FILE *file = fopen("noise", "we");
    if (!file) return check_verdict_of(CHECK_BROKEN, "no file could be made");
    const bool written = fputs(contents[i], file) >= 0;
    if (fclose(file) != 0 || !written) return check_verdict_of(CHECK_BROKEN, "no file could be written");
    check_progress(target, "reading %s", contents[i]);
    verdict = read_it(target, "noise", &opened);
  }
  return verdict;
}

const check check_reader_list[] = {
    {"probe takes neither an empty file nor one that no profiler wrote", probes},
    {"a file that is not there is refused with a message", absent},
    {"files that are cut short or not its own end in a status", noise},
    {NULL, NULL},
};
