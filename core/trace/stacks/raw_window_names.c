/* Names of threads and code; see raw_window_names.h. */
#include "trace/stacks/raw_window_names.h"

#include "trace/trace_memory.h"
#include "trace/stacks/symbols.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 where the thread is gone already. */
static uint32_t system_thread_name(string_table *strings, uint32_t tid) {
  char path[64], text[64] = "";
  (void)snprintf(path, sizeof path, "/proc/self/task/%u/comm", tid);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  bool read = fgets(text, sizeof text, file) != NULL;
  (void)fclose(file);
  if (!read) return 0;
  text[strcspn(text, "\n")] = '\0';
  return strings_intern(strings, text);
}

static bool is_known(const window_input *input, const capture_thread *rows, uint64_t count, uint32_t tid) {
  for (uint64_t i = 0; i < count; i++)
    if (rows[i].tid == tid) return true;
  for (uint64_t i = 0; i < input->thread_count; i++)
    if (input->threads[i].tid == tid) return true;
  return false;
}

pd_status raw_window_name_threads(const window_input *input, capture_thread **out, uint64_t *count) {
  uint64_t room = 0;
  uint32_t last = 0;
  *out = NULL;
  *count = 0;
  for (uint64_t i = 0; i < input->call_count; i++) {
    const uint32_t tid = input->calls[i].thread;
    if (i && tid == last) continue;
    last = tid;
    if (is_known(input, *out, *count, tid)) continue;
    if (!PD_ARRAY_FIT(*out, room, *count + 1)) return PD_NO_MEMORY;
    (*out)[(*count)++] = (capture_thread){tid, system_thread_name(input->strings, tid)};
  }
  return PD_OK;
}

static int compare_frames(const void *a, const void *b) {
  const uint64_t first = ((const frame_name *)a)->address, second = ((const frame_name *)b)->address;
  return first < second ? -1 : first > second;
}

static uint64_t take_addresses(const window_input *input, frame_name *rows) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < input->thread_count; i++)
    for (uint64_t k = 0; k < input->threads[i].stack_count; k++) {
      const raw_stack *stack = &input->threads[i].stacks[k];
      for (uint64_t f = 0; f < stack->count; f++, count++)
        if (rows) rows[count].address = (uint64_t)(uintptr_t)stack->frames[f];
    }
  return count;
}

pd_status raw_window_name_frames(const window_input *input, frame_name **out, uint64_t *count) {
  symbols *names = NULL;
  uint64_t all = take_addresses(input, NULL), distinct = 0;
  frame_name *rows = trace_scratch_alloc(all, sizeof *rows);
  pd_status status = rows ? PD_OK : PD_NO_MEMORY;
  *out = NULL;
  *count = 0;
  if (status == PD_OK && all) status = symbols_open(&names);
  if (status == PD_OK && all) {
    memset(rows, 0, all * sizeof *rows);
    (void)take_addresses(input, rows);
    qsort(rows, all, sizeof *rows, compare_frames);
  }
  for (uint64_t i = 0; i < all && status == PD_OK; i++) {
    if (distinct && rows[distinct - 1].address == rows[i].address) continue;
    const uint64_t next = rows[i].address; /* the row may be this one */
    rows[distinct] = (frame_name){.address = next};
    void *address;
    memcpy(&address, &next, sizeof address);
    status = symbols_intern(names, input->strings, address, &rows[distinct].name);
    distinct++;
  }
  symbols_close(names);
  if (status != PD_OK) {
    free(rows);
    return status;
  }
  *out = rows;
  *count = distinct;
  return PD_OK;
}
