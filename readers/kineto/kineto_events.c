/* Scanning one event, and its args. See kineto.h. */
#include "kineto.h"

/* Two of them, and the difference of two, are still numbers of 64 bits. */
static bool is_time(int64_t ns) { return ns > -INT64_C(4000000000000000000) && ns < INT64_C(4000000000000000000); }

static void take_member(kineto_event *out, scan_text key, scan_text value) {
  switch (key.length) {
  case 2:
    if (SCAN_IS(key, "ph")) out->phase = value;
    if (SCAN_IS(key, "ts")) out->has_start = scan_thousandths(value, &out->start_ns) && is_time(out->start_ns);
    break;
  case 3:
    if (SCAN_IS(key, "cat")) out->category = value;
    if (SCAN_IS(key, "pid")) out->pid = value;
    if (SCAN_IS(key, "tid")) out->tid = value;
    if (SCAN_IS(key, "dur") && !(scan_thousandths(value, &out->duration_ns) && is_time(out->duration_ns)))
      out->duration_ns = 0;
    break;
  case 4:
    if (SCAN_IS(key, "name")) out->name = value;
    if (SCAN_IS(key, "args")) out->args = value;
    break;
  default: break;
  }
}

const char *kineto_event_scan(const char *at, const char *end, kineto_event *out, bool *cut) {
  static const scan_text none = {"", 0};
  *out = (kineto_event){.phase = none, .category = none, .name = none, .args = none, .pid = none, .tid = none};
  at = scan_blanks(at + 1, end);
  for (;;) {
    scan_text key, value;
    if (at < end && *at == '}') return at + 1;
    at = scan_key(at, end, &key, cut);
    if (!at) return NULL;
    at = scan_value(at, end, &value, cut);
    if (!at) return NULL;
    take_member(out, key, value);
    at = scan_blanks(at, end);
    if (at < end && *at == ',') at = scan_blanks(at + 1, end); /* also before }, as some writers have it */
    if (at >= end) {
      *cut = true;
      return NULL;
    }
  }
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

/* Keys are told apart by length and text; those that nobody asks for are passed over. */
static void take_arg(kineto_args *out, scan_text key, scan_text value) {
#define X(field, text)                                                                                                 \
  if (SCAN_IS(key, text)) {                                                                                            \
    take_number(out, KINETO_ARG_##field, value);                                                                       \
    return;                                                                                                            \
  }
  KINETO_ARGS(X)
#undef X
  if (SCAN_IS(key, "grid")) {
    take_three(value, out->grid);
  } else if (SCAN_IS(key, "block")) {
    take_three(value, out->block);
  } else if (SCAN_IS(key, "blocks per SM")) {
    if (!scan_double(value, &out->blocks_per_sm)) out->blocks_per_sm = 0;
  } else if (SCAN_IS(key, "warps per SM")) {
    if (!scan_double(value, &out->warps_per_sm)) out->warps_per_sm = 0;
  } else if (SCAN_IS(key, "name")) {
    out->thread_name = value;
  }
}

void kineto_args_scan(scan_text args, kineto_args *out) {
  const char *at = args.at, *end = args.at + args.length;
  bool cut = false;
  *out = (kineto_args){.thread_name = {"", 0}};
  if (!args.length || *at != '{') return;
  at = scan_blanks(at + 1, end);
  while (at < end && *at != '}') {
    scan_text key, value;
    at = scan_key(at, end, &key, &cut);
    if (!at) return;
    at = scan_value(at, end, &value, &cut);
    if (!at) return;
    take_arg(out, key, value);
    at = scan_blanks(at, end);
    if (at < end && *at == ',') at = scan_blanks(at + 1, end);
  }
}
