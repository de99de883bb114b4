/* Lists for messages: "one, another, a third". Any thread. */
#ifndef DEVICES_CUDA_COMMA_LIST_H
#define DEVICES_CUDA_COMMA_LIST_H

#include <pdhost/plugin.h>

/* Appends one to `list`, which begins as "" and is cut where it is full. */
PD_PRINTF(3, 4) void comma_list_add(char *list, size_t bytes, const char *format, ...);

#endif
