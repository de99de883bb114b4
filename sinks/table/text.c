/* See text.h. */
#include "text.h"

#include <pdhost/text_columns.h>
#include <pdhost/array.h>
#include <pdhost/quantity.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(text *self, size_t more) {
  if (self->failed) return false; /* for good: what is there is no more than its beginning */
  self->failed = more >= SIZE_MAX - self->length || !PD_ARRAY_FIT(self->data, self->room, self->length + more + 1);
  return !self->failed;
}

void text_add_bytes(text *self, const char *data, size_t length) {
  if (!reserve(self, length)) return;
  memcpy(self->data + self->length, data, length);
  self->length += length;
  self->data[self->length] = 0;
}

void text_add(text *self, const char *string) { text_add_bytes(self, string, strlen(string)); }

void text_format(text *self, const char *format, ...) {
  va_list args;
  int length;
  va_start(args, format);
  length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0 || !reserve(self, (size_t)length)) {
    self->failed = true;
    return;
  }
  va_start(args, format);
  vsnprintf(self->data + self->length, (size_t)length + 1, format, args);
  va_end(args);
  self->length += (size_t)length;
}

void text_repeat(text *self, char c, size_t count) {
  if (!reserve(self, count)) return;
  memset(self->data + self->length, c, count);
  self->length += count;
  self->data[self->length] = 0;
}

static void styled(text *self, const char *on, const char *string) {
  if (self->colour) text_add(self, on);
  text_add(self, string);
  if (self->colour) text_add(self, "\033[0m");
}

void text_bold(text *self, const char *string) { styled(self, "\033[1m", string); }
/* Bytes of the word at `string`; a figure and the unit after it are one. */
static size_t word_bytes(const char *string) {
  static const char *const units[] = {"ns", "us", "ms", "s", "%", "B", "KiB", "MiB", "GiB", "TiB"};
  const size_t length = strcspn(string, " \n");
  if (!length || string[length] != ' ' || string[length - 1] < '0' || string[length - 1] > '9') return length;
  const char *next = string + length + 1;
  const size_t letters = strcspn(next, " \n,;:.()");
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strlen(units[i]) == letters && !strncmp(units[i], next, letters)) return length + 1 + strcspn(next, " \n");
  return length;
}

void text_wrap(text *self, const char *string, size_t columns, size_t indent) {
  size_t used = 0;
  while (*string) {
    size_t length = word_bytes(string), width = pd_text_columns(string, length);
    if (length && used && used + 1 + width > columns) {
      text_add(self, "\n");
      used = 0;
    }
    if (length) {
      if (!used) {
        text_repeat(self, ' ', indent);
        used = indent;
      } else {
        text_add(self, " ");
        used++;
      }
      text_add_bytes(self, string, length);
      used += width;
    }
    string += length;
    string += *string != 0;
  }
  if (used) text_add(self, "\n");
}

void text_free(text *self) {
  free(self->data);
  *self = (text){0};
}

void text_figure(text *self, double value, size_t columns) {
  char figure[48];
  const int room = (int)columns - 1; /* a blank keeps it from the figure before */
  int decimals = pd_decimals(value), used = snprintf(figure, sizeof figure, "%.*f", decimals, value);
  for (; used > room && decimals > 0; decimals--) used = snprintf(figure, sizeof figure, "%.*f", decimals - 1, value);
  text_format(self, " %*s", room, figure);
}

void text_add_filled(text *self, const char *string, size_t columns) {
  const size_t width = pd_text_columns(string, strlen(string));
  const size_t bytes = width > columns ? pd_text_fit(string, strlen(string), columns - 3) : strlen(string);
  for (size_t i = 0; i < bytes; i++) {
    const bool control = (unsigned char)string[i] < ' ' || string[i] == 0x7F;
    text_add_bytes(self, control ? " " : &string[i], 1);
  }
  const size_t used = pd_text_columns(string, bytes);
  if (width > columns) text_add(self, "...");
  text_repeat(self, ' ', columns - used - (width > columns ? 3 : 0));
}

void text_add_cut(text *self, const char *string, size_t columns) {
  const size_t width = pd_text_columns(string, strlen(string));
  text_add_filled(self, string, width < columns - 2 ? width : columns - 2);
}
