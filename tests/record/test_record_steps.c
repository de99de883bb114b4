/* Steps that a program marks, counted while it is recorded, however many names it has. */
#include "pd_test.h"

#include "record/record_steps.h"

#include <pdhost/mark.h>

#include <stdio.h>
#include <string.h>

static record_steps steps;

static void say(uint32_t id, const char *text) {
  struct {
    capture_string head;
    char text[64];
  } row = {.head = {.id = id, .bytes = (uint32_t)strlen(text)}};
  memcpy(row.text, text, strlen(text));
  const uint32_t padded = (row.head.bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
  record_steps_strings(&steps, (const char *)&row, (uint32_t)sizeof row.head + padded);
}

static void mark(uint32_t name, uint32_t domain) {
  const capture_annotation row = {.start_ns = 5, .end_ns = 5, .name = name, .domain = domain};
  record_steps_annotations(&steps, &row, sizeof row);
}

static void range(uint32_t name) {
  const capture_annotation row = {.start_ns = 5, .end_ns = 6, .name = name};
  record_steps_annotations(&steps, &row, sizeof row);
}

static void clean(void) {
  record_steps_free(&steps);
  steps = (record_steps){0};
}

/* The marks' texts are written again, behind a thousand million others. */
Test(record_steps, numbers_of_any_size, .fini = clean) {
  const uint32_t far = 3000000000;
  say(far + 1, PD_MARK_STEP);
  say(far, PD_MARK_DOMAIN);
  say(2, PD_MARK_DOMAIN);
  for (int i = 0; i < 4; i++) mark(far + 1, far);
  mark(far + 1, 2);
  mark(far + 2, far);
  cr_assert_eq(steps.marks, 5);
  cr_assert_eq(record_steps_count(&steps), 4);
  const capture_annotation row = {.start_ns = 5, .end_ns = 5, .name = far + 1, .domain = far};
  cr_assert(record_steps_is_bound(&steps, &row));
}

/* Each step has a name of its own; one of them comes again and again. */
Test(record_steps, names_without_end_take_no_memory_without_end, .fini = clean) {
  const uint32_t count = 2000000;
  steps.name = "step";
  say(1, "step");
  for (uint32_t i = 2; i <= count; i++) {
    char text[32];
    (void)snprintf(text, sizeof text, "step#%u", i);
    say(i, text);
    range(i);
    if (i % 1000 == 0) range(1);
  }
  cr_assert_eq(record_steps_count(&steps), count - 1 + count / 1000);
  cr_assert_leq((uint64_t)steps.role_room * sizeof *steps.roles, 4 << 20);
}

/* Texts come ahead of their rows, as many as there are in the ring. */
static void name_ahead(uint32_t ahead) {
  const uint32_t count = 200000;
  steps.name = "step";
  say(1, "step");
  range(1);
  for (uint32_t i = 2; i <= count + ahead; i++) {
    char text[32];
    (void)snprintf(text, sizeof text, "step#%u", i);
    say(i, text);
    if (i >= 2 + ahead) range(i - ahead);
    if (i % 1000 == 0) range(1);
  }
  cr_assert_eq(record_steps_count(&steps), count + (count + ahead) / 1000);
}

Test(record_steps, names_ahead_of_their_rows, .fini = clean) { name_ahead(300); }

Test(record_steps, names_far_ahead_of_their_rows, .fini = clean) { name_ahead(16000); }

Test(record_steps, names_that_begin_so, .fini = clean) {
  steps.name = "ste*";
  say(1, "step 5");
  say(2, "other");
  range(1);
  range(2);
  cr_assert_eq(record_steps_count(&steps), 1);
}
