/* Manifests of runs, whatever their bytes: refused with a line, or the run is like itself, and what differs from
 * another run is the same from either side and can be printed. */
#include "fuzz.h"

#include "fuzz_printed.h"

#include "advise/rerun/manifest_compare.h"
#include "advise/rerun/manifest_read.h"
#include "advise/rerun/rerun_report.h"

#include <math.h>

static const char other_run[] =
    "{\"format\": \"pdhost.manifest/1\", \"scenario\": \"control\", \"outcome\": \"complete\", \"ranks\": 1,"
    " \"program\": {\"version\": \"1.0.0\"}, \"plugins\": {}, \"libraries\": {\"libm.so.6\": \"build-id:34\"},"
    " \"configuration\": {\"data.batch_size\": \"16\"}, \"given\": [\"data.batch_size\"],"
    " \"seeds\": {\"run.seed\": \"0\"}, \"environment\": {}, \"device\": {\"plugin\": \"cpu\"}, \"machine\": {},"
    " \"windows\": [{\"steps\": 2, \"operations\": 4, \"launches\": 4, \"sha256\": \"00\", \"names\": {\"gemm\": 3}}],"
    " \"losses\": [2.5, 2.25, -1e308], \"step_time_ns\": [1000, 1100]}";

static void check_printed(const manifest_comparison *found) {
  fuzz_printed shown;
  fuzz_printed_begin(&shown);
  rerun_report_text(found);
  fuzz_printed_end(&shown);
  check_visible(shown.text, shown.bytes);
  fuzz_printed_free(&shown);
  fuzz_printed_begin(&shown);
  const bool whole = rerun_report_json(found);
  fuzz_printed_end(&shown);
  json_t *document = json_loads(shown.text, JSON_REJECT_DUPLICATES, NULL);
  check(whole && json_is_boolean(json_object_get(document, "same")));
  const json_t *times = json_object_get(document, "step_time");
  check(json_object_get(times, "verdict") || !found->times.then.count || !found->times.now.count);
  json_decref(document);
  fuzz_printed_free(&shown);
}

static bool has_null(const json_t *losses) {
  for (size_t i = 0; i < json_array_size(losses); i++)
    if (json_is_null(json_array_get(losses, i))) return true;
  return false;
}

static void check_losses(const compared_losses *of, bool has_gap) {
  check(of->unlike <= of->then && of->unlike <= of->now);
  check(!of->unlike || (of->first < of->then && of->first < of->now));
  check(of->most >= 0 && (has_gap || of->most <= 2));
}

/* Whether they differ. */
static bool compare(const json_t *then, const json_t *now) {
  manifest_comparison found;
  check(manifest_compare(then, now, &found));
  check_losses(&found.losses, has_null(json_object_get(then, "losses")) || has_null(json_object_get(now, "losses")));
  for (uint32_t i = 0; i < COMPARED_COUNT; i++) {
    const compared_group *at = &found.groups[i];
    check(at->values <= INT64_MAX);
    check(!at->counts || !at->change_count || found.differs);
    for (uint32_t k = 0; k < at->change_count; k++)
      check(at->changes[k].name && (at->changes[k].then || at->changes[k].now));
  }
  check_printed(&found);
  const bool differs = found.differs;
  manifest_comparison_close(&found);
  return differs;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  char path[64];
  if (!fuzz_file(data, bytes, path)) return 0;
  error_clear(&err);
  json_t *document = manifest_read(path, &err);
  (void)unlink(path);
  check(err.count == (document ? 0 : 1) && visible_is(err.count ? strtok(err.text, "\n") : ""));
  if (!document) return 0;
  json_t *other = json_loads(other_run, 0, NULL);
  check(other != NULL);
  check(!compare(document, document));
  check(compare(document, other) == compare(other, document));
  json_decref(other);
  json_decref(document);
  return 0;
}
