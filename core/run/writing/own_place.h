/*
 * What the processes of a run have of their own, and a plugin may change: the current folder and the umask. The paths
 * of a run are relative to the folder that it began in. [loop thread]
 */
#ifndef CORE_RUN_WRITING_OWN_PLACE_H
#define CORE_RUN_WRITING_OWN_PLACE_H

/* They are as they have to be: this process, and those that are forked from now on, return to them. */
void own_place_keep(void);
/* A plugin was called: as they were. Does nothing where they were not kept. */
void own_place_return(void);
void own_place_forget(void);

#endif
