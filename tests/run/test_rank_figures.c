/* What ranks do together: sums that have to add up, on random windows of several ranks. */
#include "fake_trace.h"
#include "pd_test.h"

#include "run/ranks/rank_summary.h"
#include "run/ranks/rank_wire.h"

#include <stdlib.h>

enum { WINDOWS = 300, RANKS = 3, STEPS = 4, COLLECTIVES = 3, SPAN = 100000 };

static uint64_t state;
static int64_t draw(int64_t least, int64_t most) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return least + (int64_t)((state >> 33) % (uint64_t)(most - least + 1));
}

/* Steps of one rank: kernels and collectives where chance puts them, some of them behind their step; `lacks`: the last
 * collective is not there. */
static fake_trace *make_rank(bool lacks) {
  fake_trace *fake = fake_trace_open();
  const uint32_t compute = fake_stream(fake, 0, 1, 7), nccl = fake_stream(fake, 0, 1, 20);
  uint64_t id = 0;
  for (uint64_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * SPAN;
    fake_step(fake, s, at, at + SPAN);
    for (int i = 0; i < 2 * COLLECTIVES; i++) {
      const bool is_comm = i % 2;
      if (lacks && s == STEPS - 1 && i == 2 * COLLECTIVES - 1) continue;
      const int64_t start = at + (SPAN / (2 * COLLECTIVES)) * i + draw(100, 5000), length = draw(1, 40000);
      fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, start - 100, start - 50, ++id);
      fake_kernel(fake, is_comm ? "ncclDevKernel_AllReduce" : "k", is_comm ? nccl : compute, start, start + length, id);
    }
  }
  return fake;
}

static void parts_add_up(const rank_figures *of) {
  const rank_parts *parts = &of->side->parts;
  int64_t owners = 0;
  for (uint32_t c = 0; c < LEDGER_OWNER_COUNT; c++) owners += of->side->owners_ns[c];
  cr_assert_eq(owners, STEPS * SPAN);
  cr_assert_geq(parts->steps_ns, STEPS * SPAN, "what runs behind the last step counts");
  cr_assert_eq(parts->computation_ns + parts->overlap_ns + parts->communication_ns + parts->other_ns, parts->steps_ns);
  cr_assert_leq(of->comm_wait_ns + of->comm_transfer_ns, of->side->owners_ns[LEDGER_communication]);
}

static void operations_add_up(const rank_figures *of, bool lacks) {
  cr_assert_eq(of->operations.count, 1);
  const rank_operation *row = &of->operations.rows[0];
  cr_assert_eq(row->calls, of->side->collective_count);
  cr_assert_eq(row->common, STEPS * COLLECTIVES - (lacks ? 1 : 0));
  cr_assert_eq(row->wait_ns + row->transfer_ns, row->common_ns);
  cr_assert_eq(row->common == row->calls, row->common_ns == row->latency_ns);
  int64_t latency_ns = 0;
  for (uint32_t i = 0; i < of->side->collective_count; i++)
    latency_ns += of->side->collectives[i].end_ns - of->side->collectives[i].start_ns;
  cr_assert_eq(row->latency_ns, latency_ns);
}

/* The sides go over the wire before they are judged, as those of a run do. */
PD_TEST(rank_figures, sums_add_up_to_the_nanosecond) {
  state = 1;
  for (int w = 0; w < WINDOWS; w++) {
    rank_side sides[RANKS], got[RANKS];
    rank_summary summary;
    const bool lacks = w % 2;
    for (uint32_t r = 0; r < RANKS; r++) {
      fake_trace *fake = make_rank(lacks && r == 1);
      uint64_t bytes = 0;
      sides[r] = (rank_side){.path = "", .rank = r, .ranks = RANKS};
      cr_assert(rank_side_add(&sides[r], fake_trace_finish(fake)));
      rank_side_finish(&sides[r]);
      void *wire = rank_wire_pack(&sides[r], &bytes);
      cr_assert_not_null(wire);
      cr_assert(rank_wire_unpack(wire, bytes, &got[r]));
      free(wire);
      fake_trace_close(fake);
    }
    cr_assert(rank_summary_make(got, RANKS, NULL, &summary));
    int64_t transfer_ns = summary.ranks[0].operations.all.transfer_ns;
    for (uint32_t r = 0; r < RANKS; r++) {
      parts_add_up(&summary.ranks[r]);
      operations_add_up(&summary.ranks[r], lacks);
      cr_assert_eq(summary.ranks[r].operations.all.transfer_ns, transfer_ns, "all transfer for as long");
    }
    rank_summary_free(&summary);
    for (uint32_t r = 0; r < RANKS; r++) {
      rank_side_free(&sides[r]);
      rank_side_free(&got[r]);
    }
  }
}
