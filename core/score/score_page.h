/* The score of a corpus as a page. [main thread] */
#ifndef CORE_SCORE_SCORE_PAGE_H
#define CORE_SCORE_SCORE_PAGE_H

#include "judge.h"

#include <stdio.h>

/* False: it was not written whole. */
bool score_page_write(const score *self, FILE *out);

#endif
