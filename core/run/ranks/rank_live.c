/* See rank_live.h. */
#include "rank_live.h"

#include "rank_kept.h"
#include "rank_report.h"
#include "rank_tables.h"
#include "rank_wire.h"

#include "base/wrap.h"
#include "config/assignments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CURE_INDENT = 15 };

struct rank_live {
  const rank_group *group;
  const config *settings;
  rank_side side;
  rank_side *sides;     /* of all ranks, on rank 0 */
  rank_summary summary; /* count 0: there is none */
  rank_clock clock;
  arena tables;
};

rank_live *rank_live_open(const rank_group *group, const config *settings) {
  rank_live *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->group = group;
  self->settings = settings;
  self->side = (rank_side){.path = "", .rank = rank_group_rank(group), .ranks = rank_group_count(group)};
  return self;
}

void rank_live_close(rank_live *self) {
  if (!self) return;
  arena_free(&self->tables);
  rank_summary_free(&self->summary);
  free(self->clock.before);
  free(self->clock.after);
  for (uint32_t i = 0; self->sides && i < rank_group_count(self->group); i++) rank_side_free(&self->sides[i]);
  free(self->sides);
  rank_side_free(&self->side);
  free(self);
}

pd_status rank_live_add(rank_live *self, const pd_trace *trace) {
  return rank_side_add(&self->side, trace) ? PD_OK : PD_NO_MEMORY;
}

static pd_status write_file(const pd_files *writer, const char *path, const char *text) {
  pd_file *file = NULL;
  pd_status status = writer->open(writer, path, &file);
  if (status != PD_OK) return status;
  status = writer->write(file, text, strlen(text));
  if (status != PD_OK) {
    writer->discard(file);
    return status;
  }
  status = writer->commit(file);
  if (status == PD_OK) writer->announce(writer, path);
  return status;
}

static pd_status judge(rank_live *self, const pd_files *writer, const char *path) {
  const uint32_t count = rank_group_count(self->group);
  char *text = NULL;
  size_t bytes = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!self->sides[i].collective_count) return PD_OK;
  const rank_clock *clock = self->clock.before && self->clock.after ? &self->clock : NULL;
  FILE *out = rank_summary_make(self->sides, count, clock, &self->summary) ? open_memstream(&text, &bytes) : NULL;
  const bool whole = out && rank_report_json(&self->summary, out);
  const bool closed = out && fclose(out) == 0;
  const pd_status status = whole && closed ? write_file(writer, path, text) : PD_NO_MEMORY;
  free(text);
  return status;
}

/* Every rank's bytes take the room of the longest. */
static pd_status unpack(rank_live *self, const char *all, uint64_t room, const uint64_t *bytes) {
  const uint32_t count = rank_group_count(self->group);
  self->sides = calloc(count, sizeof *self->sides);
  bool ok = self->sides != NULL;
  for (uint32_t i = 0; i < count && ok; i++) ok = rank_wire_unpack(all + i * room, bytes[i], &self->sides[i]);
  return ok ? PD_OK : PD_NO_MEMORY;
}

static pd_status gather_sides(rank_live *self, const void *own, uint64_t own_bytes) {
  const pd_ranks *ranks = rank_group_table(self->group);
  const uint32_t count = ranks->count;
  uint64_t *bytes = calloc(count, sizeof *bytes), room = 0;
  pd_status status = bytes ? ranks->gather(ranks, &own_bytes, sizeof own_bytes, bytes) : PD_NO_MEMORY;
  for (uint32_t i = 0; i < count && status == PD_OK; i++)
    if (bytes[i] > room) room = bytes[i];
  char *all = status == PD_OK ? malloc(room * count + 1) : NULL, *padded = all ? calloc(1, room + 1) : NULL;
  if (status == PD_OK && !padded) status = PD_NO_MEMORY;
  if (padded && own && own_bytes) memcpy(padded, own, own_bytes);
  if (status == PD_OK) status = ranks->gather(ranks, padded, room, all);
  if (status == PD_OK && ranks->rank == 0) status = unpack(self, all, room, bytes);
  free(padded);
  free(all);
  free(bytes);
  return status;
}

pd_status rank_live_begin(rank_live *self) {
  return rank_clock_measure(rank_group_table(self->group), &self->clock.before);
}

pd_status rank_live_gather(rank_live *self, const pd_files *writer, const char *path) {
  uint64_t bytes = 0;
  rank_side_finish(&self->side);
  void *own = rank_wire_pack(&self->side, &bytes);
  if (!own) bytes = 0; /* the others do not wait for it */
  pd_status status = rank_clock_measure(rank_group_table(self->group), &self->clock.after);
  if (status == PD_OK) status = gather_sides(self, own, bytes);
  if (status == PD_OK && self->sides) status = judge(self, writer, path);
  free(own);
  return status;
}

const pd_table_set *rank_live_tables(rank_live *self) {
  return self->summary.count ? rank_tables_make(&self->tables, &self->summary) : NULL;
}

void rank_live_save(const rank_live *self, struct capture_writer *to) {
  if (!self->summary.count) return;
  const rank_clock *clock = self->clock.before && self->clock.after ? &self->clock : NULL;
  rank_kept_save(to, self->sides, rank_group_count(self->group), clock);
}

/* What takes the verdict's cause out of this run, where that is not so already; NULL: no such settings. */
static const char *cure_of(const rank_live *self) {
  const rank_summary *of = &self->summary;
  const char *cause = of->verdict == RANKS_STRAGGLER ? rank_report_cause(of) : rank_report_verdict(of);
  const pd_scenario_ops *ops = self->settings->scenario.plugin->table->ops.scenario;
  for (const pd_cure *at = PD_HAS(pd_scenario_ops, ops, cures) ? ops->cures : NULL; cause && at && at->cause; at++)
    if (strcmp(at->cause, cause) == 0) return assignments_change(at->settings, self->settings) ? at->settings : NULL;
  return NULL;
}

/* As options of a command: "-o KEY=VALUE -o KEY=VALUE". */
static void print_cure(const char *settings) {
  char text[512] = "this command and";
  for (const char *at = settings; *at; at += strcspn(at, " "), at += *at == ' ') {
    const size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, " -o %.*s", (int)strcspn(at, " "), at);
  }
  printf("  Try next");
  wrap_print(text, 10, CURE_INDENT);
}

void rank_live_print_head(const rank_live *self) {
  if (!self->summary.count) return;
  const char *cure = cure_of(self);
  rank_report_head(&self->summary);
  if (cure) print_cure(cure);
  printf("\n");
  (void)fflush(stdout); /* the sinks' own process prints next */
}

void rank_live_print_figures(const rank_live *self) {
  if (self->summary.count) rank_report_figures(&self->summary);
}
