/* The name of each loss, the same in every output. [any thread] */
#ifndef PDHOST_LOSS_NAMES_H
#define PDHOST_LOSS_NAMES_H

#include <pdhost/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "RANGES_FULL"; NULL where no loss has this number. */
static inline const char *pd_loss_name(pd_loss loss) {
  switch (loss) {
#define PD_X(name, value, text)                                                                                        \
  case value: return #name;
    PD_LOSS_MAP(PD_X)
#undef PD_X
  default: return NULL;
  }
}

/* "host ranges lost to a full buffer"; NULL where no loss has this number. */
static inline const char *pd_loss_text(pd_loss loss) {
  switch (loss) {
#define PD_X(name, value, text)                                                                                        \
  case value: return text;
    PD_LOSS_MAP(PD_X)
#undef PD_X
  default: return NULL;
  }
}

#ifdef __cplusplus
}
#endif

#endif
