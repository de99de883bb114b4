/* The runs of a corpus, made from its sections. */
#ifndef CORE_SCORE_CORPUS_CELLS_H
#define CORE_SCORE_CORPUS_CELLS_H

#include "corpus.h"

/* Whether two values of a dial are one, and so make one run: 3000 and 3e3 are. */
bool corpus_is_same_value(const char *a, const char *b);

/* The corpus has sound sections. False: there are more than CORPUS_CELLS. */
bool corpus_make_cells(corpus *self);

#endif
