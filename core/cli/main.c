/* pdhost's main: the commands, between what every command begins and ends with. */
#include "commands.h"

#include "host/command.h"

int main(int argc, char **argv) {
  command_begin();
  return command_end(commands_main(argc, argv));
}
