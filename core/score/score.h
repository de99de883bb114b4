/* `pdhost score CORPUS.ini [--out FOLDER]`: runs a corpus and says how often the verdict named what was injected. */
#ifndef CORE_SCORE_SCORE_H
#define CORE_SCORE_SCORE_H

/* `argv` begins with "score". Returns the exit code. */
int score_main(int argc, char **argv);

#endif
