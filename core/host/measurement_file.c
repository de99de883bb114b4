/* See measurement_file.h. */
#include "measurement_file.h"

#include "error.h"
#include "log.h"
#include "services.h"

#include "measure/measurement_json.h"

#include <stdlib.h>
#include <string.h>

int measurement_file_write(const char *path, const pd_measurement *rows, uint64_t count) {
  services none = {.files = files_open()};
  service_host *host = none.files ? service_host_open(&none, "measurements") : NULL;
  char *text = host ? measurements_to_json(rows, count) : NULL;
  int code = CODE_DONE;
  if (!text) {
    log_line(PD_LOG_ERROR, NULL, "%s: %s", path, service_status_text(PD_NO_MEMORY));
    code = CODE_INTERNAL;
  } else {
    const pd_host *table = service_host_table(host);
    const pd_files *outputs = table->extension(table, PD_EXT_FILES);
    pd_file *file = NULL;
    pd_status status = outputs->open(outputs, path, &file);
    if (status == PD_OK) {
      status = outputs->write(file, text, strlen(text));
      if (status == PD_OK)
        status = outputs->commit(file);
      else
        outputs->discard(file);
    }
    if (status != PD_OK) {
      char message[1024];
      service_host_take_message(host, message, sizeof message);
      log_line(PD_LOG_ERROR, NULL, "%s", message);
      code = CODE_OUTPUT;
    }
  }
  free(text);
  service_host_close(host);
  files_close(none.files);
  return code;
}
