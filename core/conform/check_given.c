/* The keys that the user gives to --check-plugin; see check_list.h. */
#include "check_list.h"
#include "config/config_sections.h"

#include <stdio.h>
#include <string.h>

/* Taken apart by the command line: --device, --plugin-path. */
static bool has_a_flag(const config_assignment *at) {
  return strcmp(at->section, "run") == 0 && (strcmp(at->key, "device") == 0 || strcmp(at->key, "plugin_path") == 0);
}

static const core_section *core_of(const char *name) {
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++)
    if (i != CORE_RUN && strcmp(core_section_at(i)->name, name) == 0) return core_section_at(i);
  return NULL;
}

/* Plugins that stand beside the one under check in its real run check their keys themselves. */
static bool stands_beside(const check_target *target, const char *section) {
  return strcmp(section, "device") == 0 ||
         (target->table->kind != PD_KIND_SCENARIO && strcmp(section, "scenario") == 0);
}

static pd_status check_one(const check_target *target, const config_assignment *at, text_pool *memory, error *err) {
  config_section section;
  pd_status status = PD_OK;
  if (strcmp(at->section, target->section) == 0)
    status = section_open_plugin(&section, memory, target->section, target->table);
  else if (core_of(at->section))
    status = section_open_core(&section, memory, core_of(at->section), NULL);
  else if (stands_beside(target, at->section) || has_a_flag(at))
    return PD_OK;
  else
    return error_add(
        err, PD_INVALID, CODE_CONFIG,
        "%s: [%s] %s: no section of this check; give keys of [%s], [data], [train] or another of the core's "
        "but [run]",
        at->origin, at->section, at->key, target->section);
  if (status != PD_OK) return error_add(err, status, CODE_INTERNAL, "out of memory");
  return section_set(&section, at->key, at->value, at->origin, CODE_CONFIG, err);
}

pd_status check_given_take(check_target *target, const config_input *input, error *err) {
  const pd_kind kind = target->table->kind;
  text_pool memory = {.blocks = NULL};
  snprintf(target->section, sizeof target->section,
           kind == PD_KIND_SINK     ? "sink.%s"
           : kind == PD_KIND_READER ? "reader.%s"
                                    : "%s",
           kind == PD_KIND_SINK || kind == PD_KIND_READER ? target->table->name : plugin_kind_name(kind));
  target->given = input->assignments;
  target->given_count = input->assignment_count;
  for (uint32_t i = 0; i < target->given_count; i++) (void)check_one(target, &target->given[i], &memory, err);
  text_pool_free(&memory);
  return err->count ? err->status : PD_OK;
}

const char *check_given_value(const check_target *target, const char *key) {
  const char *value = NULL;
  for (uint32_t i = 0; i < target->given_count; i++)
    if (strcmp(target->given[i].section, target->section) == 0 && strcmp(target->given[i].key, key) == 0)
      value = target->given[i].value;
  return value;
}
