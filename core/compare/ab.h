/* `pdhost ab -c FILE 'key=v1' 'key=v2'`: a scenario's step with two configurations, in turns, in one process. */
#ifndef CORE_COMPARE_AB_H
#define CORE_COMPARE_AB_H

/* `argv` begins with "ab". Returns the exit code. [loop thread] */
int ab_main(int argc, char **argv);

#endif
