/* Kernels' names as their source writes them, long ones above all. */
#include <stdlib.h>
#include <string.h>

#include "devices/cuda/cupti/demangle.h"
#include "pd_test.h"

static void expect(const char *mangled, const char *plain) {
  char *got = cuda_demangle(mangled);
  if (plain)
    cr_assert(got && !strcmp(got, plain), "%s gives %s", mangled, got ? got : "nothing");
  else
    cr_assert_null(got, "%s gives %s", mangled, got);
  free(got);
}

/* k(), inside `depth` namespaces of ten letters. */
static void expect_nested(size_t depth, bool named) {
  char *mangled = malloc(depth * 12 + 16), *plain = malloc(depth * 12 + 16);
  char *m = stpcpy(mangled, "_ZN"), *p = plain;
  for (size_t i = 0; i < depth; i++) {
    m = stpcpy(m, "10namespaced");
    p = stpcpy(p, "namespaced::");
  }
  stpcpy(m, "1kEv");
  stpcpy(p, "k()");
  expect(mangled, named ? plain : NULL);
  free(mangled);
  free(plain);
}

PD_TEST(demangle, functions_and_templates) {
  expect("_Z4nodev", "node()");
  expect("_Z3addIfEvPKT_PS0_i", "void add<float>(float const*, float*, int)");
}

PD_TEST(demangle, other_names_stay_as_they_are) {
  expect("sm80_xmma_fprop_implicit_gemm", NULL);
  expect("i", NULL); /* a C function's, and not the type int */
  expect("_Znot a name", NULL);
  expect("", NULL);
}

/* One of cuDNN's on an H200 has 1642 characters. */
PD_TEST(demangle, names_longer_than_the_runtime_library_takes) {
  expect_nested(80, true);
#ifdef PDHOST_HAS_LIBIBERTY
  expect_nested(140, true);
  expect_nested(600, true);
#else
  expect_nested(140, false);
#endif
}

/* What nests as deep as a name can is refused, or named, and takes no more stack than a thread has. */
PD_TEST(demangle, names_made_to_nest) {
  for (size_t pointers = 64; pointers < 100000; pointers *= 2) {
    char *mangled = malloc(pointers + 16);
    char *end = stpcpy(mangled, "_Z1f");
    memset(end, 'P', pointers);
    stpcpy(end + pointers, "i");
    char *got = cuda_demangle(mangled);
    if (pointers <= 512) cr_assert(got && strlen(got) == strlen("f(int)") + pointers, "%s", got);
    if (pointers >= 2048) cr_assert_null(got);
    free(got);
    free(mangled);
  }
}
