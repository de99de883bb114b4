/* See progress_line.h. The main thread describes phases under one lock, for as long as a copy takes; the progress
 * thread writes under another, which only those take that write to the terminal themselves. */
#include "progress_line.h"

#include "monotonic.h"

#include <pdhost/clocks.h>
#include <pdhost/thread_start.h>

#include <errno.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 200000000
/* Without a terminal: a line, or an object of a phase that goes on, this often. */
#define LINE_EVERY_NS 1000000000
#define OBJECT_EVERY_NS 400000000
/* Phases that ended since the thread last looked. Where there were more, the last ones are kept. */
enum { ENDED_KEPT = 32 };

typedef enum output { TO_NOBODY, TO_TERMINAL, TO_LINES, TO_OBJECTS } output;

typedef struct phase {
  char name[PROGRESS_NAME_BYTES], unit[PROGRESS_NAME_BYTES];
  uint64_t serial, of, first; /* first: of progress_steps */
  int64_t begin_ns, end_ns;
  int64_t latest_ns; /* 0: not known */
  uint64_t last;     /* where it ended */
  uint64_t before;   /* steps that were done when it began */
  bool told;         /* its begin */
  bool is_reached;   /* progress_reach was called */
} phase;

atomic_uint_fast64_t progress_steps;

static progress_mode mode;
static _Atomic(output) to; /* changes only while there is no thread */
static pthread_t thread;
static sem_t wake;
static atomic_bool stop;

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER; /* of these */
static char task[PROGRESS_NAME_BYTES], note_text[PROGRESS_TEXT_BYTES];
static phase now, ended[ENDED_KEPT];
static uint64_t ended_count;
static double known_rate; /* of the last phase that had steps of `known_unit` */
static char known_unit[PROGRESS_NAME_BYTES];

/* What processes share that write to one terminal. */
typedef struct common {
  atomic_uint_fast64_t guard_before;
  pthread_mutex_t terminal; /* recursive; of shown_columns, and of the terminal itself */
  int shown_columns;        /* 0: no line is shown */
  pthread_mutex_t words;    /* of doing */
  char doing[PROGRESS_TEXT_BYTES];
  atomic_bool is_seen; /* one of them shows the progress */
  atomic_uint_fast64_t guard_behind;
} common;
#define GUARD UINT64_C(0x70646870726F6721)
static common alone = {GUARD, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, .words = PTHREAD_MUTEX_INITIALIZER,
                       .guard_behind = GUARD};
static common *shared = &alone;

/* Only the progress thread uses it. */
static struct {
  uint64_t step;
  int64_t changed_ns, written_ns;
  char doing[PROGRESS_TEXT_BYTES];
} seen;

static uint64_t steps_done(void) { return atomic_load_explicit(&progress_steps, memory_order_relaxed); }

/* ---- the terminal ---- */

/* A process that was killed may have held it: what it guards is whole at any time. */
static void take(pthread_mutex_t *lock) {
  if (pthread_mutex_lock(lock) == EOWNERDEAD) (void)pthread_mutex_consistent(lock);
}

/* Takes the line away; one that a narrower terminal has broken, too. The terminal is locked. */
static void erase(int columns) {
  char text[32];
  if (!shared->shown_columns) return;
  const int rows_above = (shared->shown_columns - 1) / columns;
  const int bytes = rows_above > 0 ? snprintf(text, sizeof text, "\033[%dA\r\033[J", rows_above)
                                   : snprintf(text, sizeof text, "\r\033[K");
  progress_write(text, (size_t)bytes);
  shared->shown_columns = 0;
}

/* One column stays free: a cursor after the last one would break the line. */
static void write_line(const progress_view *view) {
  char line[PROGRESS_LINE_BYTES], text[PROGRESS_LINE_BYTES + 8];
  progress_line(view, line);
  take(&shared->terminal);
  const int columns = progress_columns();
  if (shared->shown_columns > columns) erase(columns);
  line[progress_fitting(line, columns - 1)] = '\0';
  const int bytes = snprintf(text, sizeof text, "\r\033[K%s", line);
  progress_write(text, (size_t)bytes);
  shared->shown_columns = columns - 1 < (int)strlen(line) ? columns - 1 : (int)strlen(line);
  pthread_mutex_unlock(&shared->terminal);
}

void progress_hide(void) {
  take(&shared->terminal);
  if (shared->shown_columns) erase(progress_columns());
}

void progress_show(void) { pthread_mutex_unlock(&shared->terminal); }

/* ---- the thread ---- */

/* The state is locked where it is PROGRESS_RUNS. */
static void describe(const phase *of, progress_event event, uint64_t step, progress_view *out) {
  memset(out, 0, sizeof *out);
  memcpy(out->task, task, sizeof task);
  memcpy(out->phase, of->name, sizeof of->name);
  memcpy(out->unit, of->unit, sizeof of->unit);
  out->event = event;
  out->step = step - of->first;
  out->of = of->of;
  out->seconds_left = -1;
  if (event == PROGRESS_RUNS) {
    take(&shared->words);
    memcpy(out->doing, shared->doing, sizeof shared->doing);
    pthread_mutex_unlock(&shared->words);
    memcpy(out->note, note_text, sizeof note_text);
  }
}

/* `known`: the rate of an earlier phase, until this one has its own. A rate is of the time until the last step ended,
 * so that what is left does not grow while the next one lasts. */
static void add_rate(const phase *of, int64_t at_ns, int64_t last_step_ns, double known, progress_view *out) {
  const double spent_s = 1e-9 * (double)(last_step_ns - of->begin_ns), since_s = 1e-9 * (double)(at_ns - last_step_ns);
  out->seconds = 1e-9 * (double)(at_ns - of->begin_ns);
  if (out->step > of->before && spent_s > 0) out->rate = (double)(out->step - of->before) / spent_s;
  const double expected = out->step > of->before ? out->rate : known;
  if (of->latest_ns) {
    const double left_s = 1e-9 * (double)(of->latest_ns - at_ns);
    out->seconds_left = left_s > 0 ? left_s : 0;
    out->at_most = true;
  } else if (out->of >= out->step && out->of && expected > 0) {
    const double left_s = (double)(out->of - out->step) / expected - (out->step ? since_s : 0);
    out->seconds_left = left_s > 0 ? left_s : 0;
  }
}

static void write_object(const progress_view *view) {
  char *text = progress_object(view);
  char *line = NULL;
  const int bytes = text ? asprintf(&line, "%s\n", text) : -1;
  take(&shared->terminal);
  if (bytes > 0) progress_write(line, (size_t)bytes);
  pthread_mutex_unlock(&shared->terminal);
  if (bytes > 0) free(line);
  free(text);
}

/* Objects of a phase that is over, and of its begin where that was not told. */
static void write_ended(const phase *of) {
  progress_view view;
  describe(of, PROGRESS_BEGINS, of->first, &view);
  if (!of->told) write_object(&view);
  view.event = PROGRESS_ENDS;
  view.step = of->last - of->first;
  add_rate(of, of->end_ns, of->end_ns, 0, &view);
  view.seconds_left = 0;
  view.at_most = false;
  write_object(&view);
}

/* What is there to tell: phases that ended, and the one that lasts. */
typedef struct news {
  phase over[ENDED_KEPT];
  uint64_t over_count;
  progress_view now;
  bool any, is_new, changed; /* there is a phase; it was not reported; something of it is new */
} news;

/* All at one time, so that no phase ends between the two. */
static void look(news *out) {
  const int64_t at_ns = monotonic_ns();
  pthread_mutex_lock(&state_lock);
  const uint64_t count = ended_count < ENDED_KEPT ? ended_count : ENDED_KEPT, step = steps_done();
  for (uint64_t i = 0; i < count; i++) out->over[i] = ended[(ended_count - count + i) % ENDED_KEPT];
  out->over_count = count;
  ended_count = 0;
  out->any = now.serial != 0;
  if (out->any) {
    out->is_new = !now.told;
    describe(&now, PROGRESS_RUNS, step, &out->now);
    out->changed = out->is_new || step != seen.step || strcmp(out->now.doing, seen.doing) != 0;
    if (out->is_new || step != seen.step) seen.changed_ns = at_ns;
    now.told = true;
    seen.step = step;
    memcpy(seen.doing, out->now.doing, sizeof seen.doing);
    add_rate(&now, at_ns, seen.changed_ns, strcmp(now.unit, known_unit) == 0 ? known_rate : 0, &out->now);
  }
  pthread_mutex_unlock(&state_lock);
}

static void write_text_line(const progress_view *view) {
  char line[PROGRESS_LINE_BYTES], text[PROGRESS_LINE_BYTES + 16];
  const int bytes = snprintf(text, sizeof text, "pdhost: %s\n", progress_line(view, line));
  take(&shared->terminal);
  progress_write(text, (size_t)bytes);
  pthread_mutex_unlock(&shared->terminal);
}

static bool is_due(int64_t every_ns) {
  const int64_t at_ns = monotonic_ns();
  if (at_ns - seen.written_ns < every_ns) return false;
  seen.written_ns = at_ns;
  return true;
}

static void tell(void) {
  static news got;
  look(&got);
  for (uint64_t i = 0; i < got.over_count && to == TO_OBJECTS; i++) write_ended(&got.over[i]);
  if (!got.any) return;
  if (to == TO_TERMINAL) {
    write_line(&got.now);
  } else if (to == TO_LINES) {
    if (got.changed && is_due(LINE_EVERY_NS)) write_text_line(&got.now);
  } else if (got.is_new) {
    got.now.event = PROGRESS_BEGINS;
    write_object(&got.now);
  } else if (got.changed && is_due(OBJECT_EVERY_NS)) {
    write_object(&got.now);
  }
}

static void *run(void *unused) {
  (void)unused;
  while (!atomic_load(&stop)) {
    const struct timespec until = pd_clock_after(CLOCK_MONOTONIC, PERIOD_NS);
    while (sem_clockwait(&wake, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {}
    if (!atomic_load(&stop)) tell();
  }
  return NULL;
}

/* ---- begin and end ---- */

bool progress_choose(const char *word) {
  static const char *const words[] = {"auto", "always", "never", "json"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(word, words[i]) != 0) continue;
    mode = (progress_mode)i;
    return true;
  }
  return false;
}

static output choose_output(bool quiet) {
  const char *terminal = getenv("TERM");
  const bool is_terminal = isatty(STDERR_FILENO) && !(terminal && strcmp(terminal, "dumb") == 0);
  switch (mode) {
  case PROGRESS_NEVER: return TO_NOBODY;
  case PROGRESS_JSON: return TO_OBJECTS;
  case PROGRESS_ALWAYS: return is_terminal ? TO_TERMINAL : TO_LINES;
  default: return is_terminal && !quiet ? TO_TERMINAL : TO_NOBODY;
  }
}

void progress_share(void) {
  pthread_mutexattr_t how;
  common *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return; /* each for itself: a line may be broken */
  pthread_mutexattr_init(&how);
  pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&made->words, &how);
  pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&made->terminal, &how);
  pthread_mutexattr_destroy(&how);
  made->guard_before = made->guard_behind = GUARD;
  shared = made;
}

bool progress_is_whole(void) { return shared->guard_before == GUARD && shared->guard_behind == GUARD; }

void progress_begin(const char *name, bool quiet) {
  if (to != TO_NOBODY) return;
  to = choose_output(quiet);
  if (to == TO_NOBODY) return;
  snprintf(task, sizeof task, "%s", name);
  memset(&now, 0, sizeof now);
  memset(&seen, 0, sizeof seen);
  shared->doing[0] = note_text[0] = known_unit[0] = '\0';
  ended_count = 0;
  known_rate = 0;
  atomic_store(&stop, false);
  sem_init(&wake, 0, 0);
  if (pd_thread_start(&thread, run, NULL) == 0) {
    atomic_store(&shared->is_seen, true);
    return;
  }
  sem_destroy(&wake);
  to = TO_NOBODY; /* a line less for the user */
}

/* The state is locked. */
static void end_phase(int64_t at_ns) {
  if (!now.serial) return;
  now.end_ns = at_ns;
  now.last = steps_done();
  const double spent_s = 1e-9 * (double)(now.end_ns - now.begin_ns);
  if (now.unit[0] && now.last > now.first + now.before && spent_s > 0) {
    known_rate = (double)(now.last - now.first - now.before) / spent_s;
    memcpy(known_unit, now.unit, sizeof now.unit);
  }
  ended[ended_count++ % ENDED_KEPT] = now;
}

void progress_end(void) {
  if (to == TO_NOBODY) return;
  atomic_store(&shared->is_seen, false);
  atomic_store(&stop, true);
  sem_post(&wake);
  pthread_join(thread, NULL);
  sem_destroy(&wake);
  pthread_mutex_lock(&state_lock);
  end_phase(monotonic_ns());
  now.serial = 0;
  pthread_mutex_unlock(&state_lock);
  if (to == TO_OBJECTS) tell();
  progress_hide();
  progress_show();
  to = TO_NOBODY;
}

/* ---- what happens ---- */

void progress_enter(const char *name, const char *unit, uint64_t of) {
  static uint64_t serial;
  if (to == TO_NOBODY) return;
  const int64_t at_ns = monotonic_ns();
  pthread_mutex_lock(&state_lock);
  end_phase(at_ns);
  memset(&now, 0, sizeof now);
  now.serial = ++serial;
  now.of = of;
  now.first = steps_done();
  now.begin_ns = at_ns;
  snprintf(now.name, sizeof now.name, "%s", name);
  snprintf(now.unit, sizeof now.unit, "%s", unit ? unit : "");
  note_text[0] = '\0';
  pthread_mutex_unlock(&state_lock);
}

void progress_ends_within(double seconds) {
  if (to == TO_NOBODY) return;
  pthread_mutex_lock(&state_lock);
  now.latest_ns = monotonic_ns() + (int64_t)(1e9 * (seconds > 0 ? seconds : 0));
  pthread_mutex_unlock(&state_lock);
}

void progress_reach(uint64_t done, uint64_t of) {
  if (to == TO_NOBODY) return;
  pthread_mutex_lock(&state_lock);
  if (!now.is_reached) now.before = done;
  now.is_reached = true;
  now.of = of;
  atomic_store_explicit(&progress_steps, now.first + done, memory_order_relaxed);
  pthread_mutex_unlock(&state_lock);
}

void progress_note(const char *format, ...) {
  va_list args;
  if (to == TO_NOBODY) return;
  va_start(args, format);
  pthread_mutex_lock(&state_lock);
  vsnprintf(note_text, sizeof note_text, format, args);
  pthread_mutex_unlock(&state_lock);
  va_end(args);
}

static void doing(const pd_progress *table, const char *what) {
  (void)table;
  if (!atomic_load(&shared->is_seen)) return;
  take(&shared->words);
  snprintf(shared->doing, sizeof shared->doing, "%s", what ? what : "");
  pthread_mutex_unlock(&shared->words);
}

const pd_progress *progress_table(void) {
  static const pd_progress table = {.size = sizeof(pd_progress), .doing = doing};
  return &table;
}
