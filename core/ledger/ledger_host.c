/* See ledger_host.h. */
#include "ledger_host.h"

#include "ledger.h"

#include "facts/thread_states.h"

#include <stdlib.h>
#include <string.h>

enum { LOOP_THREAD = 0 };

/* ---- train_step ---- */

static bool find_train(const trace_facts *facts, ledger_host *out) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->thread != LOOP_THREAD) break; /* sorted by thread */
    if (range->kind == PD_RANGE_USER && !strcmp(facts_text(facts, range->name), "train_step"))
      ok = intervals_add(&out->train, range->start_ns, range->end_ns);
  }
  return ok && intervals_merge(&out->train);
}

/* The train_step that begins in a step makes the rest of the step the loop's own. */
static bool divide_steps(const trace_facts *facts, ledger_host *out) {
  size_t at = 0;
  for (uint64_t s = 0; s < facts->step_count; s++) {
    const pd_trace_step *step = facts_step(facts, s);
    if (!intervals_add(&out->steps, step->start_ns, step->end_ns)) return false;
    while (at < out->train.count && out->train.rows[at].start < step->start_ns) at++;
    if (at < out->train.count && out->train.rows[at].start < step->end_ns &&
        !intervals_add(&out->between, step->start_ns, step->end_ns))
      return false;
  }
  return true;
}

/* ---- waits for input ---- */

typedef struct batch_end {
  int64_t end_ns;
  uint64_t range;
} batch_end;

static int by_end(const void *a, const void *b) {
  const batch_end *x = a, *y = b;
  if (x->end_ns != y->end_ns) return x->end_ns < y->end_ns ? -1 : 1;
  return (x->range > y->range) - (x->range < y->range);
}

static bool is_worker(const trace_facts *facts, const pd_range *range, const char *name) {
  return range->kind == PD_RANGE_WORKER && !strcmp(facts_text(facts, range->name), name);
}

/* Reads inside the batch are I/O, the rest of it is work; both within the wait alone. */
static bool divide_wait(const trace_facts *facts, const pd_range *wait, uint64_t batch, ledger_host *out) {
  const pd_range *made = facts_range(facts, batch);
  const int64_t from = made->start_ns > wait->start_ns ? made->start_ns : wait->start_ns;
  for (uint64_t i = batch + 1; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->thread != made->thread || range->start_ns >= made->end_ns) break;
    if (!is_worker(facts, range, "DataLoader worker: read")) continue;
    const int64_t start = range->start_ns > from ? range->start_ns : from;
    if (!intervals_add(&out->input_io, start, range->end_ns)) return false;
  }
  return intervals_add(&out->input_cpu, from, made->end_ns);
}

static bool find_waits(const trace_facts *facts, ledger_host *out) {
  batch_end *batches = malloc((facts->range_count + 1) * sizeof *batches);
  uint64_t count = 0;
  bool ok = batches != NULL;
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (is_worker(facts, range, "DataLoader worker: batch")) batches[count++] = (batch_end){range->end_ns, i};
  }
  if (ok) qsort(batches, count, sizeof *batches, by_end);
  uint64_t next = 0; /* waits come in order: the first batch that ends after the wait */
  for (uint64_t i = 0; ok && i < facts->range_count; i++) {
    const pd_range *wait = facts_range(facts, i);
    if (wait->thread != LOOP_THREAD) break;
    if (wait->kind != PD_RANGE_DATALOADER) continue;
    ok = intervals_add(&out->input, wait->start_ns, wait->end_ns);
    while (next < count && batches[next].end_ns <= wait->end_ns) next++;
    /* The wait ends when its batch does: the last one before its end. */
    if (ok && next && batches[next - 1].end_ns > wait->start_ns)
      ok = divide_wait(facts, wait, batches[next - 1].range, out);
  }
  free(batches);
  return ok;
}

/* ---- calls ---- */

static const pd_device_row *first_work(const trace_facts *facts, const pd_call *call) {
  const pd_device_row *first = NULL;
  for (uint32_t i = 0; i < call->activity_count; i++) {
    const uint32_t index = *PD_AT(uint32_t, &facts->trace->activities_by_call, call->activity_first + i);
    const pd_device_row *row = facts_activity(facts, index);
    if (!first || row->start_ns < first->start_ns) first = row;
  }
  return first;
}

static bool is_copy(const trace_facts *facts, const pd_call *call, bool from_host) {
  if (call->api != PD_API_MEMCPY || !call->activity_count) return false;
  const pd_device_row *row = first_work(facts, call);
  if (row->detail.kind != PD_ACTIVITY_MEMCPY) return false;
  return (from_host ? row->detail.u.copy.from : row->detail.u.copy.to) == PD_MEMORY_PAGEABLE;
}

/* The train_step that holds `at`, or NULL. `*next` moves on with the calls. */
static const interval *train_at(const ledger_host *out, int64_t at, size_t *next) {
  while (*next < out->train.count && out->train.rows[*next].end <= at) (*next)++;
  return *next < out->train.count && out->train.rows[*next].start <= at ? &out->train.rows[*next] : NULL;
}

/* A blocking call whose tail is not known yet. */
typedef struct open_tail {
  int64_t from_ns, limit_ns;
  intervals *list; /* NULL: there is none */
} open_tail;

static bool close_tail(open_tail *tail, int64_t to) {
  intervals *list = tail->list;
  tail->list = NULL;
  return !list || intervals_add(list, tail->from_ns, to < tail->limit_ns ? to : tail->limit_ns);
}

/* The later of two calls that keep the host owns what follows; between them the earlier one does. */
static bool open_another(open_tail *tail, const pd_call *call, const interval *train, intervals *list) {
  if (!close_tail(tail, call->start_ns)) return false;
  *tail = (open_tail){call->end_ns, train ? train->end : INT64_MAX, list};
  return true;
}

static bool blocking_call(ledger_host *out, const pd_call *call, const interval *train, uint32_t *last,
                          open_tail *tail) {
  out->blocking_calls += train != NULL;
  out->blocking_steps += train && call->step != *last;
  if (train) *last = call->step;
  return open_another(tail, call, train, train ? &out->inner_tail : &out->outer_tail) &&
         intervals_add(train ? &out->inner_sync : &out->outer_sync, call->start_ns, call->end_ns);
}

static bool find_calls(const trace_facts *facts, ledger_host *out) {
  open_tail tail = {0};
  uint32_t last = PD_NONE; /* the last step with a blocking call in its train_step */
  size_t next = 0;
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    if (call->thread != LOOP_THREAD) continue;
    const interval *train = train_at(out, call->start_ns, &next);
    const bool is_staged = is_copy(facts, call, true);
    /* Another call's work ends the tail, a blocking copy's own too: it is the next launch. One that the host stages
     * ends it when it is called: from there on the staging holds up the device. */
    if (call->activity_count && tail.list && !is_staged) ok = close_tail(&tail, first_work(facts, call)->start_ns);
    if (call->api == PD_API_ALLOC || call->api == PD_API_FREE)
      ok = ok && intervals_add(&out->allocator, call->start_ns, call->end_ns);
    else if (call->api == PD_API_SYNC || (train && is_copy(facts, call, false)))
      ok = ok && blocking_call(out, call, train, &last, &tail);
    else if (is_staged)
      ok = ok && open_another(&tail, call, train, &out->transfer_tail) &&
           intervals_add(&out->transfer, call->start_ns, call->end_ns);
  }
  return ok && close_tail(&tail, facts->trace->end_ns);
}

/* Spans of a train_step without a call, from one end of the range to the other. */
static bool find_compute(const trace_facts *facts, ledger_host *out) {
  uint64_t c = 0;
  for (size_t t = 0; t < out->train.count; t++) {
    int64_t quiet = out->train.rows[t].start; /* since when */
    for (; c < facts->call_count && facts_call(facts, c)->start_ns < out->train.rows[t].end; c++) {
      const pd_call *call = facts_call(facts, c);
      if (call->thread != LOOP_THREAD) continue;
      if (call->start_ns - quiet >= LEDGER_HOST_COMPUTE_NS && !intervals_add(&out->compute, quiet, call->start_ns))
        return false;
      if (call->end_ns > quiet) quiet = call->end_ns;
    }
    if (out->train.rows[t].end - quiet >= LEDGER_HOST_COMPUTE_NS &&
        !intervals_add(&out->compute, quiet, out->train.rows[t].end))
      return false;
  }
  return true;
}

/* A cache answers without a call. */
static bool find_memory(const trace_facts *facts, ledger_host *out) {
  for (uint64_t i = 0; i < facts->trace->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &facts->trace->memory, i);
    if (row->thread == LOOP_THREAD && !intervals_add(&out->allocator, row->ts_ns - row->duration_ns, row->ts_ns))
      return false;
  }
  return true;
}

/* ---- another program ---- */

typedef struct work_finder {
  intervals *out;
  bool ok;
} work_finder;

static bool add_work(void *user, const pd_state_row *row, int64_t start_ns, int64_t end_ns) {
  work_finder *self = user;
  if (row->state == PD_HOST_RUNS || row->state == PD_HOST_DELAYED || row->state == PD_HOST_FAULT)
    self->ok = intervals_add(self->out, start_ns, end_ns);
  return self->ok;
}

/* Where the thread that launches next works in a wait for input, it makes the batch itself: a loader without workers.
 * Operations tell so, or the system's states of the thread. */
static bool find_made(const trace_facts *facts, const gains *of, intervals *out) {
  const intervals *waits = &of->host[__builtin_ctz(REPLAY_INPUT)];
  work_finder finder = {out, true};
  uint64_t c = 0;
  for (size_t i = 0; finder.ok && i < of->made.count; i++)
    finder.ok = intervals_add(out, of->made.rows[i].start, of->made.rows[i].end);
  for (size_t i = 0; finder.ok && i < waits->count; i++) {
    while (c < facts->call_count &&
           (facts_call(facts, c)->start_ns < waits->rows[i].end || !facts_call(facts, c)->activity_count))
      c++;
    if (c == facts->call_count) break;
    thread_states_visit(facts->trace, facts_call(facts, c)->thread, waits->rows[i].start, waits->rows[i].end, add_work,
                        &finder);
  }
  return finder.ok && intervals_merge(out);
}

/* Another program's, as the replay has it. Copies of page-locked memory are launches. */
static bool take_replayed(const gains *of, ledger_host *out) {
  intervals *const to[] = {&out->train,    &out->input, &out->inner_sync, &out->outer_sync, &out->allocator,
                           &out->transfer, &out->train, &out->compute,    &out->train};
  _Static_assert(sizeof to / sizeof *to == TIMELINE_OWNERS, "one for each owner of the replay");
  bool ok = true;
  for (uint32_t o = 0; o < TIMELINE_OWNERS; o++)
    for (size_t i = 0; ok && i < of->host[o].count; i++)
      ok = intervals_add(to[o], of->host[o].rows[i].start, of->host[o].rows[i].end);
  return ok;
}

bool ledger_host_open(const trace_facts *facts, const gains *of, ledger_host *out) {
  if (!(facts->trace->facts & PD_FACT_TRAIN))
    return divide_steps(facts, out) && find_waits(facts, out) && find_made(facts, of, &out->input_cpu) &&
           take_replayed(of, out) && intervals_merge(&out->train);
  return find_train(facts, out) && divide_steps(facts, out) && find_waits(facts, out) && find_calls(facts, out) &&
         find_compute(facts, out) && find_memory(facts, out);
}

void ledger_host_free(ledger_host *self) {
  intervals *const all[] = {&self->input_io,   &self->input_cpu,  &self->input,         &self->allocator,
                            &self->outer_sync, &self->inner_sync, &self->outer_tail,    &self->inner_tail,
                            &self->compute,    &self->transfer,   &self->transfer_tail, &self->train,
                            &self->between,    &self->steps};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) intervals_free(all[i]);
}
