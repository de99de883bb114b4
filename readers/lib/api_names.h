/* What a call of the CUDA or HIP runtime or driver does, by its name; and what a copy moves, by Kineto's words for it.
 */
#ifndef READERS_LIB_API_NAMES_H
#define READERS_LIB_API_NAMES_H

#include <pdhost/record.h>

/* `name` needs no NUL. PD_API_OTHER for what launches nothing, waits for nothing and allocates nothing. */
pd_api_class api_class_of_name(const char *name, size_t length);

/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)": both ends; PD_MEMORY_UNKNOWN where the name does not say. */
void api_copy_ends(const char *name, size_t length, pd_memory_kind *from, pd_memory_kind *to);

#endif
