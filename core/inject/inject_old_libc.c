/*
 * Names of the C library as it had them in 2012, so that the recorder loads into programs of older systems than the one
 * that it was built on: glibc 2.34 gave the functions of libpthread and libdl new versions, and what they do stayed as
 * it was. The linker turns each call of `name` into one of __wrap_name (--wrap in CMakeLists.txt), of our own sources
 * and of the static libraries; here it goes on to the old version. [any thread]
 */
#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Declares old_NAME, an old version of NAME, and new_NAME, which the linker knows as __wrap_NAME. */
#define OLD(type, name, version, ...)                                                                                  \
  __asm__(".symver old_" #name "," #name "@GLIBC_" version);                                                           \
  type old_##name(__VA_ARGS__);                                                                                        \
  type new_##name(__VA_ARGS__) __asm__("__wrap_" #name);

OLD(void *, dlopen, "2.2.5", const char *file, int mode)
OLD(void *, dlsym, "2.2.5", void *handle, const char *name)
OLD(int, dlclose, "2.2.5", void *handle)
OLD(char *, dlerror, "2.2.5", void)
OLD(int, dlinfo, "2.3.3", void *handle, int request, void *argument)
OLD(int, pthread_key_create, "2.2.5", pthread_key_t *key, void (*end)(void *))
OLD(int, pthread_once, "2.2.5", pthread_once_t *once, void (*function)(void))
OLD(int, pthread_setspecific, "2.2.5", pthread_key_t key, const void *value)
OLD(int, pthread_create, "2.2.5", pthread_t *thread, const pthread_attr_t *about, void *(*run)(void *), void *argument)
OLD(int, pthread_sigmask, "2.2.5", int how, const sigset_t *wanted, sigset_t *before)
OLD(int, glob, "2.2.5", const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)

/* From glibc 2.38 on, C11 with GNU extensions gets another name for the same function. */
__asm__(".symver old_strtol,strtol@GLIBC_2.2.5");
long old_strtol(const char *text, char **end, int base);
long new_strtol(const char *text, char **end, int base) __asm__("__wrap___isoc23_strtol");
pid_t new_gettid(void) __asm__("__wrap_gettid"); /* there since 2.30 */

void *new_dlopen(const char *file, int mode) { return old_dlopen(file, mode); }
void *new_dlsym(void *handle, const char *name) { return old_dlsym(handle, name); }
int new_dlclose(void *handle) { return old_dlclose(handle); }
char *new_dlerror(void) { return old_dlerror(); }
int new_dlinfo(void *handle, int request, void *argument) { return old_dlinfo(handle, request, argument); }
int new_pthread_key_create(pthread_key_t *key, void (*end)(void *)) { return old_pthread_key_create(key, end); }
int new_pthread_once(pthread_once_t *once, void (*function)(void)) { return old_pthread_once(once, function); }
int new_pthread_setspecific(pthread_key_t key, const void *value) { return old_pthread_setspecific(key, value); }
int new_pthread_create(pthread_t *thread, const pthread_attr_t *about, void *(*run)(void *), void *argument) {
  return old_pthread_create(thread, about, run, argument);
}
int new_pthread_sigmask(int how, const sigset_t *wanted, sigset_t *before) {
  return old_pthread_sigmask(how, wanted, before);
}
int new_glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found) {
  return old_glob(pattern, flags, failed, found);
}
long new_strtol(const char *text, char **end, int base) { return old_strtol(text, end, base); }
pid_t new_gettid(void) { return (pid_t)syscall(SYS_gettid); }
