/* The recorder's threads. See threads.h. */
#include "recorder_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
static bool registry_ready; /* written once, before any recorder */
static pthread_key_t registry_key;
static recorder *live_recorders;
static uint64_t last_serial;

static recorder_thread *threads_first(const recorder *self) {
  return atomic_load_explicit(&self->room->threads, memory_order_relaxed);
}

static uint32_t own_tid(void) { return (uint32_t)syscall(SYS_gettid); }

static void thread_ends(void *unused) {
  (void)unused;
  uint32_t tid = own_tid();
  pthread_mutex_lock(&registry_lock);
  for (recorder *at = live_recorders; at; at = at->next_live)
    for (recorder_thread *thread = threads_first(at); thread; thread = thread->next)
      if (thread->tid == tid && !thread->exited && !atomic_load_explicit(&at->dead, memory_order_relaxed)) {
        if (thread->depth) recorder_lost(at, PD_LOSS_UNBALANCED, thread->depth);
        while (thread->depth) recorder_end_range(at, thread);
        thread->exited = true;
      }
  thread_current.serial = 0;
  pthread_mutex_unlock(&registry_lock);
}

static void before_fork(void) { pthread_mutex_lock(&registry_lock); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&registry_lock); }
static void after_fork_in_child(void) {
  for (recorder *at = live_recorders; at; at = at->next_live) {
    __atomic_store_n(&at->enabled, 0, __ATOMIC_RELAXED);
    atomic_store_explicit(&at->dead, true, memory_order_relaxed);
  }
  thread_current.serial = 0; /* what this thread has may lie in memory that is the parent's, too */
  pthread_mutex_unlock(&registry_lock);
}

static void make_registry(void) {
  registry_ready = !pthread_key_create(&registry_key, thread_ends) &&
                   !pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

pd_status threads_open(recorder *self) {
  pthread_once(&registry_once, make_registry);
  if (!registry_ready) return PD_NO_MEMORY;
  pthread_mutex_lock(&registry_lock);
  self->serial = ++last_serial;
  self->next_live = live_recorders;
  live_recorders = self;
  pthread_mutex_unlock(&registry_lock);
  return PD_OK;
}

static void thread_release(recorder *self, recorder_thread *thread) {
  chunk_list_release(&thread->ranges);
  chunk_list_release(&thread->infos);
  chunk_list_release(&thread->shapes);
  chunk_list_release(&thread->stacks);
  chunk_list_release(&thread->memory);
  chunk_list_release(&thread->counters);
  chunk_list_release(&thread->calls);
  chunk_list_release(&thread->devices);
  thread->next = self->spare;
  self->spare = thread;
}

void threads_close(recorder *self) {
  pthread_mutex_lock(&registry_lock);
  struct recorder **at = &live_recorders;
  while (*at && *at != self) at = &(*at)->next_live;
  if (*at) *at = self->next_live;
  pthread_mutex_unlock(&registry_lock);
}

static void thread_init(recorder *self, recorder_thread *thread, uint32_t tid) {
  chunk_pool *pool = &self->pool;
  memset(thread, 0, sizeof *thread);
  thread->tid = tid;
  chunk_list_init(&thread->ranges, pool, sizeof(raw_range));
  chunk_list_init(&thread->infos, pool, sizeof(raw_info));
  chunk_list_init(&thread->shapes, pool, sizeof(pd_shape));
  chunk_list_init(&thread->stacks, pool, sizeof(raw_stack));
  chunk_list_init(&thread->memory, pool, sizeof(raw_memory));
  chunk_list_init(&thread->counters, pool, sizeof(raw_counter));
  chunk_list_init(&thread->calls, pool, sizeof(raw_call));
  chunk_list_init(&thread->devices, pool, sizeof(raw_device));
}

/* The state of thread `tid`, made if need be. Under the lock. */
static recorder_thread *find_or_make(recorder *self, uint32_t tid, uint32_t name) {
  recorder_thread *thread = threads_first(self);
  while (thread && thread->tid != tid) thread = thread->next;
  if (thread) {
    if (!thread->exited) return thread;
    thread->exited = false; /* the system gave the number of a thread that has ended to this one */
    thread->busy = false;
  } else {
    thread = self->spare ? self->spare : room_take(self->room, sizeof *thread);
    if (!thread) return NULL;
    if (thread == self->spare) self->spare = thread->next;
    thread_init(self, thread, tid);
    thread->next = threads_first(self);
    atomic_store_explicit(&self->room->threads, thread, memory_order_release);
  }
  atomic_store_explicit(&thread->name, name, memory_order_relaxed);
  return thread;
}

recorder_thread *threads_current_slow(recorder *self) {
  if (thread_current.serial == self->serial) return thread_current.thread;
  if (thread_current.registering || atomic_load_explicit(&self->dead, memory_order_relaxed)) return NULL;
  thread_current.registering = true;
  char text[32] = "";
  (void)pthread_getname_np(pthread_self(), text, sizeof text);
  uint32_t name = strings_intern(self->strings, text);
  pthread_mutex_lock(&registry_lock);
  recorder_thread *thread = find_or_make(self, own_tid(), name);
  pthread_mutex_unlock(&registry_lock);
  /* Any value but NULL makes thread_ends run. Where it cannot be set the state merely stays until close. */
  (void)pthread_setspecific(registry_key, &registry_key);
  if (thread) {
    thread_current.serial = self->serial;
    thread_current.thread = thread;
  }
  thread_current.registering = false;
  return thread;
}

pd_status threads_list(recorder *self, recorder_thread ***out, uint64_t *count) {
  pd_status status = PD_OK;
  *out = NULL;
  *count = 0;
  pthread_mutex_lock(&registry_lock);
  for (recorder_thread *at = threads_first(self); at; at = at->next) ++*count;
  recorder_thread **list = trace_scratch_alloc(*count, sizeof(recorder_thread *));
  if (list) {
    uint64_t i = 0;
    for (recorder_thread *at = threads_first(self); at; at = at->next) list[i++] = at;
    *out = list;
  } else {
    *count = 0;
    status = PD_NO_MEMORY;
  }
  pthread_mutex_unlock(&registry_lock);
  return status;
}

static bool thread_is_empty(const recorder_thread *self) {
  return !chunk_list_count(&self->ranges) && !chunk_list_count(&self->memory) && !chunk_list_count(&self->counters) &&
         !chunk_list_count(&self->calls) && !chunk_list_count(&self->devices);
}

void threads_sweep(recorder *self) {
  recorder_thread *before = NULL;
  pthread_mutex_lock(&registry_lock);
  for (recorder_thread *thread = threads_first(self), *next; thread; thread = next) {
    next = thread->next;
    if (!thread->exited || !thread_is_empty(thread)) {
      before = thread;
      continue;
    }
    if (before)
      before->next = next;
    else
      atomic_store_explicit(&self->room->threads, next, memory_order_release);
    thread_release(self, thread);
  }
  pthread_mutex_unlock(&registry_lock);
}
