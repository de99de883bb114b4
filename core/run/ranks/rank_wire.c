/* See rank_wire.h. Numbers as they are in memory; of names the place in a list of texts, which comes last. */
#include "rank_wire.h"

#include <stdlib.h>
#include <string.h>

typedef struct wire_head {
  uint32_t rank, ranks, step_count, collective_count;
  uint64_t compute_count, blocked_count, exposed_count, name_bytes;
  double compute_ns, comm_ns, overlap_ns, added_ns, added_host_ns;
  double idle_ns[VERDICT_COUNT];
  uint64_t has_causes, is_other, work;
  rank_parts parts;
  int64_t owners_ns[LEDGER_OWNER_COUNT];
} wire_head;

typedef struct wire_collective {
  rank_step_key step;
  uint64_t name, bytes; /* name: where its text begins */
  uint32_t stream, place;
  int64_t start_ns, end_ns;
} wire_collective;

/* Each text once; texts that are one pointer are one text. `at` by collective. */
static uint64_t lay_names(const rank_side *side, uint64_t *at, char *texts) {
  uint64_t used = 0;
  for (uint32_t i = 0; i < side->collective_count; i++) {
    const char *name = side->collectives[i].name;
    uint32_t same = i;
    while (same > 0 && side->collectives[same - 1].name != name) same--;
    if (same > 0) {
      at[i] = at[same - 1];
      continue;
    }
    at[i] = used;
    if (texts) memcpy(texts + used, name, strlen(name) + 1);
    used += strlen(name) + 1;
  }
  return used;
}

void *rank_wire_pack(const rank_side *side, uint64_t *bytes) {
  uint64_t *names = calloc((size_t)side->collective_count + 1, sizeof *names);
  if (!names) return NULL;
  wire_head head = {.rank = side->rank,
                    .ranks = side->ranks,
                    .step_count = side->step_count,
                    .collective_count = side->collective_count,
                    .compute_count = side->compute.count,
                    .blocked_count = side->blocked.count,
                    .exposed_count = side->exposed.count,
                    .name_bytes = lay_names(side, names, NULL),
                    .compute_ns = side->compute_ns,
                    .comm_ns = side->comm_ns,
                    .overlap_ns = side->overlap_ns,
                    .added_ns = side->added_ns,
                    .added_host_ns = side->added_host_ns,
                    .has_causes = side->has_causes,
                    .is_other = side->is_other,
                    .work = side->work,
                    .parts = side->parts};
  memcpy(head.idle_ns, side->idle_ns, sizeof head.idle_ns);
  memcpy(head.owners_ns, side->owners_ns, sizeof head.owners_ns);
  *bytes = sizeof head + side->step_count * sizeof(rank_step) +
           (side->compute.count + side->blocked.count + side->exposed.count) * sizeof(interval) +
           side->collective_count * sizeof(wire_collective) + head.name_bytes;
  char *data = malloc(*bytes), *to = data;
  if (data) {
    to = (char *)mempcpy(to, &head, sizeof head);
    if (side->step_count) to = (char *)mempcpy(to, side->steps, side->step_count * sizeof(rank_step));
    if (side->compute.count) to = (char *)mempcpy(to, side->compute.rows, side->compute.count * sizeof(interval));
    if (side->blocked.count) to = (char *)mempcpy(to, side->blocked.rows, side->blocked.count * sizeof(interval));
    if (side->exposed.count) to = (char *)mempcpy(to, side->exposed.rows, side->exposed.count * sizeof(interval));
    char *texts = to + side->collective_count * sizeof(wire_collective);
    (void)lay_names(side, names, texts);
    for (uint32_t i = 0; i < side->collective_count; i++) {
      const rank_collective *from = &side->collectives[i];
      const wire_collective row = {.step = from->step,
                                   .name = names[i],
                                   .bytes = from->bytes,
                                   .stream = from->stream,
                                   .place = from->place,
                                   .start_ns = from->start_ns,
                                   .end_ns = from->end_ns};
      to = (char *)mempcpy(to, &row, sizeof row);
    }
  }
  free(names);
  return data;
}

static bool take(const char **from, const char *end, void *to, uint64_t bytes) {
  if ((uint64_t)(end - *from) < bytes) return false;
  if (bytes) memcpy(to, *from, bytes);
  *from += bytes;
  return true;
}

static bool take_collectives(const char *from, const char *end, const wire_head *head, rank_side *out) {
  const uint64_t row_bytes = head->collective_count * sizeof(wire_collective);
  if ((uint64_t)(end - from) != row_bytes + head->name_bytes || (head->name_bytes && end[-1])) return false;
  const char *texts = arena_text(&out->texts, from + row_bytes, head->name_bytes);
  out->collectives = calloc((size_t)head->collective_count + 1, sizeof *out->collectives);
  if (!texts || !out->collectives) return false;
  for (; out->collective_count < head->collective_count; out->collective_count++) {
    wire_collective row;
    memcpy(&row, from, sizeof row);
    from += sizeof row;
    if (row.name >= head->name_bytes) return false;
    out->collectives[out->collective_count] = (rank_collective){.step = row.step,
                                                                .name = texts + row.name,
                                                                .bytes = row.bytes,
                                                                .stream = row.stream,
                                                                .place = row.place,
                                                                .start_ns = row.start_ns,
                                                                .end_ns = row.end_ns};
  }
  return true;
}

bool rank_wire_unpack(const void *data, uint64_t bytes, rank_side *out) {
  const char *from = data, *end = from + bytes;
  wire_head head;
  *out = (rank_side){.path = ""};
  if (!take(&from, end, &head, sizeof head) || head.compute_count > bytes || head.blocked_count > bytes ||
      head.exposed_count > bytes)
    return false;
  out->rank = head.rank;
  out->ranks = head.ranks;
  out->compute_ns = head.compute_ns;
  out->comm_ns = head.comm_ns;
  out->overlap_ns = head.overlap_ns;
  out->added_ns = head.added_ns;
  out->added_host_ns = head.added_host_ns;
  out->has_causes = head.has_causes != 0;
  out->is_other = head.is_other != 0;
  out->work = head.work;
  out->parts = head.parts;
  memcpy(out->idle_ns, head.idle_ns, sizeof out->idle_ns);
  memcpy(out->owners_ns, head.owners_ns, sizeof out->owners_ns);
  out->steps = calloc((size_t)head.step_count + 1, sizeof *out->steps);
  out->compute.rows = calloc(head.compute_count + 1, sizeof(interval));
  out->blocked.rows = calloc(head.blocked_count + 1, sizeof(interval));
  out->exposed.rows = calloc(head.exposed_count + 1, sizeof(interval));
  if (!out->steps || !out->compute.rows || !out->blocked.rows || !out->exposed.rows) return false;
  out->step_count = head.step_count;
  out->compute.count = head.compute_count;
  out->blocked.count = head.blocked_count;
  out->exposed.count = head.exposed_count;
  return take(&from, end, out->steps, head.step_count * sizeof(rank_step)) &&
         take(&from, end, out->compute.rows, head.compute_count * sizeof(interval)) &&
         take(&from, end, out->blocked.rows, head.blocked_count * sizeof(interval)) &&
         take(&from, end, out->exposed.rows, head.exposed_count * sizeof(interval)) &&
         take_collectives(from, end, &head, out);
}
