/* See gains_replays.h. */
#include "gains_replays.h"

#include "trace/sort.h"

#include <pdhost/processors.h>
#include <pdhost/thread_start.h>

#include <stdatomic.h>
#include <stdlib.h>

/* A multiprocessor has four schedulers, each of which works for one warp at a time; a P100's has two. */
enum { SCHEDULERS = 4, WARP_THREADS = 32 };

static bool is_of_host(pd_memory_kind kind) { return kind == PD_MEMORY_PAGEABLE || kind == PD_MEMORY_PINNED; }

/* How many schedulers for each multiprocessor have a warp of the kernel; 0: not known. */
static float schedulers_of(const pd_activity *kernel) {
  const uint32_t *block = kernel->u.kernel.block;
  const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  const uint64_t warps = (threads + WARP_THREADS - 1) / WARP_THREADS;
  return kernel->u.kernel.blocks_per_sm * (float)warps;
}

/* How much of the device a record takes. A kernel takes no more than the multiprocessors that have a block of it, nor
 * than the schedulers that have a warp of it. A copy from or to the host takes none of a GPU. 1 where that is not
 * known. */
static float part_of(const timeline *of, const timeline_record *record) {
  const pd_activity *detail = &timeline_row(of, record)->detail;
  const pd_device_props *device = of->facts->trace->device;
  if (detail->kind == PD_ACTIVITY_MEMCPY && (is_of_host(detail->u.copy.from) || is_of_host(detail->u.copy.to)))
    return device && !device->is_cuda ? 1 : 0;
  if (detail->kind != PD_ACTIVITY_KERNEL || !(detail->u.kernel.blocks_per_sm > 0)) return 1;
  const float blocks = detail->u.kernel.blocks_per_sm, warps = schedulers_of(detail) / SCHEDULERS;
  const float part = warps > 0 && warps < blocks ? warps : blocks;
  return part < 1 ? part : 1;
}

/* In one array, by start: a replay asks for them all. */
static bool take_spans(gains_replays *self, const timeline *of, const program *made) {
  const size_t room = (size_t)of->record_count + 1;
  uint32_t *order = malloc(room * sizeof *order), *scratch = malloc(room * sizeof *scratch);
  self->spans = malloc(room * sizeof *self->spans);
  const bool ok = order && scratch && self->spans;
  for (uint32_t i = 0; ok && i < of->record_count; i++) order[i] = i;
  if (ok) sort_runs(order, scratch, of->record_count, timeline_starts_after, of->records);
  for (uint32_t i = 0; ok && i < of->record_count; i++) {
    const timeline_record *record = &of->records[order[i]];
    const replay_record *replayed = &made->records[order[i]];
    if (of->calls[record->call].step < self->first) continue;
    self->spans[self->span_count++] = (gains_span){.start_ns = record->start_ns,
                                                   .end_ns = record->end_ns,
                                                   .fixed_ns = (int32_t)replayed->fixed_ns,
                                                   .part = part_of(of, record),
                                                   .owners = replayed->owners};
    self->span_owners |= replayed->owners;
  }
  free(order);
  free(scratch);
  return ok;
}

static void see_program(gains_replays *self) {
  const replay *of = self->replay;
  for (uint64_t i = 0; i < of->item_count; i++) self->owners |= of->items[i].owner;
  for (uint32_t r = 0; r < of->record_count; r++) {
    const replay_record *record = &of->records[r];
    self->owners |= record->owners;
    self->has_delayed |= (record->flags & REPLAY_DELAYED) != 0;
    self->has_inside |= (record->flags & REPLAY_INSIDE) != 0;
    for (uint32_t e = record->edge_first; e < record->edge_first + record->edge_count; e++)
      self->has_apart |= of->edges[e].apart;
  }
}

bool gains_replays_open(gains_replays *self, const timeline *of, const program *made, uint32_t first, uint32_t count) {
  *self = (gains_replays){.replay = &made->replay, .first = first, .count = count};
  self->bounds = malloc(((size_t)of->step_count + 1) * sizeof *self->bounds);
  see_program(self);
  return self->bounds && take_spans(self, of, made);
}

void gains_replays_close(gains_replays *self) {
  free(self->bounds);
  free(self->spans);
}

/* Without what changes nothing in this program. */
static replay_variant plain(const gains_replays *self, const replay_variant *variant) {
  replay_variant out = *variant;
  out.without &= self->owners;
  out.apart &= self->has_apart;
  out.eager &= self->has_delayed;
  out.same_kernels &= out.graph != 0;
  out.longest &= out.one_pass;
  return out;
}

static bool is_same(const replay_variant *a, const replay_variant *b) {
  return a->without == b->without && a->graph == b->graph && a->same_kernels == b->same_kernels &&
         a->one_pass == b->one_pass && a->longest == b->longest && a->apart == b->apart && a->eager == b->eager &&
         !(a->keep < b->keep) && !(a->keep > b->keep);
}

bool gains_replays_alike(const gains_replays *self, const replay_variant *a, const replay_variant *b) {
  const replay_variant first = plain(self, a), second = plain(self, b);
  return is_same(&first, &second);
}

static void keep_mean(gains_replays *self, const replay_variant *variant, double mean) {
  if (self->known_count < GAINS_REPLAYS_KNOWN)
    self->known[self->known_count++] = (gains_known){plain(self, variant), mean};
}

static double mean_of(const gains_replays *self, const int64_t *bounds) {
  return (double)(bounds[self->first + self->count] - bounds[self->first]) / self->count;
}

double gains_replays_make(gains_replays *self, const replay_variant *variant) {
  replay_steps(self->replay, variant, self->bounds);
  const double mean = mean_of(self, self->bounds);
  keep_mean(self, variant, mean);
  return mean;
}

void gains_replays_forget(gains_replays *self) { self->known_count = 0; }

/* NULL: not made yet. */
static const gains_known *find_known(const gains_replays *self, const replay_variant *variant) {
  const replay_variant wanted = plain(self, variant);
  for (uint32_t i = 0; i < self->known_count; i++)
    if (is_same(&self->known[i].variant, &wanted)) return &self->known[i];
  return NULL;
}

double gains_replays_mean(gains_replays *self, const replay_variant *variant) {
  const gains_known *known = find_known(self, variant);
  return known ? known->mean : gains_replays_make(self, variant);
}

/* ---- several at once ---- */

typedef struct job_list {
  const gains_replays *of;
  gains_job *jobs;
  uint32_t count;
  _Atomic uint32_t next;
} job_list;

static void run_jobs(job_list *self, const replay *with, int64_t *bounds) {
  const gains_replays *of = self->of;
  for (uint32_t i; (i = atomic_fetch_add(&self->next, 1)) < self->count;) {
    gains_job *job = &self->jobs[i];
    replay_steps(with, &job->variant, bounds);
    job->mean = mean_of(of, bounds);
    for (uint32_t s = 0; job->steps && s < of->count; s++)
      job->steps[s] = (double)(bounds[of->first + s + 1] - bounds[of->first + s]);
  }
}

/* Without memory for its scratch the jobs are the other threads'. */
static void *help(void *given) {
  job_list *self = given;
  replay own = *self->of->replay;
  int64_t *bounds = malloc(((size_t)own.step_count + 1) * sizeof *bounds);
  if (replay_open(&own)) {
    if (bounds) run_jobs(self, &own, bounds);
    replay_close(&own);
  }
  free(bounds);
  return NULL;
}

/* Beside this thread. A thread takes as long to start as the replay of some thousand items, and its scratch is 8 bytes
 * for each device record. */
static uint32_t helpers_for(const gains_replays *self, uint32_t jobs) {
  enum { HELPERS_MOST = GAINS_REPLAYS_THREADS - 1, ITEMS_LEAST = 5000 };
  const uint32_t processors = pd_processors_allowed(); /* a rank may have one of many */
  uint32_t helpers = jobs ? jobs - 1 : 0;
  if (self->replay->item_count < ITEMS_LEAST || processors < 2) return 0;
  if (helpers > processors - 1) helpers = processors - 1;
  return helpers > HELPERS_MOST ? HELPERS_MOST : helpers;
}

void gains_replays_make_all(gains_replays *self, gains_job *jobs, uint32_t count) {
  job_list list = {.of = self, .jobs = jobs, .count = count};
  pthread_t threads[GAINS_REPLAYS_THREADS];
  const uint32_t wanted = helpers_for(self, count);
  uint32_t started = 0;
  while (started < wanted && pd_thread_start(&threads[started], help, &list) == 0) started++;
  run_jobs(&list, self->replay, self->bounds);
  for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  for (uint32_t i = 0; i < count; i++) keep_mean(self, &jobs[i].variant, jobs[i].mean);
}

void gains_replays_know(gains_replays *self, const replay_variant *variants, uint32_t count) {
  gains_job jobs[GAINS_REPLAYS_KNOWN];
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < count && self->known_count + wanted < GAINS_REPLAYS_KNOWN; i++) {
    bool is_there = find_known(self, &variants[i]) != NULL;
    for (uint32_t k = 0; k < wanted && !is_there; k++)
      is_there = gains_replays_alike(self, &jobs[k].variant, &variants[i]);
    if (!is_there) jobs[wanted++] = (gains_job){.variant = variants[i]};
  }
  gains_replays_make_all(self, jobs, wanted);
}

/* How long the device was busy, or what it needs if records lie beside each other as far as it has room. */
static double busy_mean(const gains_replays *self, const gains_busy *of) {
  int64_t end = INT64_MIN, busy = 0;
  double work = 0;
  for (uint32_t i = 0; i < self->span_count; i++) {
    const gains_span *span = &self->spans[i];
    if (span->owners & of->without) continue;
    const int64_t to = span->end_ns - (of->without_fixed ? span->fixed_ns : 0);
    if (to > span->start_ns) work += (double)(to - span->start_ns) * (double)span->part;
    const int64_t from = span->start_ns > end ? span->start_ns : end;
    if (to <= from) continue;
    busy += to - from;
    end = to;
  }
  return (!of->in_turn && work < (double)busy ? work : (double)busy) / self->count;
}

double gains_replays_least(gains_replays *self, const replay_variant *variant) {
  const replay_variant moved = plain(self, variant); /* what moves nothing leaves the steps as they are */
  if (!(moved.eager || moved.graph || moved.without) || moved.apart || moved.one_pass) return 0;
  gains_busy wanted = {.without = moved.without & self->span_owners,
                       .without_fixed = moved.graph && !moved.same_kernels,
                       .in_turn = moved.eager};
  for (uint32_t i = 0; i < self->busy_count; i++) {
    const gains_busy *known = &self->busy[i];
    if (known->without == wanted.without && known->without_fixed == wanted.without_fixed &&
        known->in_turn == wanted.in_turn)
      return known->mean;
  }
  wanted.mean = busy_mean(self, &wanted);
  if (self->busy_count < GAINS_REPLAYS_BUSY) self->busy[self->busy_count++] = wanted;
  return wanted.mean;
}
