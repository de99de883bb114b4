/* `pdhost score CORPUS.ini [--out FOLDER]`: runs a corpus and says how often the verdict named what was injected. */
#ifndef CORE_SCORE_SCORE_H
#define CORE_SCORE_SCORE_H

#include "config/args.h"

extern const args_command score_command;

#endif
