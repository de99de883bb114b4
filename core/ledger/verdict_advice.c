/* See verdict_advice.h. */
#include "verdict_advice.h"

#include <string.h>

/* Keys that have a flag of their own on the command line, where it would win over an -o: they are given by flag. */
static const struct {
  const char *setting, *flag;
} flags[] = {{"data.num_workers=", "--num_workers "},
             {"data.prefetch_factor=", "--prefetch_factor "},
             {"data.pin_memory=true", "--pin_memory"},
             {"train.amp=true", "--amp"},
             {"train.channels_last=true", "--channels_last"}};

static const char *one_option(const verdict_setting *self, const char *setting) {
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    const size_t length = strlen(flags[i].setting);
    if (!strncmp(setting, flags[i].setting, length))
      return arena_format(self->arena, "%s%s", flags[i].flag, setting + length);
  }
  return arena_format(self->arena, "-o %s", setting);
}

/* "a=1 b=2" as "-o a=1 -o b=2". */
static const char *as_options(const verdict_setting *self, const char *overrides) {
  const char *options = "";
  for (const char *at = overrides; *at; at += strspn(at, " ")) {
    const size_t length = strcspn(at, " ");
    const char *setting = arena_format(self->arena, "%.*s", (int)length, at);
    options = arena_format(self->arena, "%s%s%s", options, *options ? " " : "", one_option(self, setting));
    at += length;
  }
  return options;
}

verdict_advice verdict_advise(const verdict_setting *self, uint32_t cause) {
  cure cures[CURES_MOST];
  verdict_advice out = {.saves = {.part = 1}};
  if (cures_find(self, cause, cures) && !cures[0].unpredicted) {
    out.overrides = cures[0].settings;
    out.saves = cures[0];
  }
  out.options = out.overrides ? as_options(self, out.overrides) : "-o profile.with_stack=true";
  return out;
}
