/* Which calls are recorded, by the names in the library and in its headers. */
#include "api_rig.h"

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

/* What a call is by the words in its name, of which each entry of CUPTI's headers has some. */
static pd_api_class class_of_words(const char *name) {
  static const struct {
    const char *word;
    pd_api_class class;
  } rows[] = {
      {"GraphLaunch", PD_API_GRAPH_LAUNCH},
      {"LaunchHostFunc", PD_API_OTHER},
      {"Launch", PD_API_LAUNCH},
      {"Memcpy", PD_API_MEMCPY},
      {"Memset", PD_API_MEMSET},
      {"Synchronize", PD_API_SYNC},
      {"HostAlloc", PD_API_ALLOC},
      {"MemAllocPitch", PD_API_ALLOC},
      {"MemAlloc", PD_API_ALLOC},
      {"Malloc", PD_API_ALLOC},
      {"HostRegister", PD_API_ALLOC},
      {"MemCreate", PD_API_ALLOC},
      {"MemAddressReserve", PD_API_ALLOC},
      {"cuMemMap", PD_API_ALLOC},
      {"ArrayCreate", PD_API_ALLOC},
      {"Array3DCreate", PD_API_ALLOC},
      {"HostUnregister", PD_API_FREE},
      {"cudaFree", PD_API_FREE},
      {"MemFree", PD_API_FREE},
      {"MemRelease", PD_API_FREE},
      {"MemUnmap", PD_API_FREE},
      {"MemAddressFree", PD_API_FREE},
      {"cuArrayDestroy", PD_API_FREE},
      {"MipmappedArrayDestroy", PD_API_FREE},
      {"StreamBeginCapture", PD_API_OTHER},
      {"StreamEndCapture", PD_API_OTHER},
      {"PrefetchAsync", PD_API_OTHER},
      {"PrefetchBatchAsync", PD_API_OTHER},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strstr(name, rows[i].word)) return rows[i].class;
  return PD_API_STREAM_WAIT; /* no call that is looked for */
}

/* What describes a graph, and the calls of a 32-bit driver, which no program of 64 bits can make. */
static bool does_nothing_now(const char *name) {
  const bool is_graph = !strncmp(name, "cuGraph", 7) || !strncmp(name, "cudaGraph", 9);
  return !strncmp(name, "cu64", 4) || (is_graph && !strstr(name, "GraphLaunch"));
}

static uint32_t check_header(const char *path, const char *before, bool driver) {
  char line[512];
  uint32_t found = 0;
  FILE *file = fopen(path, "re");
  cr_assert(file, "%s", path);
  while (fgets(line, sizeof line, file)) {
    char *name = strstr(line, before);
    if (!name) continue;
    name += strlen(before);
    name[strcspn(name, " =\n")] = '\0';
    const pd_api_class wanted = class_of_words(name);
    pd_api_class class = PD_API_STREAM_WAIT;
    if (wanted == PD_API_STREAM_WAIT || does_nothing_now(name)) continue;
    found++;
    cr_expect(cupti_allowlist_classify(name, driver, false, &class), "%s is not listed", name);
    cr_expect_eq(class, wanted, "%s: %d", name, (int)class);
  }
  (void)fclose(file);
  return found;
}

/* _v2, _ptsz and whatever comes: each call of these headers that launches, copies, waits or takes memory. */
PD_TEST(cupti_allowlist, lists_every_such_call_of_the_headers) {
  cr_assert_gt(check_header(CUPTI_HEADERS "/cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_", true), 150);
  cr_assert_gt(check_header(CUPTI_HEADERS "/cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_", false), 100);
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
  cr_assert_eq(list.runtime_count, 10); /* the fake has three more: cudaGetDevice and two of events */
  cr_assert_eq(list.driver_count, 7);   /* of eight, without cuDeviceGet */
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
    cr_assert_not_null(call, "%u", rows[i].cbid);
    cr_assert_eq(call->api, rows[i].api, "%u", rows[i].cbid);
    cr_assert_str_eq(call->text, rows[i].text);
  }
  cr_assert_null(cupti_allowlist_find(&list, true, 719)); /* cuKernelGetName, which CUPTI itself calls per launch */
  cupti_allowlist_free(&list);
}
