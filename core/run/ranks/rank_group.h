/*
 * The ranks of this process's run: the communicators, what scenarios see of them, and what all ranks have to agree on
 * before they begin. A run of one rank has none. [loop thread] unless a comment says otherwise.
 */
#ifndef CORE_RUN_RANK_GROUP_H
#define CORE_RUN_RANK_GROUP_H

#include "abi/services.h"
#include "config/config.h"

#include <pdhost/communicator.h>

typedef struct rank_group rank_group;

/* That of this process; NULL: one rank. */
rank_group *rank_group_own(void);

/* Reads the launcher's environment, unless [run] communicator is none, so that messages name the rank from now on. An
 * exit code, whose message is printed. */
int rank_group_find(const config *settings);
/* Whether it named a rank of several, and which. Also in the process that saves the outputs of a rank that died. */
bool rank_group_found(uint32_t *rank);
/* The files of this rank have names of their own. Nothing where there is one rank. */
void rank_group_name_files(files *of);
/* Joins the other ranks that were found. An exit code, whose message is printed. Only once in a process. */
int rank_group_open(config *settings);
void rank_group_close(void);

const pd_ranks *rank_group_table(const rank_group *self);
uint32_t rank_group_rank(const rank_group *self);
uint32_t rank_group_count(const rank_group *self);
uint32_t rank_group_local(const rank_group *self);
/* The name of the communicator that reduces. */
const char *rank_group_backend(const rank_group *self);

/* A communicator for the memory of the device that is open now, where that has one of its own: `nccl`. */
int rank_group_open_device(rank_group *self, config *settings, const services *all);
/* `device` is about to be closed. */
void rank_group_leave_device(rank_group *self, const pd_device *device);

/* This rank fails, or leaves before the others do: this ends the others, too. */
void rank_group_tell(rank_group *self, const char *why);
/* Whether a rank was lost, this one too: which and why, in words. `tells`: it is this rank that tells the user. */
bool rank_group_lost(const rank_group *self, char *text, size_t room, bool *tells);
/* A rank was lost to a signal that asked it to end. */
bool rank_group_asked_to_end(const rank_group *self);

/* Every rank has come this far, with `code` of its own: returns it, or where that is CODE_DONE the first code of
 * another rank that is not, whose message that rank has printed. */
int rank_group_meet(rank_group *self, int code);
/* The same, and all ranks have the same version of pdhost, configuration and kind of device: rank 0 prints which rank
 * differs, and in what. */
int rank_group_agree(rank_group *self, const config *settings, const char *device, int code);

#endif
