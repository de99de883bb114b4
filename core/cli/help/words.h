/* Words of pdhost's files and of what it prints, besides metrics and keys of a configuration. [main thread] */
#ifndef CORE_CLI_HELP_WORDS_H
#define CORE_CLI_HELP_WORDS_H

#include "base/suggest.h"

#include <stdbool.h>
#include <stdint.h>

/* Prints what `word` means in each place that has it, any case; after `before` other explanations. How many. */
uint32_t words_print(const char *word, uint32_t before);
/* A word that is made of another: "ledger/compute_us" and "compute" are ledger_compute, "summary/coverage" is coverage.
 * The name of a metric or a word, or `word` itself; `room` bytes of `text` hold it. */
const char *words_stem(const char *word, char *text, uint32_t room);
void words_offer(suggest *near);

/* "data.batch_size", "batch_size", "sink.csv.dir", "device.threads": prints the page of a key of a configuration. */
bool words_print_key(const char *word);

#endif
