/* Chooses a convolution's plan at its first call: times cuDNN's candidates on the call's own data, whose result each of
 * them may overwrite. Under device->lock, outside the steady state. */
#include "conv_plan.h"

#include <pdhost/clocks.h>
#include <pdhost/progress.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MOST_CANDIDATES = 24, PER_FORM = 8, TRIALS = 3 };

/* A result that differs from run to run must be faster by this factor to be taken. */
static const float nondeterminism_price = 1.05f;

static uint64_t weight_bytes(const conv_key *key) { return (uint64_t)(key->o * key->c * key->kh * key->kw) * 2; }

static const char *dtype_name(pd_dtype dtype) {
  return dtype == PD_F16 ? "float16" : dtype == PD_BF16 ? "bfloat16" : "float32";
}

/* Why a plan did not run; both zero where it did. */
typedef struct conv_failure {
  cudnnStatus_t cudnn;
  cudaError_t cuda;
} conv_failure;

/* The plan and what belongs to it but a separate bias; nothing is reported to the host. */
static conv_failure attempt(pd_device *device, pd_stream *stream, conv_plan *plan, const conv_arguments *arguments) {
  conv_arguments with = *arguments;
  if (plan->narrow) with.w = (char *)stream->workspace + plan->workspace - weight_bytes(&plan->key);
  conv_failure why = {.cudnn = conv_execute(device, stream, plan, &with)};
  const int64_t count = (int64_t)weight_bytes(&plan->key) / 2;
  if (!why.cudnn && plan->narrow)
    why.cuda = cuda_convert(&stream->launch, arguments->w, PD_F32, with.w, plan->key.x_dtype, count);
  return why;
}

pd_status conv_run(pd_device *device, pd_stream *stream, conv_plan *plan, const conv_arguments *arguments) {
  const conv_failure why = attempt(device, stream, plan, arguments);
  if (why.cudnn) return cuda_cudnn_failed(device, why.cudnn, "convolution");
  return cuda_check(device, why.cuda, "conv2d_backward_weight");
}

/* The whole operation, as an operation of the device would run it. The lock is held. A candidate that fails is told
 * only where none works; our own kernel for the bias tells what is wrong with it, and `why` is zero then. */
static bool run_once(pd_device *device, pd_stream *stream, conv_plan *plan, const conv_arguments *arguments,
                     conv_failure *why) {
  *why = attempt(device, stream, plan, arguments);
  if (why->cudnn || why->cuda) return false;
  const conv_key *key = &plan->key;
  if (!key->bias || plan->form != CONV_PLAIN) return true;
  const pd_tensor y = {.data = arguments->y,
                       .shape = {key->n, key->o, key->oh, key->ow},
                       .rank = 4,
                       .dtype = key->y_dtype,
                       .layout = key->y_layout};
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): the operation only reads it */
  const pd_tensor bias = {.data = (void *)(uintptr_t)arguments->bias, .shape = {key->o}, .rank = 1, .dtype = PD_F32};
  return cuda_op_bias_relu(device, stream, &y, &y, &bias, key->relu) == PD_OK;
}

/* Milliseconds of the fastest of a few runs; < 0: the plan does not work. */
static float trial(pd_device *device, pd_stream *stream, conv_plan *plan, const conv_arguments *arguments,
                   cudaEvent_t start, cudaEvent_t end, conv_failure *why) {
  float best = -1;
  if (!run_once(device, stream, plan, arguments, why)) goto out;
  for (int i = 0; i < TRIALS; i++) {
    float ms = 0;
    if ((why->cuda = cudaEventRecord(start, stream->handle)) || !run_once(device, stream, plan, arguments, why) ||
        (why->cuda = cudaEventRecord(end, stream->handle)) || (why->cuda = cudaEventSynchronize(end)) ||
        (why->cuda = cudaEventElapsedTime(&ms, start, end))) {
      best = -1;
      goto out;
    }
    if (best < 0 || ms < best) best = ms;
  }
out:
  (void)cudaGetLastError();
  return best;
}

static const char *form_name(conv_form form) {
  return form == CONV_PLAIN ? "plain" : form == CONV_FUSED ? "fused" : "fused with a summand";
}
static const char *direction_name(uint32_t direction) {
  return direction == CONV_FORWARD ? "forward" : direction == CONV_BACKWARD_DATA ? "backward data" : "backward weight";
}

static pd_status none_works(pd_device *device, const conv_key *key, int count, const conv_failure *why) {
  if (!why->cudnn && !why->cuda) return PD_DEVICE; /* told already */
  return device->host->fail(device->host, PD_DEVICE,
                            "cuDNN: none of %d algorithms for conv %s of (%lld,%lld,%lld,%lld) to %lld channels works; "
                            "the last one: %s",
                            count, direction_name(key->direction), (long long)key->n, (long long)key->c,
                            (long long)key->h, (long long)key->w, (long long)key->o,
                            why->cudnn ? device->libraries.cudnn.GetErrorString(why->cudnn)
                                       : cudaGetErrorString(why->cuda));
}

static pd_status choose_fastest(pd_device *device, pd_stream *stream, conv_plan **plans, int count,
                                const conv_arguments *arguments, int *chosen) {
  cudaEvent_t start = NULL, end = NULL;
  conv_failure why = {CUDNN_STATUS_SUCCESS, cudaSuccess};
  float best = -1;
  pd_status status = cuda_check(device, cudaEventCreate(&start), "cudaEventCreate");
  if (status == PD_OK) status = cuda_check(device, cudaEventCreate(&end), "cudaEventCreate");
  for (int i = 0; status == PD_OK && i < count; i++) {
    float ms = trial(device, stream, plans[i], arguments, start, end, &why);
    const conv_key *key = &plans[i]->key;
    device->host->log(
        device->host, PD_LOG_DEBUG,
        "conv %s (%lld,%lld,%lld,%lld)->%lld %s, layout %u: candidate %d, %s%s%s, workspace %llu: %.4f ms",
        direction_name(key->direction), (long long)key->n, (long long)key->c, (long long)key->h, (long long)key->w,
        (long long)key->o, dtype_name(key->x_dtype), key->x_layout, i, form_name(plans[i]->form),
        plans[i]->nondeterministic ? ", not deterministic" : "", plans[i]->narrow ? ", narrow" : "",
        (unsigned long long)plans[i]->workspace, (double)ms);
    if (ms < 0) continue;
    if (plans[i]->nondeterministic) ms *= nondeterminism_price;
    if (best >= 0 && ms >= best) continue;
    best = ms;
    *chosen = i;
  }
  if (status == PD_OK && best < 0) status = none_works(device, &plans[0]->key, count, &why);
  if (start) cudaEventDestroy(start);
  if (end) cudaEventDestroy(end);
  return status;
}

/* On the progress line: the search may take seconds. */
static void tell_search(const pd_device *device, const conv_key *key) {
  char doing[160];
  snprintf(doing, sizeof doing, "cuDNN's algorithms are tried for conv %s of (%lld,%lld,%lld,%lld)",
           direction_name(key->direction), (long long)key->n, (long long)key->c, (long long)key->h, (long long)key->w);
  pd_progress_doing(device->host, doing);
}

/* All candidates for the key. For a float32 weight gradient of half tensors also those that give a half one, which
 * is converted: cuDNN's fast engines know no other. */
static pd_status gather(pd_device *device, const conv_key *key, conv_plan **plans, int *count) {
  const bool compile = strcmp(device->options.conv_search, "exhaustive") == 0;
  const bool first_only = strcmp(device->options.conv_search, "heuristic") == 0;
  const int each = first_only ? 1 : PER_FORM;
  pd_status status = PD_OK;
  if (key->direction == CONV_BACKWARD_WEIGHT && key->w_dtype == PD_F32 && key->x_dtype != PD_F32) {
    conv_key half = *key;
    half.w_dtype = key->x_dtype;
    status = conv_candidates(device, &half, CONV_PLAIN, compile, plans, each, count);
    for (int i = 0; i < *count; i++) {
      /* The half gradient lies after the engine's own workspace. */
      plans[i]->narrow = true;
      plans[i]->workspace = (plans[i]->workspace + 255) / 256 * 256 + weight_bytes(key);
    }
    if (status != PD_OK || (first_only && *count)) return status;
  }
  for (int form = key->bias ? CONV_FUSED_SUM : CONV_PLAIN; status == PD_OK && form >= CONV_PLAIN; form--)
    status = conv_candidates(device, key, (conv_form)form, compile, plans, *count + each, count);
  /* An engine that has to be compiled is better than none. */
  if (status == PD_OK && !*count && !compile)
    status = conv_candidates(device, key, CONV_PLAIN, true, plans, each, count);
  return status;
}

/* The workspace of the candidate that wants most; one whose own cannot be had is left out while there are others. */
static pd_status fit_workspace(pd_device *device, pd_stream *stream, conv_plan **plans, int *count) {
  for (int i = 0; i < *count;) {
    const cudaError_t error = cuda_workspace_grow(device, stream, plans[i]->workspace);
    if (error == cudaSuccess) {
      i++;
      continue;
    }
    if (error != cudaErrorMemoryAllocation || *count == 1) {
      const pd_status status = cuda_workspace(device, stream, plans[i]->workspace); /* asked once more, it says why */
      if (status != PD_OK) return status;
      continue;
    }
    conv_plan_free(device, plans[i]);
    memmove(plans + i, plans + i + 1, (size_t)(*count - i - 1) * sizeof *plans);
    --*count;
    i = 0; /* what there was before is gone as well: from the start */
  }
  return PD_OK;
}

pd_status conv_choose(pd_device *device, pd_stream *stream, const conv_key *key, const conv_arguments *arguments,
                      conv_plan **out) {
  if (device->convolutions)
    for (conv_plan *plan = device->convolutions->plans; plan; plan = plan->next)
      if (!memcmp(&plan->key, key, sizeof *key)) {
        *out = plan;
        return cuda_workspace(device, stream, plan->workspace);
      }
  conv_plan *plans[MOST_CANDIDATES];
  int count = 0, chosen = 0;
  const double start = 1e-6 * (double)pd_monotonic_ns();
  tell_search(device, key);
  pd_status status = gather(device, key, plans, &count);
  const double gathered = 1e-6 * (double)pd_monotonic_ns();
  if (status != PD_OK) goto out;
  if (!count) {
    status = device->host->fail(device->host, PD_UNSUPPORTED,
                                "cuDNN has no algorithm for conv %s of (%lld,%lld,%lld,%lld) to %lld channels in %s",
                                direction_name(key->direction), (long long)key->n, (long long)key->c, (long long)key->h,
                                (long long)key->w, (long long)key->o, dtype_name(key->x_dtype));
    goto out;
  }
  status = fit_workspace(device, stream, plans, &count);
  if (status == PD_OK && count > 1 && !stream->capturing)
    status = choose_fastest(device, stream, plans, count, arguments, &chosen);
  device->host->log(
      device->host, PD_LOG_DEBUG, "conv %s: candidate %d of %d; %.0f ms to set them up, %.0f ms to try them",
      direction_name(key->direction), chosen, count, gathered - start, 1e-6 * (double)pd_monotonic_ns() - gathered);
out:
  pd_progress_doing(device->host, NULL);
  for (int i = 0; i < count; i++)
    if (status != PD_OK || i != chosen) conv_plan_free(device, plans[i]);
  if (status != PD_OK) return status;
  *out = plans[chosen];
  (*out)->key = *key;
  (*out)->next = device->convolutions->plans;
  device->convolutions->plans = *out;
  return PD_OK;
}
