/* Version of this build; PDHOST_VERSION and PDHOST_BUILD_TYPE come from CMake. */
#include "version.h"

#include <pdhost/plugin.h>

#include <stdio.h>

const char *version_text(void) { return PDHOST_VERSION; }

static const char *source_id = "unknown";

const char *version_source_id(void) { return source_id; }
void version_set_source_id(const char *id) { source_id = id; }

void version_print(void) {
  printf("pdhost %s\nsources %s\nplugin ABI %d.%d\nbuilt by %s %s, %s\n", PDHOST_VERSION, source_id, PD_ABI_MAJOR,
         PD_ABI_MINOR,
#if defined(__clang__)
         "clang", __clang_version__,
#else
         "gcc", __VERSION__,
#endif
         PDHOST_BUILD_TYPE);
}
