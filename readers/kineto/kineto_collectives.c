/* Kernels of collectives, which are named once the whole file was read. See kineto.h. */
#include "kineto.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>

void kineto_collectives_hold(kineto_reader *self, const pd_activity *work, const kineto_name *name,
                             const kineto_args *args, uint64_t at) {
  kineto_collectives *held = &self->collectives;
  const uint32_t own = (uint32_t)(name - self->names.rows); /* names move when one is added */
  const kineto_name *group = kineto_name_of(self, args->group_ranks);
  if (!group || !PD_ARRAY_FIT(held->all, held->room, held->count + 1)) {
    self->no_memory = true;
    return;
  }
  held->all[held->count++] = (kineto_collective){.work = *work,
                                                 .at = at,
                                                 .ranks = KINETO_GET(args, group_size, 0),
                                                 .name = own,
                                                 .group = (uint32_t)(group - self->names.rows)};
}

/* The name of a collective that only some of the ranks take part in says which, so that those of two process groups are
 * never taken for one: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...) on 2 of 4 ranks [0, 1]". */
static uint32_t name_of(kineto_reader *self, const kineto_collective *at) {
  char text[2048];
  const kineto_name *name = &self->names.rows[at->name], *group = &self->names.rows[at->group];
  const uint32_t id = name->id;
  if (at->ranks >= self->source.ranks) return id;
  const int length = snprintf(text, sizeof text, "%.*s on %lld of %u ranks %.*s", (int)name->length, name->text,
                              (long long)at->ranks, self->source.ranks, (int)group->length, group->text);
  if (length < 0 || (size_t)length >= sizeof text) return id;
  const kineto_name *whole = kineto_name_of(self, (scan_text){text, (size_t)length});
  return whole ? whole->id : id;
}

void kineto_collectives_give(kineto_reader *self) {
  for (uint64_t i = 0; i < self->collectives.count; i++) {
    kineto_collective *at = &self->collectives.all[i];
    at->work.name = name_of(self, at);
    self->intake->place(self->intake, at->at);
    self->intake->activity(self->intake, &at->work);
  }
  kineto_collectives_free(&self->collectives);
}

void kineto_collectives_free(kineto_collectives *self) {
  free(self->all);
  *self = (kineto_collectives){.all = NULL};
}
