/* What the host did while the device was idle, in the words of the verdict's evidence. */
#ifndef CORE_TABLES_IDLE_WORDS_H
#define CORE_TABLES_IDLE_WORDS_H

#include "tables.h"

/* "; meanwhile the launching thread was ..."; "": nothing was seen of it, or the device is hardly idle. The arena's. */
const char *idle_words(const table_work *work);
/* The same of the program's children; "": there are none, or what they used is not known. */
const char *idle_words_children(const table_work *work);

#endif
