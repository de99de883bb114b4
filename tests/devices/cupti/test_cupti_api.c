/* Opening libcupti, its versions and layouts, and the list of calls; with the fake and, where installed, the real one.
 */
#include "cupti_allowlist.h"
#include "fake_cupti.h"
#include "pd_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static cupti_api api;
static char why[1024];

/* What is refused is let go: no function of it can be called by mistake. */
static void expect_refused(const char *path) {
  static const cupti_api none;
  cr_assert_eq(cupti_api_load(&api, path, why, sizeof why), PD_UNSUPPORTED);
  cr_assert_eq(memcmp(&api, &none, sizeof api), 0);
}

PD_TEST(cupti_api, opens_by_path_and_fills_the_table) {
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK, "%s", why);
  cr_assert_eq(api.version, 130001);
#define X(name) cr_assert_not_null(*(void **)&api.name);
  CUPTI_REQUIRED_MAP(X)
  CUPTI_OPTIONAL_MAP(X)
#undef X
}

PD_TEST(cupti_api, says_which_file_is_missing) {
  expect_refused("/nowhere/libcupti.so.13");
  cr_assert_not_null(strstr(why, "/nowhere/libcupti.so.13"), "%s", why);
}

PD_TEST(cupti_api, says_which_function_is_missing) {
  expect_refused(FAKE_PARTIAL_PATH);
  cr_assert_not_null(strstr(why, "cuptiFinalize"), "%s", why);
  cr_assert_null(dlopen(FAKE_PARTIAL_PATH, RTLD_NOW | RTLD_NOLOAD)); /* it is no longer in the process */
}

PD_TEST(cupti_api, refuses_libraries_before_12_9) {
  static const struct {
    uint32_t version;
    pd_status status;
  } rows[] = {{18, PD_UNSUPPORTED}, {24, PD_UNSUPPORTED}, {26, PD_UNSUPPORTED}, {27, PD_OK},    {28, PD_OK},
              {130000, PD_OK},      {130001, PD_OK},      {130100, PD_OK},      {130401, PD_OK}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[32];
    fake_set()->version = rows[i].version;
    if (rows[i].status == PD_OK) {
      cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK, "%u: %s", rows[i].version, why);
      continue;
    }
    expect_refused(FAKE_CUPTI_PATH);
    snprintf(text, sizeof text, "version %u", rows[i].version);
    cr_assert_not_null(strstr(why, text), "%s", why);
    cr_assert_not_null(strstr(why, "12.9"), "%s", why);
  }
}

PD_TEST(cupti_api, takes_longer_records_and_refuses_shorter_ones) {
  fake_set()->record_growth = 64;
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK, "%s", why);
  fake_set()->record_growth = 0;
  fake_set()->record_shrink = true;
  expect_refused(FAKE_CUPTI_PATH);
  cr_assert_not_null(strstr(why, "kernel records out in 208 bytes, this build expects 216"), "%s", why);
}

PD_TEST(cupti_api, explains_every_code_that_a_user_can_meet) {
  static const struct {
    int code;
    const char *word;
  } rows[] = {{8, "memory"},     {27, "not supported"}, {33, "virtual"}, {35, "ERR_NVGPUCTRPERM"},
              {36, "interface"}, {39, "profiler"},      {40, "virtual"}, {41, "confidential"},
              {42, "mining"},    {43, "MIG"},           {44, "SLI"},     {45, "WSL"}};
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char number[8];
    const char *text = cupti_api_explain(&api, (CUptiResult)rows[i].code);
    snprintf(number, sizeof number, "%d", rows[i].code);
    cr_assert_not_null(strstr(text, rows[i].word), "%d: %s", rows[i].code, text);
    cr_assert_not_null(strstr(text, number), "%d: %s", rows[i].code, text);
  }
  cr_assert_str_eq(cupti_api_explain(&api, CUPTI_ERROR_HARDWARE), "CODE 9");
}

PD_TEST(cupti_allowlist, classifies_by_name) {
  static const struct {
    const char *name;
    bool driver, listed;
    pd_api_class api;
  } rows[] = {
      {"cudaLaunchKernel_v7000", false, true, PD_API_LAUNCH},
      {"__cudaLaunchKernel_v13000", false, true, PD_API_LAUNCH},
      {"__cudaLaunchKernel_ptsz_v13000", false, true, PD_API_LAUNCH},
      {"cudaLaunchKernelExC_v11060", false, true, PD_API_LAUNCH},
      {"cudaLaunchCooperativeKernel_v9000", false, true, PD_API_LAUNCH},
      {"cudaLaunchHostFunc_v10000", false, true, PD_API_OTHER},
      {"cudaGraphLaunch_v10000", false, true, PD_API_GRAPH_LAUNCH},
      {"cudaGraphAddMemcpyNode_v10000", false, false, 0},
      {"cudaMemcpyAsync_v3020", false, true, PD_API_MEMCPY},
      {"cudaMemcpyPeerAsync_v4000", false, true, PD_API_MEMCPY},
      {"cudaMemcpy3DBatchAsync_v13000", false, true, PD_API_MEMCPY},
      {"cudaMemsetAsync_v3020", false, true, PD_API_MEMSET},
      {"cudaDeviceSynchronize_v3020", false, true, PD_API_SYNC},
      {"cudaStreamSynchronize_ptsz_v7000", false, true, PD_API_SYNC},
      {"cudaMalloc_v3020", false, true, PD_API_ALLOC},
      {"cudaMallocAsync_v11020", false, true, PD_API_ALLOC},
      {"cudaHostAlloc_v3020", false, true, PD_API_ALLOC},
      {"cudaFreeHost_v3020", false, true, PD_API_FREE},
      {"cudaGetDevice_v3020", false, false, 0},
      {"cudaStreamIsCapturing_v10000", false, false, 0},
      {"cudaPeekAtLastError_v3020", false, false, 0},
      {"cuLaunchKernel", true, true, PD_API_LAUNCH},
      {"cuLaunchKernelEx_ptsz", true, true, PD_API_LAUNCH},
      {"cuGraphLaunch", true, true, PD_API_GRAPH_LAUNCH},
      {"cuMemcpyHtoDAsync_v2", true, true, PD_API_MEMCPY},
      {"cuMemAlloc_v2", true, true, PD_API_ALLOC},
      {"cuMemFree_v2", true, true, PD_API_FREE},
      {"cuLibraryLoadData", true, true, PD_API_OTHER},
      {"cuKernelGetName", true, false, 0},
      {"cuKernelGetAttribute", true, false, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    pd_api_class class = 99;
    cr_assert_eq(cupti_allowlist_classify(rows[i].name, rows[i].driver, false, &class), rows[i].listed, "%s",
                 rows[i].name);
    if (rows[i].listed) cr_assert_eq(class, rows[i].api, "%s", rows[i].name);
  }
}

PD_TEST(cupti_allowlist, lists_events_only_where_synchronisation_is_wanted) {
  pd_api_class class;
  cr_assert_not(cupti_allowlist_classify("cudaEventRecord_v3020", false, false, &class));
  cr_assert(cupti_allowlist_classify("cudaEventRecord_v3020", false, true, &class));
  cr_assert_eq(class, PD_API_OTHER);
  cr_assert_not(cupti_allowlist_classify("cuStreamWaitEvent", true, false, &class));
  cr_assert(cupti_allowlist_classify("cuStreamWaitEvent", true, true, &class));
}

PD_TEST(cupti_allowlist, shows_names_without_versions) {
  static const char *const rows[][2] = {{"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
                                        {"__cudaLaunchKernel_v13000", "cudaLaunchKernel"},
                                        {"cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync_ptsz"},
                                        {"cuMemAlloc_v2", "cuMemAlloc_v2"},
                                        {"cuLaunchKernel", "cuLaunchKernel"},
                                        {"_v7000", "v7000"},
                                        {"x_v123", "x_v123"},
                                        {"", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char shown[64];
    cupti_allowlist_show(rows[i][0], shown, sizeof shown);
    cr_assert_str_eq(shown, rows[i][1]);
  }
  char narrow[8];
  cupti_allowlist_show("cudaLaunchKernel_v7000", narrow, sizeof narrow);
  cr_assert_str_eq(narrow, "cudaLau");
}

PD_TEST(cupti_allowlist, is_built_from_the_librarys_names) {
  static cupti_allowlist list;
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK);
  cr_assert_eq(cupti_allowlist_build(&list, &api, false), PD_OK);
  cr_assert_eq(list.runtime_count, 10); /* of the fake's twelve, without cudaGetDevice and cudaEventRecord */
  cr_assert_eq(list.driver_count, 2);
  cr_assert_eq(list.runtime_limit, 506);
  cr_assert_eq(list.driver_limit, 653);
  cr_assert_str_eq(cupti_allowlist_find(&list, false, 505)->text, "cudaLaunchKernel");
  cr_assert_eq(cupti_allowlist_find(&list, false, 317)->capture, 1);
  cr_assert_eq(cupti_allowlist_find(&list, false, 319)->capture, -1);
  cr_assert_eq(cupti_allowlist_find(&list, false, 211)->capture, 0);
  cr_assert_null(cupti_allowlist_find(&list, false, 3));
  cr_assert_null(cupti_allowlist_find(&list, false, 4097));
  cr_assert_null(cupti_allowlist_find(&list, true, 211));
  cupti_allowlist_free(&list);
}

PD_TEST(cupti_real, has_the_layout_and_the_names_this_build_expects) {
  static const struct {
    uint32_t cbid;
    bool driver;
    pd_api_class api;
    const char *text;
  } rows[] = {
      {211, false, PD_API_LAUNCH, "cudaLaunchKernel"},      {214, false, PD_API_LAUNCH, "cudaLaunchKernel_ptsz"},
      {505, false, PD_API_LAUNCH, "cudaLaunchKernel"},      {506, false, PD_API_LAUNCH, "cudaLaunchKernel_ptsz"},
      {430, false, PD_API_LAUNCH, "cudaLaunchKernelExC"},   {431, false, PD_API_LAUNCH, "cudaLaunchKernelExC_ptsz"},
      {311, false, PD_API_GRAPH_LAUNCH, "cudaGraphLaunch"}, {41, false, PD_API_MEMCPY, "cudaMemcpyAsync"},
      {51, false, PD_API_MEMSET, "cudaMemsetAsync"},        {165, false, PD_API_SYNC, "cudaDeviceSynchronize"},
      {373, false, PD_API_ALLOC, "cudaMallocAsync"},        {375, false, PD_API_FREE, "cudaFreeAsync"},
      {307, true, PD_API_LAUNCH, "cuLaunchKernel"},         {442, true, PD_API_LAUNCH, "cuLaunchKernel_ptsz"},
      {652, true, PD_API_LAUNCH, "cuLaunchKernelEx"},       {653, true, PD_API_LAUNCH, "cuLaunchKernelEx_ptsz"},
      {514, true, PD_API_GRAPH_LAUNCH, "cuGraphLaunch"}};
  static cupti_allowlist list;
  pd_status status = cupti_api_load(&api, NULL, why, sizeof why);
  if (status != PD_OK && strstr(why, "no CUPTI library found")) cr_skip_test("skipped: %s", why);
  cr_assert_eq(status, PD_OK, "%s", why);
  cr_assert_geq(api.version, CUPTI_OLDEST_VERSION);
  cr_assert_eq(cupti_allowlist_build(&list, &api, false), PD_OK);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const cupti_call *call = cupti_allowlist_find(&list, rows[i].driver, rows[i].cbid);
    if (!call && api.version < 130000 && rows[i].cbid >= 505) continue; /* ids that CUDA 13 brought */
    cr_assert_not_null(call, "%u", rows[i].cbid);
    cr_assert_eq(call->api, rows[i].api, "%u", rows[i].cbid);
    cr_assert_str_eq(call->text, rows[i].text);
  }
  cr_assert_null(cupti_allowlist_find(&list, true, 719)); /* cuKernelGetName, which CUPTI itself calls per launch */
  cupti_allowlist_free(&list);
}
