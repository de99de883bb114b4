/* See rank_tables.h. */
#include "rank_tables.h"

#include "rank_report.h"

#include "tables/table_build.h"

#include <string.h>

static void begin(table_build *table, arena *pool, const rank_summary *self, const char *id, const char *title,
                  const char *note) {
  table_begin(table, pool, !(self->count && self->ranks[0].side->is_other), id, title, note);
}

static const pd_table *verdict(arena *pool, const rank_summary *self) {
  char words[RANK_SENTENCE_BYTES];
  table_build table;
  const rank_figures *late = rank_report_late(self);
  const char *cause = rank_report_cause(self);
  rank_report_sentence(self, words);
  begin(&table, pool, self, "ranks_verdict", "What the ranks wait for", NULL);
  TABLE_COLUMNS(&table, M_ranks_verdict, M_ranks_verdict_cause, M_ranks_straggler, M_ranks_straggler_cause,
                M_ranks_straggler_more, M_ranks_share, M_ranks_helps, M_ranks_step, M_ranks_steps, M_ranks_collectives);
  table_row(&table, 0);
  table_row_flags(&table, PD_ROW_RECORD);
  table_string(&table, M_ranks_verdict, arena_text(pool, words, strlen(words)));
  table_string(&table, M_ranks_verdict_cause, rank_report_verdict(self));
  if (late) table_int(&table, M_ranks_straggler, late->side->rank);
  if (cause) {
    table_string(&table, M_ranks_straggler_cause, cause);
    table_int(&table, M_ranks_straggler_more, (int64_t)self->cause_ns);
  }
  if (self->verdict != RANKS_NONE) table_double(&table, M_ranks_share, 100 * self->share);
  if (rank_report_helps(self)) table_string(&table, M_ranks_helps, rank_report_helps(self));
  if (!self->count) return table_done(&table);
  table_int(&table, M_ranks_step, (int64_t)self->step_ns);
  table_int(&table, M_ranks_steps, self->steps);
  table_int(&table, M_ranks_collectives, (int64_t)self->matched);
  return table_done(&table);
}

static const pd_table *each_rank(arena *pool, const rank_summary *self) {
  table_build table;
  begin(&table, pool, self, "ranks_parts", "Ranks",
        "Times are of all steps of a rank together. Computation, overlap, communication and other add up to the "
        "steps' time. Wait and transfer add up to the time of the collectives that all ranks have.");
  TABLE_COLUMNS(&table, M_ranks_rank, M_ranks_steps, M_ranks_time, M_ranks_computation, M_ranks_overlap,
                M_ranks_communication, M_ranks_other, M_ranks_wait, M_ranks_transfer, M_ranks_common, M_ranks_caused,
                M_ranks_last);
  for (uint32_t r = 0; r < self->count; r++) {
    const rank_figures *of = &self->ranks[r];
    const rank_parts *parts = &of->side->parts;
    table_row(&table, 0);
    table_int(&table, M_ranks_rank, of->side->rank);
    table_int(&table, M_ranks_steps, of->side->step_count);
    table_int(&table, M_ranks_time, parts->steps_ns);
    table_int(&table, M_ranks_computation, parts->computation_ns);
    table_int(&table, M_ranks_overlap, parts->overlap_ns);
    table_int(&table, M_ranks_communication, parts->communication_ns);
    table_int(&table, M_ranks_other, parts->other_ns);
    table_int(&table, M_ranks_wait, of->operations.all.wait_ns);
    table_int(&table, M_ranks_transfer, of->operations.all.transfer_ns);
    table_int(&table, M_ranks_common, of->operations.all.common_ns);
    table_int(&table, M_ranks_caused, (int64_t)(of->caused_ns * (self->steps ? self->steps : 1)));
    table_percent(&table, M_ranks_last, (int64_t)of->last, (int64_t)self->matched);
  }
  return table_done(&table);
}

typedef struct owner_row {
  const char *cause, *state, *text;
} owner_row;

/* A row of each owner that has time; `steps_ns`: of the rank. */
static void put_owner(table_build *table, const rank_figures *of, owner_row row, int64_t total_ns, int64_t steps_ns) {
  if (total_ns <= 0) return;
  table_row(table, 0);
  table_int(table, M_ranks_rank, of->side->rank);
  table_string(table, M_category, row.text);
  table_string(table, M_cause, row.cause);
  table_string(table, M_state, row.state);
  table_int(table, M_total, total_ns);
  table_int(table, M_per_step, total_ns / (of->side->step_count ? of->side->step_count : 1));
  table_percent(table, M_share, total_ns, steps_ns);
}

static const pd_table *each_ledger(arena *pool, const rank_summary *self) {
  static const owner_row rows[LEDGER_OWNER_COUNT] = {
#define X(key, state, text) {#key, state, text},
      LEDGER_MAP(X)
#undef X
  };
  table_build table;
  begin(&table, pool, self, "ranks_ledger", "Ledger of each rank",
        "Each moment of a rank's steps has one owner; the rows of a rank add up to its steps exactly. What the ledger "
        "of one rank calls communication is a wait for other ranks, or a transfer. What is left of it is in "
        "collectives that not all ranks have, or that were launched before the steps.");
  TABLE_COLUMNS(&table, M_ranks_rank, M_category, M_cause, M_state, M_total, M_per_step, M_share);
  for (uint32_t r = 0; r < self->count; r++) {
    const rank_figures *of = &self->ranks[r];
    const int64_t *owners = of->side->owners_ns;
    int64_t steps_ns = 0;
    for (uint32_t c = 0; c < LEDGER_OWNER_COUNT; c++) steps_ns += owners[c];
    put_owner(&table, of, (owner_row){"comm_wait", "busy", "Waiting for other ranks"}, of->comm_wait_ns, steps_ns);
    put_owner(&table, of, (owner_row){"comm_transfer", "busy", "Exposed transfer"}, of->comm_transfer_ns, steps_ns);
    for (uint32_t c = 0; c < LEDGER_OWNER_COUNT; c++) {
      const int64_t divided = c == LEDGER_communication ? of->comm_wait_ns + of->comm_transfer_ns : 0;
      put_owner(&table, of, rows[c], owners[c] - divided, steps_ns);
    }
  }
  return table_done(&table);
}

static void put_operation(table_build *table, const rank_operation *of) {
  table_int(table, M_count, (int64_t)of->calls);
  if (of->sized == of->calls) {
    table_int(table, M_collective_bytes, (int64_t)of->bytes);
    table_int(table, M_collective_bytes_avg, (int64_t)(of->bytes / of->calls));
  }
  table_int(table, M_collective_latency, of->latency_ns);
  table_int(table, M_collective_latency_avg, of->latency_ns / (int64_t)of->calls);
  table_int(table, M_collective_common, (int64_t)of->common);
  if (!of->common) return;
  table_int(table, M_collective_transfer, of->transfer_ns);
  table_int(table, M_collective_transfer_avg, of->transfer_ns / (int64_t)of->common);
  table_int(table, M_collective_wait, of->wait_ns);
}

static const pd_table *each_collective(arena *pool, const rank_summary *self) {
  table_build table;
  begin(&table, pool, self, "collectives", "Collectives",
        "The collectives of each rank's steps, by name. What is transferred and what is waited is known of those that "
        "all ranks have; of these both add up to the latency.");
  TABLE_COLUMNS(&table, M_name, M_ranks_rank, M_count, M_collective_bytes, M_collective_bytes_avg, M_collective_latency,
                M_collective_latency_avg, M_collective_transfer, M_collective_transfer_avg, M_collective_wait,
                M_collective_common);
  for (uint32_t r = 0; r < self->count; r++)
    for (uint32_t i = 0; i < self->ranks[r].operations.count; i++) {
      const rank_operation *of = &self->ranks[r].operations.rows[i];
      table_row(&table, 0);
      table_string(&table, M_name, of->name);
      table_int(&table, M_ranks_rank, self->ranks[r].side->rank);
      put_operation(&table, of);
    }
  return table_done(&table);
}

static const pd_table *each_message(arena *pool, const rank_summary *self) {
  table_build table;
  begin(&table, pool, self, "messages", "Messages",
        "The collectives that all ranks have, by name and size. Bandwidths are those of nccl-tests.");
  TABLE_COLUMNS(&table, M_name, M_message_size, M_count, M_message_transfer, M_algorithm_bandwidth, M_bus_bandwidth);
  for (uint32_t i = 0; i < self->message_count; i++) {
    const rank_message *of = &self->messages[i];
    table_row(&table, 0);
    table_string(&table, M_name, of->name);
    if (of->bytes) table_int(&table, M_message_size, (int64_t)of->bytes);
    table_int(&table, M_count, (int64_t)of->count);
    table_int(&table, M_message_transfer, (int64_t)(of->transfer_ns / (double)of->count));
    if (of->algorithm > 0) table_double(&table, M_algorithm_bandwidth, of->algorithm);
    if (of->bus > 0) table_double(&table, M_bus_bandwidth, of->bus);
  }
  return table_done(&table);
}

const pd_table_set *rank_tables_make(arena *pool, const rank_summary *self) {
  const struct {
    const pd_table *(*make)(arena *pool, const rank_summary *self);
  } all[] = {{verdict}, {each_rank}, {each_ledger}, {each_collective}, {each_message}};
  enum { COUNT = sizeof all / sizeof *all };
  const pd_table **list = arena_take(pool, COUNT * sizeof *list);
  pd_table_set *set = arena_take(pool, sizeof *set);
  if (!list || !set) return NULL;
  for (uint32_t i = 0; i < COUNT; i++) {
    list[i] = all[i].make(pool, self);
    if (!list[i]) return NULL;
  }
  *set = (pd_table_set){.size = sizeof *set, .count = COUNT, .tables = list};
  return pool->failed ? NULL : set;
}
