/* How every command begins and ends. [main thread] */
#ifndef CORE_CLI_COMMAND_H
#define CORE_CLI_COMMAND_H

/* Before any file is opened: a closed one of 0, 1 and 2 would be the number of the first file of ours, and what is
 * printed would go into it. */
void command_begin(void);

/* Writes what is left of standard output. Returns `code`, or CODE_OUTPUT where that fails. */
int command_end(int code);

#endif
