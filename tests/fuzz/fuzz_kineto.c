/* Fuzzing the kineto reader; see fuzz_reader.h. */
#include "fuzz.h"

#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  const bool options[] = {true, bytes % 2 == 1}; /* python, no_python */
  return fuzz_reader(data, bytes, options);
}
