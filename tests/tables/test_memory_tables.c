/* Memory tables on toy allocations. */
#include "analysis_rig.h"

static void allocations(analysis_rig *rig) {
  fake_step(rig->fake, 0, 0, 1000);
  fake_step(rig->fake, 1, 1000, 2000);
  fake_range(rig->fake, PD_RANGE_OP, "a", 0, 0, 500);
  fake_range(rig->fake, PD_RANGE_OP, "b", 0, 1000, 1500);
  /* 1000 bytes were there before the window. The peak is the event at 1200: 1000 + 300 + 700. */
  fake_memory(rig->fake, 0, 100, 0x100, 300, 1300, 4096)->duration_ns = 5;
  fake_memory(rig->fake, 0, 200, 0x200, 200, 1500, 4096)->duration_ns = 6;
  fake_memory(rig->fake, 0, 300, 0x200, -200, 1300, 4096)->duration_ns = 7;
  fake_memory(rig->fake, 0, 1200, 0x200, 700, 2000, 8192)->duration_ns = 8;
  fake_memory(rig->fake, 0, 1700, 0x100, -300, 1700, 8192)->duration_ns = 9;
  fake_memory(rig->fake, 0, 1800, 0x999, -50, 1650, 8192)->duration_ns = 0; /* allocated before the window */
}

PD_TEST(memory_tables, who_allocates) {
  analysis_rig rig;
  rig_begin(&rig);
  allocations(&rig);
  rig_finish(&rig);
  RIG_INT(&rig, "memory", "a", "allocation_count", 2);
  RIG_INT(&rig, "memory", "a", "free_count", 1);
  RIG_INT(&rig, "memory", "a", "allocation_size", 500);
  RIG_INT(&rig, "memory", "a", "free_size", 200);
  RIG_INT(&rig, "memory", "a", "increased_size", 300);
  RIG_INT(&rig, "memory", "b", "allocation_size", 700);
  RIG_INT(&rig, "memory", "(outside all ranges)", "free_count", 2);
  RIG_INT(&rig, "memory", "(outside all ranges)", "increased_size", -350);
  rig_end(&rig);
}

PD_TEST(memory_tables, who_holds_the_peak) {
  analysis_rig rig;
  rig_begin(&rig);
  allocations(&rig);
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "memory_peak");
  cr_assert_eq(table->rows.count, 3);
  cr_assert_str_eq(rig_row_at(table, 0)->cells[0].v.text, "b");
  RIG_INT(&rig, "memory_peak", "b", "held_bytes", 700);
  RIG_INT(&rig, "memory_peak", "b", "held_blocks", 1);
  RIG_DOUBLE(&rig, "memory_peak", "b", "held_percent", 35.0);
  RIG_INT(&rig, "memory_peak", "a", "held_bytes", 300);
  RIG_INT(&rig, "memory_peak", "(allocated before the window)", "held_bytes", 1000);
  RIG_DOUBLE(&rig, "memory_peak", "(allocated before the window)", "held_percent", 50.0);
  rig_end(&rig);
}

PD_TEST(memory_tables, churn) {
  analysis_rig rig;
  rig_begin(&rig);
  allocations(&rig);
  rig_finish(&rig);
  RIG_DOUBLE(&rig, "memory_churn", "GPU", "allocations_per_step", 1.5);
  RIG_INT(&rig, "memory_churn", "GPU", "bytes_per_step", 600);
  RIG_INT(&rig, "memory_churn", "GPU", "median_lifetime", (100 + 1600) / 2);
  RIG_INT(&rig, "memory_churn", "GPU", "allocator_time", 5 + 6 + 7 + 8 + 9);
  RIG_INT(&rig, "memory_churn", "GPU", "peak_allocated", 2000);
  RIG_INT(&rig, "memory_churn", "GPU", "peak_reserved", 8192);
  RIG_INT(&rig, "memory_churn", "GPU", "fragmentation", 8192 - 2000);
  rig_end(&rig);
}

PD_TEST(memory_tables, a_window_that_starts_with_frees_peaks_before_them) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 500);
  fake_memory(rig.fake, 0, 100, 0x100, -300, 700, 700);
  fake_memory(rig.fake, 0, 200, 0x200, 200, 900, 900);
  rig_finish(&rig);
  RIG_INT(&rig, "memory_churn", "GPU", "peak_allocated", 1000);
  RIG_INT(&rig, "memory_churn", "GPU", "peak_reserved", 1000);
  RIG_MISSING(&rig, "memory_churn", "GPU", "fragmentation");
  cr_assert_eq(rig_table(&rig, "memory_peak")->rows.count, 1, "nothing of the window was there");
  RIG_INT(&rig, "memory_peak", "(allocated before the window)", "held_bytes", 1000);
  RIG_DOUBLE(&rig, "memory_peak", "(allocated before the window)", "held_percent", 100.0);
  rig_end(&rig);
}

PD_TEST(memory_tables, pinned_memory_has_rows_of_its_own) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 500);
  fake_memory(rig.fake, 0, 100, 0x100, 300, 300, 300);
  fake_memory(rig.fake, 0, 200, 0x100, 64, 64, 64)->event.device_type = 0; /* the same address, another memory */
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "memory");
  cr_assert_eq(table->rows.count, 2);
  cr_assert_eq(rig_int(table, rig_row_n(table, "a", 0), "allocation_size"), 300);
  cr_assert_str_eq(rig_text(table, rig_row_n(table, "a", 0), "memory_type"), "GPU");
  cr_assert_eq(rig_int(table, rig_row_n(table, "a", 1), "allocation_size"), 64);
  cr_assert_str_eq(rig_text(table, rig_row_n(table, "a", 1), "memory_type"), "Pinned host");
  RIG_INT(&rig, "memory_churn", "Pinned host", "bytes_per_step", 64);
  rig_end(&rig);
}

PD_TEST(memory_tables, blocks_have_their_allocation_and_release) {
  analysis_rig rig;
  rig_begin(&rig);
  allocations(&rig);
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "memory_blocks");
  static const struct {
    const char *name;
    int64_t size, made, freed;
  } want[] = {
      {"b", 700, 1200, -1}, {"a", 300, 100, 1700}, {"a", 200, 200, 300}, {"(outside all ranges)", 50, -1, 1800}};
  cr_assert_eq(table->rows.count, 4);
  for (uint64_t i = 0; i < 4; i++) {
    const pd_table_row *row = rig_row_at(table, i);
    cr_assert_str_eq(rig_text(table, row, "name"), want[i].name);
    cr_assert_eq(rig_int(table, row, "block_size"), want[i].size);
    if (want[i].made >= 0) cr_assert_eq(rig_int(table, row, "allocated_at"), want[i].made);
    if (want[i].freed >= 0) cr_assert_eq(rig_int(table, row, "released_at"), want[i].freed);
    if (want[i].made >= 0 && want[i].freed >= 0)
      cr_assert_eq(rig_int(table, row, "lifetime"), want[i].freed - want[i].made);
  }
  rig_end(&rig);
}

PD_TEST(memory_tables, no_event_no_row) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 1000);
  rig_finish(&rig);
  cr_assert_eq(rig_table(&rig, "memory")->rows.count, 0);
  cr_assert_eq(rig_table(&rig, "memory_peak")->rows.count, 0);
  cr_assert_eq(rig_table(&rig, "memory_churn")->rows.count, 0);
  rig_end(&rig);
}

PD_TEST(memory_tables, a_block_is_of_the_memory_that_its_own_event_names) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 1000);
  fake_range(rig.fake, PD_RANGE_OP, "a", 0, 0, 500);
  pd_memory_row *pinned = fake_memory(rig.fake, 0, 100, 0x100, 64, 64, 64);
  pinned->event.device_type = 0;
  pinned->event.allocator = PD_ALLOCATOR_CACHED;
  pd_memory_row *plain = fake_memory(rig.fake, 0, 200, 0x200, 300, 364, 364);
  plain->event.device_type = 0;
  plain->event.allocator = PD_ALLOCATOR_UNKNOWN;
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "memory_blocks");
  cr_assert_eq(table->rows.count, 2);
  for (uint64_t i = 0; i < 2; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &table->rows, i);
    cr_assert_str_eq(rig_text(table, row, "memory_type"),
                     rig_int(table, row, "block_size") == 64 ? "Pinned host" : "Host");
  }
  rig_end(&rig);
}
