/* The energy that a run's steps took, by the keys that every output has it under. */
#ifndef SINKS_LIB_ENERGY_H
#define SINKS_LIB_ENERGY_H

#include <pdhost/sink.h>

#include <math.h>

/* Where those of the GPU and of the processors begin: of all steps, of a step, of a sample. */
enum { ENERGY_GPU = 0, ENERGY_PROCESSORS = 3, ENERGY_FIGURES = 6 };

typedef struct energy_figure {
  const char *key;
  double joules; /* NaN: not known */
} energy_figure;

static inline void energy_figures(const pd_summary *of, energy_figure out[ENERGY_FIGURES]) {
  const bool has_gpu = PD_HAS(pd_summary, of, energy_j_per_sample) && of->energy_j > 0;
  const bool has_cpu = PD_HAS(pd_summary, of, processor_energy_j_per_sample) && of->processor_energy_j > 0;
  out[0] = (energy_figure){"energy_j", has_gpu ? of->energy_j : (double)NAN};
  out[1] = (energy_figure){"energy_j_per_step", has_gpu ? of->energy_j_per_step : (double)NAN};
  out[2] = (energy_figure){"energy_j_per_sample", has_gpu ? of->energy_j_per_sample : (double)NAN};
  out[3] = (energy_figure){"processor_energy_j", has_cpu ? of->processor_energy_j : (double)NAN};
  out[4] = (energy_figure){"processor_energy_j_per_step", has_cpu ? of->processor_energy_j_per_step : (double)NAN};
  out[5] = (energy_figure){"processor_energy_j_per_sample", has_cpu ? of->processor_energy_j_per_sample : (double)NAN};
}

#endif
