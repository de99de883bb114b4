/* What is seen beside a measurement: the judgement of planted facts, and the look at clocks through a planted NVML. */
#include "pd_test.h"

#include "measure/guard_report.h"
#include "run/nvml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_warning(const guard_facts *facts, const char *said, bool trusted) {
  pd_measurement row = {.threads = 1, .number_per_run = 1};
  bool still = true;
  cr_assert_eq(guard_report(facts, &row, &still), PD_OK);
  cr_assert_eq(still, trusted);
  cr_assert_eq(row.warning_count, said ? 1 : 0);
  if (said) cr_assert(strstr(row.warnings[0], said), "%s", row.warnings[0]);
  measurement_clear(&row);
}

PD_TEST(guard, judges_what_it_saw) {
  const guard_facts quiet = {.load_before = 0.1, .load_after = 0.3, .own_cores = 1, .other_cores = 0.1, .cores = 2};
  expect_warning(&quiet, NULL, true);
  guard_facts facts = quiet;
  facts.other_cores = 0.4;
  expect_warning(&facts, "Other programs kept 0.4 of 2 cores busy", true);
  facts = quiet;
  facts.other_cores = facts.own_cores = facts.load_before = -1;
  expect_warning(&facts, NULL, true);
  facts = quiet;
  facts.looks = 3;
  facts.least_sm_mhz = facts.last_sm_mhz = 1980;
  facts.most_sm_mhz = 1980;
  facts.reasons = 0x1 | 0x2;
  expect_warning(&facts, NULL, true);
  facts.least_sm_mhz = 1200;
  expect_warning(&facts, "rose from 1200 to 1980 MHz", true);
  facts.reasons |= 0x4;
  expect_warning(&facts, "slowed itself down: software power cap.", true);
  facts.reasons |= 0x40;
  expect_warning(&facts, "slowed itself down: software power cap, hardware thermal slowdown.", false);
}

PD_TEST(guard, tells_a_run_that_its_cores_were_taken) {
  char text[256];
  guard_facts facts = {.own_cores = 1, .other_cores = 1, .cores = 2, .elapsed_s = 1};
  cr_assert(guard_tells_taken_cores(&facts, text, sizeof text));
  cr_assert_str_eq(text, "other programs kept 1.0 of 2 cores busy while the steps ran, and this run the rest");
  facts.cores = 16; /* there were free ones */
  cr_assert_not(guard_tells_taken_cores(&facts, text, sizeof text));
  facts.cores = 2;
  facts.elapsed_s = 0.1; /* ten ticks */
  cr_assert_not(guard_tells_taken_cores(&facts, text, sizeof text));
  facts = (guard_facts){.own_cores = -1, .other_cores = -1, .cores = 2, .elapsed_s = 1};
  cr_assert_not(guard_tells_taken_cores(&facts, text, sizeof text));
}

PD_TEST(guard, tells_that_the_process_stood_still) {
  const guard_facts facts = {.own_cores = 1, .cores = 2, .stopped_s = 5.04};
  expect_warning(&facts, "The process stood still for 5.0 s", true);
  const guard_facts none = {.own_cores = 1, .cores = 2};
  expect_warning(&none, NULL, true);
}

PD_TEST(guard, notes_the_conditions) {
  const guard_facts facts = {.load_before = 0.1,
                             .load_after = 0.3,
                             .own_cores = 1,
                             .other_cores = 0.1,
                             .cores = 8,
                             .looks = 2,
                             .least_sm_mhz = 1900,
                             .last_sm_mhz = 1905,
                             .most_sm_mhz = 1980};
  pd_measurement row = {.threads = 1, .number_per_run = 1};
  bool trusted = true;
  cr_assert_eq(guard_report(&facts, &row, &trusted), PD_OK);
  cr_assert_str_eq(pairs_get(&row.conditions, "load_average"), "0.10 before, 0.30 after");
  cr_assert_str_eq(pairs_get(&row.conditions, "busy_cores"), "1.00 with this process, 0.10 with others");
  cr_assert_str_eq(pairs_get(&row.conditions, "sm_clock"), "1905 MHz at the end, 1900 at least, 1980 at most; 2 looks");
  cr_assert_str_eq(pairs_get(&row.conditions, "clock_limits"), "none");
  measurement_clear(&row);
}

PD_TEST(guard, sees_its_own_work_on_this_machine) {
  guard *self = guard_open(false, 0);
  guard_facts facts;
  volatile double sum = 0;
  guard_begin(self);
  for (int i = 0; i < 20000000; i++) sum = sum + i;
  guard_end(self, &facts);
  guard_close(self);
  cr_assert_geq(facts.cores, 1);
  cr_assert(facts.own_cores > 0 && facts.own_cores < 1.5, "%g", facts.own_cores);
  cr_assert_eq(facts.looks, 0);
}

PD_TEST(guard, the_state_of_a_gpu_is_what_nvml_tells) {
  setenv("FAKE_NVML", "1755 1980 0", 1);
  setenv("FAKE_NVML_STATE", "2619,41,350500,2048,1024", 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  nvml *gpu = nvml_open(0);
  nvml_state now = nvml_state_now(gpu);
  cr_assert_eq(now.sm_mhz, 1755);
  cr_assert_eq(now.memory_mhz, 2619);
  cr_assert_eq(now.celsius, 41);
  cr_assert_float_eq(now.watts, 350.5, 1e-9);
  nvml_pcie pcie = nvml_pcie_now(gpu);
  cr_assert_eq(pcie.sent, 2048 * 1024);
  cr_assert_eq(pcie.received, 1024 * 1024);
  setenv("FAKE_NVML_STATE", "2619,x,x,x,7", 1);
  now = nvml_state_now(gpu);
  cr_assert_eq(now.memory_mhz, 2619);
  pcie = nvml_pcie_now(gpu);
  cr_assert(isnan(now.celsius) && isnan(now.watts) && isnan(pcie.sent), "what a GPU lacks is no zero");
  cr_assert_eq(pcie.received, 7 * 1024);
  nvml_close(gpu);
}

PD_TEST(guard, takes_the_energy_of_a_second_or_more) {
  setenv("FAKE_NVML", "1980 1980 0", 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  guard *self = guard_open(true, 0);
  guard_energy_begin(self, "/nowhere");
  setenv("FAKE_NVML_ENERGY", "5000", 1);
  usleep(1050000);
  cr_assert_eq(guard_energy_j(self), 0, "the GPU did not count when it began");
  guard_energy_begin(self, "/nowhere");
  setenv("FAKE_NVML_ENERGY", "9250", 1);
  cr_assert_eq(guard_energy_j(self), 0, "too short a time");
  usleep(1050000);
  cr_assert_float_eq(guard_energy_j(self), 4.25, 1e-9);
  setenv("FAKE_NVML_ENERGY", "100", 1);
  cr_assert_eq(guard_energy_j(self), 0, "the counter began anew");
  guard_close(self);
  self = guard_open(false, 0);
  guard_energy_begin(self, "/nowhere");
  usleep(1050000);
  cr_assert_eq(guard_energy_j(self), 0, "no GPU");
  guard_close(self);
}

/* tests/fixtures' libnvidia-ml.so.1 reads what it tells from FAKE_NVML: clock, limit and reasons of each GPU. */
PD_TEST(guard, looks_at_the_gpu_of_the_runtime) {
  nvml_clocks clocks;
  setenv("FAKE_NVML", "1980 1980 0;1200 1980 4", 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  nvml *gpu = nvml_open(1);
  cr_assert(gpu);
  cr_assert(nvml_read(gpu, &clocks));
  cr_assert(clocks.sm_mhz == 1200 && clocks.most_sm_mhz == 1980 && clocks.reasons == 4);
  nvml_close(gpu);
  setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
  gpu = nvml_open(0);
  cr_assert(gpu && nvml_read(gpu, &clocks));
  cr_assert_eq(clocks.sm_mhz, 1200);
  nvml_close(gpu);
  setenv("CUDA_VISIBLE_DEVICES", "GPU-0,GPU-1", 1);
  gpu = nvml_open(1);
  cr_assert(gpu && nvml_read(gpu, &clocks));
  cr_assert_eq(clocks.sm_mhz, 1200);
  nvml_close(gpu);
  cr_assert_null(nvml_open(2), "no third GPU in CUDA_VISIBLE_DEVICES");
  setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  cr_assert_null(nvml_open(0));
}

PD_TEST(guard, warns_of_the_slowdown_it_looked_at) {
  setenv("FAKE_NVML", "1200 1980 32", 1);
  unsetenv("CUDA_VISIBLE_DEVICES");
  guard *self = guard_open(true, 0);
  guard_facts facts;
  pd_measurement row = {.threads = 1, .number_per_run = 1};
  bool trusted = true;
  guard_begin(self);
  guard_look(self);
  guard_end(self, &facts);
  guard_close(self);
  cr_assert_geq(facts.looks, 2);
  cr_assert_eq(guard_report(&facts, &row, &trusted), PD_OK);
  cr_assert_not(trusted);
  cr_assert(strstr(row.warnings[row.warning_count - 1], "software thermal slowdown"), "%s", row.warnings[0]);
  measurement_clear(&row);
}
