/* What of the process belongs to the host, so that a plugin must leave it as it found it: the current folder, the
 * umask, the locale and the signal handlers. [loop thread] */
#ifndef CORE_CONFORM_CHECK_PROCESS_H
#define CORE_CONFORM_CHECK_PROCESS_H

#include "check_failures.h"

/* Loads the plugin's file, which it closes no more, and says what of these that changes. */
check_verdict check_process_load(const check_target *target, plugins *all);

/* A life of the plugin must leave each as it was. */
check_verdict check_process_folder(const check_target *target, check_live live);
check_verdict check_process_umask(const check_target *target, check_live live);
check_verdict check_process_locale(const check_target *target, check_live live);
check_verdict check_process_handlers(const check_target *target, check_live live);

/* The four as functions over the `life` of one kind of plugin, and their rows of its list. */
#define CHECK_PROCESS_FUNCTIONS(life)                                                                                  \
  static check_verdict leaves_folder(const check_target *target) { return check_process_folder(target, life); }        \
  static check_verdict leaves_umask(const check_target *target) { return check_process_umask(target, life); }          \
  static check_verdict leaves_locale(const check_target *target) { return check_process_locale(target, life); }        \
  static check_verdict leaves_handlers(const check_target *target) { return check_process_handlers(target, life); }
#define CHECK_PROCESS_ROWS                                                                                             \
  {"the current folder is left as it was", leaves_folder}, {"the umask is left as it was", leaves_umask},              \
      {"the locale is left as it was", leaves_locale}, {                                                               \
    "signal handlers are left as they were", leaves_handlers                                                           \
  }

#endif
