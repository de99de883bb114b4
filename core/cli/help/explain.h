/* `pdhost explain WORD`: what a word that pdhost prints or writes means. [main thread] */
#ifndef CORE_CLI_HELP_EXPLAIN_H
#define CORE_CLI_HELP_EXPLAIN_H

#include "base/error.h"
#include "base/suggest.h"

/* Prints what is known of `word` on standard output. An unknown word is CODE_USAGE, with the nearest one. */
pd_status explain_print(const char *word, error *err);

/* The causes of the verdict, or every metric, a line each. */
void explain_list_causes(void);
void explain_list_metrics(void);
/* The same as an array of JSON objects; NULL on no memory. */
struct json_t *explain_json_causes(void);
struct json_t *explain_json_metrics(void);
/* Offers every word that is known. */
void explain_offer(suggest *near);

#endif
