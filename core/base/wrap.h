/* Help on a terminal: texts wrapped at its width, at 80 columns where standard output is none. [loop thread] */
#ifndef CORE_BASE_WRAP_H
#define CORE_BASE_WRAP_H

/* Prints `text`, and spaces up to `width` columns. Returns how many columns that took. */
int wrap_pad(const char *text, int width);
/* Prints `text` and a newline from column `indent` on. `used` columns of the line are printed already; where that is
 * more than `indent`, `text` begins on a new line. */
void wrap_print(const char *text, int used, int indent);

#endif
