/* See api_names.h. */
#include "api_names.h"

#include <string.h>

typedef struct word_class {
  const char *word;
  pd_api_class api;
} word_class;

/* The first word that the name holds decides, so the longer and rarer ones come first. */
static const word_class words[] = {{"StreamIsCapturing", PD_API_OTHER},
                                   {"MemsetNode", PD_API_OTHER},
                                   {"MemcpyNode", PD_API_OTHER},
                                   {"LaunchHostFunc", PD_API_OTHER},
                                   {"SynchronizeEvent", PD_API_SYNC},
                                   {"Synchronize", PD_API_SYNC},
                                   {"StreamWaitEvent", PD_API_STREAM_WAIT},
                                   {"StreamWaitValue", PD_API_STREAM_WAIT},
                                   {"GraphLaunch", PD_API_GRAPH_LAUNCH},
                                   {"Launch", PD_API_LAUNCH},
                                   {"Memcpy", PD_API_MEMCPY},
                                   {"MemBufferRead", PD_API_MEMCPY}, /* these and those below of SYCL and Level Zero */
                                   {"MemBufferWrite", PD_API_MEMCPY},
                                   {"MemoryCopy", PD_API_MEMCPY},
                                   {"MemoryFill", PD_API_MEMSET},
                                   {"USMFill", PD_API_MEMSET},
                                   {"QueueFinish", PD_API_SYNC},
                                   {"EventsWait", PD_API_STREAM_WAIT},
                                   {"urEventWait", PD_API_SYNC},
                                   {"DeviceAlloc", PD_API_ALLOC},
                                   {"SharedAlloc", PD_API_ALLOC},
                                   {"MemsetAccess", PD_API_ALLOC},
                                   {"MemSetAccess", PD_API_ALLOC},
                                   {"Memset", PD_API_MEMSET},
                                   {"MemGetInfo", PD_API_OTHER},
                                   {"MallocAsync", PD_API_ALLOC},
                                   {"Malloc", PD_API_ALLOC},
                                   {"HostAlloc", PD_API_ALLOC},
                                   {"HostRegister", PD_API_ALLOC},
                                   {"HostUnregister", PD_API_FREE},
                                   {"MemAlloc", PD_API_ALLOC},
                                   {"MemCreate", PD_API_ALLOC},
                                   {"MemMap", PD_API_ALLOC},
                                   {"MemAddressReserve", PD_API_ALLOC},
                                   {"MemUnmap", PD_API_FREE},
                                   {"MemRelease", PD_API_FREE},
                                   {"MemAddressFree", PD_API_FREE},
                                   {"MemFree", PD_API_FREE},
                                   {"FreeHost", PD_API_FREE},
                                   {"FreeAsync", PD_API_FREE},
                                   {"Free", PD_API_FREE}};

static bool holds(const char *name, size_t length, const char *word) {
  return memmem(name, length, word, strlen(word)) != NULL;
}

/* cuMemcpyDtoHAsync_v2, cuMemsetD8Async and cudaMemsetAsync: the driver writes the word as the runtime does. */
pd_api_class api_class_of_name(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (holds(name, length, words[i].word)) return words[i].api;
  return PD_API_OTHER;
}

static pd_memory_kind kind_of(const char *text, size_t length) {
  static const struct {
    const char *word;
    pd_memory_kind kind;
  } kinds[] = {{"Pageable", PD_MEMORY_PAGEABLE},
               {"Pinned", PD_MEMORY_PINNED},
               {"Managed", PD_MEMORY_MANAGED},
               {"Device", PD_MEMORY_DEVICE},
               {"Array", PD_MEMORY_DEVICE}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (holds(text, length, kinds[i].word)) return kinds[i].kind;
  return PD_MEMORY_UNKNOWN;
}

/* A letter of "Memcpy M2D", as Intel's profiler writes it: memory that the program allocated itself, memory of the host
 * or of the device that was allocated for copies, or shared. */
static pd_memory_kind kind_of_letter(char letter) {
  switch (letter) {
  case 'M': return PD_MEMORY_PAGEABLE;
  case 'H': return PD_MEMORY_PINNED;
  case 'D': return PD_MEMORY_DEVICE;
  case 'S': return PD_MEMORY_MANAGED;
  default: return PD_MEMORY_UNKNOWN;
  }
}

void api_copy_ends(const char *name, size_t length, pd_memory_kind *from, pd_memory_kind *to) {
  const char *open = memchr(name, '(', length), *end = name + length;
  static const char copy[] = "Memcpy ";
  enum { BEFORE = sizeof copy - 1 };
  *from = *to = PD_MEMORY_UNKNOWN;
  if (!open) {
    if (length != BEFORE + 3 || memcmp(name, copy, BEFORE) != 0 || name[BEFORE + 1] != '2') return;
    *from = kind_of_letter(name[BEFORE]);
    *to = kind_of_letter(name[BEFORE + 2]);
    return;
  }
  const char *arrow = memmem(open, (size_t)(end - open), "->", 2);
  if (arrow) *from = kind_of(open, (size_t)(arrow - open));
  const char *rest = arrow ? arrow : open;
  *to = kind_of(rest, (size_t)(end - rest));
}
