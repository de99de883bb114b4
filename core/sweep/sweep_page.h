/* What a sweep found as a page. [loop thread] */
#ifndef CORE_SWEEP_SWEEP_PAGE_H
#define CORE_SWEEP_SWEEP_PAGE_H

#include "sweep_found.h"

#include <stdio.h>

/* At least one cell was measured. False on no memory, or where it was not written whole. */
bool sweep_page_write(const sweep_found *self, FILE *out);

#endif
