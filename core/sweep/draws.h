/* Draws of some keys' values, after torch.utils.benchmark.Fuzzer: draw i depends on the seed, on i and on the draws
 * before it, so that a larger number begins with the same draws. No two are alike. [any thread] */
#ifndef CORE_SWEEP_DRAWS_H
#define CORE_SWEEP_DRAWS_H

#include "distribution.h"
#include "requirement.h"

enum { DRAWS_KEYS = 6, DRAWS_REQUIREMENTS = 6 };

typedef struct draws {
  distribution keys[DRAWS_KEYS];
  requirement needs[DRAWS_REQUIREMENTS];
  uint32_t key_count, need_count;
  uint32_t count; /* of draws; 0: none were made */
  uint32_t reserved;
  uint64_t seed;
  char **values; /* draw by draw, a text per key */
} draws;

/* Adds a key ("data.batch_size=loguniform(1,512)"). A mistake is added to `err`. */
bool draws_add(draws *self, const char *text, error *err);
/* Adds what each draw has to meet. Its keys may be added later: draws_make checks them. */
bool draws_require(draws *self, const char *text, error *err);
void draws_free(draws *self);

/* How many draws show every end and every choice of the keys, and makes those: to see whether the keys take them. */
uint32_t draws_ends(const draws *self);
bool draws_make_ends(draws *self, error *err);
/* Makes `count` draws in place of those there are. False: there are fewer, or no memory; see `err`. */
bool draws_make(draws *self, uint32_t count, uint64_t seed, error *err);

const char *draws_value(const draws *self, uint32_t draw, uint32_t key);

#endif
