/* See inject_cupti.h. */
#include "inject_cupti.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static int find_mapped(struct dl_phdr_info *info, size_t bytes, void *path) {
  (void)bytes;
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (!slash || strncmp(slash, "/libcupti.so", 12) != 0) return 0;
  (void)snprintf(path, PATH_MAX, "%s", info->dlpi_name);
  return 1;
}

static void name_file(const inject_board *board, const cupti_api *api) {
  struct link_map *map = NULL;
  if (dlinfo(api->library, RTLD_DI_LINKMAP, &map) == 0)
    (void)snprintf(board->slot->library, sizeof board->slot->library, "%s", map->l_name);
  board->slot->cupti_version = api->version;
}

bool inject_cupti_find(inject_board *board, cupti_api *api) {
  char path[PATH_MAX] = "", why[512];
  const bool is_own = dl_iterate_phdr(find_mapped, path) != 0;
  if (!is_own) (void)snprintf(path, sizeof path, "%s", board->board->cupti);
  if (cupti_api_load(api, path, why, sizeof why) == PD_OK) {
    name_file(board, api);
    return true;
  }
  if (path[0]) (void)snprintf(board->slot->library, sizeof board->slot->library, "%s", path);
  inject_board_refuse(board, is_own ? RECORD_CAUSE_OWN_CUPTI : RECORD_CAUSE_NO_CUPTI, "%s", why);
  return false;
}
