/* Named baselines of `pdhost compare`: a folder of files, FOLDER/NAME.json, that a project keeps in its repository or
 * in the cache of its CI. [loop thread] */
#ifndef CORE_COMPARE_GATE_BASELINES_H
#define CORE_COMPARE_GATE_BASELINES_H

#include "base/error.h"

#define BASELINES_ENVIRONMENT "PDHOST_BASELINES"
#define BASELINES_FOLDER "baselines"

/* `folder`, or else what PDHOST_BASELINES says, or else "baselines". */
const char *baselines_folder(const char *folder);
/* The file of a saved baseline, which is the caller's. NULL: `err` says why, and which baselines there are. */
char *baselines_find(const char *folder, const char *name, error *err);
/* Copies a file of measurements, or a run's document, into the folder, which it makes, and says where. The caller knows
 * that it can be read as one. */
pd_status baselines_save(const char *folder, const char *name, const char *from, error *err);

#endif
