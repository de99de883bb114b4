/* The processor time of this process's threads, by their names. [the thread that looks] */
#ifndef CORE_RUN_SERIES_THREAD_USE_H
#define CORE_RUN_SERIES_THREAD_USE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct thread_use thread_use;

/* NULL: no memory. */
thread_use *thread_use_open(void);
void thread_use_close(thread_use *self);

/* The next look is the first one again. */
void thread_use_forget(thread_use *self);

/* How many cores all threads of one name kept busy since the look before. The first thread is "main"; another thread
 * that bears its name is "without a name". */
typedef void thread_use_emit(void *user, const char *name, double cores);
/* One call for each name that was there at the look before, too; none at the first look. A thread that ended between
 * the two does not count. */
void thread_use_look(thread_use *self, thread_use_emit *emit, void *user);

#endif
