/* `pdhost sweep -c FILE --vary KEY=V,V ...`: a scenario over every combination of some keys' values. */
#ifndef CORE_COMPARE_SWEEP_H
#define CORE_COMPARE_SWEEP_H

/* `argv` begins with "sweep". Returns the exit code. [loop thread] */
int sweep_main(int argc, char **argv);

#endif
