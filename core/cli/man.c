/* See man.h: which page is wanted, and where it goes. */
#include "man.h"

#include "commands.h"

#include "base/files.h"
#include "config/cli_frame.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

typedef struct man_options {
  bool help;
  const char *page, *folder;
} man_options;

static const args_option rows[] = {
    {.name = "--write",
     .value = ARGS_REQUIRED,
     .argument = "DIR",
     .help = "write every page below DIR: man1/pdhost.1 and so on",
     .offer = ARGS_OFFER_FOLDER,
     .take = args_take_text,
     .code = offsetof(man_options, folder)},
    ARGS_HELP_ROW(man_options, help),
};

static int man_main(int argc, char **argv);

const args_command man_command = {
    .name = "man",
    .summary = "print a manual page",
    .usage = "[PAGE]\n--write DIR",
    .description = "Prints a manual page as roff, for man -l. PAGE is pdhost, the name of a command, pdhost.ini or "
                   "pdhost-plugin; without it: pdhost.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "pdhost man compare | man -l -\tread a page\n"
                "pdhost man --write ~/.local/share/man\tinstall all pages for man",
    .words = ARGS_OFFER_TOPIC,
    .main = man_main};

/* "pdhost-ab.1" and "pdhost-ab" are the page "ab". */
static const args_command *command_of(const char *page) {
  char name[64];
  snprintf(name, sizeof name, "%s", strncmp(page, "pdhost-", 7) == 0 ? page + 7 : page);
  char *section = strrchr(name, '.');
  if (section && strcmp(section, ".1") == 0) *section = '\0';
  return commands_find(name);
}

static bool is_page(const char *typed, const char *name, const char *section) {
  const size_t bytes = strlen(name);
  return strncmp(typed, name, bytes) == 0 && (!typed[bytes] || strcmp(typed + bytes, section) == 0);
}

static void print_page(const char *page, error *err) {
  const args_command *command = page ? command_of(page) : NULL;
  if (!page || is_page(page, "pdhost", ".1"))
    man_page_program(stdout);
  else if (is_page(page, "pdhost.ini", ".5"))
    man_page_ini(stdout);
  else if (is_page(page, "pdhost-plugin", ".3"))
    man_page_plugin(stdout);
  else if (command)
    man_page_command(stdout, command);
  else
    error_set(err, PD_INVALID, CODE_USAGE,
              "man: '%s': no such page; there are pdhost, pdhost.ini, pdhost-plugin and one for each command", page);
}

typedef void (*page_writer)(FILE *to);

/* `writer` NULL: the page of `command`. */
static pd_status write_page(const char *folder, int section, const char *name, page_writer writer,
                            const args_command *command, error *err) {
  char path[PATH_BYTES], message[512];
  snprintf(path, sizeof path, "%s/man%d", folder, section);
  if (files_make_folder(path, message, sizeof message) != PD_OK)
    return error_set(err, PD_IO, CODE_OUTPUT, "man: %s", message);
  snprintf(path, sizeof path, "%s/man%d/%s.%d", folder, section, name, section);
  FILE *to = fopen(path, "we");
  if (!to) return error_set(err, PD_IO, CODE_OUTPUT, "man: %s cannot be written: %s", path, strerror(errno));
  if (writer)
    writer(to);
  else if (command)
    man_page_command(to, command);
  const bool failed = ferror(to) != 0;
  if (fclose(to) == 0 && !failed) return PD_OK;
  return error_set(err, PD_IO, CODE_OUTPUT, "man: %s cannot be written: %s", path, strerror(errno));
}

static void write_pages(const char *folder, error *err) {
  uint32_t count = 0;
  const args_command *const *all = commands_all(&count);
  pd_status status = write_page(folder, 1, "pdhost", man_page_program, NULL, err);
  if (status == PD_OK) status = write_page(folder, 5, "pdhost.ini", man_page_ini, NULL, err);
  if (status == PD_OK) status = write_page(folder, 3, "pdhost-plugin", man_page_plugin, NULL, err);
  for (uint32_t i = 0; i < count && status == PD_OK; i++) {
    char name[64];
    snprintf(name, sizeof name, "pdhost-%s", all[i]->name);
    status = write_page(folder, 1, name, NULL, all[i], err);
  }
}

static int execute(const void *user, error *err) {
  const man_options *options = user;
  if (options->folder)
    write_pages(options->folder, err);
  else
    print_page(options->page, err);
  return CODE_DONE;
}

static int man_main(int argc, char **argv) {
  man_options options = {.help = false};
  const cli_own_frame frame = {&options, &options.help, &options.page, NULL, execute};
  return cli_own_frame_run(&man_command, &frame, argc, argv);
}
