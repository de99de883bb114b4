/* Names on their way into the ring: a text is written once and has a number from then on. [the collector's thread] */
#ifndef CORE_INJECT_INJECT_NAMES_H
#define CORE_INJECT_INJECT_NAMES_H

#include "capture/ring_write.h"

typedef struct inject_name {
  const char *pointer; /* where CUPTI had it; it may hold another name by now */
  char *text;          /* what it held then */
  uint32_t id, reserved;
} inject_name;

typedef struct inject_names {
  inject_name *rows; /* open addressing by pointer; a power of two */
  uint64_t count, size;
  ring_lane lane;
} inject_names;

/* A number that no other text of this process has. [any thread] */
uint32_t inject_names_next(void);

void inject_names_open(inject_names *self, ring_writer *ring);
/* A text's number; 0: the ring had no room for it, another try may go better. */
uint32_t inject_names_add(inject_names *self, const char *text);
/* The same for a kernel's name, mangled or not, which CUPTI holds; it is written only the first time. */
uint32_t inject_names_kernel(inject_names *self, const char *pointer);

#endif
