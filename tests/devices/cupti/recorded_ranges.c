/* See recorded_ranges.h. */
#include "recorded_ranges.h"

#include "fake_cupti.h"

#include <pdhost/clocks.h>
#include <pdhost/mark.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if PD_MARKS
static void *end_range(void *number) {
  nvtxRangeEnd(*(const nvtxRangeId_t *)number);
  return NULL;
}

static nvtxRangeId_t begin_span(void) {
  const nvtxEventAttributes_t event = pd_mark_event("my span");
  return nvtxRangeStartEx(&event);
}

/* Each overlaps the one before it, which another thread ends. */
void recorded_spans(int count) {
  recorded_begin();
  const nvtxRangeId_t outer = nvtxRangeStartA("all of it");
  nvtxRangeId_t before = begin_span();
  for (int i = 1; i <= count; i++) {
    pthread_t thread;
    (void)fake_driver_launch("_Z4workv");
    usleep(300);
    fake_finish(0);
    nvtxRangeId_t next = i < count ? begin_span() : 0;
    if (pthread_create(&thread, NULL, end_range, &before) != 0) abort();
    (void)pthread_join(thread, NULL);
    before = next;
  }
  nvtxRangeEnd(outer);
  nvtxRangeEnd(outer); /* a number that is used up */
}

void recorded_wide(int count) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateW(L"gr\u00fc\u00dfe");
  nvtxEventAttributes_t event = pd_mark_event("");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringW(domain, L"\u6b65\U0001f600");
  nvtxEventAttributes_t plain = pd_mark_event("");
  plain.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  plain.message.unicode = L"\u0448\u0430\u0433";
  recorded_begin();
  for (int i = 0; i < count; i++) {
    nvtxRangePushA("outer");
    nvtxRangePushW(L"inner");
    nvtxRangePop();
    const nvtxRangeId_t begun = nvtxRangeStartW(L"began");
    nvtxMarkW(L"moment");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePushEx(domain, &plain);
    (void)fake_driver_launch("_Z4workv");
    usleep(300);
    fake_finish(0);
    nvtxDomainRangePop(domain);
    nvtxDomainRangePop(domain);
    nvtxRangeEnd(begun);
    nvtxRangePop();
  }
}

void recorded_names(int count) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("many");
  nvtxEventAttributes_t event = pd_mark_event("");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  recorded_begin();
  for (int i = 0; i < count; i++) {
    char name[3001];
    (void)snprintf(name, sizeof name, "%0*d%02000d", 1000, i, 0);
    event.message.registered = nvtxDomainRegisterStringA(domain, name);
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
  }
}

static pthread_barrier_t gate;
static _Atomic int come;

static int by_value(const void *a, const void *b) {
  const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return (first > second) - (first < second);
}

/* The median of several rounds: what else the machine does falls on few of them. */
static int64_t cost_of_a_range(void) {
  enum { ROUNDS = 41, MANY = 500 };
  int64_t costs[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    const int64_t begun_ns = pd_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < MANY; i++) {
      nvtxRangePushA("crowd");
      nvtxRangePop();
    }
    costs[round] = (pd_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns) / MANY;
  }
  qsort(costs, ROUNDS, sizeof costs[0], by_value);
  return costs[ROUNDS / 2];
}

/* Each begins when the one before it has its place, or has none. */
static void *one_range(void *ns_) {
  int64_t *ns = ns_;
  nvtxRangePushA("crowd");
  nvtxRangePop();
  if (ns) *ns = cost_of_a_range();
  atomic_fetch_add(&come, 1);
  (void)pthread_barrier_wait(&gate); /* until then the thread keeps its place */
  return NULL;
}

/* Rows for more than one block, which the recorder takes before it returns. */
static void launch_beside(void) {
  for (int i = 0; i < 3000; i++) {
    (void)fake_driver_launch("_Z4workv");
    fake_finish(0);
  }
  recorded_begin();
}

static void gather(int count, int64_t *first_ns, int64_t *last_ns) {
  pthread_t threads[1024];
  pthread_attr_t small;
  recorded_begin();
  if (pthread_barrier_init(&gate, NULL, (unsigned)count) != 0 || pthread_attr_init(&small) != 0) abort();
  (void)pthread_attr_setstacksize(&small, 256 << 10);
  for (int i = 0; i < count && i < 1024; i++) {
    if (i + 1 == count) launch_beside();
    int64_t *ns = i == 0 ? first_ns : i + 1 == count ? last_ns : NULL;
    if (pthread_create(&threads[i], &small, one_range, ns) != 0) abort();
    while (atomic_load(&come) <= i) usleep(50);
  }
  for (int i = 0; i < count && i < 1024; i++) (void)pthread_join(threads[i], NULL);
}

void recorded_crowd(int count) { gather(count, NULL, NULL); }

void recorded_beyond(int count) {
  int64_t first_ns = 0, last_ns = 0;
  gather(count, &first_ns, &last_ns);
  printf("%lld %lld\n", (long long)first_ns, (long long)last_ns);
}
#else
void recorded_spans(int count) { (void)count; }
void recorded_wide(int count) { (void)count; }
void recorded_names(int count) { (void)count; }
void recorded_crowd(int count) { (void)count; }
void recorded_beyond(int count) { (void)count; }
#endif
