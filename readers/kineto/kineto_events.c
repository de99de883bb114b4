/* Scanning one event, and its args. See kineto.h. */
#include "kineto.h"

/* ---- what is expected ---- */

/* The bytes read after `at` are those of the buffer's padding at most. */
static inline bool is_expected(const kineto_expected *self, const char *at, const char *end) {
  if (!self->bytes || (size_t)(end - at) < self->bytes) return false;
#ifdef __SSE2__
  uint64_t same = 0;
  for (size_t i = 0; i < KINETO_EXPECTED_BYTES / 16; i++) {
    __m128i is, was;
    memcpy(&is, at + 16 * i, sizeof is);
    memcpy(&was, self->text + 16 * i, sizeof was);
    same |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(is, was)) << 16 * i;
  }
  return (same & self->wanted) == self->wanted;
#else
  return memcmp(at, self->text, self->bytes) == 0;
#endif
}

static void expect(kineto_expected *self, const char *from, const char *to, unsigned what) {
  const size_t bytes = (size_t)(to - from);
  self->bytes = bytes <= KINETO_EXPECTED_BYTES ? (uint32_t)bytes : 0;
  self->wanted = (UINT64_C(1) << self->bytes) - 1;
  self->what = what;
  if (self->bytes) memcpy(self->text, from, bytes);
}

/* To the key of the next member, from after the { or a value; a comma also before }, as some writers have it. */
static const char *next_key(const char *at, const char *end) {
  at = scan_blanks(at, end);
  return at < end && *at == ',' ? scan_blanks(at + 1, end) : at;
}

/* ---- args ---- */

/* Keys of an event's args that are asked for: the numbers, then the others. */
enum {
  ARG_GRID = KINETO_ARG_COUNT,
  ARG_BLOCK,
  ARG_BLOCKS_PER_SM,
  ARG_WARPS_PER_SM,
  ARG_NAME,
  ARG_DIMS,
  ARG_DTYPE,
  ARG_GROUP,
  ARG_END,
  ARG_CLOSE
};
typedef struct arg_key {
  const char *text;
  size_t length;
} arg_key;
#define ARG_KEY(text)                                                                                                  \
  { text, sizeof(text) - 1 }
static const arg_key arg_keys[ARG_END] = {
#define X(field, text) [KINETO_ARG_##field] = ARG_KEY(text),
    KINETO_ARGS(X)
#undef X
        [ARG_GRID] = ARG_KEY("grid"),
    [ARG_BLOCK] = ARG_KEY("block"),
    [ARG_BLOCKS_PER_SM] = ARG_KEY("blocks per SM"),
    [ARG_WARPS_PER_SM] = ARG_KEY("warps per SM"),
    [ARG_NAME] = ARG_KEY("name"),
    [ARG_DIMS] = ARG_KEY("Input Dims"),
    [ARG_DTYPE] = ARG_KEY("dtype"),
    [ARG_GROUP] = ARG_KEY("Process Group Ranks")};

/* By length and the bytes at either end: the place of the key + 1, others after it. */
enum { ARG_SLOTS = 128 };
static uint8_t arg_slots[ARG_SLOTS];

static size_t slot_of(scan_text key) {
  const size_t first = (unsigned char)key.at[0], last = (unsigned char)key.at[key.length - 1];
  return (key.length * 5 + first * 3 + last) % ARG_SLOTS;
}

void kineto_args_prepare(void) {
  memset(arg_slots, 0, sizeof arg_slots);
  for (unsigned i = 0; i < ARG_END; i++) {
    size_t at = slot_of((scan_text){arg_keys[i].text, arg_keys[i].length});
    while (arg_slots[at]) at = (at + 1) % ARG_SLOTS;
    arg_slots[at] = (uint8_t)(i + 1);
  }
}

/* ARG_END: it is not asked for. */
static unsigned arg_of(scan_text key) {
  if (!key.length) return ARG_END;
  for (size_t at = slot_of(key); arg_slots[at]; at = (at + 1) % ARG_SLOTS) {
    const arg_key *known = &arg_keys[arg_slots[at] - 1];
    if (scan_is(key, known->text, known->length)) return arg_slots[at] - 1;
  }
  return ARG_END;
}

/* [2, 1, 1], also as the text "[2, 1, 1]" or "2,1,1". */
static void take_three(scan_text value, uint32_t out[3]) {
  const char *at = value.at, *end = value.at + value.length;
  for (int i = 0; i < 3 && at < end; i++) {
    while (at < end && (*at < '0' || *at > '9')) at++;
    const char *first = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    int64_t number;
    if (scan_integer((scan_text){first, (size_t)(at - first)}, &number) && number <= UINT32_MAX)
      out[i] = (uint32_t)number;
  }
}

static void take_number(kineto_args *out, kineto_arg arg, scan_text value) {
  if (!scan_integer(value, &out->numbers[arg])) return;
  out->has |= UINT32_C(1) << arg;
}

static void take_arg(kineto_args *out, unsigned arg, scan_text value) {
  switch (arg) {
  case ARG_END: break;
  case ARG_GRID: take_three(value, out->grid); break;
  case ARG_BLOCK: take_three(value, out->block); break;
  case ARG_BLOCKS_PER_SM:
    if (!scan_double(value, &out->blocks_per_sm)) out->blocks_per_sm = 0;
    break;
  case ARG_WARPS_PER_SM:
    if (!scan_double(value, &out->warps_per_sm)) out->warps_per_sm = 0;
    break;
  case ARG_NAME: out->thread_name = value; break;
  case ARG_DIMS: out->dims = value; break;
  case ARG_DTYPE: out->message_type = value; break;
  case ARG_GROUP: out->group_ranks = value; break;
  default: take_number(out, arg, value);
  }
}

/* The next member's key by `of`, or `closing` at the }. Where its value begins, or what follows the }. Inlined, for the
 * call of `of` is then a plain one. */
static inline __attribute__((always_inline)) const char *next_member(kineto_expected *expected, const char *at,
                                                                     const char *end, unsigned (*of)(scan_text key),
                                                                     unsigned closing, unsigned *member, bool *cut) {
  if (is_expected(expected, at, end)) {
    *member = expected->what;
    return scan_blanks(at + expected->bytes, end); /* there may be more of them than before */
  }
  scan_text key;
  const char *value = next_key(at, end);
  if (value < end && *value == '}') {
    *member = closing;
    value++;
  } else {
    value = scan_key(value, end, &key, cut);
    if (!value) return NULL;
    if (value >= end) {
      *cut = true;
      return NULL;
    }
    *member = of(key);
  }
  expect(expected, at, value, *member);
  return value;
}

/* At the {. NULL as in json_scan.h; what was read up to there stays. */
static const char *scan_args(kineto_expected expected[KINETO_EXPECTED_ARGS], const char *at, const char *end,
                             kineto_args *out, bool *cut) {
  out->has = 0;
  memset(out->grid, 0, sizeof out->grid);
  memset(out->block, 0, sizeof out->block);
  out->blocks_per_sm = out->warps_per_sm = 0;
  out->thread_name = out->dims = out->message_type = out->group_ranks = (scan_text){"", 0};
  at++;
  for (unsigned place = 0;; place += place < KINETO_EXPECTED_ARGS - 1) {
    scan_text value;
    unsigned arg;
    at = next_member(&expected[place], at, end, arg_of, ARG_CLOSE, &arg, cut);
    if (!at || arg == ARG_CLOSE) return at;
    at = scan_value(at, end, &value, cut);
    if (!at) return NULL;
    take_arg(out, arg, value);
  }
}

const kineto_args *kineto_event_args(kineto_event *event) {
  static const char empty[2 + KINETO_EXPECTED_BYTES] = "{}";
  bool cut = false;
  if (event->has_parsed) return &event->parsed;
  const scan_text text = event->args.length && *event->args.at == '{' ? event->args : (scan_text){empty, 2};
  kineto_expected none[KINETO_EXPECTED_ARGS] = {{.bytes = 0}};
  (void)scan_args(none, text.at, text.at + text.length, &event->parsed, &cut);
  event->has_parsed = true;
  return &event->parsed;
}

/* ---- events ---- */

#define CATEGORY(text, category)                                                                                       \
  { text, sizeof(text) - 1, category }
static const struct {
  const char *name;
  size_t length;
  kineto_category category;
} categories[] = {CATEGORY("cpu_op", KINETO_OPERATION),
                  CATEGORY("cuda_runtime", KINETO_RUNTIME),
                  CATEGORY("kernel", KINETO_KERNEL),
                  CATEGORY("python_function", KINETO_PYTHON),
                  CATEGORY("user_annotation", KINETO_ANNOTATION),
                  CATEGORY("cuda_driver", KINETO_DRIVER),
                  CATEGORY("gpu_memcpy", KINETO_MEMCPY),
                  CATEGORY("gpu_memset", KINETO_MEMSET),
                  CATEGORY("cuda_sync", KINETO_SYNC),
                  CATEGORY("overhead", KINETO_OVERHEAD),
                  CATEGORY("cpu_instant_event", KINETO_INSTANT),
                  CATEGORY("Operator", KINETO_OPERATION),
                  CATEGORY("Runtime", KINETO_RUNTIME),
                  CATEGORY("Kernel", KINETO_KERNEL),
                  CATEGORY("Memcpy", KINETO_MEMCPY),
                  CATEGORY("Memset", KINETO_MEMSET),
                  CATEGORY("Overhead", KINETO_OVERHEAD),
                  CATEGORY("hip_runtime", KINETO_RUNTIME),
                  CATEGORY("Python", KINETO_PYTHON),
                  CATEGORY("hpu_op", KINETO_UNREAD),
                  CATEGORY("mtia_ccp_events", KINETO_UNREAD),
                  CATEGORY("mtia_insight", KINETO_UNREAD)};

/* Devices other than CUDA's have xpu_runtime, xpu_driver, mtia_runtime, privateuse1_runtime, privateuse1_driver, and in
 * vendors' own builds such as gcu_memcpy. */
static const struct {
  const char *name;
  size_t length;
  kineto_category category;
} endings[] = {CATEGORY("_runtime", KINETO_RUNTIME), CATEGORY("_driver", KINETO_DRIVER),
               CATEGORY("_memcpy", KINETO_MEMCPY), CATEGORY("_memset", KINETO_MEMSET)};

static kineto_category category_of(scan_text text) {
  for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
    if (scan_is(text, categories[i].name, categories[i].length)) return categories[i].category;
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
    if (text.length > endings[i].length &&
        memcmp(text.at + text.length - endings[i].length, endings[i].name, endings[i].length) == 0)
      return endings[i].category;
  return KINETO_SKIP;
}

/* Two of them, and the difference of two, are still numbers of 64 bits. */
static bool is_time(int64_t ns) { return ns > -INT64_C(4000000000000000000) && ns < INT64_C(4000000000000000000); }

/* X(field, key): members of an event that are asked for. */
#define MEMBERS(X)                                                                                                     \
  X(ph, "ph") X(ts, "ts") X(cat, "cat") X(pid, "pid") X(tid, "tid") X(dur, "dur") X(name, "name") X(args, "args")
enum {
#define X(field, key) MEMBER_##field,
  MEMBERS(X)
#undef X
      MEMBER_OTHER,
  MEMBER_CLOSE
};

static unsigned member_of(scan_text key) {
#define X(field, text)                                                                                                 \
  if (SCAN_IS(key, text)) return MEMBER_##field;
  MEMBERS(X)
#undef X
  return MEMBER_OTHER;
}

static void take_member(kineto_event *out, unsigned member, scan_text value) {
  switch (member) {
  case MEMBER_ph: out->phase = value; break;
  case MEMBER_ts: out->has_start = scan_thousandths(value, &out->start_ns) && is_time(out->start_ns); break;
  case MEMBER_cat: out->category = category_of(value); break;
  case MEMBER_pid: out->pid = value; break;
  case MEMBER_tid: out->tid = value; break;
  case MEMBER_dur:
    out->has_duration = scan_thousandths(value, &out->duration_ns) && is_time(out->duration_ns);
    if (!out->has_duration) out->duration_ns = 0;
    break;
  case MEMBER_name: out->name = value; break;
  case MEMBER_args:
    out->args = value;
    out->has_parsed = false;
    break;
  default: break;
  }
}

/* Whether what the events of this category hold in their args is asked for. */
static bool has_args(const kineto_event *self) {
  return self->category != KINETO_SKIP && self->category != KINETO_UNREAD && self->category != KINETO_PYTHON &&
         self->category != KINETO_OVERHEAD;
}

/* Its value; args are scanned on the way, where it is known by then that they are wanted. */
static const char *scan_member(kineto_layout *layout, const char *at, const char *end, unsigned member,
                               kineto_event *out, bool *cut) {
  scan_text value;
  if (member == MEMBER_args && *at == '{' && has_args(out)) {
    bool ignored = false;
    const char *after = scan_args(layout->args[out->category], at, end, &out->parsed, &ignored);
    if (after) {
      out->args = (scan_text){at, (size_t)(after - at)};
      out->has_parsed = true;
      return after;
    }
  }
  at = scan_value(at, end, &value, cut);
  if (at) take_member(out, member, value);
  return at;
}

/* An arrow or a counter: it is not asked for. */
static bool is_passed_over(scan_text phase) {
  return phase.length == 1 && (phase.at[0] == 's' || phase.at[0] == 'f' || phase.at[0] == 't' || phase.at[0] == 'C');
}

const char *kineto_event_scan(kineto_layout *layout, bool no_python, const char *at, const char *end, kineto_event *out,
                              bool *cut) {
  static const scan_text none = {"", 0};
  const char *begin = at;
  out->phase = out->name = out->args = out->pid = out->tid = none;
  out->start_ns = out->duration_ns = 0;
  out->category = KINETO_SKIP;
  out->has_start = out->has_duration = out->has_parsed = false;
  at++;
  for (unsigned place = 0;; place += place < KINETO_EXPECTED_MEMBERS - 1) {
    unsigned member;
    at = next_member(&layout->members[place], at, end, member_of, MEMBER_CLOSE, &member, cut);
    if (!at || member == MEMBER_CLOSE) return at;
    at = scan_member(layout, at, end, member, out, cut);
    if (!at) return NULL;
    if (place == 0 && is_passed_over(out->phase)) {
      const char *behind = scan_flat(at, end);
      if (behind) return behind;
    }
    if (no_python && out->category == KINETO_PYTHON && SCAN_IS(out->phase, "X")) return scan_nested(begin, end, cut);
  }
}
