/* pd_profile_ops of the CUDA device: the collector where CUPTI can be had, event timing and a note where not. */
#include "cupti_profile.h"

#include "comma_list.h"
#include "cupti_collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_profile {
  cuda_profile_config config;
  cupti_api api;
  cupti_collect *collect;
  cupti_counts counts; /* of collectors closed since */
  pd_profile_mode mode;
  bool running;
  bool loaded;
  bool marked; /* both marks of a window without CUPTI are recorded */
  char note[512];
};

pd_status cuda_profile_open(const cuda_profile_config *config, cuda_profile **out) {
  cuda_profile *profile = calloc(1, sizeof *profile);
  *out = profile;
  if (!profile) return config->host->fail(config->host, PD_NO_MEMORY, "no memory for the profiler's state");
  profile->config = *config;
  return PD_OK;
}

/* From here on without CUPTI: said once, in the log and in every output. */
static void fall_back(cuda_profile *self) {
  const pd_host *host = self->config.host;
  self->mode = PD_PROFILE_EVENTS;
  host->log(host, PD_LOG_WARN, "no device records, event timing only: %s", self->note);
}

static void close_collector(cuda_profile *self) {
  if (!self->collect) return;
  const cupti_counts last = cupti_collect_close(self->collect);
  self->counts.dropped += last.dropped;
  self->counts.zero_stamped += last.zero_stamped;
  self->counts.implausible += last.implausible;
  self->collect = NULL;
}

void cuda_profile_close(cuda_profile *self) {
  if (!self) return;
  close_collector(self);
  free(self);
}

static cupti_between between_of(const char *word) {
  if (word && !strcmp(word, "keep")) return CUPTI_BETWEEN_KEEP;
  if (word && !strcmp(word, "disable")) return CUPTI_BETWEEN_DISABLE;
  if (word && !strcmp(word, "detach")) return CUPTI_BETWEEN_DETACH;
  return CUPTI_BETWEEN_AUTO;
}

static pd_status load(cuda_profile *self) {
  char why[sizeof self->note];
  const pd_status status = cupti_api_load(&self->api, self->config.settings.cupti_library, why, sizeof why);
  self->loaded = status == PD_OK;
  if (!self->loaded)
    (void)snprintf(self->note, sizeof self->note, "%.*s; set cupti_library or CUDA_HOME", (int)sizeof why - 64, why);
  return status;
}

pd_status cuda_profile_attach(cuda_profile *self, const pd_profile_options *options) {
  const cuda_profile_config *config = &self->config;
  pd_status status = PD_OK;
  if (self->collect) return PD_OK;
  self->note[0] = '\0';
  if (!self->loaded) status = load(self);
  if (status == PD_OK) {
    const cupti_collect_config collect = {
        .api = &self->api,
        .record = config->record,
        .props = config->props,
        .max_bytes = config->settings.cupti_memory > 0 ? (uint64_t)config->settings.cupti_memory : (uint64_t)1 << 30,
        .between = between_of(config->settings.cupti_between),
        .sync = options->sync != 0,
    };
    status = cupti_collect_open(&collect, &self->collect, self->note, sizeof self->note);
  }
  if (status == PD_NO_MEMORY) return config->host->fail(config->host, status, "%s", self->note);
  if (status == PD_OK)
    self->mode = PD_PROFILE_FULL;
  else
    fall_back(self);
  return PD_OK;
}

static void mark(cuda_profile *self, uint32_t which) {
  const cuda_profile_events *events = &self->config.events;
  if (events->mark && events->mark(events->context, which) == PD_OK)
    self->marked = true;
  else
    self->marked = false;
}

pd_status cuda_profile_start(cuda_profile *self) {
  if (self->running) return PD_OK;
  self->running = true;
  if (self->mode == PD_PROFILE_FULL) {
    if (cupti_collect_start(self->collect, self->note, sizeof self->note) == PD_OK) return PD_OK;
    close_collector(self);
    fall_back(self);
  }
  mark(self, 0);
  return PD_OK;
}

pd_status cuda_profile_stop(cuda_profile *self) {
  if (!self->running) return PD_OK;
  if (self->mode == PD_PROFILE_FULL)
    cupti_collect_stop(self->collect);
  else if (self->marked)
    mark(self, 1);
  return PD_OK;
}

/* A collector that CUPTI has left in the lurch is of no more use. */
static void check_failure(cuda_profile *self) {
  int32_t failed = cupti_collect_failed(self->collect);
  if (!failed) return;
  snprintf(self->note, sizeof self->note, "CUPTI gave up during the run: %s",
           cupti_api_explain(&self->api, (CUptiResult)failed));
  close_collector(self);
  fall_back(self);
}

static void append(char *list, size_t bytes, uint64_t count, const char *what) {
  if (count) comma_list_add(list, bytes, "%llu %s", (unsigned long long)count, what);
}

static void warn_of_missing(const cuda_profile *self, const cupti_drained *drained, int64_t timeout_ns) {
  const pd_host *host = self->config.host;
  char missing[256] = "";
  append(missing, sizeof missing, drained->pending, "launches have no device record");
  append(missing, sizeof missing, drained->nodes, "kernels of graphs have no device record");
  append(missing, sizeof missing, drained->held, "buffers of records are with CUPTI still");
  host->log(host, PD_LOG_WARN, "after a wait of %.1f s %s", (double)timeout_ns * 1e-9, missing);
}

pd_status cuda_profile_drain(cuda_profile *self, int64_t timeout_ns) {
  const pd_host *host = self->config.host;
  const cuda_profile_events *events = &self->config.events;
  cupti_drained drained;
  if (!self->running) return PD_OK;
  self->running = false;
  if (self->mode != PD_PROFILE_FULL) {
    double window_ns;
    if (self->marked && events->elapsed_ns && events->elapsed_ns(events->context, &window_ns) == PD_OK)
      host->log(host, PD_LOG_INFO, "the window took %.3f ms of device time, by events", window_ns * 1e-6);
    return PD_OK;
  }
  cupti_collect_drain(self->collect, timeout_ns, &drained);
  if (!drained.complete && drained.loop_complete)
    host->log(host, PD_LOG_WARN, "other threads kept the device busy; records of what they launched may be missing");
  else if (!drained.complete)
    warn_of_missing(self, &drained, timeout_ns);
  if (drained.refused)
    host->log(host, PD_LOG_WARN,
              "CUPTI asked %llu times for a buffer beyond cupti_memory and got none, so records were dropped; raise it",
              (unsigned long long)drained.refused);
  if (drained.twins)
    host->log(host, PD_LOG_WARN,
              "CUPTI gave %llu calls of another thread one id; their device records are told apart by their order",
              (unsigned long long)drained.twins);
  if (drained.graphs_empty)
    host->log(
        host, PD_LOG_WARN,
        "graphs were launched and none of their kernels was recorded: were they captured before CUPTI was attached, "
        "or with cupti_between = disable or detach? use keep");
  check_failure(self);
  return PD_OK;
}

pd_status cuda_profile_detach(cuda_profile *self) {
  close_collector(self);
  self->running = false;
  return PD_OK;
}

pd_status cuda_profile_status(cuda_profile *self, pd_profile_status *status) {
  cupti_counts now = {0};
  pd_profile_status full = {.size = status->size, .mode = self->mode};
  if (self->collect) cupti_collect_counts(self->collect, &now);
  full.dropped = self->counts.dropped + now.dropped;
  full.zero_stamped = self->counts.zero_stamped + now.zero_stamped;
  full.implausible = self->counts.implausible + now.implausible;
  if (self->mode != PD_PROFILE_FULL) full.note = self->note[0] ? self->note : "profiling was not asked for";
  memcpy(status, &full, status->size < sizeof full ? status->size : sizeof full);
  return PD_OK;
}

uint32_t cuda_profile_cupti_version(const cuda_profile *self) { return self->loaded ? self->api.version : 0; }
