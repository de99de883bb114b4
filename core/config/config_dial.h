/* What the scenario's dial was asked for: the keys inject_us and inject_share of a scenario that names a `dial`. */
#ifndef CORE_CONFIG_CONFIG_DIAL_H
#define CORE_CONFIG_CONFIG_DIAL_H

#include "config.h"

typedef struct config_dial {
  double us, share;         /* that the step is to take for what is injected; one of them, the other is 0 */
  double none, start, most; /* of the key: nothing is injected, as it is set, its upper bound */
  const char *key;          /* the scenario's */
  bool is_time;             /* the key is the time itself, in microseconds */
  bool is_count;            /* between two counts, steps have either */
} config_dial;

/* False: it was not asked for anything, or its key is set to inject nothing. */
bool config_dial_of(const config *self, config_dial *out);
/* Both keys at once are a mistake. */
void config_dial_check(const config *self, error *err);

#endif
