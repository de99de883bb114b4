/* Kinds of faults that a user can meet. Each has a number that stays, printed as [PDH-0301] after the message, and a
 * page for `pdhost explain PDH-0301`. The hundreds are the exit code: 3 for 301; a hundred itself is what has no kind
 * of its own. */
#ifndef CORE_BASE_FAULTS_H
#define CORE_BASE_FAULTS_H

/* Exit codes of pdhost; 128+n: ended by signal n. */
enum {
  CODE_DONE = 0,
  CODE_INTERNAL = 1,
  CODE_USAGE = 2,
  CODE_CONFIG = 3,
  CODE_PLUGIN = 4,
  CODE_SCENARIO = 5,
  CODE_DEVICE = 6,
  CODE_UNTRUSTED = 7,
  CODE_OUTPUT = 8,
  CODE_REGRESSION = 9,
  CODE_INCONCLUSIVE = 10,
  CODE_DIFFERS = 11
};

#define FAULTS(X)                                                                                                      \
  X(FAULT_INTERNAL, 100)                                                                                               \
  X(FAULT_MEMORY, 101)                                                                                                 \
  X(FAULT_USAGE, 200)                                                                                                  \
  X(FAULT_OPTION, 201)   /* an option that does not exist */                                                           \
  X(FAULT_ARGUMENT, 202) /* an option's value */                                                                       \
  X(FAULT_WORD, 203)     /* a word that names nothing */                                                               \
  X(FAULT_TOPIC, 204)    /* nothing is known of that name */                                                           \
  X(FAULT_CONFIG, 300)                                                                                                 \
  X(FAULT_KEY, 301)                                                                                                    \
  X(FAULT_SECTION, 302)                                                                                                \
  X(FAULT_VALUE, 303)                                                                                                  \
  X(FAULT_MISSING, 304)                                                                                                \
  X(FAULT_UNREADABLE, 305)                                                                                             \
  X(FAULT_LINE, 306)  /* a malformed line */                                                                           \
  X(FAULT_TWICE, 307) /* a key that is set twice in one file */                                                        \
  X(FAULT_CLASH, 308) /* keys that exclude one another */                                                              \
  X(FAULT_FILES, 309) /* two outputs into one file */                                                                  \
  X(FAULT_PLUGIN, 400)                                                                                                 \
  X(FAULT_NOT_FOUND, 401)                                                                                              \
  X(FAULT_LOADING, 402)                                                                                                \
  X(FAULT_REJECTED, 403)                                                                                               \
  X(FAULT_SCENARIO, 500)                                                                                               \
  X(FAULT_DEVICE, 600)                                                                                                 \
  X(FAULT_NO_DEVICE, 601)                                                                                              \
  X(FAULT_UNTRUSTED, 700)                                                                                              \
  X(FAULT_OUTPUT, 800)                                                                                                 \
  X(FAULT_REGRESSION, 900)                                                                                             \
  X(FAULT_INCONCLUSIVE, 1000)                                                                                          \
  X(FAULT_DIFFERS, 1100)

#define FAULT_ENUMERATOR(name, number) name = (number),
enum { FAULTS(FAULT_ENUMERATOR) };
#undef FAULT_ENUMERATOR

#endif
