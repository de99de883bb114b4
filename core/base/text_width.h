/* How wide a text is: characters, not bytes. [any thread] */
#ifndef CORE_BASE_TEXT_WIDTH_H
#define CORE_BASE_TEXT_WIDTH_H

#include <stddef.h>

int text_width(const char *text);
/* Of its first `bytes`. */
int text_width_of(const char *text, size_t bytes);

#endif
