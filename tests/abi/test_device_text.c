/* The device in the heading of a run. */
#include "abi/device_text.h"

#include "pd_test.h"

PD_TEST(device_text, says_a_version_once) {
  static const struct {
    const char *name, *versions, *want;
  } rows[] = {
      {"NVIDIA H200", "driver 580.159.04, CUDA 13.0", "NVIDIA H200 (driver 580.159.04, CUDA 13.0)"},
      {"CPU (oneDNN 2.6.3)", "oneDNN 2.6.3, 2 cores", "CPU (oneDNN 2.6.3, 2 cores)"},
      {"CPU (oneDNN 2.6.3)", "oneDNN 2.6.3", "CPU (oneDNN 2.6.3)"},
      {"GRID A100 (MIG 1g)", "driver 580", "GRID A100 (MIG 1g) (driver 580)"},
      {"bare", "", "bare"},
      {"bare", NULL, "bare"},
      {"odd (", "x", "odd ( (x)"},
      {"odd ()", "x", "odd () (x)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[128];
    cr_assert_str_eq(device_text(rows[i].name, rows[i].versions, text, sizeof text), rows[i].want);
  }
}

PD_TEST(device_text, a_reason_is_told_short) {
  static const struct {
    const char *said, *want;
  } rows[] = {
      {"device cuda: no NVIDIA driver (libcuda.so.1 could not be used); run on the CPU", "no NVIDIA driver"},
      {"the NVIDIA driver is too old: it serves CUDA 11.4; run on the CPU",
       "the NVIDIA driver is too old: it serves CUDA 11.4"},
      {"there is no CUDA device 3", "there is no CUDA device 3"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[128];
    cr_assert_str_eq(device_reason_short(rows[i].said, text, sizeof text), rows[i].want);
  }
}
