/* Fuzzing the nsys reader; see fuzz_reader.h. */
#include "fuzz.h"

#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) { return fuzz_reader(data, bytes, NULL); }
