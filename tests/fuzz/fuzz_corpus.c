/* Corpus files, whatever their bytes: refused with a line, or every run has a name, a scenario and a baseline. */
#include "fuzz.h"

#include "score/corpus.h"

#include <string.h>

static void check_cell(const corpus *all, const corpus_cell *cell) {
  char name[CORPUS_TEXT];
  check(cell->group < all->group_count && all->groups[cell->group].scenario[0]);
  check(cell->dial == CORPUS_GROUPS ||
        (cell->dial < all->group_count && cell->value < all->groups[cell->dial].value_count));
  check(cell->seed < all->seeds && cell->size < (all->size_count ? all->size_count : 1));
  check(cell->baseline < all->baseline_classes);
  check(!cell->is_baseline || cell->group == all->baseline);
  check(!cell->held_out || all->hold_out);
  corpus_cell_name(all, cell, name, sizeof name);
  check(name[0] && !strchr(name, '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  error_clear(&err);
  corpus *all = corpus_take("c.ini", bytes ? (const char *)data : "", bytes, &err);
  check((all == NULL) == (err.count != 0));
  if (!all) return 0;
  check(all->cell_count && all->cell_count <= CORPUS_CELLS && all->baseline < all->group_count);
  check(all->min_effect >= 0 && all->min_effect < 1);
  for (uint32_t i = 0; i < all->cell_count; i++) check_cell(all, &all->cells[i]);
  corpus_free(all);
  return 0;
}
