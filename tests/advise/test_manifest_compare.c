/* pdhost rerun: what is found to differ between two manifests, and which files are refused. */
#include "pd_test.h"

#include "advise/rerun/manifest_compare.h"
#include "advise/rerun/manifest_read.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char whole[] =
    "{\"format\": \"pdhost.manifest/1\", \"scenario\": \"control\", \"outcome\": \"complete\", \"ranks\": 1,"
    " \"program\": {\"version\": \"1.0.0\"}, \"plugins\": {\"device cpu\": \"1.0\"},"
    " \"libraries\": {\"libc.so.6\": \"build-id:12\", \"libm.so.6\": \"build-id:34\"},"
    " \"configuration\": {\"data.batch_size\": \"16\", \"run.trace_dir\": \"a\", \"sink.json.output_json\": \"x\"},"
    " \"given\": [\"data.batch_size\"], \"seeds\": {\"run.seed\": \"0\"}, \"environment\": {},"
    " \"device\": {\"plugin\": \"cpu\"}, \"machine\": {\"host_name\": \"a\"},"
    " \"windows\": [{\"steps\": 2, \"operations\": 4, \"launches\": 4, \"sha256\": \"00\","
    " \"names\": {\"gemm\": 3, \"add\": 1}}],"
    " \"losses\": [2.5, null, 2.25], \"step_time_ns\": [1000, 1100, 900, 1000]}";

/* With one text of it replaced. */
static json_t *with(const char *before, const char *after) {
  char text[4096];
  const char *at = strstr(whole, before);
  cr_assert_not_null(at, "%s", before);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, after, at + strlen(before));
  json_t *value = json_loads(text, 0, NULL);
  cr_assert_not_null(value, "%s", text);
  return value;
}

static json_t *again(void) { return with("null", "null"); }

/* Compares the manifest with what it is after the replacement: the group that differs, and its only change. */
static void expect_change(compared_key key, const char *before, const char *after, compared_change expected) {
  manifest_comparison found;
  json_t *then = again(), *now = with(before, after);
  cr_assert(manifest_compare(then, now, &found));
  for (uint32_t i = 0; i < COMPARED_COUNT; i++)
    cr_assert_eq(found.groups[i].change_count, i == key, "%s after %s", found.groups[i].key, after);
  const compared_change *got = &found.groups[key].changes[0];
  cr_assert_str_eq(got->name, expected.name);
  cr_assert_eq(!got->then, !expected.then);
  cr_assert_eq(!got->now, !expected.now);
  if (got->then) cr_assert_str_eq(got->then, expected.then);
  if (got->now) cr_assert_str_eq(got->now, expected.now);
  cr_assert_eq(found.differs, found.groups[key].counts);
  manifest_comparison_close(&found);
  json_decref(then);
  json_decref(now);
}

PD_TEST(manifest_compare, the_same) {
  manifest_comparison found;
  json_t *then = again(), *now = again();
  cr_assert(manifest_compare(then, now, &found));
  cr_assert(!found.differs);
  cr_assert_eq(found.groups[COMPARED_libraries].values, 2);
  cr_assert_eq(found.groups[COMPARED_configuration].values, 1, "the folder and the sinks are left out");
  cr_assert_eq(found.groups[COMPARED_windows].values, 4);
  cr_assert_eq(found.losses.unlike, 0);
  cr_assert_eq(found.times.then.count, 4);
  cr_assert_eq(found.times.found, OUTCOME_UNCLEAR, "four steps are too few");
  manifest_comparison_close(&found);
  json_decref(then);
  json_decref(now);
}

PD_TEST(manifest_compare, each_part_is_named) {
  expect_change(COMPARED_program, "1.0.0", "1.0.1", (compared_change){"version", "1.0.0", "1.0.1"});
  expect_change(COMPARED_libraries, "id:34", "id:56", (compared_change){"libm.so.6", "build-id:34", "build-id:56"});
  expect_change(COMPARED_libraries, ", \"libm.so.6\": \"build-id:34\"", "",
                (compared_change){"libm.so.6", "build-id:34", NULL});
  expect_change(COMPARED_configuration, "\"16\"", "\"8\"", (compared_change){"data.batch_size", "16", "8"});
  expect_change(COMPARED_seeds, "seed\": \"0\"", "seed\": \"1\"", (compared_change){"run.seed", "0", "1"});
  expect_change(COMPARED_environment, "\"environment\": {}", "\"environment\": {\"OMP_NUM_THREADS\": \"2\"}",
                (compared_change){"OMP_NUM_THREADS", NULL, "2"});
  expect_change(COMPARED_machine, "\"host_name\": \"a\"", "\"host_name\": \"b\"",
                (compared_change){"host_name", "a", "b"});
  expect_change(COMPARED_windows, "complete", "interrupted", (compared_change){"outcome", "complete", "interrupted"});
}

PD_TEST(manifest_compare, launches) {
  expect_change(COMPARED_windows, "\"gemm\": 3", "\"gemm\": 5",
                (compared_change){"window 0: gemm", "3 times", "5 times"});
  expect_change(COMPARED_windows, ", \"add\": 1", "", (compared_change){"window 0: add", "1 times", NULL});
  expect_change(COMPARED_windows, "\"sha256\": \"00\"", "\"sha256\": \"11\"",
                (compared_change){"window 0: order of the same launches", "00", "11"});
}

static compared_losses losses_after(const char *before, const char *after, bool *differs) {
  manifest_comparison found;
  json_t *then = again(), *now = with(before, after);
  cr_assert(manifest_compare(then, now, &found));
  const compared_losses out = found.losses;
  *differs = found.differs;
  manifest_comparison_close(&found);
  json_decref(then);
  json_decref(now);
  return out;
}

PD_TEST(manifest_compare, losses) {
  bool differs;
  compared_losses got = losses_after("2.25]", "2.2500001]", &differs);
  cr_assert(!differs, "rounding");
  cr_assert_eq(got.unlike, 1);
  cr_assert_eq(got.first, 2);
  got = losses_after("2.25]", "2.2]", &differs);
  cr_assert(differs);
  cr_assert_float_eq(got.most, 0.05 / 2.25, 1e-9);
  got = losses_after("null", "2.4", &differs);
  cr_assert(differs && isinf(got.most));
  got = losses_after("2.25]", "-1.7e308]", &differs);
  cr_assert_float_eq(got.most, 1, 1e-9);
  got = losses_after(", 2.25]", "]", &differs);
  cr_assert(differs);
  cr_assert_eq(got.now, 2);
}

/* The message for a file of this text; "" where it is taken. */
static const char *refused(const char *text) {
  static error err;
  static char line[ERROR_LINE_BYTES];
  char path[] = "/tmp/pdhost manifest XXXXXX";
  FILE *file = fdopen(mkstemp(path), "w");
  cr_assert_not_null(file);
  fputs(text, file);
  cr_assert_eq(fclose(file), 0);
  error_clear(&err);
  json_t *got = manifest_read(path, &err);
  unlink(path);
  cr_assert_eq(!got, err.count == 1);
  json_decref(got);
  if (got) return "";
  cr_assert_eq(err.exit_code, CODE_CONFIG);
  error_first_line(&err, line, sizeof line);
  cr_assert_not_null(strstr(line, path), "%s", line);
  return line;
}

PD_TEST(manifest_compare, files_that_are_refused) {
  static const struct {
    const char *before, *after, *said;
  } broken[] = {{"pdhost.manifest/1", "pdhost.truth/1", "not a manifest"},
                {"pdhost.manifest/1", "pdhost.manifest/2", "does not know"},
                {"\"ranks\": 1", "\"ranks\": true", "ranks is missing or has a wrong value"},
                {"\"1.0.0\"", "1", "program is missing"},
                {"\"losses\": [", "\"losses\": [\"x\", ", "losses is missing"},
                {"\"gemm\": 3", "\"gemm\": \"3\"", "windows is missing"},
                {"\"gemm\": 3", "\"gemm\": -3", "windows is missing"},
                {"\"launches\": 4", "\"launches\": -4", "windows is missing"},
                {"\"given\"", "\"other\"", "given is missing"},
                {"[1000", "[1.5", "step_time_ns is missing"}};
  cr_assert_str_eq(refused(whole), "");
  cr_assert_not_null(strstr(refused(""), "not a manifest"));
  cr_assert_not_null(strstr(refused("[1, 2]"), "not a manifest"));
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
    json_t *value = with(broken[i].before, broken[i].after);
    char *text = json_dumps(value, 0);
    const char *said = refused(text);
    cr_assert_not_null(strstr(said, broken[i].said), "%s: %s", broken[i].after, said);
    free(text);
    json_decref(value);
  }
  for (size_t bytes = 1; bytes + 1 < sizeof whole; bytes += 97) {
    char text[sizeof whole];
    snprintf(text, sizeof text, "%.*s", (int)bytes, whole);
    cr_assert_not_null(strstr(refused(text), "not a manifest"), "%zu bytes", bytes);
  }
}
