/* What the making of a trace finds: losses, and oddities for the listener. See intake_rows.h. */
#include "intake_rows.h"

#include <stdio.h>

void intake_tell(const intake *self, pd_odd how, const char *format, va_list args) {
  char text[1024];
  vsnprintf(text, sizeof text, format, args);
  if (self->listener.odd) self->listener.odd(self->listener.user, how, text);
}

void intake_build_odd(const intake_build *self, uint64_t count, pd_odd how, const char *format, ...) {
  if (!count) return;
  va_list args;
  va_start(args, format);
  intake_tell(self->from, how, format, args);
  va_end(args);
}

void intake_build_lost(intake_build *self, pd_loss loss, int64_t at_ns) {
  if (!self->losses[loss]++) self->loss_start[loss] = self->loss_end[loss] = at_ns;
  if (at_ns < self->loss_start[loss]) self->loss_start[loss] = at_ns;
  if (at_ns > self->loss_end[loss]) self->loss_end[loss] = at_ns;
}
