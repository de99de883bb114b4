/* Version of this build. */
#ifndef CORE_HOST_VERSION_H
#define CORE_HOST_VERSION_H

/* "1.0.0" */
const char *version_text(void);
/* Prints version, ABI, compiler and build type: `pdhost --version`. */
void version_print(void);

#endif
