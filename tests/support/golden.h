/* Comparison with a file in the tree. PD_UPDATE_GOLDEN=1 writes it anew, to be read in review. */
#ifndef TESTS_SUPPORT_GOLDEN_H
#define TESTS_SUPPORT_GOLDEN_H

#include <stdbool.h>
#include <stdint.h>

/* Whether `path` holds exactly `data`; the first difference goes to standard error. */
bool golden_equal(const char *path, const char *data, uint64_t bytes);

#endif
