/* The replay against an independent simulation: random programs of lanes, streams, events and blocking calls are run by
 * a discrete-event simulation, once as they are and once with something removed. Replayed from what the first run
 * shows, each record must end and each lane must finish when it does in the second. */
#include "replay_rig.h"

enum { MOST_OPS = 48, MOST_LANES = 3, MOST_STREAMS = 6, MOST_EDGES = 128 };

/* ---- a program and its simulation ---- */

typedef struct operation {
  int64_t host_ns, own_ns, tail_ns; /* host_ns: of a call that blocks, what it takes where its owner is removed: 0 */
  int64_t kernel_ns, merged_ns, longest_ns, fixed_ns, latency_ns, gap_ns, fixed_gap_ns, edge_ns;
  uint32_t lane, stream; /* PD_NONE: launches nothing */
  uint32_t waits[2], wait_count;
  bool apart[2];
  bool blocks, drains;
  uint32_t awaited; /* operation */
  replay_owners owner, owners;
  bool later_pass, scaled, short_gap;
  int64_t start_ns, kernel_start_ns, kernel_end_ns; /* of the last simulation */
  bool launched, begun, done;
} operation;

typedef struct machine {
  operation ops[MOST_OPS];
  uint32_t count, lanes, streams;
  int64_t clocks[MOST_LANES];
} machine;

static bool is_gone(const operation *op, const replay_variant *variant) {
  return (variant->one_pass && op->later_pass) || (op->owners & variant->without);
}

static int64_t host_time(const operation *op, const replay_variant *variant) {
  if (variant->one_pass && op->later_pass) return 0;
  if (op->owner & (variant->without | variant->graph)) return 0;
  return op->scaled ? (int64_t)((double)op->host_ns * variant->keep) : op->host_ns;
}

static bool waits(const operation *op, const replay_variant *variant) {
  return op->blocks && !(op->owner & variant->without) && !(variant->one_pass && op->later_pass);
}

/* Whether everything that the first launched record of each stream waits for is done; when it starts then. */
static bool can_begin(const machine *self, uint32_t i, const replay_variant *variant, int64_t *start) {
  const operation *op = &self->ops[i];
  *start = op->start_ns + op->latency_ns;
  for (uint32_t k = i; k--;) {
    const operation *before = &self->ops[k];
    if (before->stream != op->stream || is_gone(before, variant)) continue;
    if (!before->done) return false;
    const double own = op->short_gap ? variant->keep : 1;
    const int64_t plain = (int64_t)((double)op->gap_ns * own), captured = op->gap_ns - op->fixed_gap_ns;
    const int64_t gap = variant->graph && captured < plain ? captured : plain;
    if (before->kernel_end_ns + gap > *start) *start = before->kernel_end_ns + gap;
    break;
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
  *end = op->start_ns + op->own_ns;
  for (uint32_t k = 0; k < i; k++) {
    const operation *other = &self->ops[k];
    if (other->stream == PD_NONE || (op->drains ? is_gone(other, variant) : k != op->awaited)) continue;
    if (!other->done) return false;
    if (other->kernel_end_ns + op->tail_ns > *end) *end = other->kernel_end_ns + op->tail_ns;
  }
  return true;
}

/* Advances whatever can, event by event, until all lanes are at their end. */
static void simulate(machine *self, const replay_variant *variant) {
  uint32_t at[MOST_LANES] = {0};
  bool called[MOST_LANES] = {false}, moved = true;
  memset(self->clocks, 0, sizeof self->clocks);
  for (uint32_t i = 0; i < self->count; i++) self->ops[i].launched = self->ops[i].done = false;
  while (moved) {
    moved = false;
    for (uint32_t lane = 0; lane < self->lanes; lane++) {
      while (at[lane] < self->count && self->ops[at[lane]].lane != lane) at[lane]++;
      if (at[lane] == self->count) continue;
      operation *op = &self->ops[at[lane]];
      if (!called[lane]) {
        called[lane] = moved = op->launched = true;
        op->start_ns = self->clocks[lane];
        if (op->stream != PD_NONE && is_gone(op, variant)) {
          op->done = true;
          op->kernel_end_ns = op->start_ns;
        }
      }
      int64_t end = op->start_ns + host_time(op, variant);
      if (waits(op, variant) && !can_end(self, at[lane], variant, &end)) continue;
      self->clocks[lane] = end;
      called[lane] = false;
      at[lane]++;
      moved = true;
    }
    for (uint32_t i = 0; i < self->count; i++) {
      operation *op = &self->ops[i];
      int64_t start;
      if (op->stream == PD_NONE || !op->launched || op->done || !can_begin(self, i, variant, &start)) continue;
      op->kernel_start_ns = start;
      op->kernel_end_ns = start +
                          (!variant->one_pass ? op->kernel_ns
                           : variant->longest ? op->longest_ns
                                              : op->merged_ns) -
                          (variant->graph ? op->fixed_ns : 0);
      op->done = moved = true;
    }
  }
}

/* ---- random programs ---- */

static uint32_t launched_before(const machine *self, uint32_t i) {
  for (int tries = 0; i && tries < 8; tries++) {
    const uint32_t k = (uint32_t)random_to(i - 1);
    if (self->ops[k].stream != PD_NONE) return k;
  }
  return PD_NONE;
}

static void make(machine *self) {
  static const replay_owners owners[] = {REPLAY_LAUNCH,    REPLAY_LAUNCH,   REPLAY_INPUT, REPLAY_SYNC,
                                         REPLAY_ALLOCATOR, REPLAY_PAGEABLE, REPLAY_HOST,  REPLAY_CHAIN};
  memset(self, 0, sizeof *self);
  self->lanes = (uint32_t)random_to(MOST_LANES - 1) + 1;
  self->streams = self->lanes * ((uint32_t)random_to(MOST_STREAMS / MOST_LANES - 1) + 1);
  self->count = (uint32_t)random_to(MOST_OPS - 4) + 4;
  for (uint32_t i = 0; i < self->count; i++) {
    operation *op = &self->ops[i];
    *op = (operation){.host_ns = random_to(30000),
                      .lane = (uint32_t)random_to(self->lanes - 1),
                      .stream = PD_NONE,
                      .awaited = PD_NONE,
                      .owner = owners[random_to(7)],
                      .later_pass = chance(20),
                      .scaled = chance(50)};
    if (chance(60)) {
      /* A stream is one lane's: two lanes that share one may swap their launches. */
      op->stream = op->lane + self->lanes * (uint32_t)random_to(self->streams / self->lanes - 1);
      op->kernel_ns = random_to(40000);
      op->merged_ns = op->kernel_ns * 2;
      op->longest_ns = op->kernel_ns * 3;
      op->latency_ns = random_to(9000);
      op->fixed_ns = chance(30) ? op->kernel_ns : 0;
      op->gap_ns = random_to(1500);
      op->fixed_gap_ns = chance(30) ? op->gap_ns : 0;
      op->short_gap = chance(50);
      op->edge_ns = random_to(1500);
      op->owners = op->owner & (REPLAY_SYNC | REPLAY_PAGEABLE | REPLAY_ALLOCATOR);
      while (op->wait_count < 2 && chance(30)) {
        const uint32_t source = launched_before(self, i);
        if (source == PD_NONE) break;
        op->apart[op->wait_count] = chance(50);
        op->waits[op->wait_count++] = source;
      }
    } else if (chance(50)) {
      op->blocks = true;
      op->drains = self->lanes == 1 && chance(30);
      op->awaited = launched_before(self, i);
      op->own_ns = random_to(5000);
      op->tail_ns = random_to(3000);
      if (op->awaited == PD_NONE) op->blocks = op->drains = false;
    }
  }
}

/* ---- the replay of it ---- */

typedef struct replayed {
  replay replay;
  replay_item items[MOST_OPS];
  replay_wait waits[MOST_OPS];
  replay_record records[MOST_OPS];
  replay_edge edges[MOST_EDGES];
  uint32_t record_of[MOST_OPS];
  int64_t bounds[2];
} replayed;

static void translate(const machine *from, replayed *to) {
  uint32_t edge_count = 0;
  memset(to, 0, sizeof *to);
  for (uint32_t i = 0; i < from->count; i++) {
    const operation *op = &from->ops[i];
    replay_item *item = &to->items[i];
    *item = (replay_item){.duration_ns = op->host_ns,
                          .record_first = to->replay.record_count,
                          .record_count = op->stream != PD_NONE,
                          .wait = op->awaited == PD_NONE ? REPLAY_NONE : i,
                          .owner = (uint16_t)op->owner,
                          .lane = (uint16_t)op->lane};
    if (op->awaited != PD_NONE) to->waits[i] = (replay_wait){op->own_ns, op->tail_ns, to->record_of[op->awaited]};
    if (op->blocks) item->flags |= REPLAY_BLOCKS;
    if (op->drains) item->flags |= REPLAY_DRAINS;
    if (op->later_pass) item->flags |= REPLAY_LATER_PASS;
    if (op->scaled) item->flags |= REPLAY_SCALED;
    if (op->stream == PD_NONE) continue;
    to->record_of[i] = to->replay.record_count;
    replay_record *record = &to->records[to->replay.record_count++];
    *record = (replay_record){.duration_ns = op->kernel_ns,
                              .merged_ns = op->merged_ns,
                              .longest_ns = op->longest_ns,
                              .fixed_ns = op->fixed_ns,
                              .fixed_gap_ns = op->fixed_gap_ns,
                              .latency_ns = op->latency_ns,
                              .gap_ns = op->gap_ns,
                              .edge_ns = op->edge_ns,
                              .stream = op->stream,
                              .edge_first = edge_count,
                              .edge_count = op->wait_count,
                              .owners = op->owners};
    if (op->short_gap) record->flags |= REPLAY_SHORT_GAP;
    for (uint32_t w = 0; w < op->wait_count; w++)
      to->edges[edge_count++] = (replay_edge){.record = to->record_of[op->waits[w]], .apart = op->apart[w]};
  }
  to->replay.items = to->items;
  to->replay.records = to->records;
  to->replay.edges = to->edges;
  to->replay.waits = to->waits;
  to->replay.item_count = from->count;
  to->replay.stream_count = from->streams;
  to->replay.lane_count = from->lanes;
  to->replay.step_count = 1;
}

static replay_variant random_variant(void) {
  replay_variant out = {.keep = chance(50) ? 1 : 0.25 + 0.01 * (double)random_to(74)};
  for (uint32_t bit = 1; bit < 9; bit++)
    if (chance(25)) out.without |= 1u << bit;
  out.without &= ~(replay_owners)REPLAY_MEASUREMENT;
  if (chance(25)) out.graph = REPLAY_LAUNCH | REPLAY_CHAIN;
  out.apart = chance(25);
  out.one_pass = chance(25);
  out.longest = chance(50);
  return out;
}

static void expect_same(const machine *self, const replayed *is, const char *what) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->ops[i].stream != PD_NONE)
      cr_assert_eq(is->replay.ends[is->record_of[i]], self->ops[i].kernel_end_ns,
                   "%s: record of %u ends at %lld, not %lld", what, i, (long long)is->replay.ends[is->record_of[i]],
                   (long long)self->ops[i].kernel_end_ns);
  for (uint32_t l = 0; l < self->lanes; l++)
    cr_assert_eq(is->replay.clocks[l], self->clocks[l], "%s: lane %u ends at %lld, not %lld", what, l,
                 (long long)is->replay.clocks[l], (long long)self->clocks[l]);
}

PD_TEST(replay, predicts_what_an_independent_simulation_finds) {
  enum { PROGRAMS = 100000 };
  machine *one = malloc(sizeof *one);
  replayed *is = malloc(sizeof *is);
  cr_assert(one && is);
  state = 1;
  for (uint32_t p = 0; p < PROGRAMS; p++) {
    const replay_variant nothing = {.keep = 1};
    make(one);
    translate(one, is);
    cr_assert(replay_open(&is->replay));
    simulate(one, &nothing);
    replay_steps(&is->replay, &nothing, is->bounds);
    expect_same(one, is, "as it is");
    for (int v = 0; v < 2; v++) {
      const replay_variant variant = random_variant();
      simulate(one, &variant);
      replay_steps(&is->replay, &variant, is->bounds);
      expect_same(one, is, "removed");
      int64_t latest = one->clocks[0];
      for (uint32_t i = 0; i < one->count; i++)
        if (one->ops[i].stream != PD_NONE && !is_gone(&one->ops[i], &variant) && one->ops[i].kernel_end_ns > latest)
          latest = one->ops[i].kernel_end_ns;
      cr_assert_eq(is->bounds[1], latest);
    }
    replay_close(&is->replay);
  }
  free(one);
  free(is);
}
