/* A device plugin opened without the host, its tensors, and the times of its operations; for bench_device_ops.c. */
#ifndef BENCH_OP_RIG_H
#define BENCH_OP_RIG_H

#include <pdhost/device.h>

#include <stdbool.h>

enum { RIG_MOST_OPS = 40, RIG_MOST_ROUNDS = 400, RIG_LAYERS = 3, RIG_CLASSES = 1000 };

typedef struct rig_mode {
  const char *name;
  pd_dtype dtype;
  pd_layout layout;
  bool tf32;
} rig_mode;

typedef struct op_rig {
  const pd_device_ops *ops;
  const pd_tensor_ops *t;
  pd_device *device;
  pd_stream *stream;
  pd_event *start, *end;
  int rounds;
  int op_count;
  const char *op_names[RIG_MOST_OPS];
  double op_ns[RIG_MOST_OPS][RIG_MOST_ROUNDS];
  int64_t batch, size;
  bool is_cuda;
  /* of the mode */
  rig_mode m;
  pd_tensor images, x, y[RIG_LAYERS], dy[RIG_LAYERS], w[RIG_LAYERS], b[RIG_LAYERS], dw[RIG_LAYERS], db[RIG_LAYERS];
  pd_tensor pooled, dpooled, head, head_bias, dhead, dhead_bias, logits, dlogits, probs, labels, loss, scale, found_inf;
  pd_tensor good_steps, step_count, masters[8], m1[8], m2[8];
  float *pinned_images;
  int64_t *pinned_labels;
} op_rig;

extern bool rig_verbose, rig_own_kernels_only;
extern const pd_host rig_host;

/* Says what failed, and ends the program. */
_Noreturn void rig_fail(pd_status status, const char *what);
static inline void rig_need(pd_status status, const char *what) {
  if (status != PD_OK) rig_fail(status, what);
}
/* Sorts `v`. */
double rig_median(double *v, int count);
uint64_t rig_bytes_of(const pd_tensor *t);
pd_tensor rig_tensor(op_rig *b, pd_dtype dtype, pd_layout layout, uint32_t rank, int64_t s0, int64_t s1, int64_t s2,
                     int64_t s3);
void rig_release(op_rig *b, pd_tensor *t);
/* Normal numbers times `factor`, the same for every mode: `t` is written in its own type and layout. */
void rig_randomise(op_rig *b, const pd_tensor *t, uint64_t seed, double factor);
/* Times one call where `round` counts, or just makes it. */
void rig_begin(op_rig *b, int round);
void rig_finish(op_rig *b, int round, const char *name, pd_status status);

#define RIG_OP(name, call)                                                                                             \
  do {                                                                                                                 \
    rig_begin(b, round);                                                                                               \
    rig_finish(b, round, name, (call));                                                                                \
  } while (0)

/* What a library does on the CUDA device. */
#define RIG_LIBRARY_OP(name, call)                                                                                     \
  do {                                                                                                                 \
    if (!rig_own_kernels_only) RIG_OP(name, call);                                                                     \
  } while (0)

#endif
