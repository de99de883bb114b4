/* See crash.h. */
#include "crash.h"

#include "base/child.h"
#include "base/log.h"
#include "trace/stacks/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 128 << 10, NAMES_MOST_S = 10, CALLERS_TOLD = 8 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif
#else
static const bool is_sanitized = false;
#endif

static const int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static board_crash *noted;
static pid_t watched_process; /* not one that a plugin forks */

/* ---- the process that crashes ---- */

/* The instruction that the signal came in; NULL: not known on this machine. */
static void *place_of(const ucontext_t *at) {
#if defined(__x86_64__)
  return (void *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP]; /* NOLINT(performance-no-int-to-ptr) */
#elif defined(__aarch64__)
  return (void *)(uintptr_t)at->uc_mcontext.pc; /* NOLINT(performance-no-int-to-ptr) */
#else
  (void)at;
  return NULL;
#endif
}

/* The frames of this handler go before that place. A stack that is broken ends the process here, by the signal's own
 * action: the place itself is noted before. */
static void note(int number, void *place) {
  void *frames[BOARD_FRAMES];
  noted->frames[0] = place;
  noted->count = place != NULL;
  atomic_store_explicit(&noted->signal, number, memory_order_release);
  const int count = backtrace(frames, BOARD_FRAMES);
  int first = 0;
  while (first < count && frames[first] != place) first++;
  for (int i = first + 1; i < count; i++) noted->frames[i - first] = frames[i];
  if (first < count) noted->count = (uint32_t)(count - first);
}

/* Its action is the default one again: a fault happens again when this returns, and a signal that was sent is sent once
 * more. */
static void on_crash(int number, siginfo_t *about, void *context) {
  const int before = errno;
  if (getpid() == watched_process) note(number, place_of(context));
  if (about->si_code <= 0) (void)raise(number);
  errno = before;
}

void crash_watch(board_crash *out) {
  void *frames[1];
  stack_t other;
  if (is_sanitized) return;
  noted = out;
  watched_process = getpid();
  (void)backtrace(frames, 1); /* it loads a library on first use */
  if (sigaltstack(NULL, &other) == 0 && (other.ss_flags & SS_DISABLE)) {
    static _Alignas(64) char stack[STACK_BYTES];
    other = (stack_t){.ss_sp = stack, .ss_size = sizeof stack};
    (void)sigaltstack(&other, NULL);
  }
  struct sigaction action, own;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND;
  for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
    if (sigaction(watched[i], NULL, &own) == 0 && own.sa_handler == SIG_DFL) (void)sigaction(watched[i], &action, NULL);
}

/* ---- its supervisor ---- */

static char callers[4096]; /* lines */

typedef struct naming {
  uint32_t count;
  void *frames[BOARD_FRAMES];
} naming;

static bool is_of(const void *address, const void *function) {
  Dl_info of, other;
  return dladdr(address, &of) && dladdr(function, &other) && of.dli_fbase == other.dli_fbase;
}

/* A line for each frame, from the first one outside the C library on. Frames of libraries that only the other process
 * had loaded are left out. symbols_intern takes return addresses, and looks before them: the place of the crash is
 * none, so that it is given the address behind it. */
static int tell_names(void *user, int report) {
  const naming *self = user;
  symbols *of = NULL;
  string_table *names = NULL;
  uint32_t told = 0;
  (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  if (strings_open(&names) != PD_OK || symbols_open(&of) != PD_OK) return 1;
  for (uint32_t i = 0; i < self->count && told <= CALLERS_TOLD; i++) {
    uint32_t id;
    Dl_info known;
    if (!self->frames[i]) continue;
    const char *address = (const char *)self->frames[i] + (i == 0);
    if (!dladdr(address - 1, &known)) continue;
    /* abort() itself is no news. NOLINTNEXTLINE(performance-no-int-to-ptr): of a function */
    if (!told && is_of(address, (const void *)(uintptr_t)abort)) continue;
    if (symbols_intern(of, names, address, &id) != PD_OK) return 1;
    if (dprintf(report, "%s\n", strings_get(names, id).text) < 0) return 1;
    told++;
  }
  return 0;
}

const char *crash_say(const board_crash *of, int signal, char place[CRASH_PLACE_BYTES]) {
  naming user = {.count = of->count < BOARD_FRAMES ? of->count : BOARD_FRAMES};
  child_result result;
  place[0] = callers[0] = '\0';
  if (atomic_load_explicit(&of->signal, memory_order_acquire) != signal) return place;
  memcpy(user.frames, of->frames, sizeof user.frames);
  if (!child_call(tell_names, &user, NAMES_MOST_S, &result)) return place;
  char *end = strchr(result.text, '\n');
  if (!end) return place;
  *end = '\0';
  (void)snprintf(place, CRASH_PLACE_BYTES, " in %.200s", result.text);
  (void)snprintf(callers, sizeof callers, "%s", end + 1);
  return place;
}

void crash_tell_callers(void) {
  char *rest = callers;
  for (char *line = strsep(&rest, "\n"); line && line[0]; line = strsep(&rest, "\n"))
    log_line(PD_LOG_DEBUG, NULL, "called by %s", line);
  callers[0] = '\0';
}
