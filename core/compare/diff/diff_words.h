/* A difference in words, for the terminal, the page and JUnit. [main thread] */
#ifndef CORE_COMPARE_DIFF_WORDS_H
#define CORE_COMPARE_DIFF_WORDS_H

#include "diff_rows.h"

enum { DIFF_WORDS_BYTES = 2048 }; /* of a sentence */
/* What is compared: "step"; of files without a loop "recording". */
const char *diff_words_subject(const difference *self);
/* "Where the step goes" */
const char *diff_words_goes(const difference *self);
/* What changed and what explains it, in one sentence, without the verdict's word; what the reader has to know of it. */
void diff_words_sentence(const difference *self, char *text, size_t room);
void diff_words_notes(const difference *self, void (*tell)(void *user, const char *text), void *user);

/* Changes by less than this part of A's mean are not printed, and the sentence names none. */
#define DIFF_WORDS_LEAST 0.005
bool diff_words_is_worth(const difference *self, const resample_change *of);

/* Three significant digits; a change with its sign. */
const char *diff_words_ms(double ns, char text[32]);
const char *diff_words_ms_change(double ns, char text[32]);

#endif
