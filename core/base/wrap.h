/* Help on a terminal: texts wrapped at its width, at 80 columns where standard output is none. [loop thread] */
#ifndef CORE_BASE_WRAP_H
#define CORE_BASE_WRAP_H

/* Prints `text`, and blanks up to `width` columns; the columns that took. */
int wrap_pad(const char *text, int width);
/* Prints `text` and a newline, of which `used` columns are printed already, from column `indent` on: in a line of its
 * own where more than that is used. */
void wrap_print(const char *text, int used, int indent);

#endif
