/* `pdhost completion`: scripts for shells, and the words that they offer, made of the rows of commands and of keys. */
#ifndef CORE_CLI_COMPLETION_H
#define CORE_CLI_COMPLETION_H

#include "config/args.h"

extern const args_command completion_command;

/* Prints what may complete words[count - 1], one per line, with a tab and its help; ":file" and ":folder" where it may
 * be a path. `words` are those after the program's name, `count` at least 1; `shells` is the command
 * whose word is a shell. [main thread] */
void completion_offer(const args_command *shells, int count, char **words);

#endif
