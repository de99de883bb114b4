/* See check_process.h. */
#include "check_process.h"

#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct process_state {
  char folder[PATH_MAX];
  mode_t umask;
  char locale[1024];
  locale_t thread_locale;
  struct sigaction handlers[NSIG];
} process_state;

static void look(process_state *out) {
  memset(out, 0, sizeof *out); /* its structs are compared whole */
  if (!getcwd(out->folder, sizeof out->folder)) snprintf(out->folder, sizeof out->folder, "(a folder that is gone)");
  out->umask = umask(0);
  umask(out->umask);
  const char *locale = setlocale(LC_ALL, NULL);
  snprintf(out->locale, sizeof out->locale, "%s", locale ? locale : "");
  out->thread_locale = uselocale((locale_t)0);
  for (int i = 1; i < NSIG; i++) (void)sigaction(i, NULL, &out->handlers[i]);
}

static check_verdict judge_folder(const process_state *before, const process_state *now) {
  if (strcmp(before->folder, now->folder) == 0) return check_ok();
  return check_verdict_of(CHECK_FAILED, "the current folder was changed to %.900s", now->folder);
}

static check_verdict judge_umask(const process_state *before, const process_state *now) {
  if (before->umask == now->umask) return check_ok();
  return check_verdict_of(CHECK_FAILED, "the umask was changed from %03o to %03o", (unsigned)before->umask,
                          (unsigned)now->umask);
}

static check_verdict judge_locale(const process_state *before, const process_state *now) {
  if (strcmp(before->locale, now->locale) != 0)
    return check_verdict_of(CHECK_FAILED, "the locale was changed from %.400s to %.400s", before->locale, now->locale);
  if (before->thread_locale != now->thread_locale)
    return check_verdict_of(CHECK_FAILED, "the locale of the loop's thread was changed");
  return check_ok();
}

static bool same_handler(const struct sigaction *a, const struct sigaction *b) {
  if ((a->sa_flags & SA_SIGINFO) != (b->sa_flags & SA_SIGINFO)) return false;
  return a->sa_flags & SA_SIGINFO ? a->sa_sigaction == b->sa_sigaction : a->sa_handler == b->sa_handler;
}

static check_verdict judge_handlers(const process_state *before, const process_state *now) {
  for (int i = 1; i < NSIG; i++)
    if (!same_handler(&before->handlers[i], &now->handlers[i]))
      return check_verdict_of(CHECK_FAILED, "the handler of signal %d (%s) was changed", i, strsignal(i));
  return check_ok();
}

typedef check_verdict judge_state(const process_state *before, const process_state *now);

check_verdict check_process_load(const check_target *target, plugins *all) {
  static judge_state *const judges[] = {judge_folder, judge_umask, judge_locale, judge_handlers};
  process_state before, now;
  const plugin *loaded = NULL;
  static error err; /* large; the loop thread's alone */
  char line[512];
  error_clear(&err);
  look(&before);
  if (plugins_load_file(all, target->path, &loaded, &err) != PD_OK)
    return check_verdict_of(CHECK_FAILED, "%s", error_first_line(&err, line, sizeof line));
  look(&now);
  check_verdict verdict = check_ok();
  for (size_t i = 0; i < sizeof judges / sizeof judges[0] && verdict.outcome == CHECK_OK; i++)
    verdict = judges[i](&before, &now);
  return verdict;
}

/* Whether the life itself goes well is for other checks. */
static check_verdict live_between(const check_target *target, check_live live, judge_state *judge) {
  process_state before, now;
  check_life life = {.status = PD_OK};
  look(&before);
  live(target, &life);
  look(&now);
  return judge(&before, &now);
}

check_verdict check_process_folder(const check_target *target, check_live live) {
  return live_between(target, live, judge_folder);
}
check_verdict check_process_umask(const check_target *target, check_live live) {
  return live_between(target, live, judge_umask);
}
check_verdict check_process_locale(const check_target *target, check_live live) {
  return live_between(target, live, judge_locale);
}
check_verdict check_process_handlers(const check_target *target, check_live live) {
  return live_between(target, live, judge_handlers);
}
