/* See conv_choices.h. */
#include "conv_choices.h"

#include <stdlib.h>
#include <string.h>

typedef struct choice {
  struct choice *next;
  conv_key key;
  int gpu, count, chosen;
  char search[16];     /* conv_search; the plugin's texts may not outlive the device */
  uint64_t workspaces; /* of all candidates together: which ones there are */
} choice;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static choice *choices;
static int devices;

static choice describe(const pd_device *device, const conv_key *key, conv_plan *const *candidates, int count) {
  choice out = {.key = *key, .gpu = device->index, .count = count};
  strncpy(out.search, device->options.conv_search, sizeof out.search - 1);
  for (int i = 0; i < count; i++)
    out.workspaces = out.workspaces * 31 + candidates[i]->workspace + (uint64_t)candidates[i]->form;
  return out;
}

/* The lock is held. */
static choice *find(const choice *like) {
  choice *at = choices;
  while (at && (memcmp(&at->key, &like->key, sizeof at->key) != 0 || at->gpu != like->gpu || at->count != like->count ||
                at->workspaces != like->workspaces || strcmp(at->search, like->search) != 0))
    at = at->next;
  return at;
}

void conv_choices_enter(void) {
  pthread_mutex_lock(&lock);
  devices++;
  pthread_mutex_unlock(&lock);
}

void conv_choices_leave(void) {
  pthread_mutex_lock(&lock);
  if (--devices == 0)
    for (choice *next; choices; choices = next) {
      next = choices->next;
      free(choices);
    }
  pthread_mutex_unlock(&lock);
}

int conv_choices_find(const pd_device *device, const conv_key *key, conv_plan *const *candidates, int count) {
  const choice like = describe(device, key, candidates, count);
  pthread_mutex_lock(&lock);
  const choice *at = find(&like);
  const int chosen = at ? at->chosen : -1;
  pthread_mutex_unlock(&lock);
  return chosen;
}

void conv_choices_note(const pd_device *device, const conv_key *key, conv_plan *const *candidates, int count,
                       int chosen) {
  choice made = describe(device, key, candidates, count);
  made.chosen = chosen;
  pthread_mutex_lock(&lock);
  choice *kept = devices && !find(&made) ? malloc(sizeof *kept) : NULL;
  if (kept) {
    *kept = made;
    kept->next = choices;
    choices = kept;
  }
  pthread_mutex_unlock(&lock);
}
