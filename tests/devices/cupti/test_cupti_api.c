/* Opening libcupti, its versions and layouts, and the list of calls; with the fake and, where installed, the real one.
 */
#include "api_rig.h"

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

PD_TEST(cupti_api, refuses_libraries_before_13_0_update_1) {
  static const struct {
    uint32_t version;
    pd_status status;
  } rows[] = {{18, PD_UNSUPPORTED}, {28, PD_UNSUPPORTED}, {130000, PD_UNSUPPORTED},
              {130001, PD_OK},      {130100, PD_OK},      {130401, PD_OK}};
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
    cr_assert_not_null(strstr(why, "13.0 Update 1"), "%s", why);
  }
}

PD_TEST(cupti_api, takes_longer_records_and_refuses_shorter_ones) {
  fake_set()->record_growth = 64;
  cr_assert_eq(cupti_api_load(&api, FAKE_CUPTI_PATH, why, sizeof why), PD_OK, "%s", why);
  fake_set()->record_growth = 0;
  fake_set()->record_shrink = true;
  expect_refused(FAKE_CUPTI_PATH);
  cr_assert_not_null(strstr(why, "kernel records out in 208 bytes, and 216 are needed"), "%s", why);
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
