/* What a run is doing; see board.h. */
#include "board.h"

#include "writing/own_place.h"
#include "base/monotonic.h"
#include "trace/kept/shared_file.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static board own;
static board *current = &own;
static trace_room *own_room;
static room_place own_room_place;
static int shared_file = -1; /* of `current`, for other processes; -1: they cannot see it */

/* What the worker says of the capture, in a file: nothing reaches it through a wrong pointer. */
typedef struct told_capture {
  char begun;
  char path[BOARD_PATH];
} told_capture;
static int told_file = -1;

static bool is_writer;

enum { CALLS = sizeof own.worker.calls / sizeof own.worker.calls[0] };

board *board_own(void) { return current; }

static void set_guards(void) {
  atomic_store(&current->guard_before, BOARD_GUARD);
  atomic_store(&current->guard_behind, BOARD_GUARD);
  atomic_store(&current->guard_end, BOARD_GUARD);
}

bool board_share(void) {
  const int file = shared_file_make(BOARD_FILE, sizeof(board));
  const int flags = MAP_SHARED | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
  void *shared = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, flags, file, 0);
  if (shared == MAP_FAILED) {
    if (file >= 0) (void)close(file);
    return false;
  }
  board_unshare();
  shared_file = file;
  current = shared;
  told_file = memfd_create("pdhost-capture-name", MFD_CLOEXEC);
  set_guards();
  return true;
}

void board_unshare(void) {
  if (current != &own) (void)munmap(current, sizeof(board));
  if (shared_file >= 0) (void)close(shared_file);
  if (told_file >= 0) (void)close(told_file);
  shared_file = told_file = -1;
  current = &own;
  room_close(board_room_of_dead());
  own_room = NULL;
}

bool board_is_whole(void) {
  return current == &own || (atomic_load_explicit(&current->guard_before, memory_order_acquire) == BOARD_GUARD &&
                             atomic_load_explicit(&current->guard_behind, memory_order_acquire) == BOARD_GUARD &&
                             atomic_load_explicit(&current->guard_end, memory_order_acquire) == BOARD_GUARD);
}

void board_renew(void) {
  told_capture told = {.begun = 0};
  memset(current, 0, sizeof *current);
  set_guards();
  if (told_file < 0 || pread(told_file, &told, sizeof told, 0) <= 0) return;
  (void)snprintf(current->capture, sizeof current->capture, "%.*s", BOARD_PATH - 1, told.path);
  atomic_store(&current->begun, told.begun == 1);
}

void board_tell_capture(const char *path, bool begun) {
  told_capture told = {.begun = begun ? 1 : 0};
  (void)snprintf(told.path, sizeof told.path, "%s", path);
  const size_t bytes = offsetof(told_capture, path) + strlen(told.path) + 1;
  const ssize_t put = told_file >= 0 ? pwrite(told_file, &told, bytes, 0) : 0;
  (void)put; /* without it a board that is overwritten takes the run's outputs along */
  if (path != current->capture) (void)snprintf(current->capture, sizeof current->capture, "%s", path);
  atomic_store_explicit(&current->begun, begun, memory_order_release);
}

void board_make_room(uint64_t max_bytes) {
  room_close(board_room_of_dead());
  (void)room_open(max_bytes, true, &own_room);
  if (own_room) own_room_place = own_room->place;
}

trace_room *board_room(void) { return own_room; }

trace_room *board_room_of_dead(void) {
  if (own_room) own_room->place = own_room_place;
  return own_room;
}

void board_become_writer(void) { is_writer = true; }

static board_calls *own_calls(void) { return is_writer ? &current->writer : &current->worker; }

void board_enter(const char *kind, const char *plugin, const char *what) {
  board_calls *of = own_calls();
  const unsigned depth = atomic_load_explicit(&of->depth, memory_order_relaxed);
  if (depth < CALLS) {
    board_call *call = &of->calls[depth];
    (void)snprintf(call->kind, sizeof call->kind, "%s", kind);
    (void)snprintf(call->plugin, sizeof call->plugin, "%s", plugin);
    (void)snprintf(call->what, sizeof call->what, "%s", what);
  }
  atomic_store_explicit(&of->start_ns, monotonic_ns(), memory_order_relaxed);
  atomic_store_explicit(&of->depth, depth + 1, memory_order_release);
}

void board_next(void) { atomic_store_explicit(&own_calls()->start_ns, monotonic_ns(), memory_order_relaxed); }

void board_leave(void) {
  own_place_return();
  (void)atomic_fetch_sub_explicit(&own_calls()->depth, 1, memory_order_release);
}

void board_phase(const char *name) {
  const unsigned next = atomic_load_explicit(&current->phase, memory_order_relaxed) + 1;
  board_phase_row *row = &current->phases[next % 2];
  (void)snprintf(row->name, sizeof row->name, "%s", name);
  row->start_ns = monotonic_ns();
  atomic_store_explicit(&current->phase, next, memory_order_release);
}

/* Without a supervisor nothing reads the steps, and their ring would be touched for nothing. */
static bool is_seen(void) { return current != &own; }

void board_add_step(const pd_step_stats *stats) {
  if (!is_seen()) return;
  const uint64_t count = atomic_load_explicit(&current->step_count, memory_order_relaxed);
  current->steps[count % BOARD_STEPS] = *stats;
  atomic_store_explicit(&current->step_count, count + 1, memory_order_release);
}

void board_window_begin(const recorder_window *end) {
  board_window *window = &current->window;
  atomic_store_explicit(&window->step_count, 0, memory_order_relaxed);
  window->end = *end;
  (void)snprintf(window->note, sizeof window->note, "%s", end->profile_note ? end->profile_note : "");
}

void board_window_step(const recorder_step *step) {
  if (!is_seen()) return;
  board_window *window = &current->window;
  const uint64_t count = atomic_load_explicit(&window->step_count, memory_order_relaxed);
  window->steps[count % BOARD_STEPS] = *step;
  atomic_store_explicit(&window->step_count, count + 1, memory_order_release);
}

int64_t board_call_ns(const board_calls *of, int64_t since_ns, int64_t now_ns) {
  const unsigned depth = atomic_load_explicit(&of->depth, memory_order_acquire);
  if (!depth || depth > CALLS || strcmp(of->calls[depth - 1].kind, "communicator") == 0) return 0;
  const int64_t start_ns = atomic_load_explicit(&of->start_ns, memory_order_relaxed);
  return now_ns - (start_ns > since_ns ? start_ns : since_ns);
}

/* False: no plugin was called. */
static bool say_call(const board_calls *of, char *text, size_t room, char sink[64]) {
  const unsigned depth = atomic_load_explicit(&of->depth, memory_order_acquire);
  sink[0] = '\0';
  if (!depth || depth > CALLS) return false;
  const board_call *call = &of->calls[depth - 1];
  (void)snprintf(text, room, "%.15s %.63s: %.47s", call->kind, call->plugin, call->what);
  if (strcmp(call->kind, "sink") == 0) (void)snprintf(sink, 64, "%.63s", call->plugin);
  return true;
}

void board_say_call(const board_calls *of, char *text, size_t room, char sink[64]) {
  if (!say_call(of, text, room, sink)) (void)snprintf(text, room, "the process that writes the outputs");
}

void board_say(const board *self, const char *scenario, char *text, size_t room, char sink[64]) {
  const uint64_t step = atomic_load_explicit(&self->step, memory_order_acquire);
  if (say_call(&self->worker, text, room, sink)) return;
  if (step)
    (void)snprintf(text, room, "scenario %s: step %llu", scenario, (unsigned long long)(step - 1));
  else
    (void)snprintf(text, room, "the run itself");
}
