/* Watches, between blocks, what may disturb a measurement: a GPU's clocks, the machine's other programs. [loop thread]
 */
#ifndef CORE_RUN_GUARD_H
#define CORE_RUN_GUARD_H

#include <pdhost/plugin.h>

typedef struct guard guard;

/* `is_cuda`: also watches GPU `device_index`, where NVML is there. NULL on no memory. */
guard *guard_open(bool is_cuda, uint32_t device_index);
void guard_close(guard *self);

/* What was seen. */
typedef struct guard_facts {
  double load_before, load_after; /* average of the last minute; negative: unknown */
  double own_cores, other_cores;  /* busy during the measurement: with this process, with others; negative: unknown */
  uint32_t cores;                 /* that this process may use; other_cores is of these */
  double elapsed_s;
  double stopped_s;                                /* of it the process stood still: see heartbeat.h */
  uint32_t looks;                                  /* at the clocks; 0: no NVML */
  uint32_t least_sm_mhz, last_sm_mhz, most_sm_mhz; /* seen, and the GPU's own limit */
  uint64_t reasons;                                /* of all looks together */
} guard_facts;

/* A look at the clocks, at most every 20 ms. Call it between blocks: it takes some microseconds. */
void guard_look(guard *self);
/* From the first call on the measurement counts; the second ends it. */
void guard_begin(guard *self);
void guard_end(guard *self, guard_facts *facts);
/* What was seen so far. */
void guard_so_far(guard *self, guard_facts *facts);

/* The GPU's energy, with all of its board, since guard_energy_begin, in joules. 0: no GPU, none that counts it, or a
 * time shorter than GUARD_ENERGY_LEAST_S, of which the counter, which moves some times a second, says too little. */
#define GUARD_ENERGY_LEAST_S 1
/* `powercap`: the folder of the processors' counters, which stays. */
void guard_energy_begin(guard *self, const char *powercap);
double guard_energy_j(guard *self);
/* The same of the processors' packages, by powercap. 0: no counter that this user may read, or as above. */
double guard_processor_energy_j(guard *self);
/* The file of a counter that could not be read, and why; NULL: all could, or the system has none. */
const char *guard_processor_fault(const guard *self);

/* Other programs that keep this share of the machine busy are worth a warning. */
#define GUARD_OTHERS_WARN 0.1

/* A sentence about the machine's other programs, where they left too few cores for this one; and one about a time in
 * which the process stood still. False: there is nothing to say. */
bool guard_tells_taken_cores(const guard_facts *facts, char *text, size_t room);
bool guard_tells_stop(const guard_facts *facts, char *text, size_t room);

#endif
