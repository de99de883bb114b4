/* `pdhost man`: the manual pages, made of the rows of commands and of keys. */
#ifndef CORE_CLI_MAN_H
#define CORE_CLI_MAN_H

#include "config/args.h"

#include <stdio.h>

extern const args_command man_command;

/* The pages, as roff on `to`. [main thread] */
void man_page_program(FILE *to);
void man_page_command(FILE *to, const args_command *self);
void man_page_ini(FILE *to);
void man_page_plugin(FILE *to);

#endif
