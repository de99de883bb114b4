/* The CUPTI of this process: the one that its program has loaded, before any other. Two of them in one process would
 * each know a part of what happens. */
#ifndef CORE_INJECT_INJECT_CUPTI_H
#define CORE_INJECT_INJECT_CUPTI_H

#include "inject_board.h"

#include "devices/cuda/cupti/cupti_api.h"

/* Fills the table, and names the file in the slot. False: the slot says why. */
bool inject_cupti_find(inject_board *board, cupti_api *api);

#endif
