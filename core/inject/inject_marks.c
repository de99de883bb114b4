/*
 * The marks of pdhost/mark.h as functions of the library, for a program that cannot include a header: the hook of
 * `pdhost record --torch` calls them from Python. Those of modules are the hook's alone. [any thread]
 */
#include "inject_ranges.h"

#include "capture/record_board.h"

#define PD_MARKS 0 /* its names alone */
#include <pdhost/mark.h>

static const char domain[] = PD_MARK_DOMAIN, module_domain[] = RECORD_MODULE_DOMAIN;

void pdhost_mark_step(void);
void pdhost_mark_input_begin(void);
void pdhost_mark_input_end(void);
void pdhost_mark_module_begin(const char *name);
void pdhost_mark_module_end(void);
void pdhost_mark_module(const char *name);
int pdhost_record_code(unsigned thread, const char *place);

__attribute__((visibility("default"))) void pdhost_mark_step(void) {
  inject_ranges_prepare();
  inject_ranges_mark(domain, PD_MARK_STEP);
}

__attribute__((visibility("default"))) void pdhost_mark_input_begin(void) {
  inject_ranges_prepare();
  (void)inject_ranges_push(domain, PD_MARK_INPUT);
}

__attribute__((visibility("default"))) void pdhost_mark_input_end(void) { (void)inject_ranges_pop(domain); }

/* Their names begin as the capture's format says. */
__attribute__((visibility("default"))) void pdhost_mark_module_begin(const char *name) {
  inject_ranges_prepare();
  (void)inject_ranges_push(module_domain, name);
}

__attribute__((visibility("default"))) void pdhost_mark_module_end(void) { (void)inject_ranges_pop(module_domain); }

/* A moment; "" where no module's backward goes on. */
__attribute__((visibility("default"))) void pdhost_mark_module(const char *name) {
  inject_ranges_prepare();
  inject_ranges_mark(module_domain, name);
}

/* A sample of where a thread is in the program's own code; 0: nothing is recorded now. */
__attribute__((visibility("default"))) int pdhost_record_code(unsigned thread, const char *place) {
  inject_ranges_prepare();
  return inject_ranges_code(thread, place);
}
