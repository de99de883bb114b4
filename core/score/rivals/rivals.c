/* See rivals.h. */
#include "rivals.h"

const rival *const rival_all[RIVAL_COUNT] = {&rival_tb_plugin, &rival_xprof, &rival_traceml, &rival_nsys,
                                             &rival_paddle};
