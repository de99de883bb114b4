/* See doctor.h. Each check prints one line: ok, warn or fail, what was found, and for the last two what to do. */
#include "doctor.h"

#include "doctor_libraries.h"
#include "probe.h"

#include "base/json_text.h"
#include "base/log.h"
#include "abi/plugins.h"
#include "base/version.h"
#include "base/wrap.h"

#include <pdhost/processors.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef enum grade { GRADE_OK, GRADE_WARN, GRADE_FAIL } grade;

typedef struct doctor {
  args_format format;
  bool help;
  json_t *rows; /* for --format json */
  uint32_t counts[3];
} doctor;

static const char *const grade_names[] = {"ok", "warn", "fail"};

/* ---- printing ---- */

enum { NAME_COLUMN = 6, FOUND_COLUMN = 20 };

static void tell(doctor *self, grade how, const char *name, const char *found, const char *remedy) {
  static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m"};
  self->counts[how]++;
  if (self->format == ARGS_JSON) {
    (void)json_text_append(self->rows, json_pack("{s:s, s:s, s:o, s:o}", "check", name, "result", grade_names[how],
                                                 "found", json_text_of(found), "remedy", json_text_of(remedy)));
    return;
  }
  const bool color = log_color_on(STDOUT_FILENO);
  printf("%s%-4s%s  ", color ? colors[how] : "", grade_names[how], color ? "\033[0m" : "");
  const int used = NAME_COLUMN + wrap_pad(name, FOUND_COLUMN - NAME_COLUMN);
  wrap_print(found, used, FOUND_COLUMN);
  if (!remedy) return;
  printf("%*s", FOUND_COLUMN, "");
  wrap_print(remedy, FOUND_COLUMN, FOUND_COLUMN);
}

/* ---- the checks ---- */

/* The first line of a small file, without its newline; "" where there is none. */
static const char *first_line(const char *path, char *text, size_t room) {
  FILE *file = fopen(path, "r");
  text[0] = '\0';
  if (file && !fgets(text, (int)room, file)) text[0] = '\0';
  if (file) fclose(file);
  text[strcspn(text, "\n")] = '\0';
  return text;
}

static void check_program(doctor *self) {
  char found[128];
  snprintf(found, sizeof found, "pdhost %s, sources %s", version_text(), version_source_id());
  tell(self, GRADE_OK, "program", found, NULL);
}

static bool is_gpu(const char *device) { return strcmp(device, "cuda") == 0; }

/* Returns how many devices can be used. */
static uint32_t check_devices(doctor *self) {
  plugins *all = plugins_open(NULL);
  plugin_file *files = NULL;
  uint32_t count = 0, usable = 0;
  if (all && plugins_scan(all, PD_KIND_DEVICE, &files, &count) == PD_OK)
    for (uint32_t i = 0; i < count; i++) {
      char name[64], said[1024];
      if (files[i].shadowed_by) continue;
      snprintf(name, sizeof name, "device %s", files[i].name);
      const bool works = probe_device(NULL, files[i].path, said, sizeof said);
      usable += works;
      tell(self, works ? GRADE_OK : GRADE_WARN, name, said,
           works                   ? NULL
           : is_gpu(files[i].name) ? "install the NVIDIA driver; without a GPU this is not a fault"
                                   : "run pdhost --list devices, and install what it names");
    }
  if (files) plugins_scan_free(files, count);
  plugins_close(all);
  if (!usable)
    tell(self, GRADE_FAIL, "devices", "no device can be used", "build or install the CPU device: it needs oneDNN");
  return usable;
}

static void check_driver(doctor *self) {
  char line[256];
  if (!first_line("/proc/driver/nvidia/version", line, sizeof line)[0]) {
    tell(self, GRADE_WARN, "NVIDIA driver", "not loaded",
         "without a GPU that is not a fault: --device auto takes the CPU");
    return;
  }
  tell(self, GRADE_OK, "NVIDIA driver", line, NULL);
  FILE *file = fopen("/proc/driver/nvidia/params", "r");
  bool is_restricted = false;
  while (file && fgets(line, sizeof line, file))
    is_restricted = is_restricted || strncmp(line, "RmProfilingAdminOnly: 1", 23) == 0;
  if (file) fclose(file);
  if (is_restricted && geteuid() != 0)
    tell(self, GRADE_WARN, "CUPTI permission", "the driver lets only root profile with hardware counters",
         "put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d/nvidia.conf and restart; "
         "traces work without that");
  else
    tell(self, GRADE_OK, "CUPTI permission", "profiling is allowed", NULL);
}

static void check_libraries(doctor *self) {
  char folders[4096];
  if (DOCTOR_CUDA_RUNTIME[0])
    tell(self, GRADE_OK, "CUDA runtime", DOCTOR_CUDA_RUNTIME ", built into the CUDA device", NULL);
  else
    tell(self, GRADE_WARN, "CUDA runtime", "this build has no CUDA device",
         "to use a GPU, install the CUDA toolkit 12 or newer and build again");
  for (const doctor_library *at = doctor_libraries; at->name; at++) {
    char said[256];
    const bool is_good = doctor_library_find(at, said, sizeof said) == DOCTOR_FOUND;
    tell(self, is_good ? GRADE_OK : GRADE_WARN, at->name, said, is_good ? NULL : at->remedy);
  }
  tell(self, GRADE_OK, "CUPTI folders", doctor_cupti_folders(folders, sizeof folders), NULL);
}

static void check_cores(doctor *self) {
  char found[256], limit[64], governor[64];
  const int usable = (int)pd_processors_allowed();
  first_line("/sys/fs/cgroup/cpu.max", limit, sizeof limit);
  const long quota = strtol(limit, NULL, 10), period = strchr(limit, ' ') ? strtol(strchr(limit, ' '), NULL, 10) : 0;
  const bool is_limited = quota > 0 && period > 0 && quota < usable * period;
  snprintf(found, sizeof found, "%d usable", usable);
  if (is_limited)
    snprintf(found, sizeof found, "%d usable, limited to %.1f by the container", usable,
             (double)quota / (double)period);
  tell(self, usable < 2 || is_limited ? GRADE_WARN : GRADE_OK, "cores", found,
       usable < 2 || is_limited ? "use one loader worker, and expect varying times" : NULL);
  if (!first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor, sizeof governor)[0]) return;
  const bool is_fast = strcmp(governor, "performance") == 0;
  snprintf(found, sizeof found, "governor %s", governor);
  tell(self, is_fast ? GRADE_OK : GRADE_WARN, "clocks", found,
       is_fast ? NULL : "for benchmarks: sudo cpupower frequency-set -g performance");
}

static void check_memory(doctor *self) {
  char limit[64], found[128];
  const double here = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30);
  const double most = strtod(first_line("/sys/fs/cgroup/memory.max", limit, sizeof limit), NULL) / (1 << 30);
  const double usable = most > 0 && most < here ? most : here;
  snprintf(found, sizeof found, "%.1f GiB", usable);
  tell(self, usable < 1 ? GRADE_WARN : GRADE_OK, "memory", found,
       usable < 1 ? "lower data.batch_size, data.image_size and profile.max_memory" : NULL);
}

static void check_disk(doctor *self, const char *name, const char *folder, double least_gib, const char *remedy) {
  struct statvfs about;
  char found[256];
  if (statvfs(folder, &about) != 0) {
    snprintf(found, sizeof found, "%s: %s", folder, strerror(errno));
    tell(self, GRADE_WARN, name, found, remedy);
    return;
  }
  const double gib = (double)about.f_bavail * (double)about.f_frsize / (1 << 30);
  const bool is_writable = access(folder, W_OK) == 0, is_enough = gib >= least_gib;
  snprintf(found, sizeof found, "%s: %.1f GiB free%s", folder, gib, is_writable ? "" : ", cannot be written");
  tell(self, is_writable && is_enough ? GRADE_OK : GRADE_WARN, name, found, is_writable && is_enough ? NULL : remedy);
}

/* ---- the command ---- */

static const args_option rows[] = {ARGS_FORMAT_ROW(doctor, format, "text|json", "text, json"), ARGS_COLOR_ROW,
                                   ARGS_HELP_ROW(doctor, help)};

static int doctor_main(int argc, char **argv);

const args_command doctor_command = {
    .name = "doctor",
    .summary = "check what pdhost can use on this machine",
    .usage = "[--format json]",
    .description = "Checks the devices, the driver, the libraries of CUDA, cores, clocks, memory and free disk. Each "
                   "line is ok, warn or fail, and "
                   "says what to do. The exit code is 0 where a run is possible, and 6 where no device can be used.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .main = doctor_main};

static bool take_word(void *user, const char *word, error *err) {
  (void)user;
  error_add(err, PD_INVALID, FAULT_WORD, "doctor: unexpected argument '%s'; see pdhost doctor --help", word);
  return true;
}

static int examine(doctor *self) {
  check_program(self);
  const uint32_t usable = check_devices(self);
  check_driver(self);
  check_libraries(self);
  check_cores(self);
  check_memory(self);
  check_disk(self, "disk", ".", 1, "free some space, or run in another folder");
  check_disk(self, "shared memory", "/dev/shm", 0.06, "start the container with --shm-size=1g");
  if (self->format != ARGS_JSON)
    printf("\n%u ok, %u warn, %u fail\n", self->counts[GRADE_OK], self->counts[GRADE_WARN], self->counts[GRADE_FAIL]);
  return usable ? CODE_DONE : CODE_DEVICE;
}

static int doctor_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  doctor self = {.format = ARGS_TEXT, .rows = json_array()};
  args_set set = {.rows = rows, .count = sizeof rows / sizeof rows[0], .user = &self};
  (void)args_parse(&set, 1, take_word, NULL, "doctor: ", argc, argv, &err);
  int code = err.count ? err.exit_code : CODE_DONE;
  if (!err.count && self.help)
    args_print_help(&doctor_command);
  else if (!err.count)
    code = examine(&self);
  if (self.format != ARGS_JSON || err.count || self.help) {
    json_decref(self.rows);
  } else if (!json_text_write(self.rows, 1, JSON_TEXT_ROUNDED, stdout)) {
    error_set(&err, PD_IO, FAULT_OUTPUT, "doctor: the report could not be written");
    code = CODE_OUTPUT;
  }
  error_print(&err);
  return code;
}
