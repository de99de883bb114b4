/* The metrics of several ranks: the part of metrics_map.h that is about them. */
#ifndef CORE_TABLES_RANK_METRICS_MAP_H
#define CORE_TABLES_RANK_METRICS_MAP_H

#define RANK_METRIC_MAP(X)                                                                                             \
  X(ranks_rank, "Rank", "Rank", COUNT, 0, "number of the process among those that train together, from 0", NULL,       \
    "pdhost")                                                                                                          \
  X(ranks_verdict, "Ranks", "Ranks", TEXT, 0, "what several ranks wait for, in one line; or why that is not said",     \
    NULL, "pdhost")                                                                                                    \
  X(ranks_verdict_cause, "Cause", "Cause", TEXT, DETAIL,                                                               \
    "the same as one word: straggler, uneven_work, slow_device, comm_bound, comm_not_overlapped, none, or "            \
    "withheld",                                                                                                        \
    NULL, "pdhost")                                                                                                    \
  X(ranks_helps, "What helps", "What helps", TEXT, DETAIL, "what to do about it, in words", NULL, "pdhost")            \
  X(ranks_straggler, "Late rank", "Late rank", COUNT, 0, "the rank that the others wait for", NULL, "pdhost")          \
  X(ranks_straggler_cause, "Its cause", "Its cause", TEXT, 0,                                                          \
    "what that rank has more of than the others: a bottleneck as scenarios spell it, uneven_work or slow_device",      \
    NULL, "pdhost")                                                                                                    \
  X(ranks_straggler_more, "More", "More", NS, 0, "how much more of it than the others in the middle, per step", NULL,  \
    "pdhost")                                                                                                          \
  X(ranks_share, "Gain (%)", "Gain (%)", PERCENT, 0, "what the step would save without what the verdict names",        \
    "100 * (step now - step without it) / step now", "pdhost")                                                         \
  X(ranks_step, "Ranks' step", "Ranks' step", NS, 0,                                                                   \
    "mean step: the longest of all ranks, by the host or by the device", NULL, "pdhost")                               \
  X(ranks_steps, "Steps", "Steps", COUNT, 0, "steps of the rank; of the verdict, steps that all ranks have", NULL,     \
    "pdhost")                                                                                                          \
  X(ranks_collectives, "Collectives", "Collectives", COUNT, 0, "collectives that all ranks have", NULL, "pdhost")      \
  X(ranks_time, "Step time", "Step time", NS, 0, "time of the rank's steps",                                           \
    "computation + overlap + communication + other", TB_PLUGIN)                                                        \
  X(ranks_computation, "Computation", "Computation", NS, 0,                                                            \
    "time in the steps in which a kernel runs and no collective",                                                      \
    "union of kernels minus union of collectives, within the steps", TB_PLUGIN)                                        \
  X(ranks_overlap, "Overlap", "Overlap", NS, 0, "time in the steps in which a kernel and a collective run",            \
    "union of kernels intersected with union of collectives, within the steps", TB_PLUGIN)                             \
  X(ranks_communication, "Communication", "Communication", NS, 0,                                                      \
    "time in the steps in which a collective runs and no other kernel",                                                \
    "union of collectives minus union of kernels, within the steps", TB_PLUGIN)                                        \
  X(ranks_other, "Other", "Other", NS, 0, "the rest of the steps: copies, or an idle device",                          \
    "steps minus union of kernels and collectives", TB_PLUGIN)                                                         \
  X(ranks_wait, "Wait", "Wait", NS, WIDE, "time in collectives in which the rank waits for ranks that come later",     \
    "sum over collectives that all ranks have of (duration - shortest duration on any rank)", TB_PLUGIN)               \
  X(ranks_transfer, "Transfer", "Transfer", NS, WIDE, "time in collectives without that wait",                         \
    "sum over collectives that all ranks have of the shortest duration on any rank", TB_PLUGIN)                        \
  X(ranks_common, "Collectives", "Collectives", NS, WIDE, "time of the collectives that all ranks have",               \
    "wait + transfer", "pdhost")                                                                                       \
  X(ranks_caused, "Others wait", "Others wait", NS, WIDE,                                                              \
    "how long the other ranks wait on average where this one comes last", NULL, "pdhost")                              \
  X(ranks_last, "Last (%)", "Last (%)", PERCENT, WIDE, "share of the collectives to which this rank comes last",       \
    "100 * collectives in which it waits least / collectives that all ranks have", "pdhost")                           \
  X(collective_bytes, "Total size", "Total size", BYTES, 0,                                                            \
    "bytes that the rank gives to the collectives of this name; empty where one of them is not known", NULL,           \
    TB_PLUGIN)                                                                                                         \
  X(collective_bytes_avg, "Avg size", "Avg size", BYTES, WIDE, "the same per call, rounded down",                      \
    "collective_bytes / count", TB_PLUGIN)                                                                             \
  X(collective_latency, "Total latency", "Total latency", NS, 0, "time of the collectives, waits included",            \
    "sum of their durations", TB_PLUGIN)                                                                               \
  X(collective_latency_avg, "Avg latency", "Avg latency", NS, WIDE, "the same per call, rounded down",                 \
    "collective_latency / count", TB_PLUGIN)                                                                           \
  X(collective_transfer, "Data transfer", "Data transfer", NS, 0,                                                      \
    "time of the collectives without the wait for other ranks",                                                        \
    "sum over collectives that all ranks have of the shortest duration on any rank", TB_PLUGIN)                        \
  X(collective_transfer_avg, "Avg transfer", "Avg transfer", NS, WIDE,                                                 \
    "the same per collective that all ranks have, rounded down", "collective_transfer / collective_common", TB_PLUGIN) \
  X(collective_wait, "Wait", "Wait", NS, 0,                                                                            \
    "time of the collectives in which the rank waits for ranks that come later",                                       \
    "sum over collectives that all ranks have of (duration - shortest duration on any rank)", "pdhost")                \
  X(collective_common, "On all", "On all", COUNT, WIDE, "calls among them that all ranks have", NULL, "pdhost")        \
  X(message_size, "Size", "Size", BYTES, 0,                                                                            \
    "bytes that each rank gives to the collective; empty where that is not known", NULL, "pdhost")                     \
  X(message_transfer, "Transfer", "Transfer", NS, 0, "time of the collective without waits, on average",               \
    "sum of the shortest durations on any rank / collectives", "pdhost")                                               \
  X(algorithm_bandwidth, "GB/s", "GB/s", GB_PER_S, 0,                                                                  \
    "bytes that a rank gives (to an all-gather: all ranks) over the time of the transfer, in 10^9 bytes per second",   \
    NULL, "nccl-tests algbw")                                                                                          \
  X(bus_bandwidth, "Bus GB/s", "Bus GB/s", GB_PER_S, 0,                                                                \
    "the same, times what any algorithm has to send over the slowest link",                                            \
    "algorithm_bandwidth * 2 (n - 1) / n for an all-reduce of n ranks", "nccl-tests busbw")

#endif
