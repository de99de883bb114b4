/* See threads.h. */
#include "threads.h"

_Thread_local __attribute__((tls_model("initial-exec"))) thread_cache thread_current;
