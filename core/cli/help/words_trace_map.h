/* Words of what is written for viewers and of the tables; as words_map.h. */
#ifndef CORE_CLI_HELP_WORDS_TRACE_MAP_H
#define CORE_CLI_HELP_WORDS_TRACE_MAP_H

#define WORDS_TRACE(X)                                                                                                 \
  X("schemaVersion", "version of the trace's form")                                                                    \
  X("deviceProperties", "the devices of the run, with CUDA's names")                                                   \
  X("totalGlobalMem", "memory of the device, in bytes")                                                                \
  X("computeMajor", "major number of the GPU's compute capability")                                                    \
  X("computeMinor", "minor number of the GPU's compute capability")                                                    \
  X("maxThreadsPerBlock", "most threads of a block")                                                                   \
  X("maxThreadsPerMultiprocessor", "most threads on a multiprocessor")                                                 \
  X("regsPerBlock", "most registers of a block")                                                                       \
  X("warpSize", "threads of a warp")                                                                                   \
  X("sharedMemPerBlock", "shared memory of a block, in bytes")                                                         \
  X("numSms", "multiprocessors of the GPU")                                                                            \
  X("regsPerMultiprocessor", "registers of a multiprocessor")                                                          \
  X("sharedMemPerBlockOptin", "most shared memory that a block can ask for, in bytes")                                 \
  X("sharedMemPerMultiprocessor", "shared memory of a multiprocessor, in bytes")                                       \
  X("distributedInfo", "which of the processes that train together this is, for tools that ask")                       \
  X("backend", "library of collectives, for tools that ask")                                                           \
  X("rank", "number of the process among those that train together, from 0")                                           \
  X("ranks", "how many processes train together; 1: this one alone")                                                   \
  X("Collective name", "what a collective does, as torch calls it: allreduce")                                         \
  X("In msg nelems", "elements that each rank gives to a collective")                                                  \
  X("Out msg nelems", "elements that each rank gets from a collective")                                                \
  X("Group size", "ranks that take part in a collective")                                                              \
  X("dtype", "type of the elements of a collective")                                                                   \
  X("In split size", "empty: every rank gives as much")                                                                \
  X("Out split size", "empty: every rank gets as much")                                                                \
  X("Process Group Name", "the group of ranks that a collective is of; always 0")                                      \
  X("Process Group Description", "the group of ranks in words")                                                        \
  X("Process Group Ranks", "the ranks of the group")                                                                   \
  X("Seq", "number of a collective within its trace, from 1: the same on all ranks")                                   \
  X("world_size", "processes that train together")                                                                     \
  X("cuda_runtime_version", "version of the CUDA runtime")                                                             \
  X("cuda_driver_version", "newest CUDA version that the driver knows")                                                \
  X("trace_id", "what names this trace among others")                                                                  \
  X("displayTimeUnit", "unit that a viewer shows times in")                                                            \
  X("baseTimeNanoseconds", "what the trace's time 0 is, in nanoseconds since 1970 (UTC)")                              \
  X("traceName", "the trace's own file")                                                                               \
  X("traceEvents", "all events of the trace")                                                                          \
  X("version", "version of pdhost")                                                                                    \
  X("device_versions", "versions of the driver and the libraries")                                                     \
  X("host_id_offset", "number added to the process id, so that no device's row has the same")                          \
  X("clipped_slices", "events that were cut short so that they nest")                                                  \
  X("overlapping_slices", "device records that overlap others of their stream and have a row of their own")            \
  X("events", "how many events the trace has")                                                                         \
  X("ph", "kind of event: X a span, i an instant, C a counter, s and f ends of an arrow, M a name")                    \
  X("cat", "category: cpu_op, kernel, gpu_memcpy, cuda_runtime and so on")                                             \
  X("ts", "when the event begins, in microseconds of the trace's time")                                                \
  X("dur", "how long the event lasts, in microseconds")                                                                \
  X("s", "how far an instant is drawn: t its thread, g the whole trace")                                               \
  X("bp", "where an arrow ends: e, at the span around it")                                                             \
  X("until_us", "end of the time in which records were lost, in microseconds of the trace's time")                     \
  X("args", "what else is known of an event")                                                                          \
  X("labels", "words after the name of a row")                                                                         \
  X("sort_index", "place of a row among the others")                                                                   \
  X("External id", "number that an operation and what it launches have in common")                                     \
  X("Record function id", "of PyTorch's own; always 0")                                                                \
  X("Ev Idx", "number of the host event in the trace")                                                                 \
  X("Input Dims", "shapes of the operation's inputs")                                                                  \
  X("Input type", "types of the operation's inputs")                                                                   \
  X("Call stack", "frames of the operation's call stack")                                                              \
  X("Sequence number", "number that a forward operation and its backward one have in common")                          \
  X("Fwd thread id", "thread of the forward operation that this backward one belongs to")                              \
  X("Module Hierarchy", "module path of the operation, such as SimpleCNN.conv1")                                       \
  X("Python id", "number of a module's call")                                                                          \
  X("Python parent id", "number of the module's call that this one is in")                                             \
  X("Python module id", "which of several modules of that name it is")                                                 \
  X("Op count", "how many operations the span has")                                                                    \
  X("queued", "when the work was queued; 0: not recorded")                                                             \
  X("registers per thread", "registers that each thread of the kernel has")                                            \
  X("shared memory", "shared memory of a block, in bytes")                                                             \
  X("blocks per SM", "blocks of the launch for each multiprocessor")                                                   \
  X("warps per SM", "warps of the launch for each multiprocessor")                                                     \
  X("est. achieved occupancy %", "estimated share of the warps that a multiprocessor can hold")                        \
  X("memory bandwidth (GB/s)", "bytes over time, in 10^9 bytes per second")                                            \
  X("graph id", "CUDA graph that launched it")                                                                         \
  X("graph node id", "node of the CUDA graph")                                                                         \
  X("cuda_sync_kind", "what was waited for: an event, a stream or the whole context")                                  \
  X("wait on stream", "stream that is waited for")                                                                     \
  X("Total Reserved", "bytes held after the event, used or not")                                                       \
  X("Total Allocated", "bytes allocated after the event")                                                              \
  X("Device Id", "device of the memory; -1: the host's")                                                               \
  X("Device Type", "which memory: 0 host, 1 CUDA device")                                                              \
  X("Addr", "address of the memory")                                                                                   \
  X("finished", "whether an event is the last of its kind; always false")                                              \
  X("allocated", "bytes that are allocated at that time")                                                              \
  X("reserved", "bytes that are held at that time, used or not")

#define WORDS_TENSORBOARD(X)                                                                                           \
  X("time/step_time_s", "time of each step without the wait for its batch, in seconds")                                \
  X("time/dataloader_wait_s", "wait of the loop for each step's batch, in seconds")                                    \
  X("time/batch_cost_s", "time of each whole step, its wait included, in seconds")                                     \
  X("throughput/samples_per_s", "samples of each step over its whole time")                                            \
  X("train/loss", "loss of each step that read it")                                                                    \
  X("memory/allocated_bytes", "device memory in use after each step")                                                  \
  X("memory/reserved_bytes", "device memory held after each step, used or not")                                        \
  X("device/busy_share", "share of each recorded step with work on the device")                                        \
  X("device/launches", "launches of each recorded step")                                                               \
  X("histograms/step_time_us", "spread of the times of a window's steps without their waits, in microseconds")         \
  X("histograms/kernel_duration_us", "spread of the durations of all kernels of a window, in microseconds")            \
  X("histograms/launch_latency_us", "spread of the times from a launch to the start of its kernel, in microseconds")   \
  X("run/configuration", "every key of the run with its value and where that is from")                                 \
  X("run/quick_stats", "the run's main figures")                                                                       \
  X("custom_scalars__config__", "which scalars share a chart in TensorBoard")                                          \
  X("_hparams_/experiment", "which keys and metrics TensorBoard's HPARAMS page shows")                                 \
  X("_hparams_/session_start_info", "the run's keys for TensorBoard's HPARAMS page")                                   \
  X("_hparams_/session_end_info", "how the run ended, for TensorBoard's HPARAMS page")

#define WORDS_TABLES(X)                                                                                                \
  X("active_steps", "every recorded step with its times, launches and classes")                                        \
  X("breakdown", "the steps' time by class, in falling priority")                                                      \
  X("collectives", "collectives of each rank by name: how often, how much, how long, and how much is transfer")        \
  X("device_figures", "utilization, efficiency and occupancy of the device")                                           \
  X("device_summary", "how busy the processor and the device were")                                                    \
  X("distributed", "time of collectives, and how much of it computation hides")                                        \
  X("flops", "floating point operations of the steps, and the share of the device's peak")                             \
  X("gains", "what the steps would save without each cause of lost time")                                              \
  X("idle_reasons", "what the launching threads did while the device was idle, as the system saw it")                  \
  X("idle_code", "lines of the program's own Python code while the device was idle")                                   \
  X("children", "processor time and reading of the processes that the program has started")                            \
  X("kernels", "kernels by name")                                                                                      \
  X("kernel_operators", "kernels by the operator that launched them")                                                  \
  X("ledger", "where every moment of the steps goes: one cause each")                                                  \
  X("ledger_steps", "the ledger of each step")                                                                         \
  X("memcpy", "copies and sets by direction")                                                                          \
  X("memory_blocks", "the largest blocks of memory: who allocated each, when, and when it was freed")                  \
  X("memory_churn", "allocations of each operation: how many, how long they live")                                     \
  X("memory_peak", "what was allocated at the peak, by who allocated it")                                              \
  X("messages", "collectives of several ranks by size, with their bandwidths")                                         \
  X("model", "times of data loading, forward, backward and optimisation")                                              \
  X("modules", "time by module of the network")                                                                        \
  X("operator_summary", "operations with what is nested in them, as Paddle prints them")                               \
  X("operators", "operations by name, as torch prints them")                                                           \
  X("overview", "time by type of event")                                                                               \
  X("perf_summary", "wait for data, iteration time and samples per second of the steps")                               \
  X("ranks_ledger", "the ledger of each rank, with waits for other ranks apart from transfers")                        \
  X("ranks_parts", "how the steps of each rank divide: computation, overlap, communication, other")                    \
  X("stacks", "host time by call stack")                                                                               \
  X("stacks_device", "device time by call stack")                                                                      \
  X("userdefined", "the ranges that the scenario named")                                                               \
  X("run", "how the run ended, and how many steps and windows it has")                                                 \
  X("annotations", "device time of named spans of the host")                                                           \
  X("copies", "copies and sets of the device, one by one")                                                             \
  X("lost_spans", "when records were lost, and of which thread")                                                       \
  X("streams", "streams of the device that have records")

#endif
