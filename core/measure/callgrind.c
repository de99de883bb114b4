/* See callgrind.h. */
#include "callgrind.h"

#include "bench.h"
#include "abi/services.h"
#include "base/error.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/self_path.h"
#include "base/signals.h"
#include "run/saved_run.h"

#include "callgrind_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

enum { PATH_BYTES = 4096, LINE_BYTES = 512, MARK_BYTES = 64, FUNCTIONS_KEPT = 50 };

/* A count in progress. */
typedef struct counting {
  const config *settings;
  char folder[PATH_BYTES]; /* of its files, removed at its end */
  saved_run command;
  int64_t begin_ns;
  bool timed_out;
  int ended; /* as waitpid has it */
} counting;

PD_PRINTF(1, 2) static int fail(const char *format, ...) {
  char problem[2 * PATH_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(problem, sizeof problem, format, args);
  va_end(args);
  error_line_print(FAULT_UNTRUSTED, NULL, "benchmark.callgrind: %s; no instructions are counted, the times stand",
                   problem);
  return CODE_OUTPUT;
}

static int no_memory(void) {
  error_line_print(FAULT_MEMORY, NULL, "benchmark.callgrind: %s", service_status_text(PD_NO_MEMORY));
  return CODE_INTERNAL;
}

/* ---- the program under Callgrind ---- */

/* The loop of nothing first: its dump is the first. */
static int run_counted(bench *step, const config *settings) {
  const benchmark_settings *wanted = &settings->benchmark;
  pd_status status = bench_warm_up(step);
  if (status == PD_OK) status = bench_counted(step, (uint64_t)wanted->callgrind, true);
  for (int64_t i = 0; i < wanted->callgrind_repeats && status == PD_OK; i++)
    status = bench_counted(step, (uint64_t)wanted->callgrind, false);
  if (signals_pending()) return 128 + signals_pending();
  if (status == PD_OK) return CODE_DONE;
  error_line_print(FAULT_UNTRUSTED, NULL, "%s", bench_failure(step));
  return CODE_SCENARIO;
}

/* What began it may have ended before anybody was told to notice: starting under Valgrind takes a while. Valgrind may
 * be a script that runs it, so another parent does no harm. */
static bool is_orphan(void) {
  const char *began = getenv(CALLGRIND_CHILD);
  const pid_t pid = began ? (pid_t)strtol(began, NULL, 10) : 0;
  return pid > 0 && getppid() != pid && (getppid() == 1 || kill(pid, 0) != 0);
}

int callgrind_child(config *settings) {
  bench *step;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing waits for it then */
  if (is_orphan()) return CODE_INTERNAL;
  signals_install(NULL, NULL);
  int code = bench_open(settings, BENCH_STEP, &step);
  if (code == CODE_DONE) code = run_counted(step, settings);
  bench_close(step);
  signals_restore();
  log_flush_repeats();
  return code;
}

/* ---- its command ---- */

/* Every key that is not as it would be anyway, so that files are not read once more: they may have been pipes. */
static void add_settings(saved_run *to, const config *settings) {
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    char key[256];
    if (strcmp(at->origin, "default") == 0 || strncmp(at->origin, "preset of ", 10) == 0) continue;
    snprintf(key, sizeof key, "%s.%s", at->section, at->key);
    saved_run_set(to, key, at->value ? at->value : "");
  }
  /* What `auto` took; with a warning of it once more, the reason of a failure would not be the last line. */
  if (settings->device_auto) saved_run_set(to, "run.device", settings->device.plugin->table->name);
}

/* In the name of its files Valgrind takes %p for a process, and %% for %. */
static void add_out_file(saved_run *to, const char *folder) {
  char text[2 * PATH_BYTES + 64] = "--callgrind-out-file=";
  size_t used = strlen(text);
  for (; *folder; folder++) {
    text[used++] = *folder;
    if (*folder == '%') text[used++] = '%';
  }
  snprintf(text + used, sizeof text - used, "/out");
  saved_run_word(to, text);
}

/* Its function is counted from call to return, by whatever thread: the device may have threads of its own. */
static int make_command(counting *self) {
  char program[PATH_BYTES];
  if (!self_path(program, sizeof program))
    return fail("where pdhost itself lies is not known; mount /proc, or start it by its path");
  saved_run *to = &self->command;
  saved_run_word(to, "valgrind");
  /* ~/.valgrindrc and VALGRIND_OPTS might make it count something else. */
  saved_run_word(to, "--command-line-only=yes");
  saved_run_word(to, "-q");
  saved_run_word(to, "--tool=callgrind");
  saved_run_word(to, "--vgdb=no"); /* its pipes would stay in TMPDIR when it is killed */
  add_out_file(to, self->folder);
  saved_run_word(to, "--zero-before=" BENCH_COUNTED_FUNCTION);
  saved_run_word(to, "--dump-after=" BENCH_COUNTED_FUNCTION);
  saved_run_word(to, program);
  saved_run_word(to, "-q");
  add_settings(to, self->settings);
  return to->failed ? no_memory() : CODE_DONE;
}

/* The environment with what tells the child that it is one. Threads of OpenMP that wait for work are to sleep: how
 * often they look for it says nothing about the step. To be freed; the texts are not, and one is `mark`. NULL on no
 * memory. */
static char **child_environment(char mark[MARK_BYTES]) {
  static char sleeps[] = "OMP_WAIT_POLICY=PASSIVE";
  size_t count = 0;
  while (environ[count]) count++;
  char **made = malloc((count + 3) * sizeof *made);
  if (!made) return NULL;
  memcpy(made, environ, count * sizeof *made);
  snprintf(mark, MARK_BYTES, "%s=%ld", CALLGRIND_CHILD, (long)getpid());
  made[count++] = mark;
  if (!getenv("OMP_WAIT_POLICY")) made[count++] = sleeps;
  made[count] = NULL;
  return made;
}

/* ---- running it ---- */

/* Looked at now and then: a signal that comes just before a wait without end would not end it. */
static int wait_for(counting *self, pid_t child) {
  const struct timespec pause = {.tv_nsec = 20000000};
  const int64_t limit_ns = self->settings->benchmark.callgrind_max_time;
  int told = 0;
  for (pid_t done = 0; done != child; done = waitpid(child, &self->ended, WNOHANG)) {
    if (done < 0 && errno != EINTR) return fail("the wait for valgrind failed: %s", strerror(errno));
    self->timed_out = self->timed_out || monotonic_ns() - self->begin_ns > limit_ns;
    /* Nothing of it is kept, so it can be ended at once. */
    if ((self->timed_out || signals_pending()) && !told++) (void)kill(child, SIGKILL);
    nanosleep(&pause, NULL);
  }
  return CODE_DONE;
}

static int run_command(counting *self) {
  char log_path[PATH_BYTES + 16], mark[MARK_BYTES];
  posix_spawn_file_actions_t actions;
  pid_t child = 0;
  snprintf(log_path, sizeof log_path, "%s/log", self->folder);
  char **environment = child_environment(mark);
  if (!environment || posix_spawn_file_actions_init(&actions) != 0) {
    free(environment);
    return no_memory();
  }
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  self->begin_ns = monotonic_ns();
  const int failed = posix_spawnp(&child, "valgrind", &actions, NULL, self->command.words, environment);
  posix_spawn_file_actions_destroy(&actions);
  free(environment);
  if (failed == ENOENT) return fail("valgrind was not found; install it, or leave benchmark.callgrind out");
  return failed ? fail("valgrind cannot be run: %s", strerror(failed)) : wait_for(self, child);
}

/* The last line of what it said that has anything. */
static const char *last_words(const counting *self, char text[LINE_BYTES]) {
  char path[PATH_BYTES + 16], *line = NULL;
  size_t room = 0;
  snprintf(path, sizeof path, "%s/log", self->folder);
  FILE *file = fopen(path, "r");
  text[0] = '\0';
  while (file && getline(&line, &room, file) >= 0) {
    line[strcspn(line, "\r\n")] = '\0';
    if (line[strspn(line, " \t")]) snprintf(text, LINE_BYTES, "%s", line);
  }
  free(line);
  if (file) fclose(file);
  if (!text[0]) snprintf(text, LINE_BYTES, "it said nothing; is there room in %.400s?", self->folder);
  return text;
}

static int judge_end(const counting *self) {
  char text[LINE_BYTES];
  if (signals_pending()) {
    progress_hide();
    if (!self->settings->quiet)
      fprintf(stderr, "pdhost: %s: no instructions are counted, the times stand\n", signals_name(signals_pending()));
    progress_show();
    return 128 + signals_pending();
  }
  if (self->timed_out)
    return fail("not done after %g s; give it fewer steps, or a longer benchmark.callgrind_max_time",
                1e-9 * (double)self->settings->benchmark.callgrind_max_time);
  if (WIFSIGNALED(self->ended))
    return fail("the step under Callgrind was ended by signal %d (%s): %s", WTERMSIG(self->ended),
                strsignal(WTERMSIG(self->ended)), last_words(self, text));
  if (WEXITSTATUS(self->ended) != 0)
    return fail("the step under Callgrind ended with code %d: %s", WEXITSTATUS(self->ended), last_words(self, text));
  return CODE_DONE;
}

/* ---- what it wrote ---- */

static const char *dump_path(const counting *self, uint64_t index, char path[PATH_BYTES + 32]) {
  snprintf(path, PATH_BYTES + 32, "%s/out.%llu", self->folder, (unsigned long long)index);
  return path;
}

/* The one with the loop of nothing is number 1. */
static int read_dump(const counting *self, uint64_t index, callgrind_profile *out) {
  char path[PATH_BYTES + 32], why[PATH_BYTES + 512];
  const pd_status status = callgrind_profile_read(dump_path(self, index, path), out, why, sizeof why);
  if (status == PD_OK) return CODE_DONE;
  return status == PD_NO_MEMORY ? no_memory() : fail("Callgrind's count cannot be read: %s", why);
}

static int keep_functions(const counting *self, const callgrind_profile *baseline, pd_instructions *out) {
  callgrind_profile median;
  const int code = read_dump(self, 2 + instructions_median(out), &median);
  pd_status status = PD_OK;
  if (code != CODE_DONE) return code;
  callgrind_profile_take_off(&median, baseline);
  for (uint64_t i = 0; i < median.function_count && i < FUNCTIONS_KEPT && status == PD_OK; i++)
    status =
        instructions_add_function(out, median.functions[i].name, median.functions[i].object, median.functions[i].count);
  callgrind_profile_clear(&median);
  return status == PD_OK ? CODE_DONE : no_memory();
}

static int read_counts(const counting *self, const callgrind_profile *baseline, pd_instructions *out) {
  const benchmark_settings *wanted = &self->settings->benchmark;
  out->steps = (uint64_t)wanted->callgrind;
  out->baseline = baseline->total;
  out->tool = strdup(baseline->tool);
  if (!out->tool) return no_memory();
  for (uint64_t i = 0; i < (uint64_t)wanted->callgrind_repeats; i++) {
    callgrind_profile profile;
    const int code = read_dump(self, 2 + i, &profile);
    if (code != CODE_DONE) return code;
    const pd_status status = instructions_add_count(out, profile.total);
    callgrind_profile_clear(&profile);
    if (status != PD_OK) return no_memory();
  }
  return keep_functions(self, baseline, out);
}

static int read_result(const counting *self, pd_instructions *out) {
  callgrind_profile baseline;
  int code = read_dump(self, 1, &baseline);
  if (code != CODE_DONE) return code;
  code = read_counts(self, &baseline, out);
  callgrind_profile_clear(&baseline);
  if (code != CODE_DONE) instructions_clear(out);
  return code;
}

/* ---- the whole ---- */

static void remove_folder(const char *folder) {
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; dir && (entry = readdir(dir));) (void)unlinkat(dirfd(dir), entry->d_name, 0);
  if (dir) closedir(dir);
  (void)rmdir(folder);
}

int callgrind_count(const config *settings, pd_instructions *out) {
  const char *parent = getenv("TMPDIR");
  counting self = {.settings = settings};
  progress_enter("Callgrind counts instructions", NULL, 0);
  progress_ends_within(1e-9 * (double)settings->benchmark.callgrind_max_time);
  if (SANITIZED)
    log_line(PD_LOG_WARN, NULL,
             "benchmark.callgrind: this build has a sanitizer, which may not run under Valgrind, and whose own work is "
             "counted where it does");
  snprintf(self.folder, sizeof self.folder, "%s/pdhost-callgrind-XXXXXX", parent && parent[0] ? parent : "/tmp");
  if (!mkdtemp(self.folder))
    return fail("%s: a folder for its files cannot be made: %s; set TMPDIR to another place", self.folder,
                strerror(errno));
  int code = make_command(&self);
  if (code == CODE_DONE) code = run_command(&self);
  if (code == CODE_DONE) code = judge_end(&self);
  if (code == CODE_DONE) code = read_result(&self, out);
  remove_folder(self.folder);
  saved_run_clear(&self.command);
  return code;
}
