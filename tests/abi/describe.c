/* Every type that plugins and host share, reachable from one exported function: what abidiff compares. */
#include <pdhost/sink.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

PD_EXPORT void describe(const pd_plugin *plugin, const pd_host *host, const pd_step *step,
                        const pd_scenario_ops *scenario, const pd_sink_ops *sink, const pd_device_ops *device,
                        const pd_device_access *access, const pd_train *train, const pd_truth *truth,
                        const pd_record *record, const pd_files *files, const pd_analysis *analysis,
                        const pd_option *option, const pd_preset *preset);
void describe(const pd_plugin *plugin, const pd_host *host, const pd_step *step, const pd_scenario_ops *scenario,
              const pd_sink_ops *sink, const pd_device_ops *device, const pd_device_access *access,
              const pd_train *train, const pd_truth *truth, const pd_record *record, const pd_files *files,
              const pd_analysis *analysis, const pd_option *option, const pd_preset *preset) {
  (void)plugin, (void)host, (void)step, (void)scenario, (void)sink, (void)device, (void)access, (void)train;
  (void)truth, (void)record, (void)files, (void)analysis, (void)option, (void)preset;
}

/* The rows behind a pd_array are no type of any function's. */
PD_EXPORT void describe_rows(const pd_string *, const pd_thread *, const pd_stream_row *, const pd_range *,
                             const pd_call *, const pd_device_row *, const pd_other_row *, const pd_memory_row *,
                             const pd_counter_row *, const pd_trace_step *, const pd_stack *, const pd_shape *,
                             const pd_setting *, const pd_step_stats *, const pd_table_row *, const pd_cell *,
                             const pd_site *);
void describe_rows(const pd_string *a, const pd_thread *b, const pd_stream_row *c, const pd_range *d, const pd_call *e,
                   const pd_device_row *f, const pd_other_row *g, const pd_memory_row *h, const pd_counter_row *i,
                   const pd_trace_step *j, const pd_stack *k, const pd_shape *l, const pd_setting *m,
                   const pd_step_stats *n, const pd_table_row *o, const pd_cell *p, const pd_site *q) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i;
  (void)j, (void)k, (void)l, (void)m, (void)n, (void)o, (void)p, (void)q;
}
