/* Arrays that grow with a run: what was put in is there, and the process does not grow with it. */
#include "pd_test.h"

#include "run/kept/long_array.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

typedef struct row {
  uint64_t index, words[10];
} row;

static void fill(long_array *self, uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++) {
    cr_assert(long_array_fit(self, i + 1));
    ((row *)self->rows)[i] = (row){.index = i, .words = {i * 3}};
  }
}

static void check(const long_array *self, uint64_t count) {
  const row *rows = self->rows;
  for (uint64_t i = 0; i < count; i++) cr_assert(rows[i].index == i && rows[i].words[0] == i * 3);
}

/* Bytes of the process that are in memory now. */
static uint64_t resident(void) {
  unsigned long long all, pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  cr_assert_not_null(file);
  cr_assert_eq(fscanf(file, "%llu %llu", &all, &pages), 2);
  (void)fclose(file);
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

PD_TEST(long_array, keeps_its_rows_wherever_they_lie) {
  long_array self = {.folder = ".", .row_bytes = sizeof(row)};
  fill(&self, 0, 100000);
  cr_assert_gt(self.bytes, LONG_ARRAY_MEMORY);
  check(&self, 100000);
  fill(&self, 100000, 150000);
  check(&self, 150000);
  long_array_free(&self);
  cr_assert_null(self.rows);
}

PD_TEST(long_array, a_short_one_makes_no_file) {
  long_array self = {.folder = ".", .row_bytes = sizeof(row)};
  fill(&self, 0, LONG_ARRAY_MEMORY / sizeof(row));
  cr_assert_eq(self.bytes, 0);
  check(&self, LONG_ARRAY_MEMORY / sizeof(row));
  long_array_free(&self);
}

PD_TEST(long_array, is_memory_where_no_file_can_be_made) {
  for (int i = 0; i < 2; i++) {
    long_array self = {.folder = i ? "no such folder" : NULL, .row_bytes = sizeof(row)};
    fill(&self, 0, 50000);
    cr_assert_eq(self.bytes, 0);
    check(&self, 50000);
    long_array_free(&self);
  }
}

/* A full disk: the file takes no more, and what it has comes back. */
PD_TEST(long_array, goes_on_in_memory_where_the_file_takes_no_more) {
  long_array self = {.folder = ".", .row_bytes = sizeof(row)};
  fill(&self, 0, 20000);
  cr_assert_gt(self.bytes, 0);
  const int read_only = open("/dev/null", O_RDONLY | O_CLOEXEC);
  cr_assert_eq(dup2(read_only, self.file), self.file);
  (void)close(read_only);
  fill(&self, 20000, 60000);
  cr_assert_eq(self.bytes, 0);
  check(&self, 60000);
  long_array_free(&self);
}

PD_TEST(long_array, a_million_rows_stay_out_of_the_process) {
  long_array self = {.folder = ".", .row_bytes = sizeof(row)};
  fill(&self, 0, 100000);
  const uint64_t before = resident();
  fill(&self, 100000, 1000000);
  const uint64_t after = resident();
  cr_assert_lt(after, before + 900000, "%llu bytes more for 900000 rows", (unsigned long long)(after - before));
  long_array_free(&self);
}
