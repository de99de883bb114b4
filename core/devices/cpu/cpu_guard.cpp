/* See cpu_guard.h. The one C++ file of the project, since only C++ can catch what C++ throws. */
#include "cpu_guard.h"

#include <cstdio>
#include <exception>
#include <new>

extern "C" cpu_caught cpu_guard(void (*run)(void *state), void *state, char *text, size_t room) {
  try {
    run(state);
    return CPU_CAUGHT_NOTHING;
  } catch (const std::bad_alloc &thrown) {
    (void)std::snprintf(text, room, "%s", thrown.what());
    return CPU_CAUGHT_NO_MEMORY;
  } catch (const std::exception &thrown) { (void)std::snprintf(text, room, "%s", thrown.what()); } catch (...) {
    /* A thread that is cancelled is unwound in this way, too; no thread of the device ever is. */
    (void)std::snprintf(text, room, "an exception of an unknown type");
  }
  return CPU_CAUGHT_OTHER;
}
