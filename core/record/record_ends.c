/* See record_ends.h. */
#include "record_ends.h"

#include "base/log.h"
#include "config/run_folder.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *record_ends_other_tool(void) {
  const char *set = getenv("CUDA_INJECTION64_PATH");
  return set && *set ? set : NULL;
}

void record_ends_tell_ranges(const char *library) {
  const char *set = getenv("NVTX_INJECTION64_PATH");
  if (!set || !*set || strcmp(set, library) == 0) return;
  log_line(PD_LOG_WARN, NULL,
           "NVTX_INJECTION64_PATH is set to %s: that tool gets the program's ranges, and pdhost records none of them; "
           "unset it to record ranges and marks",
           set);
}

/* ---- single processes ---- */

static const char *advice(uint32_t cause) {
  switch (cause) {
  case RECORD_CAUSE_NO_CUPTI: return "; install CUPTI of CUDA 13.0 Update 1 or newer, or give its file with --cupti";
  case RECORD_CAUSE_OWN_CUPTI:
    return "; the program has loaded that one, and --cupti cannot replace it: use a build of the program or its "
           "framework for CUDA 13.0 Update 1 or newer";
  case RECORD_CAUSE_SUBSCRIBER: return "; switch the program's own profiler off";
  case RECORD_CAUSE_NO_ROOM: return "; make room in /dev/shm, or set TMPDIR to a larger place";
  default: return "";
  }
}

/* One line for all processes with the same reason. */
static void tell_refused(const record_session *session, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const record_slot *slot = &session->board->slots[i];
    uint32_t same = 0, before = 0;
    if (record_slot_state(slot) != RECORD_REFUSED) continue;
    for (uint32_t k = 0; k < count; k++) {
      const record_slot *other = &session->board->slots[k];
      if (record_slot_state(other) != RECORD_REFUSED || strncmp(other->why, slot->why, sizeof slot->why) != 0) continue;
      same++;
      before += k < i;
    }
    if (before) continue;
    char more[48] = "";
    if (same > 1) (void)snprintf(more, sizeof more, " and %u more processes", same - 1);
    log_line(PD_LOG_WARN, NULL, "process %u%s (%.80s): not recorded: %.400s%s", slot->pid, more, slot->command,
             slot->why, advice(slot->cause));
  }
}

static void tell_yielded(const record_session *session, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const record_slot *slot = &session->board->slots[i];
    if (record_slot_state(slot) == RECORD_DONE && slot->cause == RECORD_CAUSE_YIELDED)
      log_line(PD_LOG_WARN, NULL,
               "process %u (%.80s): its recording ends where its own profiler began, which was given CUPTI (--yield)",
               slot->pid, slot->command);
  }
}

/* ---- the whole ---- */

void record_ends_tell_torch(const record_session *session) {
  char path[320];
  (void)snprintf(path, sizeof path, "%s/" RECORD_TORCH_FILE, session->folder);
  if (access(path, F_OK) == 0) return;
  log_line(PD_LOG_WARN, NULL,
           "--torch: no step was marked: the program imports no torch of version 2 or later, its Python does not read "
           "PYTHONPATH (options -E, -I and -S), or its optimizer's step is compiled; steps are what the launches "
           "repeat");
}

/* The file that a shell would start. False: there is none. */
static bool find_file(const char *command, char *path, size_t room) {
  const char *folders = getenv("PATH");
  if (strchr(command, '/') || !folders) return (size_t)snprintf(path, room, "%s", command) < room;
  while (*folders) {
    const size_t bytes = strcspn(folders, ":");
    if ((size_t)snprintf(path, room, "%.*s/%s", (int)bytes, folders, command) < room && access(path, X_OK) == 0)
      return true;
    folders += bytes + (folders[bytes] == ':');
  }
  return false;
}

static bool is_static(const char *path) {
  Elf64_Ehdr head;
  bool answer = false;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  if (read(fd, &head, sizeof head) == (ssize_t)sizeof head && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
      head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_type != ET_REL) {
    answer = true;
    for (uint32_t i = 0; i < head.e_phnum && answer; i++) {
      Elf64_Phdr part;
      const off_t at = (off_t)(head.e_phoff + (uint64_t)i * head.e_phentsize);
      if (pread(fd, &part, sizeof part, at) != (ssize_t)sizeof part || part.p_type == PT_INTERP) answer = false;
    }
  }
  (void)close(fd);
  return answer;
}

/* What about the program itself keeps a recorder out; NULL: nothing that is known. */
static const char *obstacle(const char *command) {
  char path[4096];
  struct stat about;
  if (!find_file(command, path, sizeof path)) return NULL;
  if (stat(path, &about) == 0 && (about.st_mode & (S_ISUID | S_ISGID)) && geteuid() != 0)
    return "it runs with another user's rights, which keeps recorders out; start it as that user";
  if (is_static(path))
    return "it is linked statically and loads no libraries; record the program that uses the GPU by itself";
  return NULL;
}

void record_ends_tell(const record_rings *rings, const char *command, bool begun) {
  const record_session *session = rings->session;
  const uint32_t count = record_session_count(session), begun_cuda = record_session_begun(session);
  const uint32_t refused = record_session_refused(session);
  tell_refused(session, count);
  tell_yielded(session, count);
  if (record_session_beyond(session))
    log_line(PD_LOG_WARN, NULL, "%u processes beyond the first %d that launched something were not recorded",
             record_session_beyond(session), RECORD_SLOTS);
  if (rings->fault)
    log_line(PD_LOG_WARN, NULL, "%s: the recording cannot be written there: %s; what was written until then is used",
             rings->folder, strerror(rings->fault));
  if (record_rings_begun(rings) || rings->fault || (refused && refused == begun_cuda)) return;
  if (!begun) {
    log_line(PD_LOG_WARN, NULL, "nothing was recorded: %s ended before the recording was to begin", command);
  } else if (begun_cuda) {
    log_line(
        PD_LOG_WARN, NULL,
        "nothing was recorded: CUDA was initialised, but nothing was launched before the process ended; is the work "
        "done by one that was started before?");
  } else {
    const char *why = obstacle(command);
    log_line(
        PD_LOG_WARN, NULL, "nothing was recorded: no process that %s started reached pdhost's recorder: %s", command,
        why ? why
            : "it uses no GPU, or it loses pdhost's environment (env -i, sudo, ssh, srun, a container), or a process "
              "that was started before does the work; put pdhost record -- right before the program that uses the GPU, "
              "in the same place");
  }
}

/* ---- the folder ---- */

static bool is_empty(const char *folder) {
  DIR *open = opendir(folder);
  uint32_t count = 0;
  if (!open) return false;
  while (readdir(open)) count++;
  (void)closedir(open);
  return count <= 2; /* itself and the one above */
}

void record_ends_folder(const config *settings, bool is_recorded) {
  const char *folder = settings->run.trace_dir, *slash = strrchr(folder, '/');
  const bool is_own = strcmp(slash ? slash + 1 : folder, run_folder_name()) == 0;
  if (!is_empty(folder)) return;
  if (!is_recorded && is_own)
    (void)rmdir(folder);
  else if (is_recorded && !settings->quiet)
    fprintf(stderr, "pdhost: no file was written: with --sink html before -- there is a page with the timeline, with "
                    "-o run.keep_capture=true the recording itself\n");
}
