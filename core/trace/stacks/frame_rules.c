/* See frame_rules.h. */
#include "frame_rules.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_RETURN = 16, STATES = 8 };

/* Encodings of pointers that are read; every linker writes them. */
enum { PCREL_SDATA4 = 0x1b, DATAREL_SDATA4 = 0x3b, UDATA4 = 0x03, ABSOLUTE = 0x00, OMITTED = 0xff };

/* DW_CFA_*, DWARF 5, table 7.29. */
enum {
  ADVANCE = 0x40,
  OFFSET = 0x80,
  RESTORE = 0xc0,
  NOP = 0x00,
  ADVANCE1 = 0x02,
  ADVANCE2,
  ADVANCE4,
  OFFSET_EXTENDED,
  RESTORE_EXTENDED,
  UNDEFINED,
  SAME_VALUE,
  REGISTER,
  REMEMBER,
  RECALL,
  DEF_CFA,
  DEF_CFA_REGISTER,
  DEF_CFA_OFFSET,
  DEF_CFA_EXPRESSION,
  EXPRESSION,
  OFFSET_EXTENDED_SF,
  DEF_CFA_SF,
  DEF_CFA_OFFSET_SF,
  VAL_OFFSET,
  VAL_OFFSET_SF,
  VAL_EXPRESSION,
  ARGS_SIZE = 0x2e,
  BREG_BP = 0x70 + REGISTER_BP, /* DW_OP_breg6 */
  DEREF = 0x06                  /* DW_OP_deref */
};

/* ---- reading ---- */

typedef struct reader {
  const uint8_t *at, *end;
  bool failed;
} reader;

static uint64_t take(reader *in, size_t bytes) {
  uint64_t value = 0;
  if ((size_t)(in->end - in->at) < bytes) {
    in->failed = true;
    in->at = in->end;
    return 0;
  }
  memcpy(&value, in->at, bytes); /* little endian: x86-64 */
  in->at += bytes;
  return value;
}

static uint64_t take_leb(reader *in, bool is_signed) {
  uint64_t value = 0, byte;
  unsigned shift = 0;
  do {
    byte = take(in, 1);
    if (shift < 64) value |= (byte & 0x7f) << shift;
    shift += 7;
  } while (byte & 0x80);
  if (is_signed && shift < 64 && byte & 0x40) value |= ~UINT64_C(0) << shift;
  return value;
}

static uint64_t take_uleb(reader *in) { return take_leb(in, false); }
static int64_t take_sleb(reader *in) { return (int64_t)take_leb(in, true); }

static void skip(reader *in, uint64_t bytes) {
  if (bytes > (uint64_t)(in->end - in->at)) {
    in->failed = true;
    bytes = (uint64_t)(in->end - in->at);
  }
  in->at += bytes;
}

/* One CIE or FDE from its length on; false: the list's end, or a length of 64 bits. */
static bool open_entry(const uint8_t *at, reader *out) {
  uint32_t length;
  memcpy(&length, at, sizeof length);
  *out = (reader){.at = at + sizeof length, .end = at + sizeof length + length};
  return length && length != UINT32_MAX;
}

/* ---- what a function's entry says ---- */

typedef struct function {
  reader first, own; /* instructions of the CIE, of the FDE */
  uint64_t code_align;
  int64_t data_align;
  uintptr_t begins;
  uint8_t encoding;
  bool sized; /* the FDE has a field of its own size: augmentation 'z' */
} function;

static bool read_augmentation(reader *in, const char *text, function *out) {
  out->encoding = ABSOLUTE;
  if (!text[0]) return true;
  if (text[0] != 'z') return false;
  out->sized = true;
  const uint64_t bytes = take_uleb(in);
  reader data = *in;
  skip(in, bytes);
  data.end = in->at;
  for (text++; *text; text++)
    if (*text == 'R')
      out->encoding = (uint8_t)take(&data, 1);
    else if (*text == 'L')
      skip(&data, 1);
    else if (*text == 'P') /* of four bytes, but where it is absolute */
      skip(&data, (take(&data, 1) & 0x0f) == ABSOLUTE ? 8 : 4);
    else
      return false; /* 'S': a signal's frame has its registers elsewhere */
  return !data.failed;
}

static bool read_common(const uint8_t *cie, function *out) {
  reader in;
  if (!open_entry(cie, &in) || take(&in, 4) != 0) return false;
  const uint64_t version = take(&in, 1);
  const char *text = (const char *)in.at;
  if (version != 1 && version != 3) return false;
  while (!in.failed && take(&in, 1)) {}
  if (in.failed) return false;
  out->code_align = take_uleb(&in);
  out->data_align = take_sleb(&in);
  const uint64_t return_register = version == 1 ? take(&in, 1) : take_uleb(&in);
  if (return_register != REGISTER_RETURN || !read_augmentation(&in, text, out)) return false;
  out->first = in;
  return !in.failed;
}

/* `begins` is from the search table. Whether the function holds `address`. */
static bool read_function(const uint8_t *fde, uintptr_t begins, uintptr_t address, function *out) {
  reader in;
  *out = (function){.begins = begins};
  if (!open_entry(fde, &in)) return false;
  const uint8_t *field = in.at;
  const uint64_t back = take(&in, 4);
  if (!back || !read_common(field - back, out)) return false;
  const size_t width = out->encoding == ABSOLUTE ? 8 : 4;
  if (out->encoding != ABSOLUTE && out->encoding != PCREL_SDATA4) return false;
  skip(&in, width);
  if (address - begins >= take(&in, width)) return false;
  if (out->sized) skip(&in, take_uleb(&in));
  out->own = in;
  return !in.failed;
}

/* ---- its instructions ---- */

typedef struct rows {
  frame_rule now, initial, kept[STATES];
  uint32_t depth;
  int64_t return_offset;
  bool failed; /* something that no rule can say */
} rows;

static void set_cfa(rows *self, uint64_t in_register, int64_t offset) {
  self->now.kind = in_register == REGISTER_SP ? FRAME_FROM_SP : FRAME_FROM_BP;
  if (in_register != REGISTER_SP && in_register != REGISTER_BP) self->now.kind = FRAME_UNKNOWN;
  self->now.offset = (int32_t)offset;
}

static void set_saved(rows *self, uint64_t which, int64_t offset) {
  if (which == REGISTER_RETURN) self->return_offset = offset;
  if (which != REGISTER_BP) return;
  self->now.bp_kind = FRAME_BP_BELOW;
  self->now.bp_offset = (int32_t)offset;
}

static void set_initial(rows *self, uint64_t which) {
  if (which != REGISTER_BP) return;
  self->now.bp_kind = self->initial.bp_kind;
  self->now.bp_offset = self->initial.bp_offset;
}

/* "rbp + n", and with `deref` what lies there; any other expression has no rule. */
static bool read_expression(reader *in, bool deref, int32_t *offset) {
  const uint64_t bytes = take_uleb(in);
  reader text = *in;
  skip(in, bytes);
  text.end = in->at;
  if (take(&text, 1) != BREG_BP) return false;
  *offset = (int32_t)take_sleb(&text);
  if (deref && take(&text, 1) != DEREF) return false;
  return !text.failed && text.at == text.end;
}

static void expression(rows *self, reader *in) {
  int32_t offset = 0;
  const uint64_t which = take_uleb(in);
  const bool plain = read_expression(in, false, &offset);
  if (which == REGISTER_RETURN || (which == REGISTER_BP && !plain)) self->failed = true;
  if (which != REGISTER_BP) return;
  self->now.bp_kind = FRAME_BP_POINTED;
  self->now.bp_offset = offset;
}

static void keep_or_recall(rows *self, bool keep) {
  if (keep ? self->depth == STATES : self->depth == 0)
    self->failed = true;
  else if (keep)
    self->kept[self->depth++] = self->now;
  else
    self->now = self->kept[--self->depth];
}

static void define(rows *self, uint8_t code, const function *of, reader *in) {
  uint64_t which = 0;
  switch (code) {
  case NOP: break;
  case OFFSET_EXTENDED:
    which = take_uleb(in);
    set_saved(self, which, (int64_t)take_uleb(in) * of->data_align);
    break;
  case OFFSET_EXTENDED_SF:
    which = take_uleb(in);
    set_saved(self, which, take_sleb(in) * of->data_align);
    break;
  case RESTORE_EXTENDED: set_initial(self, take_uleb(in)); break;
  case UNDEFINED:
    if (take_uleb(in) == REGISTER_RETURN) self->now.kind = FRAME_LAST;
    break;
  case SAME_VALUE:
    if (take_uleb(in) == REGISTER_BP) self->now.bp_kind = FRAME_BP_SAME;
    break;
  case REMEMBER: keep_or_recall(self, true); break;
  case RECALL: keep_or_recall(self, false); break;
  case DEF_CFA:
    which = take_uleb(in);
    set_cfa(self, which, (int64_t)take_uleb(in));
    break;
  case DEF_CFA_SF:
    which = take_uleb(in);
    set_cfa(self, which, take_sleb(in) * of->data_align);
    break;
  case DEF_CFA_REGISTER: set_cfa(self, take_uleb(in), self->now.offset); break;
  case DEF_CFA_OFFSET: self->now.offset = (int32_t)take_uleb(in); break;
  case DEF_CFA_OFFSET_SF: self->now.offset = (int32_t)(take_sleb(in) * of->data_align); break;
  case DEF_CFA_EXPRESSION:
    self->now.kind = read_expression(in, true, &self->now.offset) ? FRAME_AT_BP : FRAME_UNKNOWN;
    break;
  case EXPRESSION: expression(self, in); break;
  case ARGS_SIZE: (void)take_uleb(in); break;
  default: self->failed = true; /* values in other registers: no compiler writes them for C or C++ */
  }
}

/* Runs instructions up to the row of `address`; its call ends there, so the row before holds. */
static void run(rows *self, const function *of, reader in, uintptr_t *at, uintptr_t address) {
  while (in.at < in.end && !self->failed) {
    const uint8_t code = (uint8_t)take(&in, 1), low = code & 0x3f;
    uint64_t steps = 0;
    if ((code & 0xc0) == ADVANCE) {
      steps = low;
    } else if ((code & 0xc0) == OFFSET) {
      set_saved(self, low, (int64_t)take_uleb(&in) * of->data_align);
    } else if ((code & 0xc0) == RESTORE) {
      set_initial(self, low);
    } else if (code >= ADVANCE1 && code <= ADVANCE4) {
      steps = take(&in, (size_t)1 << (code - ADVANCE1));
    } else {
      define(self, code, of, &in);
    }
    *at += steps * of->code_align;
    if (*at >= address) return;
    self->failed = self->failed || in.failed;
  }
}

static frame_rule rule_of(const function *of, uintptr_t address) {
  rows self = {.return_offset = -8};
  uintptr_t at = of->begins;
  run(&self, of, of->first, &at, UINTPTR_MAX);
  self.initial = self.now;
  at = of->begins;
  run(&self, of, of->own, &at, address);
  if (self.failed || (self.now.kind != FRAME_LAST && self.return_offset != -8)) self.now.kind = FRAME_UNKNOWN;
  return self.now;
}

/* ---- which function ---- */

typedef struct object {
  uintptr_t address;
  const uint8_t *search; /* .eh_frame_hdr; NULL: none */
  size_t bytes;
} object;

static int look_in(struct dl_phdr_info *info, size_t size, void *given) {
  object *found = given;
  const ElfW(Phdr) *search = NULL;
  bool holds = false;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type == PT_GNU_EH_FRAME) search = part;
    if (part->p_type == PT_LOAD) holds = holds || found->address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz;
  }
  if (!holds || !search) return holds;
  found->search = (const uint8_t *)(info->dlpi_addr + search->p_vaddr); /* NOLINT(performance-no-int-to-ptr) */
  found->bytes = search->p_memsz;
  return 1;
}

/* The table of the search header: pairs of function and FDE, sorted, as distances from the header. */
static const uint8_t *find_entry(const object *in, uintptr_t *begins) {
  enum { HEAD = 12, ROW = 8 };
  int32_t row[2];
  uint32_t low = 0, count;
  if (in->bytes < HEAD || in->search[0] != 1 || in->search[1] == OMITTED || (in->search[1] & 0x0f) == ABSOLUTE ||
      in->search[2] != UDATA4 || in->search[3] != DATAREL_SDATA4)
    return NULL;
  memcpy(&count, in->search + 8, sizeof count);
  if (!count || (in->bytes - HEAD) / ROW < count) return NULL;
  const uintptr_t base = (uintptr_t)in->search;
  for (uint32_t high = count; high - low > 1;) {
    const uint32_t middle = low + (high - low) / 2;
    memcpy(row, in->search + HEAD + (size_t)middle * ROW, sizeof row);
    if (base + (uintptr_t)(intptr_t)row[0] <= in->address)
      low = middle;
    else
      high = middle;
  }
  memcpy(row, in->search + HEAD + (size_t)low * ROW, sizeof row);
  *begins = base + (uintptr_t)(intptr_t)row[0];
  return *begins <= in->address ? in->search + row[1] : NULL;
}

frame_rule frame_rule_find(uintptr_t address) {
  object in = {.address = address - 1}; /* within the call */
  function of;
  uintptr_t begins = 0;
  if (!dl_iterate_phdr(look_in, &in) || !in.search) return (frame_rule){.kind = FRAME_UNKNOWN};
  const uint8_t *entry = find_entry(&in, &begins);
  if (!entry || !read_function(entry, begins, in.address, &of)) return (frame_rule){.kind = FRAME_UNKNOWN};
  return rule_of(&of, address);
}
