/* See rank_group.h. */
#include "rank_group.h"

#include "rank_launch.h"
#include "rank_watch.h"

#include "base/log.h"
#include "base/version.h"
#include "run/board.h"
#include "config/run_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A communicator of the group. */
typedef struct member {
  const pd_communicator_ops *ops;
  pd_communicator *state;
  service_host *host;
  const char *name;
} member;

struct rank_group {
  pd_ranks table;
  pd_launch launch;
  services services; /* of the communicators */
  member host, device;
  rank_watch *watch;
};

#define WATCH_AHEAD_NS 5000000000

static rank_group *own;

rank_group *rank_group_own(void) { return own; }
const pd_ranks *rank_group_table(const rank_group *self) { return &self->table; }
uint32_t rank_group_rank(const rank_group *self) { return self->launch.rank; }
uint32_t rank_group_count(const rank_group *self) { return self->launch.count; }
uint32_t rank_group_local(const rank_group *self) { return self->launch.local_rank; }

const char *rank_group_backend(const rank_group *self) { return (self->device.ops ? self->device : self->host).name; }

/* ---- what scenarios see ---- */

static pd_status all_reduce(const pd_ranks *table, pd_stream *stream, float *data, uint64_t count, pd_reduce how) {
  const rank_group *self = table->impl;
  const member *at = self->device.ops ? &self->device : &self->host;
  rank_watch_count(self->watch);
  return at->ops->all_reduce(at->state, stream, data, count, how);
}

static pd_status barrier(const pd_ranks *table) {
  const rank_group *self = table->impl;
  return self->host.ops->barrier(self->host.state);
}

static pd_status broadcast(const pd_ranks *table, void *data, uint64_t bytes, uint32_t root) {
  const rank_group *self = table->impl;
  return self->host.ops->broadcast(self->host.state, data, bytes, root);
}

static pd_status gather(const pd_ranks *table, const void *data, uint64_t bytes, void *all) {
  const rank_group *self = table->impl;
  return self->host.ops->gather(self->host.state, data, bytes, all);
}

static bool is_lost(const pd_ranks *table) {
  const rank_group *self = table->impl;
  char why[8];
  uint32_t rank = 0;
  return self->watch && rank_watch_lost(self->watch, &rank, why, sizeof why);
}

/* ---- life ---- */

/* The member did not come up: says which rank was lost, where one was, on the rank that tells of it. */
static int report_failure(const rank_group *self, service_host *host, pd_status status) {
  char text[512];
  bool tells = false;
  if (!rank_group_lost(self, text, sizeof text, &tells)) return service_host_report(host, status, "ranks", CODE_DEVICE);
  if (tells) error_line_print(CODE_SCENARIO, NULL, "%s", text);
  return CODE_SCENARIO;
}

static int load_member(config *settings, const char *name, const plugin **out, error *err) {
  error_clear(err);
  if (plugins_load(settings->plugins, PD_KIND_COMMUNICATOR, name, out, err) == PD_OK) return CODE_DONE;
  if (err->count && err->lines[0].fault == FAULT_NOT_FOUND && strcmp(name, "mpi") == 0)
    (void)error_wrap(err, "MPI is missing, install libopenmpi-dev and build pdhost again");
  if (err->count && err->lines[0].fault == FAULT_NOT_FOUND && strcmp(name, "nccl") == 0)
    (void)error_wrap(err, "NCCL is missing, install libnccl-dev and build pdhost again");
  return err->exit_code;
}

static int open_member(rank_group *self, const plugin *loaded, member *out) {
  const pd_communicator_ops *ops = loaded->table->ops.communicator;
  const char *name = loaded->table->name;
  out->host = service_host_open(&self->services, name);
  if (!out->host) return service_host_report(NULL, PD_NO_MEMORY, name, CODE_INTERNAL);
  board_enter("communicator", name, "joining the other ranks");
  const pd_status status = ops->init(service_host_table(out->host), NULL, &self->launch, &out->state);
  board_leave();
  if (status == PD_STOP) return CODE_DEVICE; /* another rank failed, and says why */
  if (status != PD_OK) return report_failure(self, out->host, status);
  out->ops = ops;
  out->name = name;
  return CODE_DONE;
}

static void close_member(member *self) {
  if (self->ops) self->ops->close(self->state);
  service_host_close(self->host);
  *self = (member){.ops = NULL};
}

/* What rank_group_find() found; by NULL: one rank. */
static struct {
  pd_launch launch;
  const char *by;
} found;

/* A rank was lost: it is not waited for. */
static void abort_all(void *user) {
  const rank_group *self = user;
  if (self->device.ops) self->device.ops->abort(self->device.state);
  if (self->host.ops) self->host.ops->abort(self->host.state);
}

static int begin_watch(rank_group *self, const config *settings) {
  char why[512];
  const rank_watch_how how = {.timeout_ns = settings->run.rank_timeout_ns, .lost = abort_all, .user = self};
  self->watch = rank_watch_open(&self->table, &how, why, sizeof why);
  if (self->watch) return CODE_DONE;
  error_line_print(CODE_DEVICE, NULL, "ranks: %s", why);
  return CODE_DEVICE;
}

void rank_group_tell(rank_group *self, const char *why) { rank_watch_tell(self->watch, why); }

bool rank_group_lost(const rank_group *self, char *text, size_t room, bool *tells) {
  char why[400];
  uint32_t rank = 0;
  if (!self->watch || !rank_watch_lost(self->watch, &rank, why, sizeof why)) return false;
  *tells = self->launch.rank == (rank == 0); /* rank 0, but of itself the next one */
  (void)snprintf(text, room, "rank %u: %s; the run ends on all ranks", rank, why);
  return true;
}

bool rank_group_asked_to_end(const rank_group *self) {
  char why[8];
  uint32_t rank = 0;
  return self->watch && rank_watch_lost(self->watch, &rank, why, sizeof why) && strncmp(why, "SIG", 3) == 0;
}

int rank_group_find(const config *settings) {
  static error err; /* large; the loop thread's alone */
  error_clear(&err);
  found.by = NULL;
  if (strcmp(settings->run.communicator, "none") == 0) return CODE_DONE;
  if (rank_launch_find(&found.launch, &found.by, &err) != PD_OK) {
    error_print(&err);
    return err.exit_code;
  }
  if (found.by) log_set_rank(found.launch.rank, found.launch.count);
  return CODE_DONE;
}

bool rank_group_found(uint32_t *rank) {
  *rank = found.by ? found.launch.rank : 0;
  return found.by;
}

void rank_group_name_files(files *of) {
  char prefix[32];
  uint32_t rank;
  if (!rank_group_found(&rank)) return;
  (void)snprintf(prefix, sizeof prefix, "rank%u_", rank);
  files_set_prefix(of, prefix);
}

int rank_group_open(config *settings) {
  static error err; /* large; the loop thread's alone */
  const char *name = settings->run.communicator;
  if (own || !found.by) return CODE_DONE;
  if (strcmp(name, "auto") == 0) name = found.by;
  rank_group *self = calloc(1, sizeof *self);
  if (!self) return service_host_report(NULL, PD_NO_MEMORY, "ranks", CODE_INTERNAL);
  self->launch = found.launch;
  /* The watch sees a rank that hangs before a communicator does, and knows which it is. */
  self->launch.timeout_ns = settings->run.rank_timeout_ns * 3 / 2 + WATCH_AHEAD_NS;
  self->table = (pd_ranks){.size = sizeof(pd_ranks),
                           .rank = self->launch.rank,
                           .count = self->launch.count,
                           .impl = self,
                           .all_reduce = all_reduce,
                           .barrier = barrier,
                           .broadcast = broadcast,
                           .gather = gather,
                           .is_lost = is_lost};
  own = self;
  const plugin *loaded = NULL;
  int code = load_member(settings, name, &loaded, &err);
  if (code == CODE_DONE)
    code = open_member(self, loaded, &self->host);
  else if (self->launch.local_rank == 0) /* for all ranks of its host */
    error_print(&err);
  if (code == CODE_DONE) code = begin_watch(self, settings);
  if (code == CODE_DONE)
    self->services.ranks = &self->table;
  else
    rank_group_close();
  return code;
}

void rank_group_close(void) {
  if (!own) return;
  rank_watch_close(own->watch);
  close_member(&own->host);
  free(own);
  own = NULL;
}

static int fail(rank_group *self) { return service_host_report(self->host.host, PD_IO, "ranks", CODE_SCENARIO); }

/* `first`: the first rank that failed. */
static int meet(rank_group *self, int code, uint32_t *first) {
  const int32_t word = code;
  int32_t *words = calloc(self->launch.count, sizeof *words);
  if (!words) return service_host_report(NULL, PD_NO_MEMORY, "ranks", CODE_INTERNAL);
  if (gather(&self->table, &word, sizeof word, words) != PD_OK && code == CODE_DONE) code = fail(self);
  for (*first = 0; *first < self->launch.count && words[*first] == CODE_DONE; ++*first) {}
  if (code == CODE_DONE && *first < self->launch.count) code = words[*first];
  free(words);
  return code;
}

int rank_group_open_device(rank_group *self, config *settings, const services *all) {
  static error err; /* large; the loop thread's alone */
  const pd_stream_ops *ops = all->device->ops->stream;
  if (self->services.device) return CODE_DONE; /* of a run with other settings within this one */
  self->services.device = all->device;
  const bool native = PD_HAS(pd_stream_ops, ops, native) && ops->native;
  if (!native) return CODE_DONE;
  const plugin *loaded = NULL;
  uint32_t first = 0;
  /* Each rank has to have it before one joins: those that join wait for all. */
  const int code = meet(self, load_member(settings, "nccl", &loaded, &err), &first);
  if (err.count && first == self->launch.rank) error_print(&err);
  if (code != CODE_DONE) return code;
  rank_watch_count(self->watch); /* joining waits for all ranks, as a collective does */
  return open_member(self, loaded, &self->device);
}

void rank_group_leave_device(rank_group *self, const pd_device *device) {
  if (!self->services.device || self->services.device->device != device) return;
  close_member(&self->device);
  self->services.device = NULL;
}

/* ---- agreement ---- */

typedef struct rank_word {
  char version[64], source[64], device[64];
  char folder[RUN_FOLDER_NAME]; /* that of rank 0 is all ranks' */
  uint64_t settings;            /* a hash of them */
  int32_t code;
  uint32_t reserved;
} rank_word;

int rank_group_meet(rank_group *self, int code) {
  uint32_t first = 0;
  return meet(self, code, &first);
}

/* What may be another on each rank. */
static bool is_own(const pd_setting *at) {
  return strcmp(at->section, "run") == 0 && (strcmp(at->key, "device_index") == 0 ||
                                             strcmp(at->key, "trace_dir") == 0 || strcmp(at->key, "plugin_path") == 0);
}

static uint64_t hash_text(uint64_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return (hash ^ 0xffu) * 0x100000001b3u;
}

static uint64_t hash_settings(const config *settings) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    if (is_own(at)) continue;
    hash = hash_text(hash_text(hash_text(hash, at->section), at->key), at->value ? at->value : "");
  }
  return hash;
}

/* The one rank that differs from rank 0, in words; false: none does. */
static bool find_difference(const rank_word *words, uint32_t count, char *text, size_t room) {
  for (uint32_t i = 1; i < count; i++) {
    const rank_word *one = &words[i], *first = &words[0];
    if (strcmp(one->version, first->version) != 0 || strcmp(one->source, first->source) != 0)
      (void)snprintf(text, room, "rank %u runs pdhost %s (%s), rank 0 pdhost %s (%s): start the same one everywhere", i,
                     one->version, one->source, first->version, first->source);
    else if (strcmp(one->device, first->device) != 0)
      (void)snprintf(text, room, "rank %u runs on %s, rank 0 on %s: give all ranks the same kind, by [run] device", i,
                     one->device, first->device);
    else if (one->settings != first->settings)
      (void)snprintf(text, room,
                     "the configuration of rank %u is not that of rank 0: start all ranks with the same one", i);
    else
      continue;
    return true;
  }
  return false;
}

int rank_group_agree(rank_group *self, const config *settings, const char *device, int code) {
  char text[512];
  rank_word word = {.code = code, .settings = hash_settings(settings)};
  (void)snprintf(word.version, sizeof word.version, "%s", version_text());
  (void)snprintf(word.source, sizeof word.source, "%s", version_source_id());
  (void)snprintf(word.device, sizeof word.device, "%s", device);
  (void)snprintf(word.folder, sizeof word.folder, "%s", run_folder_name());
  rank_word *words = calloc(self->launch.count, sizeof *words);
  if (!words) return service_host_report(NULL, PD_NO_MEMORY, "ranks", CODE_INTERNAL);
  if (gather(&self->table, &word, sizeof word, words) != PD_OK && code == CODE_DONE) code = fail(self);
  for (uint32_t i = 0; i < self->launch.count && code == CODE_DONE; i++) code = words[i].code;
  if (code == CODE_DONE && find_difference(words, self->launch.count, text, sizeof text)) {
    code = CODE_CONFIG;
    if (self->launch.rank == 0) error_line_print(CODE_CONFIG, NULL, "%s", text);
  }
  if (code == CODE_DONE) run_folder_share(words[0].folder);
  free(words);
  return code;
}
