/* pdhost's main: the commands, between what every command begins and ends with. */
#include "commands.h"
#include "source_id.h"

#include "command.h"
#include "base/version.h"

int main(int argc, char **argv) {
  version_set_source_id(PDHOST_SOURCE_ID);
  command_begin();
  return command_end(commands_main(argc, argv));
}
