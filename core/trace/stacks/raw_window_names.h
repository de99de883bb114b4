/* Names that only the recorded process itself can find out, taken before its window is merged or saved. [loop thread]
 */
#ifndef CORE_TRACE_STACKS_RAW_WINDOW_NAMES_H
#define CORE_TRACE_STACKS_RAW_WINDOW_NAMES_H

#include "trace/raw_window.h"

/* The system's names of threads that made calls and recorded nothing else. The caller frees *out. */
pd_status raw_window_name_threads(const window_input *input, capture_thread **out, uint64_t *count);

/* Names of all addresses in the stacks, sorted by address. The caller frees *out, which is not NULL. */
pd_status raw_window_name_frames(const window_input *input, frame_name **out, uint64_t *count);

#endif
