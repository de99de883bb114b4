/* See stack_files.h. The names are those of the metrics in torch's export_stacks(). */
#include "stack_files.h"

#include "text.h"

#include <inttypes.h>
#include <string.h>

static const pd_cell *cell_of(const pd_table *table, const pd_table_row *row, const char *key) {
  for (uint32_t c = 0; c < table->column_count; c++)
    if (!strcmp(table->columns[c]->key, key)) return &row->cells[c];
  return NULL;
}

static void put_lines(text *out, const pd_table *table) {
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &table->rows, i);
    const pd_cell *stack = cell_of(table, row, "stack"), *value = cell_of(table, row, "value_us");
    if (!stack || !value || stack->missing || value->missing) continue;
    text_format(out, "%s %" PRId64 "\n", stack->v.text, value->v.i);
  }
}

static pd_status write_file(const pd_files *files, const char *path, const text *lines) {
  pd_file *file = NULL;
  pd_status status = files->open(files, path, &file);
  if (status != PD_OK) return status;
  if (lines->length) status = files->write(file, lines->data, lines->length);
  if (status != PD_OK) {
    files->discard(file);
    return status;
  }
  status = files->commit(file);
  if (status == PD_OK) files->announce(files, path);
  return status;
}

pd_status stack_files_write(const pd_host *host, const pd_files *files, const pd_run *run, const pd_table_set *set,
                            uint32_t window) {
  static const char *const ids[] = {"stacks", "stacks_device"};
  static const char *const metrics[] = {"self_cpu_time_total", "self_device_time_total"};
  pd_status status = PD_OK;
  for (uint32_t i = 0; status == PD_OK && i < set->count; i++) {
    for (uint32_t k = 0; status == PD_OK && k < sizeof ids / sizeof *ids; k++) {
      text path = {0}, lines = {0};
      if (strcmp(set->tables[i]->id, ids[k]) != 0) continue;
      text_format(&path, "%s/stacks_%s", run->trace_dir, metrics[k]);
      if (run->repeat != 1) text_format(&path, ".%u", window);
      text_add(&path, ".txt");
      put_lines(&lines, set->tables[i]);
      status = path.failed || lines.failed ? host->fail(host, PD_NO_MEMORY, "out of memory for the stacks")
                                           : write_file(files, path.data, &lines);
      text_free(&path);
      text_free(&lines);
    }
  }
  return status;
}
