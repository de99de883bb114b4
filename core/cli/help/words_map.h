/* Words that are neither metrics (tables/metrics_map.h) nor keys: X(word, text), a map for each place they are in. */
#ifndef CORE_CLI_HELP_WORDS_MAP_H
#define CORE_CLI_HELP_WORDS_MAP_H

#define WORDS_PRINTED(X)                                                                                               \
  X("Verdict", "what took the largest share of the steps besides the device's useful work, in one line")               \
  X("withheld", "no verdict is given, because the records do not carry one; the line says why")                        \
  X("possibly", "before a verdict: under 90 in 100 resamples of the steps agree, others took the processors, or half " \
                "or 1.5 times the estimated cost of recording would give another")                                     \
  X("causes", "what a verdict can name; pdhost list causes prints all of them")                                        \
  X("Ranks", "what several ranks say together: the one that the others wait for, or what their transfers cost")        \
  X("uncovered", "of the transfers of a rank, the part beside which nothing is computed")                              \
  X("delays", "what the other ranks wait for this one, in milliseconds a step")                                        \
  X("straggler", "of several ranks: one comes late to most collectives, and its host is the reason")                   \
  X("uneven_work", "of several ranks: one comes late, since its device computes for longer")                           \
  X("slow_device", "of several ranks: one comes late, since its device is slower at the same work")                    \
  X("comm_bound", "of several ranks: transfers hold up the step, although most of them have computing beside them")    \
  X("comm_not_overlapped", "of several ranks: transfers hold up the step, and most of them have nothing beside them")  \
  X("comm_wait", "in ranks_ledger: a wait for other ranks in a collective beside which nothing runs")                  \
  X("comm_transfer", "in ranks_ledger: a transfer beside which nothing runs")                                          \
  X("Gain", "what the step would save without the cause, as a part of its time")                                       \
  X("Busy", "with no bottleneck: the part of the step in which the device works")                                      \
  X("repeatable", "in how many of 100 resamples of the steps the verdict is the same; not whether it is right")        \
  X("resamples", "sets of as many steps, drawn at random with repetition from those recorded (a bootstrap)")           \
  X("Step",                                                                                                            \
    "mean time of the steps that the verdict rests on; after the arrow, the time that is expected after the change")   \
  X("expected", "the step's time to expect after the change that is suggested")                                        \
  X("Evidence", "the figures of the records that the verdict rests on")                                                \
  X("Others", "the largest of the other causes, and what the step would save without each")                            \
  X("Try next", "a command to type: the same run with the change that should make the cause smaller")                  \
  X("Windows", "how many windows were recorded, and how many of them give this verdict")                               \
  X("Where the step goes", "the largest rows of the ledger: every moment of the steps counts for one row")             \
  X("Where the time goes", "the same of the whole file, where no steps were found")                                    \
  X("Whole file", "in the place of the steps, where none were found: times and calls are those of the whole file")     \
  X("ms/step", "milliseconds of each step, as a mean over the recorded steps")                                         \
  X("us/step", "microseconds of each step, as a mean over the recorded steps")                                         \
  X("calls/step", "calls or device records of each step, as a mean over the recorded steps")                           \
  X("Steps", "times of the active steps: median, least, 10th and 90th percentile, most")                               \
  X("step on device", "time of a step on the device, where the host does not wait for it (run.sync_timing = false)")   \
  X("each in order", "the whole time of each active step, from the first to the last, drawn from least to most")       \
  X("device memory", "most bytes that were allocated on the device at one time")                                       \
  X("Operators", "operations of the network with the time of each step that is theirs alone")                          \
  X("Notes", "what makes the figures less sure: lost records, disturbances, settings without effect")                  \
  X("Files", "what the run's sinks wrote")                                                                             \
  X("hand-over", "the wait for a batch that was ready, or soon ready, while it came from a worker to the loop")        \
  X("injected", "time that a scenario adds on purpose; the verdict does not read it")                                  \
  X("recording", "what the profiler adds to a step; shares are of the steps without it")                               \
  X("exposed", "of a copy: while it runs, the device does nothing else")                                               \
  X("idle", "time in which no work runs on the device")                                                                \
  X("staged", "of pageable memory: the host copies it into memory that the device can read, and only then it is sent") \
  X("coverage", "share of the launches that have their device record; below 99.9 % there is no verdict")               \
  X("FASTER", "B takes less time than A, by more than the margin, and chance does not explain it")                     \
  X("SLOWER", "B takes more time than A, by more than the margin, and chance does not explain it")                     \
  X("SAME", "the whole interval of the ratio of B to A lies within the margin")                                        \
  X("UNCLEAR", "the times do not tell whether B is faster or slower than A")                                           \
  X("ratio", "time of B over time of A; below 1, B is faster")                                                         \
  X("interval", "where the ratio lies with 95 % certainty, by resampling (a bootstrap)")                               \
  X("p", "how often chance alone gives a difference like this one (a permutation test)")                               \
  X("margin", "a difference that does not matter; --margin sets it")

#define WORDS_RUN(X)                                                                                                   \
  X("schema_version", "version of the document's form; docs/schema/metrics.schema.json is that form")                  \
  X("pdhost_version", "version of the pdhost that ran")                                                                \
  X("source_id", "git id of the sources that pdhost was built from; -dirty says that they were changed")               \
  X("scenario_version", "version of the scenario's plugin")                                                            \
  X("bottleneck", "the cause that the scenario declares to inject; the verdict does not read it")                      \
  X("command_line", "the command that was typed")                                                                      \
  X("host_name", "name of the machine")                                                                                \
  X("pid", "process id of the run; in a trace, the row that an event belongs to: a process or a device")               \
  X("start_realtime_ns", "when it began, in nanoseconds since 1970 (UTC)")                                             \
  X("resident", "where batches made before the loop stay: host or device; none: every batch is loaded")                \
  X("schedule", "which steps were recorded: the keys of [schedule]")                                                   \
  X("total_steps", "steps of the loop that the schedule asks for; 0: no end of its own")                               \
  X("fallback", "why the run was not on a GPU; null: it was, or the CPU was asked for")                                \
  X("versions", "versions of the driver and the libraries; in a measurement, of pdhost and its plugins too")           \
  X("is_cuda", "whether the device is a CUDA device")                                                                  \
  X("total_bytes", "memory of the device, in bytes")                                                                   \
  X("compute_major", "major number of the GPU's compute capability")                                                   \
  X("compute_minor", "minor number of the GPU's compute capability")                                                   \
  X("sm_count", "multiprocessors of the GPU")                                                                          \
  X("driver_version", "newest CUDA version that the driver knows, as CUDA writes it: 13000 is 13.0")                   \
  X("runtime_version", "version of the CUDA runtime, as CUDA writes it: 13000 is 13.0")                                \
  X("cupti_version", "version of CUPTI, the library that records the device")                                          \
  X("peak_f32_flops", "most float32 operations that the device can do in a second")                                    \
  X("peak_tf32_flops", "most tf32 operations that the device can do in a second")                                      \
  X("peak_f16_flops", "most float16 operations that the device can do in a second")                                    \
  X("peak_bytes_per_s", "most bytes that the device's memory can move in a second")                                    \
  X("configuration", "every key of the run with its value and where that is from")                                     \
  X("section", "section of a configuration's key")                                                                     \
  X("key", "name of a configuration's key, or of a column")                                                            \
  X("value", "value of a configuration's key, or of a counter")                                                        \
  X("origin", "where a key's value is from: default, preset, a file and its line, or the command line")                \
  X("is_default", "whether the value is the key's default")                                                            \
  X("windows", "the recorded windows, one for each cycle of the schedule; in run.csv, how many")                       \
  X("windows_finished", "how many windows were recorded to their end")                                                 \
  X("window", "number of the window; null or empty: the step was not recorded")                                        \
  X("duration_ns", "how long it took, in nanoseconds")                                                                 \
  X("profile", "how much was recorded: full, events (host only) or none")                                              \
  X("profile_note", "why less was recorded than asked for")                                                            \
  X("steps_found", "how the steps were found, where the program does not mark steps of training")                      \
  X("sync_note", "how to read the times of steps that the host does not wait for")                                     \
  X("copies_ahead", "whether batches are copied to the device ahead of their step")                                    \
  X("unprofiled_step_ns", "a step without the profiler: median after its wait for a batch, or mean pace; null: few")   \
  X("recording_cost", "what recording adds to a step, by steps in turns with others; null: not measured")              \
  X("added_ns", "by how much a recorded step is longer, in nanoseconds")                                               \
  X("low_ns", "lower end of its 95 % interval")                                                                        \
  X("high_ns", "upper end of its 95 % interval")                                                                       \
  X("step_ns", "mean step that was not recorded, in nanoseconds")                                                      \
  X("twin_rounds", "how many rounds of recorded and other steps it rests on")                                          \
  X("unrecorded_ns", "time that is cut out of the window, in which steps that were not recorded ran")                  \
  X("paused_ns", "how long the user had paused the recording before the window (pdhost pause); 0: not at all")         \
  X("partial", "whether it was cut short")                                                                             \
  X("corrected_ns", "by how much device records were moved at most, so that none begins before its launch")            \
  X("counts", "how many records of each kind the window has")                                                          \
  X("ranges", "named spans of the host: operations, steps and annotations")                                            \
  X("activities", "what the device recorded: kernels, copies and sets")                                                \
  X("others", "records that are not work: synchronisations and overheads")                                             \
  X("memory", "allocations and frees; in a trace, bytes over time")                                                    \
  X("counters", "values that change over time, such as how many batches are ready")                                    \
  X("series", "what profile.series_every looked at in the window")                                                     \
  X("values", "what was seen at these moments")                                                                        \
  X("number", "number of the step in the loop")                                                                        \
  X("index", "number of the row, or of the step or device")                                                            \
  X("start_ns", "when it began; in csv nanoseconds of the window's time, in json since 1970")                          \
  X("end_ns", "when it ended, in nanoseconds of the window's time")                                                    \
  X("data_wait_ns", "wait of the loop for the step's batch, in nanoseconds")                                           \
  X("step_time_ns", "time of the step without the wait for its batch, in nanoseconds")                                 \
  X("batch_cost_ns", "time of the whole step, wait for its batch included, in nanoseconds")                            \
  X("device_rows", "device records of the step's launches")                                                            \
  X("loss_scale", "factor that the loss is multiplied by with train.amp; 1 without")                                   \
  X("allocated_bytes", "device memory that is in use after the step, in bytes")                                        \
  X("reserved_bytes", "device memory that pdhost holds after the step, used or not, in bytes")                         \
  X("end_realtime_ns", "when the step ended, in nanoseconds since 1970 (UTC)")                                         \
  X("phase", "what the step was: warmup_steps, skip, wait, warmup or active")                                          \
  X("outcome", "how the run ended: complete, interrupted or failed")                                                   \
  X("reason", "why the run did not end by itself")                                                                     \
  X("notes", "what makes the figures less sure, in sentences")                                                         \
  X("losses", "loss of every step that read it")                                                                       \
  X("step_rows", "every step of the loop with its times")                                                              \
  X("tables", "the tables of a window or of the run")                                                                  \
  X("title", "name of a table")                                                                                        \
  X("note", "what to know of a table")                                                                                 \
  X("columns", "columns of a table: key, heading and unit")                                                            \
  X("heading", "the title over a column")                                                                              \
  X("unit", "what a column is counted in")                                                                             \
  X("rows", "rows of a table; in annotations.csv, device records of the annotation")                                   \
  X("footer", "sums of a table")                                                                                       \
  X("level", "how deep a row is nested; 0: it is not")                                                                 \
  X("cells", "values of a row, in the order of the columns")                                                           \
  X("row_kind", "row: one of the table; footer: a sum below it")                                                       \
  X("file", "path of a file that the run wrote")

#define WORDS_TRUTH(X)                                                                                                 \
  X("format", "name and version of the document's form")                                                               \
  X("step_us", "mean time of the active steps, or the median of the steps with the injection, in microseconds")        \
  X("injected_us_per_step", "mean time injected in a step; of input_bound the wait for data; null: it has none")       \
  X("count_per_step", "mean number of things injected in a step; null: not counted")                                   \
  X("asked_us_per_step", "time to inject in a step, as it was dialled; null: not dialled by time")                     \
  X("measured_us_per_step", "median of what came of the time that was dialled")                                        \
  X("dial_error_percent", "by how much what was injected is off what was dialled")                                     \
  X("dial_error_low_percent", "lower end of its 95 % interval; null: not an estimate")                                 \
  X("dial_error_high_percent", "upper end of its 95 % interval; null: not an estimate")                                \
  X("asked_count_per_step", "how many things to inject in a step, as it was dialled")                                  \
  X("effect", "what the injection adds to a step, measured beside steps without it; null: not measured")               \
  X("control_step_us", "median time of the steps without the injection")                                               \
  X("us_per_step", "time that the injection adds to a step")                                                           \
  X("share_low", "lower end of the 95 % interval of the effect's share")                                               \
  X("share_high", "upper end of the 95 % interval of the effect's share")                                              \
  X("rounds", "mean times of a step with and without the injection, of each round")                                    \
  X("path", "whether the injection makes the step longer: on the path, or present, off the path")                      \
  X("also", "what the loader injects beside the scenario")                                                             \
  X("settings", "every key of [scenario] and [data]")

#define WORDS_MANIFEST(X)                                                                                              \
  X("program", "version, sources and build id (else SHA-256) of the pdhost that ran")                                  \
  X("sources", "git id of the sources that pdhost was built from; -dirty says that they were changed")                 \
  X("plugin", "plugin of the device")                                                                                  \
  X("plugins", "version and build id (else SHA-256) of the scenario, the device and the sinks")                        \
  X("libraries", "loaded libraries by file: the build id that the linker made of the content, else a SHA-256")         \
  X("given", "keys that are not left at their default")                                                                \
  X("seeds", "keys of the configuration that are seeds")                                                               \
  X("environment", "variables that the loader, threads, oneDNN or CUDA read")                                          \
  X("machine", "host, processor, kernel and cores; rerun shows differences and does not count them")                   \
  X("processor", "name of the processor")                                                                              \
  X("kernel", "release of the operating system's kernel; in a trace, what ran on the device")                          \
  X("cores", "cores of the machine")                                                                                   \
  X("cores_allowed", "cores that the run may use; 0: not known")                                                       \
  X("operations", "in a window of a manifest: operations that the loop's thread began")                                \
  X("sha256", "hash of the names of operations and launches, in their order")                                          \
  X("names", "how often each operation, kernel, copy or set came")

#define WORDS_MEASUREMENT(X)                                                                                           \
  X("measurements", "the measurements of the file")                                                                    \
  X("instructions", "instructions of a step, counted by Callgrind; null: not counted")                                 \
  X("number_per_run", "runs of the step in a block, between two looks at the clock")                                   \
  X("timer_overhead_s", "time of a block of no runs, in seconds")                                                      \
  X("warm_up", "the blocks before those that count, and how they ended")                                               \
  X("decided", "how the warm-up ended: off, steady, trend (it still changed) or unknown")                              \
  X("blocks", "how many blocks were timed")                                                                            \
  X("runs", "how many runs of the step")                                                                               \
  X("spent_s", "how long it was measured, or warmed up, in seconds")                                                   \
  X("change", "change over the last blocks of the warm-up, as a share of their median")                                \
  X("z", "the Mann-Kendall statistic of the last blocks: far from 0, the times have a trend")                          \
  X("pairing", "which blocks of pdhost ab belong together; null: none do")                                             \
  X("id", "what both sides of a pairing have in common; in a trace, number of a device or of an arrow")                \
  X("side", "which side of a pairing it is: 0 for A, 1 for B")                                                         \
  X("restart_rounds", "rounds that pdhost ab took after each restart of both sides")                                   \
  X("host_run", "figures of one run by the host's clock")                                                              \
  X("device_run", "figures of one run by the device's clock; null: not measured")                                      \
  X("median_s", "half of the runs took less, in seconds")                                                              \
  X("mean_s", "arithmetic mean of the runs, in seconds")                                                               \
  X("min_s", "shortest run, in seconds")                                                                               \
  X("max_s", "longest run, in seconds")                                                                                \
  X("p25_s", "a quarter of the runs took less, in seconds")                                                            \
  X("p75_s", "three quarters of the runs took less, in seconds")                                                       \
  X("p90_s", "90 % of the runs took less, in seconds")                                                                 \
  X("p99_s", "99 % of the runs took less, in seconds")                                                                 \
  X("iqr_s", "interquartile range: from p25_s to p75_s, in seconds")                                                   \
  X("mad_s", "median of the distances from the median, in seconds")                                                    \
  X("significant_figures", "digits of the median that its spread lets stand")                                          \
  X("warnings", "what may have disturbed the measurement")                                                             \
  X("options", "every key of the configuration with its value")                                                        \
  X("conditions", "the machine's state around the measurement")                                                        \
  X("host_s", "time of every block by the host's clock, in seconds")                                                   \
  X("device_s", "time of every block by the device's clock, in seconds")                                               \
  X("pdhost", "version of pdhost; in a trace, all that pdhost knows of the run")                                       \
  X("libraries", "versions of the driver and the libraries")                                                           \
  X("system", "the operating system and its kernel")                                                                   \
  X("processor", "the machine's processor")                                                                            \
  X("cores", "processor cores that the process may use")                                                               \
  X("load_average", "programs that wanted to run, as a mean over a minute, before and after")                          \
  X("busy_cores", "cores that this process and others kept busy")

#define WORDS_EVENTS(X)                                                                                                \
  X("part", "part of the step: dataloader, forward, backward or optimization")                                         \
  X("tid", "thread; in a trace, the row of a process or device: a thread or a stream")                                 \
  X("depth", "how many other ranges of the thread hold it")                                                            \
  X("parent", "index of the range that holds it; empty: none does")                                                    \
  X("sequence", "number that a forward operation and its backward one have in common")                                 \
  X("backward", "whether the range is of the backward pass")                                                           \
  X("input_types", "types of the operation's inputs")                                                                  \
  X("frames", "frames of a call stack, outermost first")                                                               \
  X("class", "what a runtime call does: launch, memcpy, memset, sync, alloc, free and so on")                          \
  X("correlation", "number that a launch and its device record have in common")                                        \
  X("range", "index of the innermost range that holds it, a row of ranges.csv")                                        \
  X("call", "index of the runtime call that launched it, a row of calls.csv")                                          \
  X("cbid", "CUPTI's number of the function that was called")                                                          \
  X("result", "what the call returned; 0: success")                                                                    \
  X("context", "CUDA context")                                                                                         \
  X("stream", "stream of the device: its work runs in order")                                                          \
  X("grid_x", "blocks of the launch in x")                                                                             \
  X("grid_y", "blocks of the launch in y")                                                                             \
  X("grid_z", "blocks of the launch in z")                                                                             \
  X("block_x", "threads of a block in x")                                                                              \
  X("block_y", "threads of a block in y")                                                                              \
  X("block_z", "threads of a block in z")                                                                              \
  X("registers_per_thread", "registers that each thread of the kernel has")                                            \
  X("static_shared_bytes", "shared memory of a block that the kernel's code declares, in bytes")                       \
  X("dynamic_shared_bytes", "shared memory of a block that the launch asks for, in bytes")                             \
  X("warps_per_sm", "warps of the launch for each multiprocessor")                                                     \
  X("waves", "how many times the launch fills the GPU: its blocks over those that fit at once")                        \
  X("graph", "CUDA graph that launched it; 0 or empty: none")                                                          \
  X("graph_node", "node of the CUDA graph; 0 or empty: none")                                                          \
  X("GB_per_s", "bytes over time, in 10^9 bytes per second")                                                           \
  X("ts_ns", "when it happened; in csv nanoseconds of the window's time, in json since 1970")                          \
  X("address", "address of the memory")                                                                                \
  X("total_allocated", "bytes that were allocated after the event")                                                    \
  X("total_reserved", "bytes that were held after the event, used or not")                                             \
  X("device_type", "which memory: host (pinned) or device")                                                            \
  X("allocator", "what allocated it: pool, raw, cached or pinned")                                                     \
  X("allocator_ns", "how long the allocator took, in nanoseconds")                                                     \
  X("loss", "which kind of record was lost; in steps.csv, the loss of the training step")                              \
  X("meaning", "what a kind of loss means, in words")

#endif
