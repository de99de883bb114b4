/* Opening libcupti, its versions and layouts, and the list of calls; with the fake and, where installed, the real one.
 */
#include "devices/cuda/cupti/cupti_allowlist.h"
#include "fake_cupti.h"
#include "pd_test.h"

#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Where it is set, the product finds no library but below this folder: the machine may have a CUPTI of its own. */
static const char *only_below;
PD_EXPORT void *dlopen(const char *path, int mode) {
  void *(*next)(const char *, int);
  void *symbol = dlsym(RTLD_NEXT, "dlopen");
  memcpy(&next, &symbol, sizeof next);
  return only_below && strncmp(path, only_below, strlen(only_below)) != 0 ? NULL : next(path, mode);
}

/* A toolkit in a folder of its own: the runtime that the process has loaded, and a CUPTI in two places. */
typedef struct toolkit {
  char root[64], runtime[128], beside[128], extras[128];
} toolkit;

static void copy_file(const char *from, const char *to) {
  static char bytes[1 << 16];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  cr_assert(in && out, "%s to %s", from, to);
  for (size_t count; (count = fread(bytes, 1, sizeof bytes, in)) > 0;)
    cr_assert_eq(fwrite(bytes, 1, count, out), count);
  cr_assert_eq(fclose(in) + fclose(out), 0);
}
static void make_toolkit(toolkit *at) {
  static const char *const folders[] = {"lib", "extras", "extras/CUPTI", "extras/CUPTI/lib64"};
  char folder[128];
  snprintf(at->root, sizeof at->root, "/tmp/pdhost_cupti_XXXXXX");
  cr_assert_not_null(mkdtemp(at->root));
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    snprintf(folder, sizeof folder, "%s/%s", at->root, folders[i]);
    cr_assert_eq(mkdir(folder, 0700), 0);
  }
  snprintf(at->runtime, sizeof at->runtime, "%s/lib/libcudart.so.13", at->root);
  snprintf(at->beside, sizeof at->beside, "%s/lib/libcupti.so.13", at->root);
  snprintf(at->extras, sizeof at->extras, "%s/extras/CUPTI/lib64/libcupti.so.13", at->root);
  copy_file(FAKE_PARTIAL_PATH, at->runtime);
  cr_assert_not_null(dlopen(at->runtime, RTLD_NOW | RTLD_LOCAL));
  copy_file(FAKE_PARTIAL_PATH, at->beside);
}
static void remove_toolkit(const toolkit *at) {
  static const char *const folders[] = {"extras/CUPTI/lib64", "extras/CUPTI", "extras", "lib", ""};
  char folder[128];
  cr_assert_eq(unlink(at->runtime) + unlink(at->beside) + unlink(at->extras), 0);
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    snprintf(folder, sizeof folder, "%s/%s", at->root, folders[i]);
    cr_assert_eq(rmdir(folder), 0, "%s", folder);
  }
}

PD_TEST(cupti_api, looks_on_where_the_first_that_it_finds_will_not_do) {
  toolkit at;
  make_toolkit(&at);
  cr_assert_eq(symlink(FAKE_CUPTI_PATH, at.extras), 0);
  cr_assert_eq(cupti_api_load(&api, NULL, why, sizeof why), PD_OK, "%s", why);
  cr_assert_eq(api.version, 130001);
  Dl_info about;
  cr_assert_neq(dladdr(*(void *const *)&api.Finalize, &about), 0);
  cr_assert_not_null(strstr(about.dli_fname, "fake_cupti_whole"), "%s", about.dli_fname);
  cr_assert_null(dlopen(at.beside, RTLD_NOW | RTLD_NOLOAD));
  remove_toolkit(&at);
}

PD_TEST(cupti_api, names_each_file_that_will_not_do_and_why) {
  toolkit at;
  char again[128];
  make_toolkit(&at);
  fake_set()->version = 26;
  only_below = at.root;
  cr_assert_eq(symlink(FAKE_CUPTI_PATH, at.extras), 0);
  snprintf(again, sizeof again, "%s/lib/libcupti.so.12", at.root); /* the same file under another name */
  cr_assert_eq(symlink(at.beside, again), 0);
  const pd_status status = cupti_api_load(&api, NULL, why, sizeof why);
  cr_assert_eq(unlink(again), 0);
  remove_toolkit(&at);
  cr_assert_eq(status, PD_UNSUPPORTED);
  const char *beside = strstr(why, at.beside),
             *whole = strstr(why, "libfake_cupti_whole.so (CUPTI version 26 is too old");
  cr_assert(beside && strncmp(beside + strlen(at.beside), " (it has no cuptiFinalize", 25) == 0, "%s", why);
  cr_assert(whole && whole > beside, "%s", why);
  cr_assert_null(strstr(beside + 1, at.beside), "%s", why); /* once */
}

/* A folder with links to libraries that stand for a toolkit's; each case has one of its own, since the loader knows a
 * file again by the path it was opened under. */
static char root[32];
static void make_root(void) {
  snprintf(root, sizeof root, "/tmp/pdhost_cupti_XXXXXX");
  cr_assert_not_null(mkdtemp(root));
  only_below = root;
}
static void add_link(const char *library, const char *folder, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s/", root, folder);
  for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
    *at = '\0';
    (void)mkdir(path, 0700);
    *at = '/';
  }
  strncat(path, name, sizeof path - strlen(path) - 1);
  cr_assert_eq(symlink(library, path), 0, "%s", path);
}
static int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *at) {
  (void)info;
  (void)flag;
  (void)at;
  return remove(path);
}
static void remove_root(void) { cr_assert_eq(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0); }
static void expect_found(const char *where) {
  cr_assert_eq(cupti_api_load(&api, "", why, sizeof why), PD_OK, "%s: %s", where, why);
  cr_assert_not_null(api.Finalize);
}

PD_TEST(cupti_api, finds_the_toolkit_that_the_environment_names) {
  static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"},
                           *const folders[] = {"extras/CUPTI/lib64", "lib64", "lib", "targets/x86_64-linux/lib"},
                           *const names[] = {"libcupti.so.13", "libcupti.so.12"};
  for (int v = 0; v < 2; v++) {
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    for (int f = 0; f < 4; f++) {
      make_root();
      add_link(FAKE_CUPTI_PATH, folders[f], names[f % 2]);
      setenv(variables[v], root, 1);
      expect_found(folders[f]);
      remove_root();
    }
  }
}

PD_TEST(cupti_api, finds_the_toolkit_of_the_libraries_that_are_loaded) {
  static const struct {
    const char *runtime_folder, *runtime, *folder;
  } rows[] = {{"lib", "libcudart.so.13", "lib"},
              {"lib64", "libcublasLt.so.13", "extras/CUPTI/lib64"},
              {"cuda_runtime/lib", "libcudart.so.12", "cuda_cupti/lib"},
              {"targets/x86_64-linux/lib", "libcublasLt.so.12", "extras/CUPTI/lib64"}};
  unsetenv("CUDA_HOME");
  unsetenv("CUDA_PATH");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char runtime[256];
    make_root();
    add_link(FAKE_PARTIAL_PATH, rows[i].runtime_folder, rows[i].runtime);
    add_link(FAKE_CUPTI_PATH, rows[i].folder, "libcupti.so.13");
    snprintf(runtime, sizeof runtime, "%s/%s/%s", root, rows[i].runtime_folder, rows[i].runtime);
    void *loaded = dlopen(runtime, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(loaded);
    expect_found(rows[i].runtime_folder);
    cr_assert_eq(dlclose(loaded), 0);
    remove_root();
  }
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
  cr_assert_eq(list.runtime_count, 10); /* of the fake's twelve, without cudaGetDevice and cudaEventRecord */
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
    if (!call && api.version < 130000 && rows[i].cbid >= 505) continue; /* ids that CUDA 13 brought */
    cr_assert_not_null(call, "%u", rows[i].cbid);
    cr_assert_eq(call->api, rows[i].api, "%u", rows[i].cbid);
    cr_assert_str_eq(call->text, rows[i].text);
  }
  cr_assert_null(cupti_allowlist_find(&list, true, 719)); /* cuKernelGetName, which CUPTI itself calls per launch */
  cupti_allowlist_free(&list);
}
