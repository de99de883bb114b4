/* Names of code addresses, from the symbol tables of the loaded modules' files and their debug information. [loop
 * thread] */
#ifndef CORE_TRACE_STACKS_SYMBOLS_H
#define CORE_TRACE_STACKS_SYMBOLS_H

#include "trace/strings.h"

typedef struct symbols symbols;

pd_status symbols_open(symbols **out);
void symbols_close(symbols *self);

/* Interns "function (file:line)" for a return address, the line being that of the call; "function (module)" where no
 * debug information knows the line, static functions included; "module+0x12" where the module has no symbol for it.
 * PD_NO_MEMORY leaves *id alone. */
pd_status symbols_intern(symbols *self, string_table *strings, const void *address, uint32_t *id);

#endif
