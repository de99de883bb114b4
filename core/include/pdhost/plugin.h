/*
 * pdhost plugin ABI: what a plugin and the host know of each other.
 *
 * A plugin is one shared object with one exported symbol, pd_plugin_entry(). Everything it may call reaches it
 * through pd_host; it links to no part of the host.
 *
 * Growth after the first release: fields are only ever added at the end of a table and PD_ABI_MINOR is raised; anything
 * else raises PD_ABI_MAJOR. A reader asks PD_HAS() before it touches a field newer than 1.0. No struct has padding.
 *
 * Threads are symbolic: at any time at most one OS thread holds a role.
 *   [loop thread]    runs the training loop, every scenario and every sink callback
 *   [loader thread]  one of the data loader's workers
 *   [device thread]  a thread that a device plugin or its library made
 *   [any thread]     the function may be called from several threads at the same time
 * A state may follow after &, as in [loop thread & open].
 *
 * Ownership words: borrowed until X returns; owned by the host until X; given to the callee.
 */
#ifndef PDHOST_PLUGIN_H
#define PDHOST_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PD_ABI_MAJOR 1
#define PD_ABI_MINOR 0

/* True when the table behind `p`, of type `T`, is long enough to hold `field`. Never compare sizes for equality. */
/* NOLINTNEXTLINE(bugprone-sizeof-expression): where it is a pointer, the size of the pointer is meant */
#define PD_HAS(T, p, field) ((p)->size >= offsetof(T, field) + sizeof((p)->field))

#if defined(__GNUC__)
#define PD_EXPORT __attribute__((visibility("default")))
#define PD_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
/* For functions whose frame must not lie between an operation and its caller in a call stack. */
#define PD_INLINE __attribute__((always_inline)) static inline
#else
#define PD_EXPORT
#define PD_PRINTF(format_at, first_at)
#define PD_INLINE static inline
#endif

/* Marks members that an initialiser may leave out, so that a C++ compiler does not warn about them. */
#if defined(__cplusplus) && __cplusplus >= 202002L
#define PD_OR_ZERO = {}
#else
#define PD_OR_ZERO
#endif

/* X(name, value, text). Values are frozen; new ones go at the end. */
#define PD_STATUS_MAP(X)                                                                                               \
  X(OK, 0, "ok")                                                                                                       \
  X(INVALID, 1, "invalid value or argument")                                                                           \
  X(UNSUPPORTED, 2, "not supported here")                                                                              \
  X(NO_MEMORY, 3, "out of memory")                                                                                     \
  X(IO, 4, "input or output failed")                                                                                   \
  X(DEVICE, 5, "device or its library failed")                                                                         \
  X(STOP, 6, "end of data or an orderly stop")

typedef int32_t pd_status;
enum {
#define PD_X(name, value, text) PD_##name = value,
  PD_STATUS_MAP(PD_X)
#undef PD_X
};

typedef int32_t pd_log_level;
enum { PD_LOG_ERROR = 0, PD_LOG_WARN = 1, PD_LOG_INFO = 2, PD_LOG_DEBUG = 3 };

typedef uint32_t pd_kind;
enum { PD_KIND_SCENARIO = 1, PD_KIND_SINK = 2, PD_KIND_DEVICE = 3, PD_KIND_READER = 4, PD_KIND_COMMUNICATOR = 5 };

/* ---- options ----------------------------------------------------------------------------------------------- */

/* The C type of the field follows the option type:
 *   BOOL bool; INT, BYTES, DURATION int64_t (bytes; nanoseconds); FLOAT double; STRING, CHOICE, PATH const char *. */
typedef uint32_t pd_type;
enum {
  PD_BOOL = 1,
  PD_INT = 2,
  PD_FLOAT = 3,
  PD_STRING = 4,
  PD_CHOICE = 5,
  PD_PATH = 6,
  PD_BYTES = 7,
  PD_DURATION = 8
};

/* One key of a plugin's own section. All strings are UTF-8 and live as long as the plugin. */
typedef struct pd_option {
  const char *key;                             /* the field's name, so that the two cannot differ */
  const char *help PD_OR_ZERO;                 /* one line, no full stop */
  const char *def PD_OR_ZERO;                  /* as a user would write it; NULL: the key must be given */
  const char *min PD_OR_ZERO, *max PD_OR_ZERO; /* bounds, inclusive, as a user would write them; NULL: none */
  const char *unit PD_OR_ZERO; /* "ms", "bytes", "samples"; NULL: a plain number. A bare number is in this unit */
  /* PD_CHOICE: NULL-terminated list of the values allowed. PD_STRING: the text is a list of some of them,
   * separated by spaces or commas; NULL: any text. */
  const char *const *choices PD_OR_ZERO;
  uint32_t offset; /* of the field in the plugin's options struct */
  pd_type type;
} pd_option;

/* PD_OPTION takes the row's type from the C field: bool, int64_t, double or const char *. Anything else does not
 * compile. The others name the type where the C field does not say it. In C++, from C++20 on, the members after the
 * field are given in the order that they have above: .help, .def, .min, .max, .unit, .choices. */
#ifndef __cplusplus
#define PD_TYPE_OF(T, field)                                                                                           \
  _Generic(((T *)0)->field, bool : PD_BOOL, int64_t : PD_INT, double : PD_FLOAT, const char * : PD_STRING)
#define PD_TYPE_AS(T, field, c_type, pd_type_) _Generic(((T *)0)->field, c_type : (pd_type_))
#else
extern "C++" {
template <typename field> struct pd_type_of;
template <> struct pd_type_of<bool> { static constexpr pd_type value = PD_BOOL; };
template <> struct pd_type_of<int64_t> { static constexpr pd_type value = PD_INT; };
template <> struct pd_type_of<double> { static constexpr pd_type value = PD_FLOAT; };
template <> struct pd_type_of<const char *> { static constexpr pd_type value = PD_STRING; };
template <typename field, typename c_type, pd_type type> struct pd_type_as;
template <typename c_type, pd_type type> struct pd_type_as<c_type, c_type, type> {
  static constexpr pd_type value = type;
};
}
#define PD_TYPE_OF(T, field) pd_type_of<decltype(T::field)>::value
#define PD_TYPE_AS(T, field, c_type, pd_type_) pd_type_as<decltype(T::field), c_type, (pd_type_)>::value
#endif
#define PD_OPTION(T, field, ...)                                                                                       \
  { .key = #field, __VA_ARGS__, .offset = offsetof(T, field), .type = PD_TYPE_OF(T, field) }
#define PD_OPTION_AS(T, field, c_type, pd_type_, ...)                                                                  \
  { .key = #field, __VA_ARGS__, .offset = offsetof(T, field), .type = PD_TYPE_AS(T, field, c_type, pd_type_) }
#define PD_OPTION_CHOICE(T, field, ...) PD_OPTION_AS(T, field, const char *, PD_CHOICE, __VA_ARGS__)
#define PD_OPTION_PATH(T, field, ...) PD_OPTION_AS(T, field, const char *, PD_PATH, __VA_ARGS__)
#define PD_OPTION_BYTES(T, field, ...) PD_OPTION_AS(T, field, int64_t, PD_BYTES, __VA_ARGS__)
#define PD_OPTION_DURATION(T, field, ...) PD_OPTION_AS(T, field, int64_t, PD_DURATION, __VA_ARGS__)

/* ---- host -------------------------------------------------------------------------------------------------- */

typedef struct pd_host pd_host;
struct pd_host {
  uint32_t size;
  uint16_t abi_major, abi_minor;
  void *impl; /* the host's */

  /* A table of services, or NULL where this host has none by that id ("pdhost.train/1"). The table begins with its
   * size, belongs to the host and stays valid until teardown or close has returned. [any thread] */
  const void *(*extension)(const pd_host *host, const char *id);

  /* Sets the message of the failure that the caller is about to return, and returns `code`. The host adds plugin,
   * step and configuration line, and prints it once. A second call replaces the first. [any thread] */
  pd_status (*fail)(const pd_host *host, pd_status code, const char *format, ...) PD_PRINTF(3, 4);

  /* One line, no newline; the host adds time and plugin name. Not for the hot path. [any thread] */
  void (*log)(const pd_host *host, pd_log_level level, const char *format, ...) PD_PRINTF(3, 4);
};

/* A key of the core, and the value that a plugin brings for it: "data.io_sleep_ms", "2". A value that the user gives
 * wins. In [run], only warmup_steps, sync_timing, max_steps and epochs may be preset. */
typedef struct pd_preset {
  const char *key, *value;
} pd_preset;

/* ---- plugin ------------------------------------------------------------------------------------------------ */

struct pd_scenario_ops;
struct pd_sink_ops;
struct pd_device_ops;
struct pd_reader_ops;
struct pd_communicator_ops;

typedef struct pd_plugin {
  uint32_t size; /* sizeof(pd_plugin) where the plugin was built */
  uint16_t abi_major, abi_minor;
  /* The eight bytes above never change; the host reads nothing below before it has accepted them. */
  pd_kind kind;
  uint32_t option_count;
  uint32_t option_size;  /* sizeof(pd_option) where the plugin was built: the stride of `options` */
  uint32_t options_size; /* of the plugin's options struct; the host allocates and fills it before init or open */
  const char *name;      /* what the user types: [a-z0-9_]+ */
  const char *version;
  const char *summary;                              /* one line */
  const char *author;                               /* whom to ask; shown by `pdhost --list`; NULL: not given */
  const pd_option *options;                         /* `option_count` rows; NULL when there are none */
  union {                                           /* by kind; each table begins with its size */
    const struct pd_scenario_ops *scenario;         /* scenario.h */
    const struct pd_sink_ops *sink;                 /* sink.h */
    const struct pd_device_ops *device;             /* device.h */
    const struct pd_reader_ops *reader;             /* reader.h */
    const struct pd_communicator_ops *communicator; /* communicator.h */
  } ops;
} pd_plugin;

/* The one exported symbol. Returns a static descriptor; does nothing else, since `pdhost --list` calls it too.
 * NULL is a load error. [loop thread] */
PD_EXPORT const pd_plugin *pd_plugin_entry(void);

/* The author whom the macros below name: define it before the first header, or by pdhost_add_plugin(... AUTHOR). */
#ifndef PD_PLUGIN_AUTHOR
#define PD_PLUGIN_AUTHOR NULL
#endif

/* Defines the entry point of a plugin; scenario.h, sink.h, device.h and reader.h wrap it. `rows` is an array of
 * PD_OPTION over struct `T`. */
#define PD_PLUGIN(kind_, member_, ops_, name_, version_, summary_, T, rows)                                            \
  static const pd_plugin pd_plugin_ = {.size = sizeof(pd_plugin),                                                      \
                                       .abi_major = PD_ABI_MAJOR,                                                      \
                                       .abi_minor = PD_ABI_MINOR,                                                      \
                                       .kind = (kind_),                                                                \
                                       .option_count = sizeof(rows) / sizeof((rows)[0]),                               \
                                       .option_size = sizeof(pd_option),                                               \
                                       .options_size = sizeof(T),                                                      \
                                       .name = (name_),                                                                \
                                       .version = (version_),                                                          \
                                       .summary = (summary_),                                                          \
                                       .author = PD_PLUGIN_AUTHOR,                                                     \
                                       .options = (rows),                                                              \
                                       .ops = {.member_ = &(ops_)}};                                                   \
  PD_EXPORT const pd_plugin *pd_plugin_entry(void) { return &pd_plugin_; }

/* The same for a plugin without options. */
#define PD_PLUGIN_PLAIN(kind_, member_, ops_, name_, version_, summary_)                                               \
  static const pd_plugin pd_plugin_ = {.size = sizeof(pd_plugin),                                                      \
                                       .abi_major = PD_ABI_MAJOR,                                                      \
                                       .abi_minor = PD_ABI_MINOR,                                                      \
                                       .kind = (kind_),                                                                \
                                       .option_size = sizeof(pd_option),                                               \
                                       .name = (name_),                                                                \
                                       .version = (version_),                                                          \
                                       .summary = (summary_),                                                          \
                                       .author = PD_PLUGIN_AUTHOR,                                                     \
                                       .ops = {.member_ = &(ops_)}};                                                   \
  PD_EXPORT const pd_plugin *pd_plugin_entry(void) { return &pd_plugin_; }

#ifdef __cplusplus
}
#endif
#endif
