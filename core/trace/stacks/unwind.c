/* See unwind.h. */
#include "unwind.h"

#include "frame_rules.h"

#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* By the C library, whose first frame is the one that calls it: not wanted. */
static inline __attribute__((always_inline)) size_t walk_slowly(void **frames, size_t room) {
  const int found = backtrace(frames, (int)room);
  if (found < 2) return 0;
  memmove(frames, frames + 1, (size_t)(found - 1) * sizeof *frames);
  return (size_t)(found - 1);
}

#if defined(__x86_64__)

/* A power of two; a step has some hundreds of places that call. */
enum { RULES = 1024 };

typedef struct kept_rule {
  uintptr_t address; /* 0: free */
  frame_rule rule;
} kept_rule;

typedef struct thread_rules {
  uint64_t generation; /* 0: before the first walk */
  uintptr_t bottom, top;
  kept_rule rules[RULES];
} thread_rules;

static _Thread_local thread_rules own;
static atomic_uint_fast64_t generation = 1;

static int count_unloaded(struct dl_phdr_info *info, size_t size, void *out) {
  (void)size;
  *(unsigned long long *)out = info->dlpi_subs;
  return 1;
}

void unwind_prepare(void) {
  static atomic_ullong unloaded;
  unsigned long long now = 0;
  void *frames[2];
  (void)dl_iterate_phdr(count_unloaded, &now);
  if (atomic_exchange(&unloaded, now) != now) atomic_fetch_add(&generation, 1);
  (void)backtrace(frames, 2); /* it loads a library on first use */
}

/* Where the thread's stack lies: nothing outside it is ever read. */
static bool open_thread(uint64_t current) {
  if (own.generation != current) memset(own.rules, 0, sizeof own.rules);
  own.generation = current;
  if (own.top) return true;
  pthread_attr_t attributes;
  void *bottom = NULL;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  if (pthread_attr_getstack(&attributes, &bottom, &bytes) == 0) {
    own.bottom = (uintptr_t)bottom;
    own.top = own.bottom + bytes;
  }
  (void)pthread_attr_destroy(&attributes);
  return own.top != 0;
}

/* Each address has two places: of more that meet there, the two met last stay. */
static inline const frame_rule *rule_at(uintptr_t address) {
  const uint64_t hash = address * UINT64_C(0x9E3779B97F4A7C15);
  kept_rule *pair = &own.rules[hash >> 54 & ~UINT64_C(1)];
  _Static_assert(RULES == 1 << (64 - 54), "the hash's highest bits choose the rule");
  if (pair[0].address == address) return &pair[0].rule;
  if (pair[1].address == address) return &pair[1].rule;
  pair[1] = pair[0];
  pair[0] = (kept_rule){address, frame_rule_find(address)};
  return &pair[0].rule;
}

static inline bool is_on_stack(uintptr_t address, uintptr_t from) {
  return address >= from && address <= own.top - sizeof(uintptr_t) && address % sizeof(uintptr_t) == 0;
}

/* The stack is another function's memory, of which sanitizers know better. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uintptr_t word_at(uintptr_t address) {
  return *(const volatile uintptr_t *)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* From a frame that begins at `sp` and whose code goes on at `address`. False: a frame has no rule. */
static bool walk(uintptr_t address, uintptr_t sp, uintptr_t bp, void **frames, size_t room, size_t *count) {
  while (*count < room && address) {
    frames[(*count)++] = (void *)address; /* NOLINT(performance-no-int-to-ptr) */
    const frame_rule *rule = rule_at(address);
    if (rule->kind == FRAME_LAST) return true;
    if (rule->kind == FRAME_UNKNOWN) return false;
    uintptr_t frame = (rule->kind == FRAME_FROM_SP ? sp : bp) + (uintptr_t)(intptr_t)rule->offset;
    if (rule->kind == FRAME_AT_BP) {
      if (!is_on_stack(frame, sp)) return false;
      frame = word_at(frame);
    }
    const uintptr_t saved = (rule->bp_kind == FRAME_BP_POINTED ? bp : frame) + (uintptr_t)(intptr_t)rule->bp_offset;
    if (frame <= sp || !is_on_stack(frame - sizeof(uintptr_t), sp)) return false;
    if (rule->bp_kind != FRAME_BP_SAME) {
      if (!is_on_stack(saved, sp)) return false;
      bp = word_at(saved);
    }
    address = word_at(frame - sizeof(uintptr_t));
    sp = frame;
  }
  return true;
}

/* Its own frame is one of a frame pointer, as __builtin_frame_address asks for: caller's rbp, then the return address.
 */
__attribute__((noinline)) size_t unwind_stack(void **frames, size_t room) {
  const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
  const uint64_t current = atomic_load_explicit(&generation, memory_order_relaxed);
  size_t count = 0;
  if ((own.generation == current || open_thread(current)) && own.top && frame >= own.bottom && frame < own.top &&
      walk((uintptr_t)__builtin_return_address(0), frame + 2 * sizeof(uintptr_t), word_at(frame), frames, room, &count))
    return count;
  return walk_slowly(frames, room);
}

#else

void unwind_prepare(void) {
  void *frames[2];
  (void)backtrace(frames, 2); /* it loads a library on first use */
}

__attribute__((noinline)) size_t unwind_stack(void **frames, size_t room) { return walk_slowly(frames, room); }

#endif
