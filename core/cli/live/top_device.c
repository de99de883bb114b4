/* See top_device.h. */
#include "top_device.h"

#include "top_shares.h"

#include <pdhost/loss_names.h>
#include <pdhost/quantity.h>

#include <inttypes.h>
#include <string.h>

/* A second, and what a look at it reaches into on both sides. */
#define SPAN_NS INT64_C(1200000000)

bool top_device_open(top_device *self) {
  memset(self, 0, sizeof *self);
  return trace_clock_open(&self->clock, NULL) == PD_OK;
}

void top_device_close(top_device *self) {
  room_look_free(&self->look);
  trace_clock_close(&self->clock);
}

void top_device_look(top_device *self, int file) {
  record_live_process process = {.correlation = 0};
  memset(&self->live, 0, sizeof self->live);
  self->state = ROOM_LOOK_NONE;
  if (file < 0) return;
  /* The clock is read anew, so that its ticks are as true after an hour as at first. */
  self->state = trace_clock_window_begin(&self->clock) == PD_OK
                    ? room_look_take(&self->look, file, &self->clock, SPAN_NS)
                    : ROOM_LOOK_NO_MEMORY;
  for (uint64_t i = 0; self->state == ROOM_LOOK_OPEN && i < self->look.count; i++)
    record_live_add(&self->live, 0, &process, &self->look.rows[i], 1);
}

static void print_losses(const room_look *of, FILE *out) {
  const char *name = "Lost";
  for (int i = 0; i < PD_LOSS_COUNT; i++) {
    if (!of->losses[i]) continue;
    fprintf(out, "%-*s%" PRIu64 " %s\n", TOP_NAME_WIDTH, name, of->losses[i], pd_loss_text((pd_loss)i));
    name = "";
  }
  if (name[0]) fprintf(out, "%-*snothing\n", TOP_NAME_WIDTH, name);
}

void top_device_print(const top_device *self, int64_t now_ns, FILE *out) {
  const room_look *look = &self->look;
  const int64_t age_ns = now_ns - look->newest_ns;
  char text[32];
  switch (self->state) {
  case ROOM_LOOK_NONE: fprintf(out, "%-*snot to be seen\n", TOP_NAME_WIDTH, "The device"); return;
  case ROOM_LOOK_NO_MEMORY: fprintf(out, "%-*sno memory to look at it\n", TOP_NAME_WIDTH, "The device"); return;
  case ROOM_LOOK_CLOSED: fprintf(out, "%-*snot recorded now\n", TOP_NAME_WIDTH, "The device"); break;
  case ROOM_LOOK_OPEN:
    if (!look->count) {
      fprintf(out, "%-*snothing has come from it yet\n", TOP_NAME_WIDTH, "The device");
      break;
    }
    pd_text_time(text, sizeof text, age_ns > 0 ? (double)age_ns : 0);
    fprintf(out, "%-*sthe second up to its newest record, %s ago\n", TOP_NAME_WIDTH, "The device", text);
    const record_live_second second = record_live_before(&self->live, look->newest_ns);
    top_shares_print(&second, out);
    break;
  }
  print_losses(look, out);
}
