/*
 * A failing allocator for the conformance checks: one plugin's own calls of malloc and its relatives are led through
 * here, so that the Nth can fail and what is left behind can be counted. The host and the plugin's libraries keep
 * theirs. In a check's child process alone: the plugin stays led through here for good.
 */
#ifndef CORE_CONFORM_CHECK_ALLOC_H
#define CORE_CONFORM_CHECK_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* Takes over the object that `inside`, an address of the plugin's, lies in. False: not on this processor. */
bool check_alloc_hook(const void *inside);

/* Counts from 0 again, forgets what lives; allocation `fail_at`, counted from 1, fails. 0: none does. */
void check_alloc_begin(uint64_t fail_at);

uint64_t check_alloc_count(void);  /* allocations since begin, the failed one too */
bool check_alloc_has_failed(void); /* the one to fail was reached */
uint64_t check_alloc_live(void);   /* made since begin, and not freed by the plugin */

#endif
