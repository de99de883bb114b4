/* The rows of the core's sections; see core_options.h. */
#include "core_options.h"

#include <stdio.h>
#include <string.h>

#define ROW_AS(T, field, type_, key_, ...)                                                                             \
  { .key = key_, .offset = offsetof(T, field), .type = (type_), __VA_ARGS__ }

static const char *const modes[] = {"train", "benchmark", NULL};
static const char *const halves[] = {"float16", "bfloat16", NULL};
static const char *const models[] = {"cnn", "mlp", "transformer", NULL}; /* core/train/models.c knows them */
static const char *const methods[] = {"timeit", "blocked_autorange", "adaptive_autorange", NULL};
static const char *const residents[] = {"none", "host", "device", NULL};
static const char *const communicators[] = {"auto", "none", "mpi", "tcp", NULL};
static const char *const cures[] = {"none", TRUTH_CURES_AUTO, NULL};
static const char *const active_words[] = {"all", NULL};

static const pd_option run_rows[] = {
    PD_OPTION(run_settings, scenario, .help = "what each step does: a name of --list scenarios, or the path of a .so"),
    PD_OPTION(run_settings, device, .def = "auto",
              .help = "cuda, cpu, auto (cuda where it works, else cpu), or a path"),
    PD_OPTION(run_settings, device_index, .def = "0", .min = "0", .max = "255", .help = "which device of that kind"),
    PD_OPTION(run_settings, sinks, .def = "table,json,chrome_trace",
              .help = "what writes results: names or paths, separated by commas"),
    PD_OPTION(run_settings, seed, .def = "0", .min = "0", .help = "random seed for data, weights and shuffling"),
    PD_OPTION(run_settings, warmup_steps, .def = "10", .min = "0", .max = "1_000_000_000", .unit = "steps",
              .help = "steps before the loop, outside the profiler"),
    PD_OPTION(run_settings, max_steps, .def = "0", .min = "0", .unit = "steps",
              .help = "end the loop after this number of steps; 0: no limit"),
    PD_OPTION(
        run_settings, epochs, .def = "1", .min = "0", .max = "1_000_000_000", .unit = "epochs",
        .help =
            "maximum number of passes over the data, each with a new iterator; 0: as many as the planned steps take"),
    PD_OPTION_CHOICE(run_settings, mode, .def = "train", .choices = modes,
                     .help =
                         "what the run does: train through the schedule, or time the step alone, as [benchmark] says"),
    PD_OPTION(run_settings, sync_timing, .def = "true",
              .help = "synchronise before and after each measured step; false: device events time the pipelined step"),
    PD_OPTION_PATH(run_settings, trace_dir, .def = "results/<scenario>/<time>-<pid>",
                   .help =
                       "folder of the run's files; <scenario>, <time> and <pid> are replaced, and latest leads to it"),
    PD_OPTION(run_settings, keep_capture, .def = "false",
              .help =
                  "write what is recorded to a .pdcap file in trace_dir, from which `pdhost recover` makes any output"),
    PD_OPTION(run_settings, isolate, .def = "true",
              .help = "run in a process of its own, so that a crash loses no results; false: for debuggers"),
    ROW_AS(run_settings, step_timeout_ns, PD_DURATION, "step_timeout", .def = "300s", .min = "0", .max = "1000000s",
           .unit = "s", .help = "end a run in which a step, or another call of a plugin, takes longer; 0: never"),
    PD_OPTION_CHOICE(run_settings, communicator, .def = "auto", .choices = communicators,
                     .help =
                         "how ranks that mpirun, srun or torchrun started reach one another; none: each runs alone"),
    ROW_AS(run_settings, rank_timeout_ns, PD_DURATION, "rank_timeout", .def = "60s", .min = "1s", .max = "1000000s",
           .unit = "s", .help = "end a run when a rank does not come to the others within this time"),
    PD_OPTION_PATH(
        run_settings, plugin_path, .def = "",
        .help =
            "folders with scenario/, sink/, device/, reader/ and communicator/ to search first, separated by colons"),
    PD_OPTION(run_settings, require_cupti, .def = "false", .help = "fail rather than run with event timing alone"),
};

static const pd_option schedule_rows[] = {
    PD_OPTION(schedule_settings, skip_first, .def = "0", .min = "0", .max = "1_000_000_000", .unit = "steps",
              .help = "steps to skip once, before the first cycle"),
    PD_OPTION(schedule_settings, wait, .def = "1", .min = "0", .max = "1_000_000_000", .unit = "steps",
              .help = "steps of each cycle with the profiler off; also closed"),
    PD_OPTION(schedule_settings, warmup, .def = "1", .min = "0", .max = "1_000_000_000", .unit = "steps",
              .help = "steps of each cycle with the profiler on and thrown away; also ready"),
    PD_OPTION(schedule_settings, active, .def = "8", .min = "1", .max = "1_000_000_000", .unit = "steps",
              .choices = active_words, .help = "steps of each cycle that are recorded; also profile_steps, record"),
    PD_OPTION(schedule_settings, repeat, .def = "1", .min = "0", .max = "1_000_000_000", .unit = "cycles",
              .help = "cycles; 0: until max_steps or the end of the data"),
    PD_OPTION(schedule_settings, range, .def = "",
              .help = "START,END or START:END: record steps START to END-1 instead of the cycles above"),
    PD_OPTION(schedule_settings, twin, .def = "0", .min = "0", .max = "1_000_000", .unit = "steps",
              .help = "measure what recording costs: recorded steps take turns with as many that are not, in blocks of "
                      "this many; 0: do not"),
};

#define DATA(field, type, ...) ROW_AS(data_settings, config.field, type, #field, __VA_ARGS__)
static const pd_option data_rows[] = {
    DATA(batch_size, PD_INT, .def = "64", .min = "1", .max = "65536", .unit = "samples", .help = "samples per batch"),
    DATA(image_size, PD_INT, .def = "224", .min = "1", .max = "4096", .unit = "pixels",
         .help = "height and width of the images, in pixels"),
    DATA(dataset_size, PD_INT, .def = "100000", .min = "1", .max = "1_000_000_000", .unit = "samples",
         .help = "samples per epoch"),
    DATA(num_workers, PD_INT, .def = "2", .min = "0", .max = "256",
         .help = "loader threads; 0 loads in the loop's own thread"),
    DATA(prefetch_factor, PD_INT, .def = "2", .min = "1", .max = "1024", .unit = "batches",
         .help = "batches in flight per worker; ignored with num_workers = 0"),
    DATA(persistent_workers, PD_BOOL, .def = "false",
         .help = "keep the workers from one iterator to the next; ignored with num_workers = 0"),
    DATA(pin_memory, PD_BOOL, .def = "false",
         .help = "put batches into page-locked memory, so that their copy is asynchronous"),
    DATA(prefetch_to_device, PD_BOOL, .def = "false",
         .help = "copy the next batch while a step computes, on a stream of its own; needs pin_memory"),
    DATA(drop_last, PD_BOOL, .def = "true", .help = "leave out a short batch at the end of an epoch"),
    DATA(cpu_work, PD_INT, .def = "200", .min = "0", .max = "1_000_000_000", .unit = "rounds",
         .help = "rounds of the augment loop per sample"),
    ROW_AS(data_settings, config.io_sleep_ns, PD_DURATION, "io_sleep_ms", .def = "0", .min = "0", .max = "60s",
           .unit = "ms", .help = "sleep per sample, before it is made"),
    DATA(io_spread, PD_FLOAT, .def = "0", .min = "0", .max = "3",
         .help = "spread of io_sleep_ms from sample to sample: sigma of a log-normal whose mean is io_sleep_ms"),
    ROW_AS(data_settings, config.worker_init_ns, PD_DURATION, "worker_init_ms", .def = "0", .min = "0", .max = "60s",
           .unit = "ms", .help = "sleep of each worker when it starts: see persistent_workers"),
    ROW_AS(data_settings, config.cpu_ns, PD_DURATION, "cpu_us", .def = "0", .min = "0", .max = "60s", .unit = "us",
           .help = "extra CPU time per sample, on top of cpu_work"),
    PD_OPTION_CHOICE(data_settings, resident, .def = "none", .choices = residents,
                     .help = "make resident_batches once, keep them there and serve them in turn: no worker runs then"),
    DATA(resident_batches, PD_INT, .def = "4", .min = "1", .max = "4096", .unit = "batches",
         .help = "batches to keep when resident is not none"),
};

static const pd_option train_rows[] = {
    PD_OPTION(train_config, lr, .def = "1e-3", .min = "0", .max = "1000", .help = "learning rate of AdamW"),
    PD_OPTION_CHOICE(train_config, model, .def = "cnn", .choices = models,
                     .help = "what is trained: three convolutions, three linear layers, or two layers of attention"),
    PD_OPTION(train_config, amp, .def = "false", .help = "train in half precision; amp_dtype says in which"),
    PD_OPTION_CHOICE(train_config, amp_dtype, .def = "float16", .choices = halves,
                     .help = "half precision of amp: float16 with a loss scaler, or bfloat16, which needs none"),
    PD_OPTION(train_config, channels_last, .def = "false", .help = "NHWC activations and filters"),
    PD_OPTION(train_config, tf32, .def = "true", .help = "let the device use TF32 for float32 products"),
    PD_OPTION(train_config, fused, .def = "true", .help = "fused kernels where the device has them"),
    PD_OPTION(train_config, cuda_graph, .def = "false", .help = "capture the step once and replay it"),
    PD_OPTION(train_config, scaler_sync, .def = "true",
              .help = "amp reads the overflow flag on the host each step, as PyTorch does"),
};

static const pd_option profile_rows[] = {
    PD_OPTION(profile_settings, record_shapes, .def = "true", .help = "record the shapes of operations' inputs"),
    PD_OPTION(profile_settings, profile_memory, .def = "true", .help = "record allocations and frees"),
    PD_OPTION(profile_settings, with_stack, .def = "false", .help = "record call stacks"),
    PD_OPTION(profile_settings, with_flops, .def = "false", .help = "estimate floating-point operations"),
    PD_OPTION(profile_settings, with_modules, .def = "true", .help = "record the modules that operations belong to"),
    PD_OPTION(profile_settings, timer_only, .def = "false",
              .help = "measure the times of the steps alone: no ranges, no device records"),
    PD_OPTION_DURATION(
        profile_settings, series_every, .def = "0", .min = "0", .max = "60s", .unit = "s",
        .help = "sample memory, threads and the GPU's clocks, power, SMs, PCIe and NVLink at this interval; 0: never"),
    PD_OPTION(profile_settings, powercap_dir, .def = "/sys/class/powercap",
              .help = "folder of the processors' energy counters; a container may have it elsewhere"),
    PD_OPTION(profile_settings, step_info_every, .def = "10", .min = "0", .max = "1_000_000_000", .unit = "steps",
              .help = "log the costs of a step, once in this number of steps; 0: never"),
    PD_OPTION(profile_settings, step_info_unit, .def = "samples",
              .help = "what those lines count per second: the word for samples, such as images; or steps"),
    ROW_AS(profile_settings, max_memory_bytes, PD_BYTES, "max_memory", .def = "1GiB", .min = "1MiB", .max = "1024GiB",
           .unit = "bytes",
           .help = "recorded data per window; a window that fills it ends there, and another one begins"),
};

static const pd_option benchmark_rows[] = {
    PD_OPTION_CHOICE(benchmark_settings, method, .def = "blocked_autorange", .choices = methods,
                     .help = "when it ends: after one block; after min_run_time; when the blocks agree"),
    PD_OPTION(benchmark_settings, number, .def = "0", .min = "0", .max = "1_000_000_000", .unit = "runs",
              .help = "runs of the step in a block; 0: grow it until the timer costs nothing (not with timeit)"),
    PD_OPTION_DURATION(
        benchmark_settings, min_run_time, .def = "0", .min = "0", .max = "86400s", .unit = "s",
        .help = "minimum time of all blocks together; 0: 0.2 s for blocked_autorange, 0.01 s for adaptive_autorange"),
    PD_OPTION(benchmark_settings, min_blocks, .def = "0", .min = "0", .max = "100_000", .unit = "blocks",
              .help = "minimum number of blocks in min_run_time; use 40 for pdhost compare"),
    PD_OPTION_DURATION(
        benchmark_settings, max_run_time, .def = "10", .min = "1ms", .max = "86400s", .unit = "s",
        .help = "maximum time of all blocks together; adaptive_autorange, min_blocks and cold_cache give up then"),
    PD_OPTION_DURATION(
        benchmark_settings, max_warmup_time, .def = "2", .min = "0", .max = "86400s", .unit = "s",
        .help = "after warmup_steps, run blocks until their times no longer trend, at most for this time; 0: none"),
    PD_OPTION(benchmark_settings, threshold, .def = "0.1", .min = "0.0001", .max = "10",
              .help = "adaptive_autorange ends when the ratio of interquartile range to median is below this"),
    PD_OPTION(benchmark_settings, threads, .def = "0", .min = "0", .max = "1024", .unit = "threads",
              .help = "threads that a CPU device computes with; 0: as many as [device] says"),
    PD_OPTION(benchmark_settings, cold_cache, .def = "false",
              .help = "empty the caches before every run: each is a block of its own"),
    PD_OPTION(benchmark_settings, device_time, .def = "true",
              .help = "also measure the device's own time of each block, between two events"),
    PD_OPTION(
        benchmark_settings, callgrind, .def = "0", .min = "0", .max = "1_000_000", .unit = "steps",
        .help = "after the blocks, count the instructions of this number of steps, by Valgrind's Callgrind; 0: do not"),
    PD_OPTION(benchmark_settings, callgrind_repeats, .def = "3", .min = "1", .max = "100", .unit = "counts",
              .help = "how often to count; the median is the result"),
    PD_OPTION_DURATION(benchmark_settings, callgrind_max_time, .def = "600", .min = "1ms", .max = "86400s", .unit = "s",
                       .help = "end Callgrind if it takes longer; nothing is counted then"),
    PD_OPTION(benchmark_settings, label, .def = "",
              .help = "what is measured; each label has a table in pdhost compare"),
    PD_OPTION(benchmark_settings, sub_label, .def = "",
              .help = "which variant of it; each has a row; <section.key> is replaced by its value"),
    PD_OPTION(benchmark_settings, description, .def = "",
              .help = "input of the benchmark; each has a column; <section.key> is replaced by its value"),
    PD_OPTION(benchmark_settings, env, .def = "",
              .help = "name of the environment; pdhost compare keeps environments apart"),
    PD_OPTION_PATH(benchmark_settings, output, .def = "results/benchmark_<scenario>.json",
                   .help = "file of the measurement; - is standard output; empty: none"),
};

static const pd_option truth_rows[] = {
    PD_OPTION(truth_settings, interleave, .def = "0", .min = "0", .max = "10_000", .unit = "rounds",
              .help = "rounds before the loop, each a block of steps with the injection and one without; the result "
                      "goes to truth.json"),
    PD_OPTION(truth_settings, block, .def = "8", .min = "1", .max = "1_000_000", .unit = "steps",
              .help = "steps of each block"),
    PD_OPTION_CHOICE(truth_settings, cures, .def = "none", .choices = cures,
                     .help = "auto: before the loop, measure what each possible cure saves, in as many rounds (6 if "
                             "interleave is 0), for truth.json"),
};

#define SECTION(name_, rows_, summary_)                                                                                \
  { .name = (name_), .summary = (summary_), .rows = (rows_), .count = sizeof(rows_) / sizeof((rows_)[0]) }
static const core_section sections[CORE_SECTION_COUNT] = {
    [CORE_RUN] = SECTION("run", run_rows, "what runs, where, and where results go"),
    [CORE_SCHEDULE] = SECTION("schedule", schedule_rows, "which steps of the loop are recorded"),
    [CORE_DATA] = SECTION("data", data_rows, "the slow synthetic dataset and its loader"),
    [CORE_TRAIN] = SECTION("train", train_rows, "precision, layout and optimiser of the training step"),
    [CORE_PROFILE] = SECTION("profile", profile_rows, "what is recorded in a window"),
    [CORE_BENCHMARK] = SECTION("benchmark", benchmark_rows, "how [run] mode = benchmark times the step"),
    [CORE_TRUTH] = SECTION("truth", truth_rows, "what the injected bottleneck does to the step, measured"),
};

const core_section *core_section_at(uint32_t index) { return &sections[index]; }

const char *core_section_names(char *text, size_t room) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < CORE_SECTION_COUNT && used < room; i++)
    used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", sections[i].name);
  return text;
}

static const core_alias_row aliases[] = {
    {"schedule", "profile_steps", "active"},
    {"schedule", "closed", "wait"},
    {"schedule", "ready", "warmup"},
    {"schedule", "record", "active"},
};

const core_alias_row *core_aliases(uint32_t *count) {
  *count = sizeof aliases / sizeof aliases[0];
  return aliases;
}

const char *core_alias(const char *section, const char *key) {
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
    if (strcmp(aliases[i].section, section) == 0 && strcmp(aliases[i].alias, key) == 0) return aliases[i].key;
  return NULL;
}
