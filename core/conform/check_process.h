/* What of the process is the host's, and a plugin must leave as it found it: the current folder, the umask, the locale
 * and the signal handlers. [loop thread] */
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

#endif
