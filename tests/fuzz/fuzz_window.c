/* Files of the window sink, whatever their bytes: refused with a line, or the ledger of what they hold adds up. */
#include "fuzz.h"

#include "score/window_reader.h"

#include "ledger/ledger.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  window_file window;
  ledger owners;
  gains found;
  error_clear(&err);
  if (!window_file_take("w", data, bytes, &window, &err)) {
    check(err.count == 1);
    return 0;
  }
  trace_facts *facts = facts_open(&window.trace);
  check(facts != NULL && gains_find(facts, &found) && ledger_open(facts, &found, &owners));
  int64_t sum = 0;
  for (uint64_t i = 0; i < facts->step_count * LEDGER_OWNER_COUNT; i++) sum += owners.rows[i];
  check(sum == facts->steps_ns);
  ledger_free(&owners);
  gains_free(&found);
  facts_close(facts);
  window_file_close(&window);
  return 0;
}
