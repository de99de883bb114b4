/* A key whose values are drawn: "data.batch_size=loguniform(1,512)". [any thread] */
#ifndef CORE_SWEEP_DISTRIBUTION_H
#define CORE_SWEEP_DISTRIBUTION_H

#include "base/error.h"

typedef enum distribution_kind { DISTRIBUTION_UNIFORM, DISTRIBUTION_LOGUNIFORM, DISTRIBUTION_CHOICE } distribution_kind;

typedef struct distribution {
  const char *section, *key;
  const char *text; /* "loguniform(1,512)" */
  distribution_kind kind;
  bool whole;       /* uniform, loguniform: whole numbers; at first, where bounds and step are such */
  double low, high; /* both can be drawn */
  double step;      /* values are low + n * step; 0: none */
  const char *low_text, *high_text;
  const char **values; /* choice: each once */
  double *weights;     /* above 0; in sum 1 */
  uint32_t count;
  uint32_t reserved;
  char *memory; /* of the texts */
} distribution;

/* Enough for a number that is drawn. */
enum { DISTRIBUTION_NUMBER_BYTES = 32 };

/* uniform(LOW,HIGH), loguniform(LOW,HIGH), either with ",step=S"; choice(V,V) or choice(V:WEIGHT,V:WEIGHT), where \
 * takes a comma, a colon or itself for what it is. Blanks around a part are none of it. False: a mistake, added to
 * `err`. */
bool distribution_parse(const char *text, distribution *out, error *err);
void distribution_free(distribution *self);

/* Whether only whole numbers are drawn for the key. False: bounds or step do not fit that, added to `err`. */
bool distribution_set_whole(distribution *self, bool whole, error *err);

/* Whether all its values are numbers. */
bool distribution_is_numeric(const distribution *self);

/* A value: one of `values`, a bound, or a number written to `number`. `state` is that of random_bits. */
const char *distribution_draw(const distribution *self, uint64_t *state, char number[DISTRIBUTION_NUMBER_BYTES]);

/* A whole text as a number: digits with _ between them, a point, an exponent. False: it is none, or not finite. */
bool distribution_number(const char *text, double *value);

#endif
