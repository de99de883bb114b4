/*
 * NVTX: the second entry of libpdhost_record.so. Each image with NVTX in it calls InitializeInjectionNvtx2 at its first
 * range, as NVTX_INJECTION64_PATH says, and is given functions that push, pop, start, end and mark. Those that it is
 * not given do nothing, as without a tool.
 */
#include "inject_ranges.h"

#include <nvtx3/nvToolsExt.h>

#include <string.h>
#include <wchar.h>

/* Domains and registered names live as long as the process. JAX registers the text of each operation that it compiles.
 * Memory that is not written to is not taken. */
enum { TEXT_BYTES = 16 << 20 };
static char texts[TEXT_BYTES];
static _Atomic uint32_t texts_used;

/* The text, cut to what a range keeps of it, for the process's life; inject_ranges_no_room where there is no room. */
static const char *keep(const char *text) {
  const uint32_t bytes = text ? (uint32_t)strnlen(text, INJECT_RANGES_LONGEST) : 0;
  uint32_t at = atomic_load_explicit(&texts_used, memory_order_relaxed);
  if (!bytes) return "";
  do {
    if (bytes + 1 > TEXT_BYTES - at) return inject_ranges_no_room;
  } while (!atomic_compare_exchange_weak_explicit(&texts_used, &at, at + bytes + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
  return memcpy(texts + at, text, bytes); /* its end is there: nothing else was written behind it */
}

/* Wide characters as UTF-8. What is longer is cut, as inject_ranges.h does it. */
typedef struct narrow_text {
  char bytes[1004];
} narrow_text;

static const char *narrow(const wchar_t *wide, narrow_text *room) {
  uint32_t used = 0;
  for (; wide && *wide && used + 4 < sizeof room->bytes; wide++) {
    uint32_t c = (uint32_t)*wide;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd; /* is no character */
    const uint32_t more = c > 0xffff ? 3 : c > 0x7ff ? 2 : c > 0x7f;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    room->bytes[used++] = (char)(first[more] | c >> (6 * more));
    for (uint32_t i = more; i; i--) room->bytes[used++] = (char)(0x80 | (c >> (6 * (i - 1)) & 0x3f));
  }
  room->bytes[used] = '\0';
  return room->bytes;
}

static const char *message_of(const nvtxEventAttributes_t *event, narrow_text *room) {
  if (!event) return "";
  if (event->messageType == NVTX_MESSAGE_TYPE_ASCII) return event->message.ascii ? event->message.ascii : "";
  if (event->messageType == NVTX_MESSAGE_TYPE_UNICODE) return narrow(event->message.unicode, room);
  if (event->messageType == NVTX_MESSAGE_TYPE_REGISTERED) return (const char *)(const void *)event->message.registered;
  return "";
}

static const char *domain_of(nvtxDomainHandle_t domain) { return (const char *)(const void *)domain; }

static int push(const char *domain, const nvtxEventAttributes_t *event) {
  narrow_text room;
  return inject_ranges_push(domain, message_of(event, &room));
}
static nvtxRangeId_t start(const char *domain, const nvtxEventAttributes_t *event) {
  narrow_text room;
  return inject_ranges_start(domain, message_of(event, &room));
}
static void mark(const char *domain, const nvtxEventAttributes_t *event) {
  narrow_text room;
  inject_ranges_mark(domain, message_of(event, &room));
}

static int NVTX_API push_text(const char *message) { return inject_ranges_push(NULL, message); }
static int NVTX_API push_wide(const wchar_t *message) {
  narrow_text room;
  return inject_ranges_push(NULL, narrow(message, &room));
}
static int NVTX_API push_event(const nvtxEventAttributes_t *event) { return push(NULL, event); }
static int NVTX_API pop(void) { return inject_ranges_pop(NULL); }
static nvtxRangeId_t NVTX_API start_text(const char *message) { return inject_ranges_start(NULL, message); }
static nvtxRangeId_t NVTX_API start_wide(const wchar_t *message) {
  narrow_text room;
  return inject_ranges_start(NULL, narrow(message, &room));
}
static nvtxRangeId_t NVTX_API start_event(const nvtxEventAttributes_t *event) { return start(NULL, event); }
static void NVTX_API end(nvtxRangeId_t number) { inject_ranges_end(number); }
static void NVTX_API mark_text(const char *message) { inject_ranges_mark(NULL, message); }
static void NVTX_API mark_wide(const wchar_t *message) {
  narrow_text room;
  inject_ranges_mark(NULL, narrow(message, &room));
}
static void NVTX_API mark_event(const nvtxEventAttributes_t *event) { mark(NULL, event); }

static int NVTX_API push_in(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) {
  return push(domain_of(domain), event);
}
static int NVTX_API pop_in(nvtxDomainHandle_t domain) { return inject_ranges_pop(domain_of(domain)); }
static nvtxRangeId_t NVTX_API start_in(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) {
  return start(domain_of(domain), event);
}
static void NVTX_API end_in(nvtxDomainHandle_t domain, nvtxRangeId_t number) {
  (void)domain;
  inject_ranges_end(number);
}
static void NVTX_API mark_in(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) {
  mark(domain_of(domain), event);
}
static nvtxDomainHandle_t NVTX_API make_domain(const char *name) { return (nvtxDomainHandle_t)(void *)keep(name); }
static nvtxDomainHandle_t NVTX_API make_domain_wide(const wchar_t *name) {
  narrow_text room;
  return make_domain(narrow(name, &room));
}
static nvtxStringHandle_t NVTX_API register_text(nvtxDomainHandle_t domain, const char *text) {
  (void)domain;
  return (nvtxStringHandle_t)(void *)keep(text);
}
static nvtxStringHandle_t NVTX_API register_wide(nvtxDomainHandle_t domain, const wchar_t *text) {
  narrow_text room;
  return register_text(domain, narrow(text, &room));
}

static void set(NvtxFunctionTable table, unsigned int size, uint32_t id, NvtxFunctionPointer function) {
  if (id < size && table[id]) *table[id] = function;
}
#define SET(table, size, id, function) set((table), (size), (id), (NvtxFunctionPointer)(function))

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const NvtxExportTableCallbacks *callbacks = get ? get(NVTX_ETID_CALLBACKS) : NULL;
  NvtxFunctionTable table = NULL;
  unsigned int size = 0;
  if (!callbacks || callbacks->struct_size < sizeof *callbacks) return 0;
  inject_ranges_prepare();
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 1) {
    SET(table, size, NVTX_CBID_CORE_RangePushA, push_text);
    SET(table, size, NVTX_CBID_CORE_RangePushW, push_wide);
    SET(table, size, NVTX_CBID_CORE_RangePushEx, push_event);
    SET(table, size, NVTX_CBID_CORE_RangePop, pop);
    SET(table, size, NVTX_CBID_CORE_RangeStartA, start_text);
    SET(table, size, NVTX_CBID_CORE_RangeStartW, start_wide);
    SET(table, size, NVTX_CBID_CORE_RangeStartEx, start_event);
    SET(table, size, NVTX_CBID_CORE_RangeEnd, end);
    SET(table, size, NVTX_CBID_CORE_MarkA, mark_text);
    SET(table, size, NVTX_CBID_CORE_MarkW, mark_wide);
    SET(table, size, NVTX_CBID_CORE_MarkEx, mark_event);
  }
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 1) {
    SET(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push_in);
    SET(table, size, NVTX_CBID_CORE2_DomainRangePop, pop_in);
    SET(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, start_in);
    SET(table, size, NVTX_CBID_CORE2_DomainRangeEnd, end_in);
    SET(table, size, NVTX_CBID_CORE2_DomainMarkEx, mark_in);
    SET(table, size, NVTX_CBID_CORE2_DomainCreateA, make_domain);
    SET(table, size, NVTX_CBID_CORE2_DomainCreateW, make_domain_wide);
    SET(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_text);
    SET(table, size, NVTX_CBID_CORE2_DomainRegisterStringW, register_wide);
  }
  return 1;
}
