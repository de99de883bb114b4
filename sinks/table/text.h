/* A text that grows. No memory sticks: later additions are dropped and `failed` tells. */
#ifndef SINKS_TABLE_TEXT_H
#define SINKS_TABLE_TEXT_H

#include <pdhost/plugin.h>

typedef struct text {
  char *data; /* terminated once something was added */
  size_t length, room;
  bool failed;
  bool colour; /* styles are written */
} text;

void text_add_bytes(text *self, const char *data, size_t length);
void text_add(text *self, const char *string);
void text_format(text *self, const char *format, ...) PD_PRINTF(2, 3);
/* `string` in exactly `columns`, cut or filled up; control characters as blanks. */
void text_add_filled(text *self, const char *string, size_t columns);
/* The same, cut if it is longer than `columns` less 2 and not filled up. */
void text_add_cut(text *self, const char *string, size_t columns);
void text_repeat(text *self, char c, size_t count);
/* `string` in bold or faint where `colour` is on. */
void text_bold(text *self, const char *string);
/* Words of `string`, a figure with its unit as one, in lines of at most `columns`, each after `indent` blanks. */
void text_wrap(text *self, const char *string, size_t columns, size_t indent);
/* `value` at the right of `columns`, a blank before it, with the decimals that its size and the room allow. */
void text_figure(text *self, double value, size_t columns);
void text_free(text *self);

#endif
