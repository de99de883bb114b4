/* The bytes of a trace file: plain, gzip (also several members one after the other, and with bytes after the last that
 * belong to none), the first trace in a .zip archive, or standard input. A window of them is in memory at a time. */
#ifndef READERS_KINETO_KINETO_INPUT_H
#define READERS_KINETO_KINETO_INPUT_H

#include <pdhost/plugin.h>

/* Bytes after `end` that may be read, and are 0. */
enum { INPUT_PADDING = 64 };

typedef struct input {
  char *data;
  size_t begin, end, room; /* data[begin, end) is not used up yet */
  uint64_t offset;         /* of data[0], of the decompressed bytes */
  bool at_end;             /* nothing follows data[end] */
  /* Why the file ended early, in words, or NULL. */
  const char *broken;
  char member[128];      /* of an archive: the file that is read; "": it is no archive */
  char next_member[128]; /* the first trace behind that one; "": there is none */
  bool more_files;       /* of an archive: others follow the first */
  uint64_t surplus;      /* bytes after the last gzip member */
  uint64_t taken, bytes; /* read from the file, and its size; 0: not known */
  struct input_source *source;
} input;

/* PD_IO with errno set, or PD_NO_MEMORY. "-" is standard input. */
pd_status input_open(input *self, const char *path);
void input_close(input *self);

/* More bytes after `end`; data[begin] may move. False: there are none, or no memory (`broken` says so). */
bool input_more(input *self);

#endif
