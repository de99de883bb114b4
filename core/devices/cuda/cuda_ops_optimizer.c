/* AdamW and the loss scaler: one launch for up to CUDA_TABLE parameters. */
#include "cuda_ops.h"

#include <math.h>

pd_status cuda_op_adamw(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                        const pd_adamw *adamw) {
  cuda_adamw_call call = {.lr = (float)adamw->lr,
                          .beta1 = (float)adamw->beta1,
                          .beta2 = (float)adamw->beta2,
                          .rest1 = (float)(1 - adamw->beta1),
                          .rest2 = (float)(1 - adamw->beta2),
                          .eps = (float)adamw->eps,
                          .weight_decay = (float)adamw->weight_decay,
                          .log_beta1 = log(adamw->beta1),
                          .log_beta2 = log(adamw->beta2),
                          .half_dtype = adamw->half_dtype,
                          .step = adamw->step,
                          .found_inf = adamw->found_inf};
  pd_status status = cuda_bind(device);
  for (int64_t done = 0; status == PD_OK && !call.last;) {
    const int64_t part = count - done < CUDA_TABLE ? count - done : CUDA_TABLE;
    call.last = done + part == count;
    status = cuda_check(device, cuda_adamw(&stream->launch, parameters + done, part, &call), "adamw");
    done += part;
  }
  return status;
}

pd_status cuda_op_unscale(pd_device *device, pd_stream *stream, const pd_parameter *parameters, int64_t count,
                          const pd_scaler *scaler) {
  pd_status status = cuda_bind(device);
  bool last = false;
  for (int64_t done = 0; status == PD_OK && !last;) {
    const int64_t part = count - done < CUDA_TABLE ? count - done : CUDA_TABLE;
    last = done + part == count;
    status = cuda_check(device,
                        cuda_unscale(&stream->launch, parameters + done, part, scaler->scale, scaler->found_inf, last),
                        "unscale");
    done += part;
  }
  return status;
}

pd_status cuda_op_scaler_update(pd_device *device, pd_stream *stream, const pd_scaler *scaler) {
  OP_LAUNCH("scaler_update", cuda_scaler_update(&stream->launch, scaler));
}
