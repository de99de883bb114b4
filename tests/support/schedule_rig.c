/* See schedule_rig.h. The fake device is a CUDA device; every segment is shorter than LEDGER_HOST_COMPUTE_NS and begins
 * with a call of the loop, so that only the segment that means to computes on the host. */
#include "schedule_rig.h"

#include <string.h>

enum { ALLOCATOR_NS = 100 /* of a fake memory event */ };

static int64_t draw(schedule *self, int64_t low, int64_t high) {
  self->random = self->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return low + (int64_t)((self->random >> 33) % (uint64_t)(high - low + 1));
}

static void book(schedule *self, uint32_t cause, int64_t ns) {
  self->want[self->step][cause] += ns;
  self->now += ns;
}

/* Idle time that only the loop's state explains. */
static uint32_t idle_cause(const schedule *self) { return self->tail ? self->behind : (uint32_t)LEDGER_launch; }

static uint64_t call(schedule *self, pd_api_class api, const char *name, int64_t from, int64_t ns) {
  fake_call(self->fake, api, name, 0, from, from + ns, ++self->correlation);
  return self->correlation;
}

static uint32_t kernel_cause(int64_t ns) { return ns < LEDGER_TINY_CUDA_NS ? LEDGER_tiny_kernels : LEDGER_compute; }

/* A call and the latency behind it; returns its correlation. Its work begins now. */
static uint64_t launch(schedule *self, pd_api_class api) {
  const int64_t in_call = draw(self, 500, 9000), latency = draw(self, 0, LEDGER_LATENCY_CUDA_NS);
  const uint64_t id = call(self, api, "cudaLaunch", self->now, in_call);
  book(self, idle_cause(self), in_call + latency);
  self->tail = false;
  return id;
}

/* A kernel of stream 0 or 1 that begins now and runs alone, and fills the device: of its fixed part one pass would need
 * no more than its share. */
static void alone(schedule *self, int stream, const char *name, uint32_t cause, int64_t ns, uint64_t id) {
  const int64_t fixed = ns < LEDGER_TINY_CUDA_NS ? ns : LEDGER_TINY_CUDA_NS, spared = fixed - fixed / self->passes;
  fake_kernel(self->fake, name, self->streams[stream], self->now, self->now + ns, id)->detail.u.kernel.waves = 1;
  self->busy[stream] += ns;
  self->together += ns;
  book(self, cause, ns - spared);
  book(self, LEDGER_passes, spared);
}

static void kernel(schedule *self) {
  const uint64_t id = launch(self, PD_API_LAUNCH);
  const int64_t ns = draw(self, 1, 60000);
  alone(self, 0, "k", kernel_cause(ns), ns, id);
}

/* Kernels of both streams side by side, the second one from some time of the first on. */
static void overlapping_kernels(schedule *self) {
  if (self->passes > 1) { /* they would share the part that is spared */
    kernel(self);
    return;
  }
  const int64_t in_call = draw(self, 500, LEDGER_LATENCY_CUDA_NS / 2),
                latency = draw(self, 0, LEDGER_LATENCY_CUDA_NS / 2);
  const int64_t first = draw(self, LEDGER_TINY_CUDA_NS, 60000), second = draw(self, LEDGER_TINY_CUDA_NS, 60000),
                from = draw(self, 0, first);
  const uint64_t one = call(self, PD_API_LAUNCH, "cudaLaunch", self->now, in_call);
  const uint64_t two = call(self, PD_API_LAUNCH, "cudaLaunch", self->now + in_call, in_call);
  const int64_t whole = first > from + second ? first : from + second;
  book(self, idle_cause(self), 2 * in_call + latency);
  self->tail = false;
  fake_kernel(self->fake, "k", self->streams[0], self->now, self->now + first, one);
  fake_kernel(self->fake, "k", self->streams[1], self->now + from, self->now + from + second, two);
  self->busy[0] += first;
  self->busy[1] += second;
  self->together += whole;
  book(self, LEDGER_compute, whole);
}

/* Stream 0 waits for an event behind a kernel of stream 1: since its launch, while that runs. */
static void waiting_kernel(schedule *self) {
  if (self->passes > 1) { /* a part of the kernel would be serialised, another spared */
    kernel(self);
    return;
  }
  const int64_t in_call = draw(self, 500, LEDGER_LATENCY_CUDA_NS / 4),
                latency = draw(self, 0, LEDGER_LATENCY_CUDA_NS / 2);
  const int64_t gap = draw(self, 0, 12000);
  const int64_t first = draw(self, LEDGER_LATENCY_CUDA_NS + 1, 80000), second = draw(self, 1, 80000);
  const uint64_t one = call(self, PD_API_LAUNCH, "cudaLaunch", self->now, in_call);
  call(self, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", self->now + in_call, in_call);
  const uint64_t two = call(self, PD_API_LAUNCH, "cudaLaunch", self->now + 2 * in_call, in_call);
  book(self, idle_cause(self), 3 * in_call + latency);
  self->tail = false;
  if (self->wait_count < SCHEDULE_MAX_WAITS) {
    self->waits[self->wait_count] = first;
    self->wait_causes[self->wait_count++] = kernel_cause(first);
  }
  alone(self, 1, "k", kernel_cause(first), first, one);
  book(self, gap <= LEDGER_GAP_CUDA_NS ? LEDGER_launch_gap : LEDGER_device_side, gap);
  alone(self, 0, "k", kernel_cause(second), second, two);
}

/* What the waits cost, from the first on, is no more than the streams would save side by side. */
static void book_waits(schedule *self) {
  int64_t left = self->together - (self->busy[0] > self->busy[1] ? self->busy[0] : self->busy[1]);
  for (uint32_t i = 0; i < self->wait_count; i++) {
    const int64_t ns = self->waits[i] < left ? self->waits[i] : left;
    self->want[self->step][LEDGER_serialised] += ns;
    self->want[self->step][self->wait_causes[i]] -= ns;
    left -= ns;
  }
  self->busy[0] = self->busy[1] = self->together = 0;
  self->wait_count = 0;
}

static void queued_kernels(schedule *self) {
  const int64_t in_call = draw(self, 500, LEDGER_LATENCY_CUDA_NS / 2),
                latency = draw(self, 0, LEDGER_LATENCY_CUDA_NS / 2);
  const int64_t gap = draw(self, 1, 12000);
  const int64_t first = draw(self, LEDGER_LATENCY_CUDA_NS, 40000), second = draw(self, 1, 20000);
  const uint64_t one = call(self, PD_API_LAUNCH, "cudaLaunch", self->now, in_call);
  const uint64_t two = call(self, PD_API_LAUNCH, "cudaLaunch", self->now + in_call, in_call);
  book(self, idle_cause(self), 2 * in_call + latency);
  self->tail = false;
  alone(self, 0, "k", kernel_cause(first), first, one);
  book(self, gap <= LEDGER_GAP_CUDA_NS ? LEDGER_launch_gap : LEDGER_device_side, gap);
  alone(self, 1, "k", kernel_cause(second), second, two);
}

/* A pinned copy beside a kernel: only what sticks out of it is exposed. */
static void copy_beside_kernel(schedule *self) {
  const int64_t in_call = draw(self, 500, LEDGER_LATENCY_CUDA_NS / 2),
                latency = draw(self, 0, LEDGER_LATENCY_CUDA_NS / 2);
  const int64_t ns = draw(self, LEDGER_TINY_CUDA_NS, 50000), from = draw(self, 0, ns), out = draw(self, 0, 20000);
  const uint64_t one = call(self, PD_API_LAUNCH, "cudaLaunch", self->now, in_call);
  const uint64_t two = call(self, PD_API_MEMCPY, "cudaMemcpyAsync", self->now + in_call, in_call);
  book(self, idle_cause(self), 2 * in_call + latency);
  self->tail = false;
  fake_copy(self->fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 64, self->streams[2], self->now + from,
            self->now + ns + out, two);
  alone(self, 0, "k", LEDGER_compute, ns, one);
  book(self, LEDGER_copy_pinned, out);
}

/* The kit's, an operation, or the scenario's own. */
static void pinned_copy(schedule *self) {
  const int64_t from = self->now, ns = draw(self, 1, 60000);
  const bool kits = draw(self, 0, 1);
  const uint64_t id = launch(self, PD_API_MEMCPY);
  if (kits) fake_range(self->fake, PD_RANGE_OP, "aten::copy_", 0, from, self->now);
  fake_copy(self->fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 64, self->streams[0], self->now, self->now + ns, id);
  book(self, self->copies_ahead && kits ? LEDGER_copy_late : LEDGER_copy_pinned, ns);
}

static void set(schedule *self) {
  const uint64_t id = launch(self, PD_API_MEMSET);
  const int64_t ns = draw(self, 1, 5000);
  fake_set(self->fake, 64, self->streams[0], self->now, self->now + ns, id);
  book(self, LEDGER_copy_device, ns);
}

static void keep(schedule *self, uint32_t cause) {
  self->tail = true;
  self->behind = cause;
}

/* The call stages before its copy runs and ends after it. */
static void pageable_copy(schedule *self) {
  const int64_t before = draw(self, 1, 30000), ns = draw(self, 1, 40000), after = draw(self, 0, LEDGER_LATENCY_CUDA_NS);
  const uint64_t id = call(self, PD_API_MEMCPY, "cudaMemcpyAsync", self->now, before + ns + after);
  book(self, LEDGER_transfer, before);
  self->tail = false;
  fake_copy(self->fake, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE, 64, self->streams[0], self->now, self->now + ns, id);
  book(self, LEDGER_copy_pageable, ns);
  book(self, LEDGER_transfer, after);
  keep(self, LEDGER_transfer);
}

static void blocking_read(schedule *self) {
  const int64_t before = draw(self, 1, 20000), ns = draw(self, 1, 5000), after = draw(self, 0, LEDGER_LATENCY_CUDA_NS);
  const uint64_t id = call(self, PD_API_MEMCPY, "cudaMemcpyAsync", self->now, before + ns + after);
  book(self, LEDGER_forced_sync, before);
  fake_copy(self->fake, PD_MEMORY_DEVICE, PD_MEMORY_PAGEABLE, 4, self->streams[0], self->now, self->now + ns, id);
  book(self, LEDGER_copy_read, ns);
  book(self, LEDGER_forced_sync, after);
  keep(self, LEDGER_forced_sync);
}

static void synchronisation(schedule *self) {
  const int64_t ns = draw(self, 1, 20000);
  call(self, PD_API_SYNC, "cudaStreamSynchronize", self->now, ns);
  book(self, LEDGER_forced_sync, ns);
  keep(self, LEDGER_forced_sync);
}

static void allocation(schedule *self) {
  const int64_t ns = draw(self, 1, 50000);
  call(self, draw(self, 0, 1) ? PD_API_ALLOC : PD_API_FREE, "cudaMalloc", self->now, ns);
  book(self, LEDGER_allocator, ns);
}

static void host_compute(schedule *self) {
  const int64_t in_call = draw(self, 1, 2000), ns = draw(self, LEDGER_HOST_COMPUTE_NS, 900000);
  call(self, PD_API_OTHER, "cudaEventRecord", self->now, in_call);
  book(self, idle_cause(self), in_call);
  book(self, LEDGER_host_compute, ns);
  call(self, PD_API_OTHER, "cudaEventRecord", self->now, in_call);
  book(self, idle_cause(self), in_call);
}

static void overhead(schedule *self) {
  const int64_t before = draw(self, 0, 3000), ns = draw(self, 1, 40000), after = draw(self, 0, 3000);
  call(self, PD_API_OTHER, "cudaEventRecord", self->now, before + ns + after);
  book(self, idle_cause(self), before);
  fake_other(self->fake, PD_ACTIVITY_OVERHEAD, "buffer flush", PD_NONE, self->now, self->now + ns);
  book(self, LEDGER_profiler, ns);
  book(self, idle_cause(self), after);
}

static void temporary(schedule *self) {
  const uint64_t address = self->correlation + 1;
  fake_memory(self->fake, 0, self->now + ALLOCATOR_NS, address, 4096, 4096, 4096);
  book(self, LEDGER_allocator, ALLOCATOR_NS);
  const uint64_t id = launch(self, PD_API_LAUNCH);
  const int64_t ns = draw(self, 1, 30000);
  alone(self, 0, "fill", LEDGER_temporaries, ns, id);
  fake_memory(self->fake, 0, self->now + ALLOCATOR_NS, address, -4096, 0, 4096);
  book(self, LEDGER_allocator, ALLOCATOR_NS);
}

/* Two kernels on a temporary, the second queued behind the first. */
static void queued_temporaries(schedule *self) {
  const uint64_t address = self->correlation + 1;
  fake_memory(self->fake, 0, self->now + ALLOCATOR_NS, address, 4096, 4096, 4096);
  book(self, LEDGER_allocator, ALLOCATOR_NS);
  const int64_t in_call = draw(self, 500, LEDGER_LATENCY_CUDA_NS / 2),
                latency = draw(self, 0, LEDGER_LATENCY_CUDA_NS / 2);
  const int64_t gap = draw(self, 1, 12000), first = draw(self, LEDGER_LATENCY_CUDA_NS, 40000);
  const uint64_t one = call(self, PD_API_LAUNCH, "cudaLaunch", self->now, in_call);
  const uint64_t two = call(self, PD_API_LAUNCH, "cudaLaunch", self->now + in_call, in_call);
  book(self, idle_cause(self), 2 * in_call + latency);
  self->tail = false;
  alone(self, 0, "fill", LEDGER_temporaries, first, one);
  book(self, gap <= LEDGER_GAP_CUDA_NS ? LEDGER_allocator : LEDGER_device_side, gap);
  alone(self, 0, "mean", LEDGER_temporaries, draw(self, 1, 20000), two);
  fake_memory(self->fake, 0, self->now + ALLOCATOR_NS, address, -4096, 0, 4096);
  book(self, LEDGER_allocator, ALLOCATOR_NS);
}

/* A batch that the loader finishes while the loop waits, or had ready long before. */
static void wait_for_batch(schedule *self) {
  const int64_t start = self->now, ns = draw(self, 1, 400000);
  fake_range(self->fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, start, start + ns);
  if (draw(self, 0, 3) == 0) {
    book(self, LEDGER_input_handover, ns);
    return;
  }
  const int64_t end = start + draw(self, 1, ns);
  int64_t from = start - draw(self, 0, 300000);
  if (from < self->loader_free) from = self->loader_free;
  if (from > start) from = start;
  const int64_t read = draw(self, 0, (end - from) / 2), read_from = from + draw(self, 0, end - from - read);
  fake_range(self->fake, PD_RANGE_WORKER, "DataLoader worker: batch", self->loader, from, end);
  if (read)
    fake_range(self->fake, PD_RANGE_WORKER, "DataLoader worker: read", self->loader, read_from, read_from + read);
  self->loader_free = end;
  const int64_t seen_from = read_from > start ? read_from : start;
  const int64_t seen = read_from + read > seen_from ? read_from + read - seen_from : 0;
  book(self, LEDGER_input_io, seen);
  book(self, LEDGER_input_cpu, end - start - seen);
  book(self, LEDGER_input_handover, start + ns - end);
}

static void loop_sync(schedule *self) {
  if (!self->syncs) return;
  const int64_t ns = draw(self, 1, 30000);
  call(self, PD_API_SYNC, "cudaDeviceSynchronize", self->now, ns);
  book(self, LEDGER_measurement, ns);
  self->tail = true;
  self->behind = LEDGER_measurement;
}

static void train_step(schedule *self) {
  static void (*const segments[])(schedule *) = {kernel,     queued_kernels, copy_beside_kernel, pinned_copy,
                                                 set,        pageable_copy,  blocking_read,      synchronisation,
                                                 allocation, host_compute,   overhead,           temporary,
                                                 kernel,     waiting_kernel, queued_temporaries, overlapping_kernels};
  const int64_t start = self->now, count = draw(self, 1, 6);
  for (int64_t i = 0; i < self->passes; i++)
    fake_range(self->fake, PD_RANGE_USER, "forward", 0, start + i, start + i + 1);
  kernel(self); /* so that stream 0 is one of kernels */
  for (int64_t i = 0; i < count; i++)
    segments[draw(self, 0, (int64_t)(sizeof segments / sizeof segments[0]) - 1)](self);
  fake_range(self->fake, PD_RANGE_USER, "train_step", 0, start, self->now);
  if (self->behind != LEDGER_measurement) self->tail = false; /* it ends with train_step */
}

void schedule_make(schedule *self, uint64_t seed) {
  memset(self, 0, sizeof *self);
  self->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  self->fake = fake_trace_open();
  if (!self->fake) return;
  self->streams[0] = fake_stream(self->fake, 0, 1, 7);
  self->streams[1] = fake_stream(self->fake, 0, 1, 8);
  self->streams[2] = fake_stream(self->fake, 0, 1, 9);
  self->loader = fake_thread(self->fake, 4243, "pdhost loader 0");
  self->steps = (uint32_t)draw(self, 1, SCHEDULE_MAX_STEPS);
  self->syncs = draw(self, 0, 1);
  self->copies_ahead = draw(self, 0, 1);
  self->passes = draw(self, 0, 3) ? 1 : draw(self, 2, 8);
  self->now = self->loader_free = draw(self, 0, 1000);
  for (self->step = 0; self->step < self->steps; self->step++) {
    const int64_t start = self->now;
    if (self->step == 0 && draw(self, 0, 7) == 0) {
      book(self, LEDGER_unknown, draw(self, 1, 1000000));
      self->passes = 1; /* per step, this one counted too, there would be fewer than a step has */
    } else {
      wait_for_batch(self);
      book(self, LEDGER_measurement, draw(self, 0, 3000));
      loop_sync(self);
      book(self, LEDGER_measurement, draw(self, 0, 1000));
      if (draw(self, 0, 3) == 0) pageable_copy(self); /* the scenario's own, before train_step */
      train_step(self);
      loop_sync(self);
      book(self, LEDGER_measurement, draw(self, 1, 3000));
      book_waits(self);
    }
    fake_step(self->fake, self->step, start, self->now);
  }
}
