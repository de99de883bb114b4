/* The capture of a run; see run_capture.h. */
#include "run_capture.h"

#include "board.h"
#include "capture_text.h"
#include "base/log.h"
#include "capture/capture_write.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run_capture {
  capture_writer writer;
  char *path;
  bool kept; /* when the run is over */
  bool told; /* a warning has said that it cannot be written */
};

static void tell_fault(struct run_capture *self) {
  if (!self->writer.fault || self->told) return;
  self->told = true;
  log_line(PD_LOG_WARN, NULL, "%s: cannot be written: %s; it ends here, the run goes on", self->path,
           strerror(self->writer.fault));
}

static void put_text(struct run_capture *self, capture_kind kind, uint32_t window, char *text) {
  if (text)
    (void)capture_put_text(&self->writer, kind, window, text);
  else if (!self->writer.fault)
    self->writer.fault = ENOMEM;
  free(text);
  tell_fault(self);
}

static void forget(run_state *run) {
  recorder_save_to(run->recorder, NULL);
  if (run->capture) free(run->capture->path);
  free(run->capture);
  run->capture = NULL;
}

void run_capture_open(run_state *run, const config *settings, const pd_run *about) {
  const bool kept = settings->run.keep_capture;
  if (!(kept || settings->run.isolate) || run->folder_fault[0]) return;
  const capture_about more = {.cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN), .tf32 = settings->train.tf32};
  run->capture = calloc(1, sizeof *run->capture);
  if (!run->capture) return;
  struct run_capture *self = run->capture;
  board *shared = board_own();
  self->kept = kept;
  const long long ms = about->start_realtime_ns / 1000000;
  if (asprintf(&self->path, "%s/%s.%lld" CAPTURE_UNFINISHED, about->trace_dir, about->worker, ms) < 0)
    self->path = NULL;
  if (self->path) (void)snprintf(shared->capture, sizeof shared->capture, "%s", self->path);
  errno = ENOMEM;
  if (!self->path ||
      capture_create(&self->writer, self->path, CAPTURE_OF_RUN, about->pid, about->start_realtime_ns) != PD_OK) {
    log_line(PD_LOG_WARN, NULL, "%s: cannot be made: %s; the run goes on without a capture",
             self->path ? self->path : about->trace_dir, strerror(errno));
    (void)capture_close(&self->writer, false);
    forget(run);
    return;
  }
  recorder_save_to(run->recorder, &self->writer);
  put_text(self, CAPTURE_RUN, CAPTURE_NO_WINDOW, capture_run_text(about, &more));
  put_text(self, CAPTURE_DEVICE, CAPTURE_NO_WINDOW, capture_device_text(&run->props));
  atomic_store_explicit(&shared->begun, true, memory_order_release);
}

void run_capture_steps(run_state *run, uint64_t from) {
  if (!run->capture) return;
  for (uint64_t i = from; i < step_log_count(run->log); i++) {
    const capture_head head = {
        .kind = CAPTURE_STEP, .window = CAPTURE_NO_WINDOW, .first = i, .count = 1, .row_bytes = sizeof(pd_step_stats)};
    (void)capture_put(&run->capture->writer, head, step_log_at(run->log, i), sizeof(pd_step_stats));
  }
  tell_fault(run->capture);
}

void run_capture_window(run_state *run, const pd_trace *trace) {
  if (!run->capture) return;
  const proc_usage *usage = analysis_usage(run->analysis);
  capture_delivery delivery = {.window = trace->window,
                               .partial = trace->partial,
                               .disturbance = analysis_disturbance(run->analysis),
                               .has_usage = usage != NULL};
  if (usage) delivery.usage = *usage;
  put_text(run->capture, CAPTURE_DEVICE, CAPTURE_NO_WINDOW, capture_device_text(&run->props));
  put_text(run->capture, CAPTURE_DELIVER, trace->window, capture_delivery_text(&delivery));
}

void run_capture_end(run_state *run, const pd_summary *summary) {
  struct run_capture *self = run->capture;
  if (!self) return;
  put_text(self, CAPTURE_SUMMARY, CAPTURE_NO_WINDOW, capture_summary_text(summary));
  (void)capture_close(&self->writer, self->kept);
  recorder_save_to(run->recorder, NULL);
  tell_fault(self);
  if (!self->kept) return;
  const pd_host *host = service_host_table(run->core_host);
  const pd_files *service = host->extension(host, PD_EXT_FILES);
  char *name = strdup(self->path); /* as it will be */
  if (service && name && strcmp(name + strlen(name) - (sizeof CAPTURE_UNFINISHED - 1), CAPTURE_UNFINISHED) == 0) {
    memcpy(name + strlen(name) - (sizeof CAPTURE_UNFINISHED - 1), ".pdcap", sizeof ".pdcap");
    service->announce(service, name);
  }
  free(name);
}

void run_capture_close(run_state *run) {
  if (!run->capture) return;
  (void)capture_close(&run->capture->writer, false);
  board_own()->capture[0] = '\0'; /* nothing is left to be rescued */
  if (!run->capture->kept)
    (void)unlink(run->capture->path);
  else if (capture_finish(run->capture->path) != PD_OK)
    log_line(PD_LOG_WARN, NULL, "%s: cannot get its final name: %s", run->capture->path, strerror(errno));
  atomic_store_explicit(&board_own()->begun, false, memory_order_release);
  forget(run);
}

void run_capture_look(const char *folder) {
  DIR *all = opendir(folder);
  for (const struct dirent *entry; all && (entry = readdir(all));) {
    const size_t bytes = strlen(entry->d_name), ending = sizeof CAPTURE_UNFINISHED - 1;
    char path[4096];
    if (bytes <= ending || strcmp(entry->d_name + bytes - ending, CAPTURE_UNFINISHED) != 0) continue;
    if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) continue;
    const int fd = capture_lock(path);
    if (fd < 0) continue; /* its run goes on */
    (void)close(fd);
    log_line(PD_LOG_WARN, NULL, "an earlier run was killed before its results were written: pdhost recover %s", path);
  }
  if (all) closedir(all);
}
