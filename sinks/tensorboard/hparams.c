/* See hparams.h. */
#include "hparams.h"

#include "hparams.pb-c.h"

#include "../lib/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *section, *key;
} always[] = {{"run", "scenario"},    {"run", "device"},       {"run", "sync_timing"},
              {"data", "batch_size"}, {"data", "num_workers"}, {"data", "pin_memory"},
              {"data", "image_size"}, {"train", "amp"},        {"train", "channels_last"}};

static bool is_shown(const pd_setting *setting) {
  if (!setting->is_default) return true;
  for (size_t i = 0; i < sizeof always / sizeof *always; i++)
    if (!strcmp(setting->section, always[i].section) && !strcmp(setting->key, always[i].key)) return true;
  return false;
}

/* protobuf takes no string that is not UTF-8, and readers drop the whole event. */
static char *clean_copy(const char *text) {
  const size_t length = strlen(text);
  char *copy = malloc(3 * length + 1);
  if (copy) copy[utf8_clean(copy, text, length)] = '\0';
  return copy;
}

static void set_value(Pdtb__HValue *value, char *text) {
  char *end;
  const double number = strtod(text, &end);
  if (!strcmp(text, "true") || !strcmp(text, "false")) {
    value->kind_case = PDTB__HVALUE__KIND_BOOL_VALUE;
    value->bool_value = text[0] == 't';
  } else if (end != text && *end == '\0' && number - number == 0) {
    value->kind_case = PDTB__HVALUE__KIND_NUMBER_VALUE;
    value->number_value = number;
  } else {
    value->kind_case = PDTB__HVALUE__KIND_STRING_VALUE;
    value->string_value = text;
  }
}

static pd_status add(const event_place *place, const char *tag, const Pdtb__HParamsPluginData *data) {
  const size_t bytes = pdtb__hparams_plugin_data__get_packed_size(data);
  uint8_t *packed = malloc(bytes ? bytes : 1);
  if (!packed) return PD_NO_MEMORY;
  pdtb__hparams_plugin_data__pack(data, packed);
  const pd_status status = events_plugin(place, tag, "hparams", packed, bytes, false);
  free(packed);
  return status;
}

typedef struct row {
  Pdtb__HParam entry;
  Pdtb__HValue value;
  char key[160];
  char *text; /* of the value */
} row;

pd_status hparams_start(const event_place *place, const pd_run *run) {
  Pdtb__HParamsPluginData data = PDTB__HPARAMS_PLUGIN_DATA__INIT;
  Pdtb__SessionStart start = PDTB__SESSION_START__INIT;
  const size_t room = run->settings.count ? run->settings.count : 1;
  row *rows = calloc(room, sizeof *rows);
  Pdtb__HParam **entries = calloc(room, sizeof(void *));
  pd_status status = PD_NO_MEMORY;
  if (!rows || !entries) goto out;
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    row *next = &rows[start.n_hparams];
    if (!is_shown(setting)) continue;
    snprintf(next->key, sizeof next->key, "%s.%s", setting->section, setting->key);
    pdtb__hparam__init(&next->entry);
    pdtb__hvalue__init(&next->value);
    next->text = clean_copy(setting->value);
    if (!next->text) goto out;
    set_value(&next->value, next->text);
    next->entry.key = next->key;
    next->entry.value = &next->value;
    entries[start.n_hparams++] = &next->entry;
  }
  start.hparams = entries;
  start.start_time_secs = events_seconds(run->start_realtime_ns);
  data.data_case = PDTB__HPARAMS_PLUGIN_DATA__DATA_SESSION_START_INFO;
  data.session_start_info = &start;
  status = add(place, "_hparams_/session_start_info", &data);
out:
  for (size_t i = 0; rows && i < room; i++) free(rows[i].text);
  free(rows);
  free(entries);
  return status;
}

/* A column for every run, since another may set what this one leaves at its default; but not how it is written down. */
static bool is_column(const pd_setting *setting) {
  return is_shown(setting) || (strncmp(setting->section, "sink.", 5) != 0 &&
                               strcmp(setting->section, "benchmark") != 0 && strcmp(setting->section, "truth") != 0);
}

/* TensorBoard shows first what differs between runs: what a command line sets is what it is varied by. */
static bool is_varied(const pd_setting *setting) {
  return setting->origin && !strcmp(setting->origin, "command line") && strcmp(setting->key, "trace_dir") != 0 &&
         strcmp(setting->key, "sinks") != 0;
}

typedef struct column {
  Pdtb__HParamInfo info;
  char name[160];
} column;

typedef struct figure {
  Pdtb__MetricInfo info;
  Pdtb__MetricName name;
} figure;

static bool fill_columns(Pdtb__Experiment *experiment, column *columns, const pd_run *run) {
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    if (!is_column(setting)) continue;
    column *next = &columns[experiment->n_hparam_infos];
    char *text = clean_copy(setting->value);
    if (!text) return false;
    Pdtb__HValue value = PDTB__HVALUE__INIT;
    set_value(&value, text);
    free(text);
    pdtb__hparam_info__init(&next->info);
    snprintf(next->name, sizeof next->name, "%s.%s", setting->section, setting->key);
    next->info.name = next->name;
    next->info.type = value.kind_case == PDTB__HVALUE__KIND_BOOL_VALUE     ? 2
                      : value.kind_case == PDTB__HVALUE__KIND_NUMBER_VALUE ? 3
                                                                           : 1;
    next->info.differs = is_varied(setting);
    experiment->hparam_infos[experiment->n_hparam_infos++] = &next->info;
  }
  return true;
}

pd_status hparams_experiment(const event_place *place, const pd_run *run, const char *const *metrics) {
  enum { FIGURES = 16 };
  Pdtb__HParamsPluginData data = PDTB__HPARAMS_PLUGIN_DATA__INIT;
  Pdtb__Experiment experiment = PDTB__EXPERIMENT__INIT;
  figure figures[FIGURES];
  Pdtb__MetricInfo *pointers[FIGURES];
  const size_t room = run->settings.count ? run->settings.count : 1;
  column *columns = calloc(room, sizeof *columns);
  experiment.hparam_infos = calloc(room, sizeof(void *));
  pd_status status = PD_NO_MEMORY;
  if (!columns || !experiment.hparam_infos || !fill_columns(&experiment, columns, run)) goto out;
  for (size_t i = 0; i < FIGURES && metrics[i]; i++) {
    pdtb__metric_info__init(&figures[i].info);
    pdtb__metric_name__init(&figures[i].name);
    figures[i].name.tag = (char *)metrics[i]; /* packed, never written to */
    figures[i].info.name = &figures[i].name;
    pointers[experiment.n_metric_infos++] = &figures[i].info;
  }
  experiment.metric_infos = pointers;
  data.data_case = PDTB__HPARAMS_PLUGIN_DATA__DATA_EXPERIMENT;
  data.experiment = &experiment;
  status = add(place, "_hparams_/experiment", &data);
out:
  free(experiment.hparam_infos);
  free(columns);
  return status;
}

pd_status hparams_end(const event_place *place, bool success) {
  Pdtb__HParamsPluginData data = PDTB__HPARAMS_PLUGIN_DATA__INIT;
  Pdtb__SessionEnd end = PDTB__SESSION_END__INIT;
  end.status = success ? 1 : 2;
  end.end_time_secs = events_seconds(place->realtime_ns);
  data.data_case = PDTB__HPARAMS_PLUGIN_DATA__DATA_SESSION_END_INFO;
  data.session_end_info = &end;
  return add(place, "_hparams_/session_end_info", &data);
}
