/* Fuzzing the kineto reader; see fuzz_reader.h. */
#include "fuzz.h"

#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  const char *const options[] = {bytes % 2 ? "none" : "modules"}; /* reader.kineto.python */
  return fuzz_reader(data, bytes, options);
}
