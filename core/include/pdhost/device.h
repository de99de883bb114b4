/*
 * pdhost device ABI: memory, streams, tensor operations and profiling of one compute device.
 *
 * Everything on a stream is asynchronous and in order unless the comment says that it waits. An asynchronous failure
 * comes back from the next synchronisation of its stream, and from all later ones. Optional members are NULL and their
 * comment begins with "Optional:". All others are required and checked at load.
 *
 * A launching function leaves, while profiling is on, one runtime record on the calling thread and one device record
 * per piece of device work, tied by their correlation ids.
 */
#ifndef PDHOST_DEVICE_H
#define PDHOST_DEVICE_H

#include "plugin.h"
#include "record.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t pd_dtype;
enum { PD_F32 = 1, PD_F16 = 2, PD_I64 = 3, PD_I32 = 4, PD_U8 = 5, PD_BF16 = 6 /* bfloat16 */ };

typedef uint32_t pd_layout;
enum { PD_NCHW = 0, PD_NHWC = 1 }; /* of rank 4; other ranks are row-major and say PD_NCHW */

/* A dense tensor in device memory. `shape` is logical, (N,C,H,W) or (O,I,H,W), whatever the layout. */
typedef struct pd_tensor {
  void *data;
  int64_t shape[4]; /* the first `rank` count */
  uint32_t rank;
  pd_dtype dtype;
  pd_layout layout;
  uint32_t reserved;
} pd_tensor;

typedef struct pd_device pd_device; /* the plugin's state of one open device */
typedef struct pd_stream pd_stream;
typedef struct pd_event pd_event;
typedef struct pd_graph pd_graph;

typedef uint32_t pd_copy_kind;
enum { PD_COPY_HOST_TO_DEVICE = 1, PD_COPY_DEVICE_TO_HOST = 2, PD_COPY_DEVICE_TO_DEVICE = 3 };

/* The reader sets `size`; the device fills what fits. Strings belong to the device and live until close. 0: unknown. */
typedef struct pd_device_props {
  uint32_t size;
  uint32_t index;
  const char *name;     /* "NVIDIA H200", "CPU (oneDNN 2.6.3)" */
  const char *versions; /* "driver 580.159.04, CUDA 13.0, cuDNN 9.14.0, CUPTI 130001" */
  uint64_t total_bytes;
  uint32_t is_cuda; /* 1: figures are a GPU's */
  uint32_t compute_major, compute_minor;
  uint32_t sm_count, warp_size;
  uint32_t max_threads_per_block, max_threads_per_sm;
  uint32_t registers_per_block, registers_per_sm;
  uint32_t shared_per_block, shared_per_sm, shared_per_block_optin, shared_reserved_per_block;
  uint32_t max_blocks_per_sm;
  uint32_t driver_version, runtime_version, cupti_version; /* as CUDA and CUPTI number them */
  uint32_t reserved;
  double peak_f32_flops, peak_tf32_flops, peak_f16_flops; /* dense, per second */
  double peak_bytes_per_s;                                /* device memory */
} pd_device_props;

/* ---- memory ------------------------------------------------------------------------------------------------ */

typedef struct pd_memory_ops {
  uint32_t size;
  uint32_t reserved;
  /* Device memory, aligned to at least 256 bytes. PD_ALLOCATOR_POOL: stream-ordered on `stream`; PD_ALLOCATOR_RAW: the
   * plain blocking allocator. bytes = 0 gives NULL and PD_OK. PD_NO_MEMORY says bytes asked, free and total, and leaves
   * the device usable. Records a memory event. [any thread] */
  pd_status (*alloc)(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void **out);
  /* `allocator` and `bytes` as given to alloc. NULL is fine. [any thread] */
  pd_status (*free)(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void *data);
  /* Page-locked host memory, so that copies from it are asynchronous. [any thread] */
  pd_status (*host_alloc)(pd_device *device, uint64_t bytes, void **out);
  pd_status (*host_free)(pd_device *device, uint64_t bytes, void *data);
  /* Bytes in use by the process and reserved from the system by the pool. [any thread] */
  pd_status (*usage)(pd_device *device, uint64_t *allocated, uint64_t *reserved, uint64_t *peak_allocated);
  /* Copies; asynchronous when the host side is page-locked memory of host_alloc's or both sides are on the device, else
   * returns once the host memory may be reused (to the device) or holds the data (from it). [any thread] */
  pd_status (*copy)(pd_device *device, pd_stream *stream, void *to, const void *from, uint64_t bytes,
                    pd_copy_kind kind);
  /* After a run that was beside another one on the device: what the pool keeps and nobody uses goes back to the system,
   * and the peak is `peak_allocated` again, or what is allocated now if that is more. NULL: neither. [loop thread] */
  pd_status (*trim)(pd_device *device, uint64_t peak_allocated) PD_OR_ZERO;
} pd_memory_ops;

/* ---- streams ----------------------------------------------------------------------------------------------- */

/* Work that the host does on a stream. A failure writes its cause to `message`, and stays with the stream. */
typedef pd_status (*pd_host_kernel)(const void *arguments, char *message, uint64_t room);
enum { PD_HOST_KERNEL_BYTES = 128 };

typedef struct pd_stream_ops {
  uint32_t size;
  uint32_t reserved;
  pd_status (*create)(pd_device *device, pd_stream **out);
  void (*destroy)(pd_device *device, pd_stream *stream);
  /* Waits until all work of the stream is done. */
  pd_status (*synchronize)(pd_device *device, pd_stream *stream);
  /* Waits for the whole device. */
  pd_status (*device_synchronize)(pd_device *device);
  pd_status (*event_create)(pd_device *device, pd_event **out);
  void (*event_destroy)(pd_device *device, pd_event *event);
  pd_status (*event_record)(pd_device *device, pd_stream *stream, pd_event *event);
  /* Makes the stream wait, not the caller. */
  pd_status (*event_wait)(pd_device *device, pd_stream *stream, pd_event *event);
  pd_status (*event_synchronize)(pd_device *device, pd_event *event);
  /* Nanoseconds of device time between two recorded and completed events. */
  pd_status (*event_elapsed_ns)(pd_device *device, pd_event *start, pd_event *end, double *ns);
  /* Optional: capture a stream's work into a graph, replay it. Without it [train] cuda_graph is an error at init. */
  pd_status (*capture_begin)(pd_device *device, pd_stream *stream);
  pd_status (*capture_end)(pd_device *device, pd_stream *stream, pd_graph **out);
  pd_status (*graph_launch)(pd_device *device, pd_stream *stream, pd_graph *graph);
  void (*graph_destroy)(pd_device *device, pd_graph *graph);
  /* Optional: the driver's own handle of the stream, for a library that takes one: cudaStream_t. Never NULL where the
   * function is there. [any thread] */
  void *(*native)(pd_device *device, pd_stream *stream);
  /* Optional, of a device whose memory is the host's: calls `run` on the stream, as one kernel of that name.
   * `arguments` of at most PD_HOST_KERNEL_BYTES are copied. [any thread] */
  pd_status (*host_kernel)(pd_device *device, pd_stream *stream, pd_site *name, pd_host_kernel run,
                           const void *arguments, uint64_t bytes);
} pd_stream_ops;

/* ---- tensor operations ------------------------------------------------------------------------------------- */

typedef uint32_t pd_elementwise;
enum {
  PD_EW_ADD = 1,   /* y = a + alpha*b; b of one element is broadcast */
  PD_EW_MUL = 2,   /* y = a * b */
  PD_EW_SCALE = 3, /* y = alpha*a */
  PD_EW_RELU = 4,  /* y = max(a, 0) */
  PD_EW_TANH = 5,
  PD_EW_SIGMOID = 6,
  PD_EW_RELU_BACKWARD = 7,   /* y = b > 0 ? a : 0        a = dy, b = forward result */
  PD_EW_TANH_BACKWARD = 8,   /* y = a * (1 - b^2) */
  PD_EW_SIGMOID_BACKWARD = 9 /* y = a * b * (1 - b) */
};

typedef struct pd_conv2d {
  uint32_t size;
  uint32_t stride, padding; /* the same in both directions; dilation 1, groups 1 */
  uint32_t allow_tf32;
} pd_conv2d;

typedef struct pd_adamw {
  uint32_t size;
  pd_dtype half_dtype; /* of pd_parameter.half, where there is one: PD_F16 or PD_BF16 */
  double lr, beta1, beta2, eps, weight_decay;
  int64_t *step; /* device, one element: steps done. The update adds 1 first and corrects the bias with the result */
  const float
      *found_inf; /* device, one element; non-zero: leave everything as it is, `step` too. NULL: always update */
} pd_adamw;

/* One parameter of the multi-tensor operations. All float32 of `count` elements in device memory. */
typedef struct pd_parameter {
  float *value;
  float *grad;
  float *m, *v; /* first and second moment */
  void *half;   /* NULL, or (count) of pd_adamw.half_dtype: receives the new value too, in the same element order */
  int64_t count;
} pd_parameter;

/* The loss scaler's state on the device, which grows and backs off as torch.amp.GradScaler's does. */
typedef struct pd_scaler {
  float *scale;           /* one element */
  float *found_inf;       /* one element, 0 or 1 */
  int32_t *good_steps;    /* one element */
  double growth, backoff; /* 2, 0.5 */
  int64_t interval;       /* 2000 */
} pd_scaler;

/* Outputs first, then inputs, then parameters. A gradient is written, not added to, unless `accumulate` is given and
 * non-zero. F16 and BF16 tensors are computed in float32 inside. All [any thread], asynchronous on `stream`. */
typedef struct pd_tensor_ops {
  uint32_t size;
  uint32_t reserved;

  /* Whether the device trains in this precision and layout. */
  bool (*supports)(pd_device *device, pd_dtype dtype, pd_layout layout);

  pd_status (*fill)(pd_device *, pd_stream *, const pd_tensor *y, double value);
  /* y ~ N(0,1), F32; element i depends on (seed, offset + i) alone. */
  pd_status (*randn)(pd_device *, pd_stream *, const pd_tensor *y, uint64_t seed, uint64_t offset);
  /* Converts type and layout; shapes equal. */
  pd_status (*convert)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *x);
  /* y may be a or b. */
  pd_status (*elementwise)(pd_device *, pd_stream *, pd_elementwise op, const pd_tensor *y, const pd_tensor *a,
                           const pd_tensor *b, double alpha);
  /* y (1) F32 = mean of all elements of x. */
  pd_status (*mean)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *x);
  /* y[:, y_column : y_column+columns] = x[:, x_column : x_column+columns]; rank 2, the same number of rows. */
  pd_status (*copy_columns)(pd_device *, pd_stream *, const pd_tensor *y, int64_t y_column, const pd_tensor *x,
                            int64_t x_column, int64_t columns);

  /* y (N,O,H',W') = conv(x (N,I,H,W), w (O,I,K,K)). bias (O) F32 or NULL; relu: max(.,0) of the result. With bias or
   * relu the device does it in as few kernels as it can. */
  pd_status (*conv2d_forward)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *x, const pd_tensor *w,
                              const pd_tensor *bias, bool relu, const pd_conv2d *conv);
  pd_status (*conv2d_backward_data)(pd_device *, pd_stream *, const pd_tensor *dx, const pd_tensor *dy,
                                    const pd_tensor *w, const pd_conv2d *conv);
  /* dw may be F32 while x and dy are F16. */
  pd_status (*conv2d_backward_weight)(pd_device *, pd_stream *, const pd_tensor *dw, const pd_tensor *dy,
                                      const pd_tensor *x, const pd_conv2d *conv);
  /* y = x + bias (O) F32 over the channels of rank 4, or the columns of rank 2. y may be x. */
  pd_status (*bias_forward)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *x, const pd_tensor *bias);
  /* db (O) F32 = dy summed over all but the channels or columns. */
  pd_status (*bias_backward)(pd_device *, pd_stream *, const pd_tensor *db, const pd_tensor *dy, bool accumulate);
  /* Fused: dx = dy where y > 0, else 0, and db as above. dx may be dy. Optional: the kit calls the two operations. */
  pd_status (*bias_relu_backward)(pd_device *, pd_stream *, const pd_tensor *dx, const pd_tensor *db,
                                  const pd_tensor *dy, const pd_tensor *y);
  /* y (N,C) = mean over H and W of x (N,C,H,W), and its gradient. */
  pd_status (*mean_hw_forward)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *x);
  pd_status (*mean_hw_backward)(pd_device *, pd_stream *, const pd_tensor *dx, const pd_tensor *dy);

  /* c (M,N) = op(a) op(b) [+ bias (N) F32] [+ c]; op is transposition where asked. c may be F32 while a and b are F16.
   */
  pd_status (*matmul)(pd_device *, pd_stream *, const pd_tensor *c, const pd_tensor *a, const pd_tensor *b,
                      const pd_tensor *bias, bool transpose_a, bool transpose_b, bool accumulate, bool allow_tf32);

  /* Over the last dimension of x (R,D); mean and rstd (R) F32; gamma, beta, dgamma, dbeta (D) F32. */
  pd_status (*layer_norm_forward)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *mean,
                                  const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                                  const pd_tensor *beta, double eps);
  pd_status (*layer_norm_backward)(pd_device *, pd_stream *, const pd_tensor *dx, const pd_tensor *dgamma,
                                   const pd_tensor *dbeta, const pd_tensor *dy, const pd_tensor *x,
                                   const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma,
                                   bool accumulate);

  /* loss (1) F32 = mean over rows of -log softmax(logits)[label]; probs (R,K) F32 = softmax. labels (R) I64. */
  pd_status (*cross_entropy_forward)(pd_device *, pd_stream *, const pd_tensor *loss, const pd_tensor *probs,
                                     const pd_tensor *logits, const pd_tensor *labels);
  /* dlogits = (probs - onehot) / R * scale; `scale` (1) F32 on the device, or NULL for 1. */
  pd_status (*cross_entropy_backward)(pd_device *, pd_stream *, const pd_tensor *dlogits, const pd_tensor *probs,
                                      const pd_tensor *labels, const pd_tensor *scale);

  /* One fused round of TinyOpsBlock before its linear layer: h = x + 0.01 tanh x; g = h sigmoid h; y = layer_norm(g).
   * x, y (R,D). Optional, both or neither: the kit calls the single operations. */
  pd_status (*tiny_round_forward)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *mean,
                                  const pd_tensor *rstd, const pd_tensor *x, const pd_tensor *gamma,
                                  const pd_tensor *beta, double eps);
  pd_status (*tiny_round_backward)(pd_device *, pd_stream *, const pd_tensor *dx, const pd_tensor *dgamma,
                                   const pd_tensor *dbeta, const pd_tensor *dy, const pd_tensor *x,
                                   const pd_tensor *mean, const pd_tensor *rstd, const pd_tensor *gamma,
                                   bool accumulate);

  /* One AdamW step over all parameters, in one launch where the device can. The list is copied. */
  pd_status (*adamw)(pd_device *, pd_stream *, const pd_parameter *parameters, int64_t count, const pd_adamw *adamw);
  /* grad *= 1/scale; found_inf = 1 where any element is not finite, else 0. */
  pd_status (*unscale)(pd_device *, pd_stream *, const pd_parameter *parameters, int64_t count,
                       const pd_scaler *scaler);
  /* Grows or backs off the scale by found_inf, on the device. */
  pd_status (*scaler_update)(pd_device *, pd_stream *, const pd_scaler *scaler);

  /* Fused, for a first layer y = relu(conv(x, w) + bias), whose input needs no gradient: dw and db from dy, the
   * gradient of y, which may be overwritten. Optional: the kit calls bias_relu_backward and conv2d_backward_weight. */
  pd_status (*conv2d_relu_backward_weight)(pd_device *, pd_stream *, const pd_tensor *dw, const pd_tensor *db,
                                           const pd_tensor *dy, const pd_tensor *y, const pd_tensor *x,
                                           const pd_conv2d *conv);
  /* Fused, for a last layer y = relu(x + bias) before mean_hw: dx = y > 0 ? dy (N,C) / (H W) : 0, db (C) = its sum over
   * all but the channels. Optional: the kit calls mean_hw_backward and bias_relu_backward. */
  pd_status (*mean_hw_relu_backward)(pd_device *, pd_stream *, const pd_tensor *dx, const pd_tensor *db,
                                     const pd_tensor *dy, const pd_tensor *y);

  /* Optional: one kernel that keeps the stream busy for `ns` nanoseconds, and as little of the device as it
   * can, so that other streams run beside it. */
  pd_status (*spin)(pd_device *, pd_stream *, int64_t ns);
  /* y (R) = the sums of the rows of x (R,D); all F32. Optional. */
  pd_status (*sum_rows)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *x);
  /* c (B,M,N) = op(a) op(b), a product for each of B; op is transposition where asked, of each matrix by itself. All of
   * one type. Optional. */
  pd_status (*batched_matmul)(pd_device *, pd_stream *, const pd_tensor *c, const pd_tensor *a, const pd_tensor *b,
                              bool transpose_a, bool transpose_b, bool allow_tf32);
  /* y = softmax(scale x) over the last dimension of x (R,D), and its gradient from y. y may be x, dx may be dy; all of
   * one type. Optional, both or neither. */
  pd_status (*softmax_forward)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *x, double scale);
  pd_status (*softmax_backward)(pd_device *, pd_stream *, const pd_tensor *dx, const pd_tensor *dy, const pd_tensor *y,
                                double scale);
  /* y (A,C,B,D) = x (A,B,C,D) with its middle dimensions swapped; row-major, of one type. Optional. */
  pd_status (*swap_middle)(pd_device *, pd_stream *, const pd_tensor *y, const pd_tensor *x);
} pd_tensor_ops;

/* ---- profiling --------------------------------------------------------------------------------------------- */

typedef struct pd_profile_options {
  uint32_t size;
  uint32_t profile_memory; /* 1: report every device and pinned allocation to pd_record.memory; 0: none. Their runtime
                              calls are recorded either way, as other calls are */
  uint32_t graphs;         /* 1: the run captures its step and replays it. A hint, for a device that has to profile in
                              another way then; the records of a graph's work are wanted either way */
  uint32_t sync;           /* 1: synchronisation records too */
} pd_profile_options;

/* How the device's records were made; every output shows it. */
typedef uint32_t pd_profile_mode;
enum { PD_PROFILE_NONE = 0, PD_PROFILE_FULL = 1, PD_PROFILE_EVENTS = 2 /* no CUPTI: event timing only */ };

/* The reader sets `size`. */
typedef struct pd_profile_status {
  uint32_t size;
  pd_profile_mode mode;
  uint64_t dropped, zero_stamped, implausible; /* since attach */
  const char *note;                            /* why the mode is not FULL; NULL: it is. The device's, until close */
} pd_profile_status;

/* In this order, every call on the loop thread: attach, (start, stop, drain)*, detach. */
typedef struct pd_profile_ops {
  uint32_t size;
  uint32_t reserved;
  /* Before the first warm-up step of the first window: loads and sets up what is needed. Where the run can go on
   * with a lesser mode, takes that with a note rather than fail. */
  pd_status (*attach)(pd_device *device, const pd_profile_options *options);
  /* From now on work is recorded; called at each window's first warm-up step. */
  pd_status (*start)(pd_device *device);
  /* The window's last active step is over. Returns at once. */
  pd_status (*stop)(pd_device *device);
  /* Returns when every record of work launched between start and stop has been handed to pd_record.activities, or
   * `timeout_ns` has passed (PD_OK too: the trace counts what is missing). Does not synchronise the device. */
  pd_status (*drain)(pd_device *device, int64_t timeout_ns);
  pd_status (*detach)(pd_device *device);
  pd_status (*status)(pd_device *device, pd_profile_status *status);
} pd_profile_ops;

/* ---- device ------------------------------------------------------------------------------------------------ */

typedef struct pd_device_ops {
  uint32_t size;
  uint32_t reserved PD_OR_ZERO;
  /* Opens device `index`. PD_UNSUPPORTED where there is no such device, driver or library: the message says what was
   * tried. On failure *device stays NULL. [loop thread] */
  pd_status (*open)(const pd_host *host, const void *options, uint32_t index, pd_device **device);
  /* Waits for all work, then frees everything. [loop thread] */
  void (*close)(pd_device *device);
  pd_status (*props)(pd_device *device, pd_device_props *props);
  const pd_memory_ops *memory;
  const pd_stream_ops *stream;
  const pd_tensor_ops *tensor;
  const pd_profile_ops *profile;
  /* Sizes with which a run on this device takes seconds. They win over the scenario's presets. Ends with a NULL key;
   * NULL: none. */
  const pd_preset *presets PD_OR_ZERO;
} pd_device_ops;

/* How scenarios reach the open device: an extension of the host. */
#define PD_EXT_DEVICE "pdhost.device/1"
typedef struct pd_device_access {
  uint32_t size;
  uint32_t reserved;
  pd_device *device;
  const pd_device_ops *ops;
  pd_stream *stream; /* the loop's stream: the training kit's work runs here */
} pd_device_access;

#define PD_DEVICE(name_, version_, summary_, T, rows, ...)                                                             \
  static const pd_device_ops pd_ops_ = {.size = sizeof(pd_device_ops), __VA_ARGS__};                                   \
  PD_PLUGIN(PD_KIND_DEVICE, device, pd_ops_, name_, version_, summary_, T, rows)
#define PD_DEVICE_PLAIN(name_, version_, summary_, ...)                                                                \
  static const pd_device_ops pd_ops_ = {.size = sizeof(pd_device_ops), __VA_ARGS__};                                   \
  PD_PLUGIN_PLAIN(PD_KIND_DEVICE, device, pd_ops_, name_, version_, summary_)

#ifdef __cplusplus
}
#endif
#endif
