/*
 * The two functions of the OpenMP runtime that the device calls. Declared here, since <omp.h> comes with a compiler:
 * clang has none without a package of its own, whose runtime is not the one that oneDNN uses and the device links
 * (GNU's).
 */
#ifndef DEVICES_CPU_OPENMP_H
#define DEVICES_CPU_OPENMP_H

enum { OPENMP_PAUSE_HARD = 2 }; /* omp_pause_hard of OpenMP 5.0 */

void omp_set_num_threads(int count);
int omp_pause_resource_all(int kind);

#endif
