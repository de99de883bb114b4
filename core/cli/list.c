/* pdhost --list; see list.h. */
#include "list.h"

#include "explain.h"

#include "host/child.h"
#include "host/suggest.h"
#include "host/wrap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHILD_SECONDS = 20, SUMMARY_COLUMN = 35 };

typedef struct opening {
  const plugin_file *file;
} opening;

/* In the child: writes "name\tversion\tabi\tsummary", or the reason why the plugin is rejected. */
static int open_one(void *user, int report) {
  const plugin_file *file = ((opening *)user)->file;
  error err;
  error_clear(&err);
  plugins *all = plugins_open(NULL);
  const plugin *loaded = NULL;
  char line[2048];
  const pd_status status = all ? plugins_load(all, file->kind, file->path, &loaded, &err) : PD_NO_MEMORY;
  if (status == PD_OK)
    snprintf(line, sizeof line, "%s\t%s\t%u.%u\t%s", loaded->table->name, loaded->table->version,
             loaded->table->abi_major, loaded->table->abi_minor, loaded->table->summary);
  else if (err.count)
    error_first_line(&err, line, sizeof line);
  else
    snprintf(line, sizeof line, "out of memory");
  const size_t bytes = strlen(line);
  const bool told = write(report, line, bytes) == (ssize_t)bytes;
  plugins_close(all);
  return status == PD_OK && told ? 0 : 1;
}

static void print_one(const plugin_file *file) {
  opening what = {.file = file};
  child_result result;
  char ending[128] = "no child process could be made";
  if (child_call(open_one, &what, CHILD_SECONDS, &result)) child_ending(&result, ending, sizeof ending);
  char *tab[3] = {NULL};
  char *at = result.text;
  for (int i = 0; i < 3 && at; i++) {
    at = strchr(at, '\t');
    tab[i] = at;
    if (at) *at++ = '\0';
  }
  if (!ending[0] && result.exit_code == 0 && tab[2]) {
    int used = printf("  ");
    used += wrap_pad(result.text, 14);
    used += printf(" ");
    used += wrap_pad(tab[0] + 1, 7);
    used += printf(" ABI %-5s ", tab[1] + 1);
    wrap_print(tab[2] + 1, used, SUMMARY_COLUMN);
    if (strcmp(result.text, file->name) != 0) printf("  %14s called %s in its descriptor\n", "", result.text);
  } else {
    /* The reason names the file already. */
    const size_t bytes = strlen(file->path);
    const char *why = ending[0] ? ending : result.text;
    if (strncmp(why, file->path, bytes) == 0 && strncmp(why + bytes, ": ", 2) == 0) why += bytes + 2;
    int used = printf("  ");
    used += wrap_pad(file->name, 14);
    used += printf(" rejected: ");
    wrap_print(why, used, used);
  }
  printf("  %14s %s\n", "", file->path);
  if (file->shadowed_by) printf("  %14s shadowed by %s\n", "", file->shadowed_by);
}

pd_status list_print(const plugins *from, const char *what, error *err) {
  static const char *const titles[] = {"scenarios", "sinks", "devices", "causes", "metrics"};
  bool known = what == NULL;
  char hint[64];
  suggest near = {.wanted = what ? what : ""};
  for (int i = 0; i < 5 && what; i++) {
    known = known || strcmp(what, titles[i]) == 0;
    suggest_offer(&near, titles[i]);
  }
  if (!known)
    return error_set(err, PD_INVALID, FAULT_TOPIC,
                     "--list %s: no such list; allowed: scenarios, sinks, devices, causes, metrics%s", what,
                     suggest_text(&near, hint, sizeof hint));
  if (what && strcmp(what, "causes") == 0) explain_list_causes();
  if (what && strcmp(what, "metrics") == 0) explain_list_metrics();
  for (pd_kind kind = PD_KIND_SCENARIO; kind <= PD_KIND_DEVICE; kind++) {
    const char *title = titles[kind - 1];
    if (what && strcmp(what, title) != 0) continue;
    plugin_file *files;
    uint32_t count;
    if (plugins_scan(from, kind, &files, &count) != PD_OK)
      return error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    printf("%s%s\n", kind > PD_KIND_SCENARIO && !what ? "\n" : "", title);
    for (uint32_t i = 0; i < count; i++) print_one(&files[i]);
    if (count == 0) {
      printf("  none in:");
      for (uint32_t i = 0; i < plugins_folder_count(from); i++)
        printf(" %s/%s", plugins_folder(from, i), plugin_kind_name(kind));
      printf("\n");
    }
    plugins_scan_free(files, count);
  }
  return PD_OK;
}
