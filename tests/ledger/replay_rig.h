/* Random numbers of the tests of the replay. */
#ifndef TESTS_LEDGER_REPLAY_RIG_H
#define TESTS_LEDGER_REPLAY_RIG_H

#include "ledger/program.h"
#include "base/random_bits.h"
#include "fake_trace.h"
#include "pd_test.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state;
static inline int64_t random_to(int64_t most) { return (int64_t)(random_bits(&state) % (uint64_t)(most + 1)); }
static inline bool chance(int64_t percent) { return random_to(99) < percent; }

#endif
