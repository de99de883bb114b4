/*
 * Marks for programs that `pdhost record` records: where a step ends, where the program waits for its input, and ranges
 * of your own. Header only, over NVTX, whose headers come with the CUDA toolkit: without a recorder a mark costs a few
 * nanoseconds. Where NVTX's headers are not found PD_MARKS is 0 and the marks do nothing.
 *
 *   for (;;) {
 *     pd_mark_input_begin();
 *     batch = next(loader);
 *     pd_mark_input_end();
 *     train(batch);
 *     pd_mark_step();
 *   }
 *
 * Begin and end belong to one thread and nest. [any thread]
 */
#ifndef PDHOST_MARK_H
#define PDHOST_MARK_H

#define PD_MARK_DOMAIN "pdhost"
#define PD_MARK_STEP "step"
#define PD_MARK_INPUT "input"

#if defined(__has_include) && !defined(PD_MARKS)
#if __has_include(<nvtx3/nvToolsExt.h>)
#define PD_MARKS 1
#endif
#endif
#ifndef PD_MARKS
#define PD_MARKS 0
#endif

#if PD_MARKS
#include <nvtx3/nvToolsExt.h>

#include <string.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if PD_MARKS
static inline nvtxDomainHandle_t pd_mark_domain(void) {
  static nvtxDomainHandle_t domain; /* two threads that come first make two, which is the same to the recorder */
  if (!domain) domain = nvtxDomainCreateA(PD_MARK_DOMAIN);
  return domain;
}
static inline nvtxEventAttributes_t pd_mark_event(const char *name) {
  nvtxEventAttributes_t event;
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = (uint16_t)sizeof event;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  return event;
}
#endif

/* A range of your own; `name` is copied. */
static inline void pd_mark_begin(const char *name) {
#if PD_MARKS
  nvtxEventAttributes_t event = pd_mark_event(name);
  nvtxDomainRangePushEx(pd_mark_domain(), &event);
#else
  (void)name;
#endif
}
static inline void pd_mark_end(void) {
#if PD_MARKS
  nvtxDomainRangePop(pd_mark_domain());
#endif
}

/* The wait for the next batch. */
static inline void pd_mark_input_begin(void) { pd_mark_begin(PD_MARK_INPUT); }
static inline void pd_mark_input_end(void) { pd_mark_end(); }

/* A step ends here, and the next one begins. Call it once before the first step too, or that one is not seen. */
static inline void pd_mark_step(void) {
#if PD_MARKS
  nvtxEventAttributes_t event = pd_mark_event(PD_MARK_STEP);
  nvtxDomainMarkEx(pd_mark_domain(), &event);
#endif
}

#ifdef __cplusplus
}
#endif
#endif
