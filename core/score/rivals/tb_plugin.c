/*
 * torch_tb_profiler (TensorBoard's PyTorch plugin), "Performance Recommendation" of its overview.
 *
 * Source: kineto/tb_plugin, torch_tb_profiler/profiler/data.py (RunProfileData.analyze), README.md (step time
 * breakdown). Rules: a moment of a step belongs to the first of kernel, copy, set, runtime call, data loader, operator
 * that runs then. More than 5 % in the data loader: "high time cost on input data loading". GPU utilization, the share
 * of the steps in which a kernel runs, below 50 %: "low utilization ... increase batch size". Mapping: the first is
 * input_bound, the second small_batch; the first is printed first, so it is the verdict. Its advice on mixed precision
 * and memory names no bottleneck and is left out, or it would speak of every run.
 */
#include "rivals.h"
#include "shares.h"

#define DATALOADER_SHARE 0.05
#define UTILIZATION 0.50

static const char *judge(const trace_facts *facts) {
  static const uint32_t order[] = {SHARE_KERNEL,  SHARE_TO_DEVICE,  SHARE_TO_HOST,  SHARE_ON_DEVICE,
                                   SHARE_RUNTIME, SHARE_DATALOADER, SHARE_OPERATION};
  double shares[SHARE_COUNT];
  if (!shares_of(facts, order, sizeof order / sizeof order[0], shares)) return NULL;
  if (shares[SHARE_DATALOADER] > DATALOADER_SHARE) return "input_bound";
  return shares[SHARE_KERNEL] < UTILIZATION ? "small_batch" : RIVAL_SILENT;
}

const rival rival_tb_plugin = {"torch_tb_profiler", "torch_tb_profiler 0.4.3", judge};
