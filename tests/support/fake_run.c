/* The training trace, run and summary of fake_trace.h: what one small CUDA run would have left. */
#include "fake_trace.h"
#include "h200.h"

#include <math.h>

#define MS(x) ((int64_t)((x)*1000000.0))

const pd_device_props *fake_device(void) {
  static const pd_device_props props = {H200_FIELDS,
                                        .name = "Fake H200",
                                        .versions = "driver 580.1, CUDA 13.0",
                                        .total_bytes = UINT64_C(150109880320),
                                        .is_cuda = 1,
                                        .max_blocks_per_sm = 32,
                                        .driver_version = 13000,
                                        .runtime_version = 13000,
                                        .cupti_version = 130001,
                                        .peak_f32_flops = 67e12,
                                        .peak_tf32_flops = 494e12,
                                        .peak_f16_flops = 989e12,
                                        .peak_bytes_per_s = 4.8e12};
  return &props;
}

/* One step from `t`, correlations from `c`, on loop thread 0, loader thread `loader` and `stream`. */
static void training_step(fake_trace *fake, int64_t t, uint64_t c, uint32_t sequence, uint32_t loader,
                          uint32_t stream) {
  const int64_t images[] = {4, 3, 32, 32}, weights[] = {64, 3, 3, 3};
  const uint64_t batch_bytes = sizeof(float) * 4 * 3 * 32 * 32;
  pd_range *range =
      fake_range(fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, t + MS(0.01), t + MS(2));
  range->part = PD_PART_DATALOADER;
  fake_range(fake, PD_RANGE_WORKER, "DataLoader worker: make batch", loader, t + MS(0.5), t + MS(6.5));
  fake_counter(fake, "DataLoader queue", t + MS(2), 1);
  fake_range(fake, PD_RANGE_USER, "train_step", 0, t + MS(2.1), t + MS(9.5));
  fake_range(fake, PD_RANGE_OP, "pdhost::copy_to_device", 0, t + MS(2.2), t + MS(2.4));
  fake_call(fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, t + MS(2.21), t + MS(2.25), c);
  fake_copy(fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, batch_bytes, stream, t + MS(2.3), t + MS(2.8), c);

  range = fake_range(fake, PD_RANGE_OP, "aten::conv2d", 0, t + MS(2.5), t + MS(2.9));
  range->part = PD_PART_FORWARD;
  range->sequence = sequence;
  range->flops = 1769472;
  fake_shape(fake, PD_F32, 4, images);
  fake_shape(fake, PD_F32, 4, weights);
  fake_memory(fake, 0, t + MS(2.51), 0x7f0000000000, 262144, 1048576 + 262144, 4194304);
  fake_range(fake, PD_RANGE_OP_INNER, "cudnn::convolution_forward", 0, t + MS(2.55), t + MS(2.85));
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, t + MS(2.56), t + MS(2.57), c + 1);
  fake_kernel(fake, "implicit_convolve_sgemm<float, 128>(float const*, float*)", stream, t + MS(3), t + MS(4), c + 1);
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernelExC", 0, t + MS(2.6), t + MS(2.61), c + 2);
  fake_kernel(fake, "add_bias_relu(float*, float const*)", stream, t + MS(4), t + MS(4.5), c + 2);

  range = fake_range(fake, PD_RANGE_OP, "ConvolutionBackward0", 0, t + MS(3.2), t + MS(3.6));
  range->part = PD_PART_BACKWARD;
  range->sequence = sequence;
  range->backward = 1;
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, t + MS(3.3), t + MS(3.31), c + 3);
  fake_kernel(fake, "convolve_backward<float>(float*)", stream, t + MS(4.5), t + MS(6), c + 3);
  fake_memory(fake, 0, t + MS(3.55), 0x7f0000000000, -262144, 1048576, 4194304);

  range = fake_range(fake, PD_RANGE_USER, "Optimizer.step#AdamW.step", 0, t + MS(3.7), t + MS(4.2));
  range->part = PD_PART_OPTIMIZATION;
  fake_call(fake, PD_API_MEMSET, "cudaMemsetAsync", 0, t + MS(3.71), t + MS(3.72), c + 4);
  fake_set(fake, 4, stream, t + MS(6.1), t + MS(6.101), c + 4);
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, t + MS(3.8), t + MS(3.81), c + 5);
  fake_kernel(fake, "adamw(float*, float*)", stream, t + MS(6.2), t + MS(6.45), c + 5);

  fake_range(fake, PD_RANGE_OP, "aten::item", 0, t + MS(4.3), t + MS(9.4));
  fake_call(fake, PD_API_MEMCPY, "cudaMemcpyAsync", 0, t + MS(4.31), t + MS(4.33), c + 6);
  fake_copy(fake, PD_MEMORY_DEVICE, PD_MEMORY_PINNED, 4, stream, t + MS(6.5), t + MS(6.51), c + 6);
  fake_call(fake, PD_API_SYNC, "cudaStreamSynchronize", 0, t + MS(4.4), t + MS(9.3), c + 7);
  fake_other(fake, PD_ACTIVITY_SYNC, "Stream Sync", stream, t + MS(4.5), t + MS(6.52))->correlation = c + 7;
}

void fake_trace_training(fake_trace *fake, uint64_t first, uint64_t steps) {
  const uint32_t loader = fake_thread(fake, 4250, "pdhost loader 0");
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  for (uint64_t i = 0; i < steps; i++) {
    const int64_t t = MS(1) + (int64_t)i * MS(10);
    pd_trace_step *step = fake_step(fake, first + i, t, t + MS(10));
    step->train_start_ns = t + MS(2.1);
    step->train_end_ns = t + MS(9.6);
    step->step_time_ns = MS(7.5);
    step->data_wait_ns = MS(2);
    step->loss = 6.9 - 0.125 * (double)i;
    training_step(fake, t, 100 + 10 * i, (uint32_t)(i + 1), loader, stream);
  }
  fake_other(fake, PD_ACTIVITY_OVERHEAD, "Buffer Flush", PD_NONE, MS(1.5), MS(1.6));
}

const pd_run *fake_run(const char *trace_dir) {
  static const pd_setting settings[] = {
      {"run", "scenario", "dataloader", "command line", 0, 0},
      {"data", "batch_size", "4", "conf/x.ini:12", 0, 0},
      {"data", "num_workers", "2", "default", 1, 0},
      {"data", "pin_memory", "true", "conf/a \"b\".ini:3", 0, 0},
      {"data", "io_sleep_ms", "2", "preset of dataloader", 0, 0},
      {"train", "amp", "false", "default", 1, 0},
  };
  static pd_run run = {.size = sizeof run,
                       .pid = 4242,
                       .start_realtime_ns = INT64_C(1790857026250000000),
                       .scenario = "dataloader",
                       .scenario_version = "1.0",
                       .bottleneck = "dataloader",
                       .device_name = "cuda",
                       .pdhost_version = "1.0.0",
                       .source_id = "0123456789ab",
                       .command_line = "pdhost -c conf/x.ini --scenario \"dataloader\"",
                       .worker = "fakehost_4242",
                       .host_name = "fakehost",
                       .settings = {settings, sizeof settings / sizeof *settings, sizeof *settings},
                       .seed = 1,
                       .batch_size = 4,
                       .num_workers = 2,
                       .image_size = 32,
                       .pin_memory = 1,
                       .sync_timing = 1,
                       .total_steps = FAKE_STEP_COUNT,
                       .wait = 1,
                       .warmup = 1,
                       .active = 3,
                       .repeat = 1,
                       .record_shapes = 1,
                       .profile_memory = 1};
  run.device = fake_device();
  run.trace_dir = trace_dir;
  return &run;
}

const pd_step_stats *fake_step_stats(uint32_t i) {
  static pd_step_stats all[FAKE_STEP_COUNT];
  for (uint32_t k = 0; k < FAKE_STEP_COUNT; k++)
    all[k] = (pd_step_stats){.size = sizeof *all,
                             .phase = k == 0   ? PD_PHASE_WAIT
                                      : k == 1 ? PD_PHASE_WARMUP
                                               : PD_PHASE_ACTIVE,
                             .index = k,
                             .window = k < 2 ? PD_NONE : 0,
                             .data_wait_ns = MS(2),
                             .step_time_ns = MS(7.5),
                             .batch_cost_ns = MS(10),
                             .loss = k == 0 ? (double)NAN : 6.9 - 0.125 * ((double)k - 2),
                             .loss_scale = 1,
                             .allocated_bytes = 1048576,
                             .reserved_bytes = 4194304,
                             .end_realtime_ns = INT64_C(1790857026250000000) + (k + 1) * MS(10)};
  return &all[i];
}

const pd_summary *fake_summary(void) {
  static double losses[FAKE_STEP_COUNT];
  static pd_summary summary = {.size = sizeof summary,
                               .outcome = PD_RUN_COMPLETE,
                               .steps = FAKE_STEP_COUNT,
                               .windows = 1,
                               .avg_step_time_s = 0.0075,
                               .avg_dataloader_wait_s = 0.002,
                               .step_time_s = {3, 0.0075, 0.0075, 0.0075, 0.0075, 0.0075, 0.0075},
                               .data_wait_s = {3, 0.002, 0.002, 0.002, 0.002, 0.002, 0.002},
                               .batch_cost_s = {3, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01},
                               .steps_per_s = 100,
                               .samples_per_s = 400,
                               .first_batch_s = 0.004,
                               .peak_allocated_bytes = 1310720,
                               .peak_reserved_bytes = 4194304,
                               .coverage = 1,
                               .profile = PD_PROFILE_FULL,
                               .sync_note = "steps are timed between two device synchronisations"};
  for (uint32_t i = 0; i < FAKE_STEP_COUNT; i++) losses[i] = fake_step_stats(i)->loss;
  summary.losses = (pd_array){losses, FAKE_STEP_COUNT, sizeof *losses};
  summary.steps_all = (pd_array){fake_step_stats(0), FAKE_STEP_COUNT, sizeof(pd_step_stats)};
  return &summary;
}
