/* See commands.h. */
#include "commands.h"

#include "config/run_name.h"

#include <string.h>

static const args_command *const *all;
static uint32_t all_count;

void commands_set(const args_command *const *commands, uint32_t count) {
  all = commands;
  all_count = count;
  run_name_set_commands(commands, count);
}

const args_command *const *commands_all(uint32_t *count) {
  *count = all_count;
  return all;
}

const args_command *commands_find(const char *name) {
  for (uint32_t i = 0; i < all_count; i++)
    if (strcmp(all[i]->name, name) == 0) return all[i];
  return NULL;
}
