/* The digits that medians are printed with, beside each other. */
#include "compare/samples.h"

#include "pd_test.h"

enum { MOST = 4, BLOCKS = 64 };

/* Half of the blocks lie `spread` below the median, half above. */
typedef struct cell {
  double median, spread;
} cell;

static const char *const names[MOST] = {"a", "b", "c", "d"};

/* The figures shown of each, their own first. */
static void shown(const cell *cells, uint32_t count, int own[MOST], int in_order[MOST]) {
  pd_measurement rows[MOST] = {{.threads = 1}};
  samples all;
  error err;
  error_clear(&err);
  for (uint32_t i = 0; i < count; i++) {
    rows[i] = (pd_measurement){.threads = 1, .number_per_run = 1};
    cr_assert_eq(measurement_set(&rows[i].sub_label, names[i]), PD_OK);
    for (int k = 0; k < BLOCKS; k++)
      cr_assert_eq(measurement_add_block(&rows[i], cells[i].median + (k % 2 ? 1 : -1) * cells[i].spread, 0), PD_OK);
  }
  const pd_measurements from = {.rows = rows, .count = count};
  cr_assert(samples_of(&from, "test", false, &all, &err), "%s", err.text);
  for (uint32_t i = 0; i < count; i++) own[i] = all.all[i].shown;
  cr_assert(samples_show_order(&all));
  for (uint32_t i = 0; i < count; i++) {
    in_order[i] = all.all[i].shown;
    cr_assert_eq(all.all[i].figures.figures, own[i]);
  }
  samples_free(&all);
  for (uint32_t i = 0; i < count; i++) measurement_clear(&rows[i]);
}

static void expect(const cell *cells, uint32_t count, const int *own, const int *in_order) {
  int before[MOST], after[MOST];
  shown(cells, count, before, after);
  for (uint32_t i = 0; i < count; i++) {
    cr_assert_eq(before[i], own[i], "%u: %d", i, before[i]);
    cr_assert_eq(after[i], in_order[i], "%u: %d", i, after[i]);
  }
}
#define EXPECT(cells, own, in_order) expect(cells, sizeof(cells) / sizeof(cells)[0], own, in_order)

PD_TEST(samples, the_least_is_not_printed_as_more) {
  /* 17 and 20, as their spreads have it: the second is the less. */
  EXPECT(((const cell[]){{16.69e-3, 0.3e-3}, {16.58e-3, 4e-3}}), ((const int[]){2, 1}), ((const int[]){2, 3}));
}

PD_TEST(samples, none_stands_out_of_its_order) {
  /* 5, 20, 17.1 and 17: the second and the last have to move. */
  EXPECT(((const cell[]){{5e-3, 1e-6}, {15.4e-3, 4e-3}, {17.1e-3, 1e-6}, {17.2e-3, 0.3e-3}}),
         ((const int[]){4, 1, 4, 2}), ((const int[]){4, 2, 4, 3}));
}

PD_TEST(samples, what_is_in_order_stays) {
  /* Two that look alike may, behind the least. */
  EXPECT(((const cell[]){{5e-3, 1e-6}, {16e-3, 4e-3}, {17e-3, 4e-3}}), ((const int[]){4, 1, 1}),
         ((const int[]){4, 1, 1}));
}

PD_TEST(samples, equal_medians_stay_equal) {
  EXPECT(((const cell[]){{16.58e-3, 4e-3}, {16.58e-3, 4e-3}}), ((const int[]){1, 1}), ((const int[]){1, 1}));
}
