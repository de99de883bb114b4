/* How every command begins and ends. [main thread] */
#ifndef CORE_CLI_COMMAND_H
#define CORE_CLI_COMMAND_H

/* Call it before any file is opened: where 0, 1 or 2 is closed, the first file would get that number, and what is
 * printed would go into it. */
void command_begin(void);

/* Writes what is left of standard output. Returns `code`, or CODE_OUTPUT where that fails. */
int command_end(int code);

#endif
