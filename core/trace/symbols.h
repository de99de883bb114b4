/* Names of code addresses, from the symbol tables of the loaded modules' files. [loop thread] */
#ifndef CORE_TRACE_SYMBOLS_H
#define CORE_TRACE_SYMBOLS_H

#include "strings.h"

typedef struct symbols symbols;

pd_status symbols_open(symbols **out);
void symbols_close(symbols *self);

/* Interns "function (module)" for a return address, static functions included; "module+0x12" where the module has no
 * symbol for it. PD_NO_MEMORY leaves *id alone. */
pd_status symbols_intern(symbols *self, string_table *strings, const void *address, uint32_t *id);

#endif
