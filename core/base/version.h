/* Version of this build. */
#ifndef CORE_BASE_VERSION_H
#define CORE_BASE_VERSION_H

/* "1.0.0" */
const char *version_text(void);
/* Git id of the sources of this build; "unknown" until version_set_source_id. */
const char *version_source_id(void);
/* `id` is kept by reference. Call it before anything else. */
void version_set_source_id(const char *id);
/* Prints version, git id, ABI, compiler and build type: `pdhost --version`. */
void version_print(void);

#endif
