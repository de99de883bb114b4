/* Keys that the user gave, but that the run does not use. */
#ifndef CORE_CONFIG_UNUSED_KEYS_H
#define CORE_CONFIG_UNUSED_KEYS_H

#include "config.h"

/* Warns, in a line each, of loader keys given for batches that are made once ([data] resident), and of keys of
 * [benchmark] on the command line of a run that trains, and of keys that show what [profile] does not record. Keys of
 * an overlay, a file that names neither the scenario nor `resident`, are for any run, so there is no warning. [loop
 * thread]
 */
void unused_keys_warn(const config *settings);

#endif
