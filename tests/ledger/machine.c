/* See machine.h. */
#include "machine.h"

#include "base/random_bits.h"

#include <string.h>

uint64_t machine_seed;

int64_t machine_draw(int64_t most) { return (int64_t)(random_bits(&machine_seed) % (uint64_t)(most + 1)); }
bool machine_chance(int64_t percent) { return machine_draw(99) < percent; }

/* ---- the simulation ---- */

bool machine_is_gone(const operation *op, const replay_variant *variant) {
  return (variant->one_pass && (op->later_pass || op->later_record)) || (op->owners & variant->without);
}

/* The host's time in the call of an operation, wherever that goes. */
static int64_t call_time(const operation *op, const replay_variant *variant) {
  while (op->joined) op++;
  const int64_t cold = op->scaled ? (int64_t)((double)op->host_ns * variant->keep) : op->host_ns;
  return op->pauses && (op->pauses & variant->without) == op->pauses ? cold / 2 : cold;
}

static int64_t whole_call(const operation *op) {
  while (op->joined) op++;
  return op->host_ns;
}

/* Whether a graph launches it, if it is launching. */
static bool in_graph(const operation *op, const replay_variant *variant) {
  while (op->joined) op++;
  return variant->graph && !(op->outside && variant->same_kernels);
}

static int64_t host_time(const operation *op, const replay_variant *variant) {
  if (op->joined || (variant->one_pass && op->later_pass)) return 0;
  if (op->owner & variant->without) return 0;
  if ((op->owner & variant->graph) && in_graph(op, variant)) return 0;
  return call_time(op, variant);
}

static bool waits(const operation *op, const replay_variant *variant) {
  return op->blocks && !(op->owner & variant->without) && !(variant->one_pass && op->later_pass);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* From the start of its call to that of the record, if nothing else holds it up. */
static int64_t latency(const machine *self, const operation *op, const replay_variant *variant) {
  const int64_t call = call_time(op, variant);
  const int64_t own = op->latency_ns - (op->by_call ? whole_call(op) - call : 0);
  return variant->eager && op->delayed ? least(own, self->usual_latency_ns + call) : own;
}

static int64_t gap(const machine *self, const operation *op, const replay_variant *variant) {
  const double keep = op->inside && variant->keep < 1 ? self->inside : variant->keep;
  int64_t own = op->own_gap_ns + (int64_t)((double)(op->gap_ns - op->own_gap_ns) * keep);
  if (in_graph(op, variant)) own = least(own, op->gap_ns - op->fixed_gap_ns);
  return variant->eager && op->delayed ? least(own, self->usual_gap_ns) : own;
}

/* Whether everything that the first launched record of each stream waits for is done; when it starts then. The record
 * that ends last on its stream need not be the one before it. */
static bool can_begin(const machine *self, uint32_t i, const replay_variant *variant, int64_t *start) {
  const operation *op = &self->ops[i];
  *start = op->start_ns + latency(self, op, variant);
  for (uint32_t k = i; k--;) {
    const operation *before = &self->ops[k];
    if (before->stream != op->stream || machine_is_gone(before, variant)) continue;
    if (!before->done) return false;
    if (before->kernel_end_ns + gap(self, op, variant) > *start)
      *start = before->kernel_end_ns + gap(self, op, variant);
  }
  for (uint32_t w = 0; w < op->wait_count; w++) {
    const operation *source = &self->ops[op->waits[w]];
    if (op->apart[w] && variant->apart) continue;
    if (!source->done) return false;
    if (source->kernel_end_ns + op->edge_ns > *start) *start = source->kernel_end_ns + op->edge_ns;
  }
  return true;
}

/* Whether what a blocking call waits for is done; when the call ends then. */
static bool can_end(const machine *self, uint32_t i, const replay_variant *variant, int64_t *end) {
  const operation *op = &self->ops[i];
  const double keep = op->owner & REPLAY_MEASUREMENT ? 1 : variant->keep;
  const int64_t own_ns = (int64_t)((double)op->own_ns * keep), tail_ns = (int64_t)((double)op->tail_ns * keep);
  *end = op->start_ns + own_ns;
  for (uint32_t k = 0; k < i; k++) {
    const operation *other = &self->ops[k];
    if (other->stream == REPLAY_NONE || (op->drains ? machine_is_gone(other, variant) : k != op->awaited)) continue;
    if (!other->done) return false;
    if (other->kernel_end_ns + tail_ns > *end) *end = other->kernel_end_ns + tail_ns;
  }
  return true;
}

static int64_t length(const operation *op, const replay_variant *variant) {
  const int64_t whole = !variant->one_pass ? op->kernel_ns : variant->longest ? op->longest_ns : op->merged_ns;
  const int64_t rest = whole - (variant->graph && !variant->same_kernels ? op->fixed_ns : 0);
  return rest > 0 ? rest : 0;
}

static bool move_host(machine *self, uint32_t lane, uint32_t *at, bool *called, const replay_variant *variant) {
  bool moved = false;
  while (*at < self->count && self->ops[*at].lane != lane) (*at)++;
  if (*at == self->count) return false;
  operation *op = &self->ops[*at];
  if (!*called) {
    *called = moved = op->launched = true;
    op->start_ns = self->clocks[lane];
    if (op->stream != REPLAY_NONE && machine_is_gone(op, variant)) {
      op->done = true;
      op->kernel_end_ns = op->start_ns;
    }
  }
  int64_t end = op->start_ns + host_time(op, variant);
  if (waits(op, variant) && !can_end(self, *at, variant, &end)) return moved;
  self->clocks[lane] = end;
  *called = false;
  (*at)++;
  return true;
}

static bool move_device(machine *self, uint32_t i, const replay_variant *variant) {
  operation *op = &self->ops[i];
  int64_t start;
  if (op->stream == REPLAY_NONE || !op->launched || op->done || !can_begin(self, i, variant, &start)) return false;
  op->kernel_start_ns = start;
  op->kernel_end_ns = start + length(op, variant);
  return op->done = true;
}

/* Advances whatever can, event by event, until all lanes are at their end. */
void machine_simulate(machine *self, const replay_variant *variant) {
  uint32_t at[MOST_LANES] = {0};
  bool called[MOST_LANES] = {false}, moved = true;
  memset(self->clocks, 0, sizeof self->clocks);
  for (uint32_t i = 0; i < self->count; i++) self->ops[i].launched = self->ops[i].done = false;
  while (moved) {
    moved = false;
    for (uint32_t lane = 0; lane < self->lanes; lane++)
      moved = move_host(self, lane, &at[lane], &called[lane], variant) || moved;
    for (uint32_t i = 0; i < self->count; i++) moved = move_device(self, i, variant) || moved;
  }
}

int64_t machine_step_end(const machine *self, const replay_variant *variant, uint32_t step) {
  uint32_t next = 0;
  while (next < self->count && (self->ops[next].lane || self->ops[next].step <= step)) next++;
  int64_t end = next < self->count ? self->ops[next].start_ns : self->clocks[0];
  for (uint32_t i = 0; i < next; i++) {
    const operation *op = &self->ops[i];
    if (op->stream != REPLAY_NONE && !machine_is_gone(op, variant) && op->kernel_end_ns > end) end = op->kernel_end_ns;
  }
  return end;
}

/* ---- random programs ---- */

static uint32_t launched_before(const machine *self, uint32_t i) {
  for (int tries = 0; i && tries < 8; tries++) {
    const uint32_t k = (uint32_t)machine_draw(i - 1);
    if (self->ops[k].stream != REPLAY_NONE) return k;
  }
  return REPLAY_NONE;
}

static void make_launch(machine *self, uint32_t i) {
  operation *op = &self->ops[i];
  /* A stream is one lane's: two lanes that share one may swap their launches. */
  op->stream = op->lane + self->lanes * (uint32_t)machine_draw(self->streams / self->lanes - 1);
  op->kernel_ns = machine_draw(40000);
  op->merged_ns = op->kernel_ns / 2 + machine_draw(op->kernel_ns * 2); /* also less than one pass took */
  op->longest_ns = op->kernel_ns * 3;
  op->latency_ns = machine_draw(9000);
  op->fixed_ns = machine_chance(30) ? op->kernel_ns : 0;
  op->gap_ns = machine_draw(1500);
  op->fixed_gap_ns = machine_chance(30) ? op->gap_ns : 0;
  if (machine_chance(10)) op->gap_ns = -machine_draw(9000); /* it begins beside the one before */
  if (op->gap_ns < 0) op->fixed_gap_ns = 0;
  op->edge_ns = machine_draw(1500);
  op->owners = op->owner & (REPLAY_SYNC | REPLAY_PAGEABLE | REPLAY_ALLOCATOR);
  op->later_record = machine_chance(10);
  op->by_call = machine_chance(15);
  op->delayed = machine_chance(20);
  op->inside = machine_chance(20);
  if (op->delayed) op->gap_ns += machine_draw(60000);
  op->own_gap_ns = op->gap_ns > 0 && machine_chance(50) ? machine_draw(op->gap_ns) : op->gap_ns;
  if (op->delayed) op->latency_ns += machine_draw(60000);
  while (op->wait_count < 2 && machine_chance(30)) {
    const uint32_t source = launched_before(self, i);
    if (source == REPLAY_NONE) break;
    op->apart[op->wait_count] = machine_chance(50);
    op->waits[op->wait_count++] = source;
  }
}

static void make_wait(machine *self, uint32_t i) {
  operation *op = &self->ops[i];
  op->awaited = launched_before(self, i);
  if (op->awaited == REPLAY_NONE) return;
  op->blocks = true;
  if (machine_chance(20)) op->owner = REPLAY_MEASUREMENT;
  op->drains = self->lanes == 1 && machine_chance(30);
  op->own_ns = machine_draw(5000);
  op->tail_ns = machine_draw(3000);
}

/* The operation before it is launched by its call, too. */
static void join_before(machine *self, uint32_t i) {
  operation *op = &self->ops[i], *before = &self->ops[i - 1];
  before->joined = true;
  before->host_ns = 0;
  op->lane = before->lane;
  op->owner = before->owner;
  op->later_pass = before->later_pass;
  op->step = before->step;
}

void machine_make(machine *self) {
  static const replay_owners owners[] = {REPLAY_LAUNCH,    REPLAY_LAUNCH,   REPLAY_INPUT, REPLAY_SYNC,
                                         REPLAY_ALLOCATOR, REPLAY_PAGEABLE, REPLAY_HOST,  REPLAY_CHAIN};
  memset(self, 0, sizeof *self);
  self->lanes = (uint32_t)machine_draw(MOST_LANES - 1) + 1;
  self->streams = self->lanes * ((uint32_t)machine_draw(MOST_STREAMS / MOST_LANES - 1) + 1);
  self->count = (uint32_t)machine_draw(MOST_OPS - 4) + 4;
  self->steps = (uint32_t)machine_draw(MOST_STEPS - 1) + 1;
  self->usual_latency_ns = machine_draw(9000);
  self->usual_gap_ns = machine_draw(1500);
  self->inside = machine_chance(50) ? 0 : (double)machine_draw(4) / 4;
  for (uint32_t i = 0; i < self->count; i++) {
    operation *op = &self->ops[i];
    *op = (operation){.host_ns = machine_draw(30000),
                      .lane = (uint32_t)machine_draw(self->lanes - 1),
                      .step = i * self->steps / self->count,
                      .stream = REPLAY_NONE,
                      .awaited = REPLAY_NONE,
                      .owner = owners[machine_draw(7)],
                      .later_pass = machine_chance(20),
                      .scaled = machine_chance(50),
                      .outside = machine_chance(20)};
    if (machine_chance(20)) op->pauses = owners[2 + machine_draw(5)] | owners[2 + machine_draw(5)];
    if (i && self->ops[i - 1].stream != REPLAY_NONE && machine_chance(15)) join_before(self, i);
    if ((i && self->ops[i - 1].joined) || machine_chance(60))
      make_launch(self, i);
    else if (machine_chance(50))
      make_wait(self, i);
  }
}
