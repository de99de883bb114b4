/* `pdhost compare A.json B.json ...`: measurements as a table; of two runs, which is faster. */
#ifndef CORE_COMPARE_COMPARE_H
#define CORE_COMPARE_COMPARE_H

/* `argv` begins with "compare". Returns the exit code. [loop thread] */
int compare_main(int argc, char **argv);

#endif
