/* pdhost --list; see list.h. */
#include "list.h"

#include "probe.h"
#include "cli/help/explain.h"

#include "base/child.h"
#include "base/json_text.h"
#include "config/cli_args.h"
#include "abi/device_text.h"
#include "base/suggest.h"
#include "base/wrap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHILD_SECONDS = 20, SUMMARY_COLUMN = 35 };

typedef struct opening {
  const plugin_file *file;
} opening;

/* One file, as a child process found it. */
typedef struct listed {
  const plugin_file *file;
  child_result result;
  bool is_sound, is_usable;
  const char *name, *version, *abi, *bottleneck, *author, *summary; /* NULL unless it is sound */
  const char *why;                                                  /* it is rejected; NULL */
  char ending[128], reason[1024]; /* of a device: its own name, or why it is of no use here */
} listed;

/* In the child: writes "name\tversion\tabi\tbottleneck\tauthor\tsummary", or the reason why the plugin is rejected. */
static int open_one(void *user, int report) {
  const plugin_file *file = ((opening *)user)->file;
  error err;
  error_clear(&err);
  plugins *all = plugins_open(NULL);
  const plugin *loaded = NULL;
  char line[2048];
  const pd_status status = all ? plugins_load(all, file->kind, file->path, &loaded, &err) : PD_NO_MEMORY;
  if (status == PD_OK)
    snprintf(line, sizeof line, "%s\t%s\t%u.%u\t%s\t%s\t%s", loaded->table->name, loaded->table->version,
             loaded->table->abi_major, loaded->table->abi_minor,
             file->kind == PD_KIND_SCENARIO ? loaded->table->ops.scenario->bottleneck : "",
             loaded->table->author ? loaded->table->author : "", loaded->table->summary);
  else if (err.count)
    error_first_line(&err, line, sizeof line);
  else
    snprintf(line, sizeof line, "out of memory");
  const size_t bytes = strlen(line);
  const bool told = write(report, line, bytes) == (ssize_t)bytes;
  plugins_close(all);
  return status == PD_OK && told ? 0 : 1;
}

/* Cuts `text` at its tabs into `parts`; false: there are fewer. */
static bool cut(char *text, const char **parts[], int count) {
  for (int i = 0; i < count; i++) {
    *parts[i] = text;
    char *tab = i + 1 < count ? strchr(text, '\t') : NULL;
    if (i + 1 < count && !tab) return false;
    if (tab) *tab = '\0', text = tab + 1;
  }
  return true;
}

static void examine(const plugin_file *file, listed *self) {
  opening what = {.file = file};
  const char **parts[] = {&self->name, &self->version, &self->abi, &self->bottleneck, &self->author, &self->summary};
  *self = (listed){.file = file, .ending = "no child process could be made"};
  if (child_call(open_one, &what, CHILD_SECONDS, &self->result))
    child_ending(&self->result, self->ending, sizeof self->ending);
  self->is_sound = !self->ending[0] && self->result.exit_code == 0 &&
                   cut(self->result.text, parts, (int)(sizeof parts / sizeof *parts));
  if (self->is_sound) {
    self->is_usable = file->kind != PD_KIND_DEVICE || probe_device(NULL, file->path, self->reason, sizeof self->reason);
    return;
  }
  /* The reason names the file already. */
  const size_t bytes = strlen(file->path);
  self->why = self->ending[0] ? self->ending : self->result.text;
  if (strncmp(self->why, file->path, bytes) == 0 && strncmp(self->why + bytes, ": ", 2) == 0) self->why += bytes + 2;
}

static void print_one(const listed *self) {
  const plugin_file *file = self->file;
  char reason[256];
  int used = printf("  ");
  if (self->is_sound) {
    used += wrap_pad(self->name, 14);
    used += printf(" ");
    used += wrap_pad(self->version, 7);
    used += printf(" ABI %-5s ", self->abi);
    wrap_print(self->summary, used, SUMMARY_COLUMN);
    if (strcmp(self->name, file->name) != 0) printf("  %14s called %s in its descriptor\n", "", self->name);
    if (!self->is_usable) {
      used = printf("  %14s not usable here: ", "");
      wrap_print(device_reason_short(self->reason, reason, sizeof reason), used, used);
    }
  } else {
    used += wrap_pad(file->name, 14);
    used += printf(" rejected: ");
    wrap_print(self->why, used, used);
  }
  printf("  %14s %s%s%s\n", "", file->path, self->author && *self->author ? ", by " : "",
         self->author ? self->author : "");
  if (file->shadowed_by) printf("  %14s shadowed by %s\n", "", file->shadowed_by);
}

/* NULL on no memory. */
static json_t *json_of(const listed *self) {
  const plugin_file *file = self->file;
  const bool device = file->kind == PD_KIND_DEVICE;
  const char *reason = self->is_usable ? NULL : self->is_sound ? self->reason : self->why;
  json_t *object = json_pack(
      "{s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_text_of(self->is_sound ? self->name : file->name), "path",
      json_text_of(file->path), "version", json_text_of(self->version), "abi", json_text_of(self->abi), "author",
      json_text_of(self->author && *self->author ? self->author : NULL), "summary", json_text_of(self->summary));
  bool whole = object != NULL;
  if (file->kind == PD_KIND_SCENARIO)
    whole = json_text_add(object, "bottleneck", json_text_of(self->bottleneck)) && whole;
  whole = json_text_add(object, "rejected", json_text_of(self->why)) && whole;
  whole = json_text_add(object, "shadowed_by", json_text_of(file->shadowed_by)) && whole;
  if (device)
    whole = json_text_add(object, "usable", json_boolean(self->is_usable)) &&
            json_text_add(object, "found", json_text_of(self->is_usable ? self->reason : NULL)) &&
            json_text_add(object, "reason", json_text_of(reason)) && whole;
  if (whole) return object;
  json_decref(object);
  return NULL;
}

/* Prints them, or adds them to `rows` where that is not NULL. */
static pd_status tell_kind(const plugins *from, pd_kind kind, json_t *rows, error *err) {
  static listed each; /* large; the main thread's alone */
  plugin_file *files;
  uint32_t count;
  bool whole = true;
  if (plugins_scan(from, kind, &files, &count) != PD_OK) return error_no_memory(err);
  for (uint32_t i = 0; i < count; i++) {
    examine(&files[i], &each);
    if (rows)
      whole = json_text_append(rows, json_of(&each)) && whole;
    else
      print_one(&each);
  }
  if (count == 0 && !rows) {
    printf("  none in:");
    for (uint32_t i = 0; i < plugins_folder_count(from); i++)
      printf(" %s/%s", plugins_folder(from, i), plugin_kind_name(kind));
    printf("\n");
  }
  plugins_scan_free(files, count);
  return whole ? PD_OK : error_no_memory(err);
}

static const char *const titles[] = {"scenarios", "sinks", "devices", "readers", "communicators", "causes", "metrics"};
enum { TITLE_COUNT = sizeof titles / sizeof titles[0], CAUSES = 5, METRICS = 6 };

static pd_status print_json(const plugins *from, const char *what, error *err) {
  json_t *object = json_object();
  pd_status status = object ? PD_OK : error_no_memory(err);
  for (int i = 0; i < TITLE_COUNT && status == PD_OK; i++) {
    if (what && strcmp(what, titles[i]) != 0) continue;
    json_t *rows = i == CAUSES ? explain_json_causes() : i == METRICS ? explain_json_metrics() : json_array();
    if (!json_text_add(object, titles[i], rows))
      status = error_no_memory(err);
    else if (i < CAUSES)
      status = tell_kind(from, (pd_kind)(i + 1), rows, err);
  }
  if (status == PD_OK) return json_text_write(object, 2, JSON_TEXT_ROUNDED, stdout) ? PD_OK : error_no_memory(err);
  json_decref(object);
  return status;
}

static pd_status check_topic(const char *what, error *err) {
  char hint[64];
  suggest near = {.wanted = what};
  for (int i = 0; i < TITLE_COUNT; i++) {
    if (strcmp(what, titles[i]) == 0) return PD_OK;
    suggest_offer(&near, titles[i]);
  }
  return error_set(err, PD_INVALID, FAULT_TOPIC, "--list %s: no such list; allowed: " CLI_LISTS "%s", what,
                   suggest_text(&near, hint, sizeof hint));
}

pd_status list_print(const plugins *from, const char *what, bool json, error *err) {
  if (what && check_topic(what, err) != PD_OK) return PD_INVALID;
  if (json) return print_json(from, what, err);
  if (what && strcmp(what, "causes") == 0) explain_list_causes();
  if (what && strcmp(what, "metrics") == 0) explain_list_metrics();
  for (pd_kind kind = PD_KIND_SCENARIO; kind <= PD_KIND_COMMUNICATOR; kind++) {
    const char *title = titles[kind - 1];
    if (what && strcmp(what, title) != 0) continue;
    printf("%s%s\n", kind > PD_KIND_SCENARIO && !what ? "\n" : "", title);
    if (tell_kind(from, kind, NULL, err) != PD_OK) return PD_NO_MEMORY;
  }
  return PD_OK;
}
