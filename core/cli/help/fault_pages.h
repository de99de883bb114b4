/* What an error code such as PDH-0301 means: a page for each fault of base/faults.h. [any thread] */
#ifndef CORE_CLI_HELP_FAULT_PAGES_H
#define CORE_CLI_HELP_FAULT_PAGES_H

#include "base/suggest.h"

#include <stdbool.h>

/* Prints the page of "PDH-0301", "pdh-301" or "PDH0301" on standard output. False: there is no such code. */
bool fault_page_print(const char *word);
/* Offers every code. */
void fault_page_offer(suggest *near);

#endif
