/* Descriptors of plugins, whatever they hold: refused with a line, or what the host needs of them is there, and any
 * text for their options is kept inside their struct. The bytes damage a good descriptor of each kind. Its tables have
 * as many bytes as they say, so that a look beyond is seen. */
#include "fuzz.h"

#include "abi/plugins.h"
#include "config/config_sections.h"

enum { BLOCKS = 256, ROWS = 8, TABLE_BYTES = 4096, TEXT_BYTES = 64, STRUCT_BYTES = 1 << 16 };

typedef struct maker {
  const uint8_t *at, *end;
  void *blocks[BLOCKS]; /* the descriptor's own memory */
  uint32_t count;
} maker;

static uint8_t take(maker *self) { return self->at < self->end ? *self->at++ : 0; }

static void *keep(maker *self, size_t bytes) {
  check(self->count < BLOCKS);
  void *block = malloc(bytes ? bytes : 1);
  check(block != NULL);
  memset(block, 0xa5, bytes);
  self->blocks[self->count++] = block;
  return block;
}

/* Most often what it ought to be; else near it, or anything. */
static uint32_t number(maker *self, uint32_t good) {
  const uint8_t how = take(self);
  uint32_t any = 0;
  if (how < 0xe0) return good;
  if (how < 0xf0) return good + (how - 0xe8u);
  for (int i = 0; i < 4; i++) any = any << 8 | take(self);
  return how < 0xf8 ? any & 0xff : any;
}

/* NULL at times, else as good, or any bytes up to a zero. */
static const char *text(maker *self, const char *good) {
  const uint8_t how = take(self);
  if (how < 0xc0) return good;
  if (how < 0xc8 || self->at >= self->end) return NULL;
  char *made = keep(self, TEXT_BYTES);
  size_t used = 0;
  while (used + 1 < TEXT_BYTES && self->at < self->end && (made[used] = (char)*self->at++)) used++;
  made[used] = '\0';
  return made;
}

/* `bytes` of a table that says so itself at its beginning. Members beyond `whole` are of a version that nobody knows.
 */
static void *table_of(maker *self, const void *from, size_t whole) {
  uint32_t bytes = number(self, (uint32_t)whole);
  if (bytes > TABLE_BYTES) bytes = TABLE_BYTES;
  void *made = keep(self, bytes < sizeof bytes ? sizeof bytes : bytes);
  memcpy(made, from, bytes < whole ? bytes : whole);
  memcpy(made, &bytes, sizeof bytes);
  return made;
}

/* ---- options ---- */

static const char *const *choices(maker *self) {
  static const char *const good[] = {"one", "two", NULL};
  const uint8_t how = take(self);
  if (how < 0x60) return NULL;
  if (how < 0xc0) return good;
  const uint32_t count = how & 3;
  const char **made = keep(self, (count + 1u) * sizeof *made);
  for (uint32_t i = 0; i < count; i++) made[i] = text(self, good[i & 1]);
  made[count] = NULL;
  return made;
}

static const char *key_of(maker *self, uint32_t row) {
  static const char *const keys[ROWS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  return text(self, keys[row % ROWS]);
}

static pd_option row_of(maker *self, uint32_t at) {
  static const struct {
    pd_type type;
    const char *def, *min, *max, *unit;
  } good[] = {{PD_BOOL, "true", NULL, NULL, NULL},   {PD_INT, "5", "0", "256", "samples"},
              {PD_FLOAT, "0.5", "0", "1e3", "s"},    {PD_STRING, "x", NULL, NULL, NULL},
              {PD_CHOICE, "one", NULL, NULL, NULL},  {PD_PATH, "a/<scenario>", NULL, NULL, NULL},
              {PD_BYTES, "4KiB", "0", "1GiB", NULL}, {PD_DURATION, "2ms", "0", "60s", "ms"}};
  const uint32_t kind = take(self) % 8;
  const uint32_t size = good[kind].type == PD_BOOL ? 1 : 8;
  const pd_option row = {.key = key_of(self, at),
                         .help = text(self, "what it does"),
                         .def = text(self, good[kind].def),
                         .min = text(self, good[kind].min),
                         .max = text(self, good[kind].max),
                         .unit = text(self, good[kind].unit),
                         .choices = good[kind].type == PD_CHOICE || take(self) > 0xc0 ? choices(self) : NULL,
                         .offset = number(self, 8 * at) / size * size,
                         .type = number(self, good[kind].type)};
  return row;
}

/* As many rows as the descriptor says, of the size that it says. */
static const pd_option *rows_of(maker *self, pd_plugin *of) {
  const uint32_t count = take(self) % (ROWS + 1);
  of->option_size = number(self, sizeof(pd_option));
  of->options_size = number(self, 8 * ROWS);
  of->option_count = number(self, count);
  if (take(self) > 0xf0 || !count) return NULL;
  /* What cannot be a row's size is refused, however many there are; else the host can but believe their number. */
  if (of->option_size > 256 || of->option_count > ROWS) of->option_count = of->option_size > 256 ? 0 : count;
  char *made = keep(self, (size_t)of->option_count * of->option_size);
  for (uint32_t i = 0; i < of->option_count; i++) {
    const pd_option row = row_of(self, i);
    memcpy(made + (size_t)i * of->option_size, &row, of->option_size < sizeof row ? of->option_size : sizeof row);
  }
  return (const pd_option *)(void *)made;
}

/* ---- tables of functions ---- */

static void nothing(void) {}

/* Every member a function that is there, but for some. */
static void fill(maker *self, void *table, size_t bytes) {
  void (*function)(void) = nothing;
  for (size_t at = 8; at + sizeof function <= bytes; at += sizeof function) {
    const bool gone = take(self) > 0xf8;
    memset((char *)table + at, 0, sizeof function);
    if (!gone) memcpy((char *)table + at, &function, sizeof function);
  }
}

static const pd_preset *presets(maker *self) {
  const uint32_t count = take(self) & 3;
  pd_preset *made = keep(self, (count + 1u) * sizeof *made);
  for (uint32_t i = 0; i < count; i++) made[i] = (pd_preset){text(self, "data.io_sleep_ms"), text(self, "2")};
  made[count] = (pd_preset){.key = NULL};
  return made;
}

static const pd_device_preset *device_presets(maker *self) {
  const uint32_t count = take(self) & 3;
  pd_device_preset *made = keep(self, (count + 1u) * sizeof *made);
  for (uint32_t i = 0; i < count; i++)
    made[i] = (pd_device_preset){text(self, "cpu"), text(self, "scenario.a"), text(self, "2")};
  made[count] = (pd_device_preset){.device = NULL};
  return made;
}

static const pd_cure *cures(maker *self) {
  const uint32_t count = take(self) & 3;
  pd_cure *made = keep(self, (count + 1u) * sizeof *made);
  for (uint32_t i = 0; i < count; i++) made[i] = (pd_cure){text(self, "allocator"), text(self, "scenario.a=1")};
  made[count] = (pd_cure){.cause = NULL};
  return made;
}

static const void *scenario(maker *self) {
  pd_scenario_ops ops = {.size = 0};
  fill(self, &ops, sizeof ops);
  if (ops.bottleneck) ops.bottleneck = text(self, "none");
  ops.presets = ops.presets ? presets(self) : NULL;
  ops.cures = ops.cures ? cures(self) : NULL;
  ops.device_presets = ops.device_presets ? device_presets(self) : NULL;
  ops.dial = ops.dial ? text(self, "a") : NULL;
  return table_of(self, &ops, sizeof ops);
}

static const void *device(maker *self) {
  pd_device_ops ops = {.size = 0};
  pd_memory_ops memory = {.size = 0};
  pd_stream_ops stream = {.size = 0};
  pd_tensor_ops tensor = {.size = 0};
  pd_profile_ops profile = {.size = 0};
  fill(self, &ops, sizeof ops);
  fill(self, &memory, sizeof memory);
  fill(self, &stream, sizeof stream);
  fill(self, &tensor, sizeof tensor);
  fill(self, &profile, sizeof profile);
  if (ops.memory) ops.memory = table_of(self, &memory, sizeof memory);
  if (ops.stream) ops.stream = table_of(self, &stream, sizeof stream);
  if (ops.tensor) ops.tensor = table_of(self, &tensor, sizeof tensor);
  if (ops.profile) ops.profile = table_of(self, &profile, sizeof profile);
  if (ops.presets) ops.presets = presets(self);
  return table_of(self, &ops, sizeof ops);
}

static const void *functions(maker *self, size_t bytes) {
  char ops[256];
  check(bytes <= sizeof ops);
  memset(ops, 0, sizeof ops);
  fill(self, ops, bytes);
  return table_of(self, ops, bytes);
}

static const void *ops_of(maker *self, uint32_t kind) {
  if (take(self) > 0xf8) return NULL;
  switch (kind) {
  case PD_KIND_SCENARIO: return scenario(self);
  case PD_KIND_SINK: return functions(self, sizeof(pd_sink_ops));
  case PD_KIND_READER: return functions(self, sizeof(pd_reader_ops));
  case PD_KIND_COMMUNICATOR: return functions(self, sizeof(pd_communicator_ops));
  default: return device(self);
  }
}

static const pd_plugin *descriptor(maker *self) {
  const uint32_t kind = take(self) % 5 + 1;
  pd_plugin of = {.abi_major = (uint16_t)number(self, PD_ABI_MAJOR),
                  .abi_minor = (uint16_t)number(self, PD_ABI_MINOR),
                  .kind = number(self, kind),
                  .name = text(self, "made"),
                  .version = text(self, "1.0"),
                  .summary = text(self, "one line"),
                  .author = text(self, NULL)};
  of.options = rows_of(self, &of);
  of.ops.scenario = ops_of(self, of.kind);
  uint32_t bytes = number(self, sizeof of);
  if (bytes > TABLE_BYTES) bytes = TABLE_BYTES;
  of.size = bytes;
  void *made = keep(self, bytes < 8 ? 8 : bytes);
  memcpy(made, &of, bytes < 8 ? 8 : bytes < sizeof of ? bytes : sizeof of);
  return made;
}

/* ---- what the host does with one that it has taken ---- */

static void check_presets(const pd_preset *at) {
  for (; at && at->key; at++) check(strchr(at->key, '.') && at->value);
}

static void check_scenario(const pd_scenario_ops *ops) {
  check(ops->bottleneck && ops->init && ops->step && ops->teardown);
  check_presets(ops->presets);
  const pd_device_preset *preset = PD_HAS(pd_scenario_ops, ops, device_presets) ? ops->device_presets : NULL;
  for (; preset && preset->device; preset++) check(preset->key && strchr(preset->key, '.') && preset->value);
  const pd_cure *cure = PD_HAS(pd_scenario_ops, ops, cures) ? ops->cures : NULL;
  for (; cure && cure->cause; cure++) check(cure->settings && cure->settings[0]);
}

static void check_device(const pd_device_ops *ops) {
  check(ops->open && ops->close && ops->props);
  check(ops->memory->alloc && ops->memory->copy && ops->stream->create && ops->stream->event_elapsed_ns);
  check(ops->tensor->supports && ops->tensor->scaler_update && ops->profile->attach && ops->profile->status);
  check_presets(PD_HAS(pd_device_ops, ops, presets) ? ops->presets : NULL);
}

static void check_options(const pd_plugin *of, const char *given) {
  static error err;
  text_pool memory = {.blocks = NULL};
  config_section section;
  char range[256];
  if (of->options_size > STRUCT_BYTES) return;
  error_clear(&err);
  check(section_open_plugin(&section, &memory, "scenario", of) == PD_OK);
  for (uint32_t i = 0; i < section.count; i++) {
    const pd_option *row = &section.rows[i];
    check(section_find(&section, row->key) == (int)i);
    check(!row->def || section_is_default(&section, i));
    check(strlen(option_allowed(row, range, sizeof range)) < sizeof range);
    if (section_give(&section, row->key, given, "x.ini:1", &err) != PD_OK) section_reset(&section, i);
  }
  (void)section_store(&section, &memory, "made", &err);
  check(strlen(err.text) == err.used);
  text_pool_free(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static error err;
  maker self = {.at = data, .end = data + bytes};
  const pd_plugin *of = descriptor(&self);
  char *given = fuzz_text(self.at, (size_t)(self.end - self.at));
  error_clear(&err);
  const pd_status status = plugin_check_table(of, 0, "made.so", &err);
  check((status == PD_OK) == (err.count == 0) && err.count <= 1);
  if (status == PD_OK && given) {
    check(of->size >= sizeof *of && of->name[0] && of->version[0] && of->summary[0]);
    if (of->kind == PD_KIND_SCENARIO) check_scenario(of->ops.scenario);
    if (of->kind == PD_KIND_SINK) check(of->ops.sink->open && of->ops.sink->close);
    if (of->kind == PD_KIND_DEVICE) check_device(of->ops.device);
    check_options(of, given);
  }
  free(given);
  for (uint32_t i = 0; i < self.count; i++) free(self.blocks[i]);
  return 0;
}
