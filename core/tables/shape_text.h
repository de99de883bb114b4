/* Shapes as torch prints them: [[64, 3, 224, 224], [64, 3, 3, 3], []]. In the arena; NULL on no memory. */
#ifndef CORE_TABLES_SHAPE_TEXT_H
#define CORE_TABLES_SHAPE_TEXT_H

#include "base/arena.h"

#include <pdhost/trace.h>

const char *shapes_text(const pd_trace *trace, const pd_range *range, arena *memory);

#endif
