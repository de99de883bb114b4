/*
 * A CUPTI for machines without a GPU: a shared library with CUPTI's own function names, opened by the product as the
 * real one is, and steered by the tests through the functions below.
 *
 * It keeps the real one's rules and counts every breach: no call from inside a callback, attributes before the buffer
 * callbacks, no flush while it is being given back. One lock is held through every call and every callback, as CUPTI
 * does, so that an order of locks that could hang, hangs here.
 */
#ifndef TESTS_FAKE_CUPTI_H
#define TESTS_FAKE_CUPTI_H

#include <cupti.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_KERNEL_SLOTS = 4096 };

/* What the tests may set; zeroed by fake_reset but for the version. */
typedef struct fake_config {
  uint32_t version;          /* 130001 */
  const char *fail_function; /* "cuptiSubscribe", ...: this one returns `fail_code` */
  int fail_code;
  uint32_t fail_after;    /* how many calls of it go well first */
  const char *other_tool; /* Subscribe: this one is there already, 39 */
  size_t record_growth;   /* records are longer by this, as a newer library's */
  bool record_shrink;     /* kernels are shorter than this build's */
  uint32_t empty_flushes; /* that many flushes deliver nothing */
  uint32_t slow_flush_ms; /* so long each flush takes */
  bool late_completion;   /* buffers come from another thread after the flush has returned */
  bool clock_elsewhere;   /* GetTimestamp counts from another origin */
  bool graph_silence;     /* graphs' kernels are not recorded once kinds have been off */
  bool keeps_callbacks;   /* Finalize does not stop the callbacks */
  bool slow_finalize;     /* Finalize gives one more buffer back and takes 20 ms after that */
  bool one_by_one;        /* CUDA is being initialised: calls can be switched on without their kind */
  uint32_t first_correlation;
  size_t dropped; /* what GetNumDroppedRecords says next */
} fake_config;

/* What the product has done. */
typedef struct fake_counts {
  uint32_t in_callback; /* calls from inside a callback */
  uint32_t bad_order;   /* attributes after callbacks, kinds before them, calls without a subscriber */
  uint32_t attribute_changed;
  uint32_t timestamp_callbacks, external_ids, latency, whole_kinds; /* never wanted; the last: others than the known */
  uint32_t flushes, forced_flushes, flushes_by_subscriber;
  uint32_t flushes_begun;
  uint32_t flushes_at_a_time; /* begun while another one ran */
  uint32_t overlapping;       /* a call while Finalize ran */
  uint32_t requests, refused, completions, attaches, finalizes;
  uint32_t sync_records_limited, thread_id_type;
  uint32_t unzeroed;              /* buffers handed out that were not all zero */
  uint32_t cleared;               /* buffers that it had to clear itself, on the launching thread */
  uint32_t left_to_finalize;      /* buffers that no flush had asked for before Finalize did */
  uint32_t runtime_on, driver_on; /* single calls recorded right now */
  bool kernel_on, memcpy_on, peer_on, memset_on, overhead_on, sync_on, runtime_kind, driver_kind;
} fake_counts;

void fake_reset(void);
fake_config *fake_set(void);
fake_counts fake_get(void);

/* A call of CUDA's, recorded where it is switched on; returns its correlation id. */
uint32_t fake_call(bool driver, uint32_t cbid, uint32_t result, bool nested_in_last);
/* cudaLaunchKernel (211) and its kernel, which runs until fake_finish(). */
uint32_t fake_launch(const char *name);
/* The same by the driver's interface: cuLaunchKernel (307) alone. */
uint32_t fake_driver_launch(const char *name);
/* A context is about to be destroyed. */
void fake_context_ends(void);
/* A graph's launch (311) and `nodes` kernels of graph `graph`, all running. */
uint32_t fake_graph_launch(uint32_t graph, uint32_t nodes);
/* The same with the nodes under a wrong id. */
uint32_t fake_graph_launch_wrong(uint32_t graph, uint32_t nodes);
/* cudaMemcpyAsync (41) and cudaMemsetAsync (51), done at once; a set of no bytes leaves no record. */
uint32_t fake_memcpy(uint64_t bytes);
uint32_t fake_memset(uint64_t bytes);
/* cudaMemcpyAsync from one device to another. */
uint32_t fake_peer_memcpy(uint64_t bytes);
/* An overhead record with data of its own. */
void fake_overhead(void);
void fake_sync(void);
/* Ends all running kernels; `only` non-zero: the oldest that many. */
void fake_finish(uint32_t only);
/* The same with times set by the test. */
void fake_finish_at(uint32_t correlation, uint64_t start, uint64_t end);
/* Hands the calling thread's buffer over as a full one. */
void fake_fill(void);
/* Keeps the calling thread's buffer until the library has been given back; it comes in the next session, or never. */
void fake_keep(bool for_good);
/* A call begun at `start`, and its kernel, as of a thread that was inside it while kinds were switched off. */
uint32_t fake_straggler(const char *name, uint64_t start);
/* The calling thread's further calls have the id of the last call, until the library is given back. */
void fake_stick(void);
/* Requests a buffer as a launching thread would and keeps it; NULL where none was given. */
uint8_t *fake_request(size_t *bytes);
void fake_complete(uint8_t *buffer, size_t valid);
/* Requests one without the library's lock: the thread is inside the callback while the library is given back. */
uint8_t *fake_request_beside(size_t *bytes);
/* CUPTI's report that it cannot go on. */
void fake_fatal(int code);
/* Waits for completions under way on other threads. */
void fake_join(void);

#endif
