/*
 * NVTX: the second entry of libpdhost_record.so. Each image with NVTX in it calls InitializeInjectionNvtx2 at its first
 * range, as NVTX_INJECTION64_PATH says, and is given functions that push, pop, start, end and mark. Those that it is
 * not given do nothing, as without a tool.
 */
#include "inject_ranges.h"

#include <nvtx3/nvToolsExt.h>

#include <string.h>

/* Domains and registered names are few, and live as long as the process. */
enum { TEXT_BYTES = 256 << 10 };
static char texts[TEXT_BYTES];
static _Atomic uint32_t texts_used;

/* The same text for the process's life; "" where there is no room left. */
static const char *keep(const char *text) {
  const size_t bytes = text ? strlen(text) + 1 : 0;
  if (!bytes || bytes > TEXT_BYTES / 4) return "";
  const uint32_t at = atomic_fetch_add_explicit(&texts_used, (uint32_t)bytes, memory_order_relaxed);
  if (at > TEXT_BYTES - bytes) {
    atomic_store_explicit(&texts_used, TEXT_BYTES, memory_order_relaxed);
    return "";
  }
  return memcpy(texts + at, text, bytes);
}

static const char *message_of(const nvtxEventAttributes_t *event) {
  if (!event) return "";
  if (event->messageType == NVTX_MESSAGE_TYPE_ASCII) return event->message.ascii ? event->message.ascii : "";
  if (event->messageType == NVTX_MESSAGE_TYPE_REGISTERED) return (const char *)(const void *)event->message.registered;
  return "";
}

static const char *domain_of(nvtxDomainHandle_t domain) { return (const char *)(const void *)domain; }

static int NVTX_API push_text(const char *message) { return inject_ranges_push(NULL, message); }
static int NVTX_API push_event(const nvtxEventAttributes_t *event) {
  return inject_ranges_push(NULL, message_of(event));
}
static int NVTX_API pop(void) { return inject_ranges_pop(NULL); }
static nvtxRangeId_t NVTX_API start_text(const char *message) { return inject_ranges_start(NULL, message); }
static nvtxRangeId_t NVTX_API start_event(const nvtxEventAttributes_t *event) {
  return inject_ranges_start(NULL, message_of(event));
}
static void NVTX_API end(nvtxRangeId_t number) { inject_ranges_end(number); }
static void NVTX_API mark_text(const char *message) { inject_ranges_mark(NULL, message); }
static void NVTX_API mark_event(const nvtxEventAttributes_t *event) { inject_ranges_mark(NULL, message_of(event)); }

static int NVTX_API push_in(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) {
  return inject_ranges_push(domain_of(domain), message_of(event));
}
static int NVTX_API pop_in(nvtxDomainHandle_t domain) { return inject_ranges_pop(domain_of(domain)); }
static nvtxRangeId_t NVTX_API start_in(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) {
  return inject_ranges_start(domain_of(domain), message_of(event));
}
static void NVTX_API end_in(nvtxDomainHandle_t domain, nvtxRangeId_t number) {
  (void)domain;
  inject_ranges_end(number);
}
static void NVTX_API mark_in(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event) {
  inject_ranges_mark(domain_of(domain), message_of(event));
}
static nvtxDomainHandle_t NVTX_API make_domain(const char *name) { return (nvtxDomainHandle_t)(void *)keep(name); }
static nvtxStringHandle_t NVTX_API register_text(nvtxDomainHandle_t domain, const char *text) {
  (void)domain;
  return (nvtxStringHandle_t)(void *)keep(text);
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
    SET(table, size, NVTX_CBID_CORE_RangePushEx, push_event);
    SET(table, size, NVTX_CBID_CORE_RangePop, pop);
    SET(table, size, NVTX_CBID_CORE_RangeStartA, start_text);
    SET(table, size, NVTX_CBID_CORE_RangeStartEx, start_event);
    SET(table, size, NVTX_CBID_CORE_RangeEnd, end);
    SET(table, size, NVTX_CBID_CORE_MarkA, mark_text);
    SET(table, size, NVTX_CBID_CORE_MarkEx, mark_event);
  }
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 1) {
    SET(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push_in);
    SET(table, size, NVTX_CBID_CORE2_DomainRangePop, pop_in);
    SET(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, start_in);
    SET(table, size, NVTX_CBID_CORE2_DomainRangeEnd, end_in);
    SET(table, size, NVTX_CBID_CORE2_DomainMarkEx, mark_in);
    SET(table, size, NVTX_CBID_CORE2_DomainCreateA, make_domain);
    SET(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_text);
  }
  return 1;
}
