/*
 * How to leave a function: where its caller's frame begins and where it keeps rbp, read from the .eh_frame that
 * compilers write for every function (System V ABI, x86-64; DWARF 5, section 6.4). Code without frame pointers has it
 * too. Other processors have no rules here.
 */
#ifndef CORE_TRACE_STACKS_FRAME_RULES_H
#define CORE_TRACE_STACKS_FRAME_RULES_H

#include <stdint.h>

enum {
  FRAME_UNKNOWN, /* no rule, or one of a kind that is not followed */
  FRAME_LAST,    /* no caller: a thread begins here */
  FRAME_FROM_SP, /* the caller's frame begins at rsp + offset */
  FRAME_FROM_BP, /* at rbp + offset */
  FRAME_AT_BP    /* at what lies at rbp + offset: functions that align their frame */
};

enum {
  FRAME_BP_SAME,   /* rbp is the caller's */
  FRAME_BP_BELOW,  /* it lies at the caller's frame + bp_offset */
  FRAME_BP_POINTED /* it lies at rbp + bp_offset */
};

/* The return address always lies 8 bytes below the caller's frame. */
typedef struct frame_rule {
  int32_t offset, bp_offset;
  uint8_t kind, bp_kind;
} frame_rule;

/* The rule at the call that returns to `address`. Takes a lock and microseconds: to be kept. [any thread] */
frame_rule frame_rule_find(uintptr_t address);

#endif
