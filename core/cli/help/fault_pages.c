/* See fault_pages.h. */
#include "fault_pages.h"

#include "base/faults.h"
#include "base/wrap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct fault_page {
  int fault;
  const char *code, *title, *what, *causes, *remedy;
} fault_page;

static const fault_page pages[] = {
    {FAULT_INTERNAL, "PDH-0100", "an internal error", "Something happened that pdhost did not expect.",
     "A defect of pdhost, or of the system below it.",
     "Run the command again with -v, and report what it prints with the version of pdhost --version."},
    {FAULT_MEMORY, "PDH-0101", "no memory", "The system refused to give pdhost the memory that it asked for.",
     "Images or batches are large, [profile] max_memory is large, or a limit of the container or of ulimit is low.",
     "Lower data.batch_size, data.image_size or profile.max_memory. pdhost NAME --dry-run prints how much a run needs, "
     "pdhost doctor prints the limits."},
    {FAULT_USAGE, "PDH-0200", "the command line",
     "The options of the command do not go together, or one that it needs is missing.",
     "A command was given options of another one.", "Read pdhost COMMAND --help."},
    {FAULT_OPTION, "PDH-0201", "no such option", "The command line has an option that the command does not know.",
     "A misspelt name, or a key of a section: every key can be set with -o SECTION.KEY=VALUE.",
     "Take the name that the message suggests, or read pdhost run --help."},
    {FAULT_ARGUMENT, "PDH-0202", "the value of an option",
     "An option has no value, one too many, or one that it does not take.",
     "A value was forgotten, so that the next word was taken for it; or the value is misspelt.",
     "The message names what is allowed. A value follows a space or =."},
    {FAULT_WORD, "PDH-0203", "an unexpected argument",
     "A word on the command line is not a command, a configuration or a scenario.",
     "A misspelt name, a value for an option that takes none (write --pin_memory=true), or an unquoted space.",
     "pdhost --help lists the commands, pdhost --list the scenarios."},
    {FAULT_TOPIC, "PDH-0204", "nothing of that name",
     "help, explain or --list was asked for something that it does not know.", "A misspelt name.",
     "pdhost --list metrics lists what explain knows, pdhost --help-section SECTION the keys."},
    {FAULT_CONFIG, "PDH-0300", "the configuration", "The configuration cannot be used as it is.",
     "The message says what is wrong and where.",
     "Change that setting. pdhost --show-config prints every key and where its value is from, --check finds mistakes "
     "without a run."},
    {FAULT_KEY, "PDH-0301", "no such key", "A section has no key of that name.",
     "A misspelt key, a key of another section, or one of another plugin.",
     "Take the name that the message suggests, or list the keys with pdhost help SECTION."},
    {FAULT_SECTION, "PDH-0302", "no such section",
     "A configuration file has a section that does not exist or is not in use, or a key before its first section.",
     "A misspelt heading, or [sink.NAME] of a sink that [run] sinks does not name.",
     "The sections are those of pdhost help configuration, [scenario], [device], and [sink.NAME] for each sink in "
     "use."},
    {FAULT_VALUE, "PDH-0303", "a value that is not accepted",
     "The value of a key cannot be read, or lies outside its range.",
     "Text where a number belongs, a unit that does not fit (2ms for a time, 64MiB for bytes), or a number too large.",
     "pdhost help SECTION.KEY prints the type, the range and an example."},
    {FAULT_MISSING, "PDH-0304", "a key that must be given", "A key without a default was not set.",
     "No file and no option names the scenario, or a plugin needs a key.",
     "Name a scenario with --scenario NAME, or set the key with -o SECTION.KEY=VALUE."},
    {FAULT_UNREADABLE, "PDH-0305", "a file that cannot be read",
     "A file that was named cannot be opened, is a folder, or is not what it should be.",
     "A misspelt path, missing permissions, or a file of another kind.",
     "Check the path. -c NAME finds conf/NAME.ini here and the installed configurations."},
    {FAULT_LINE, "PDH-0306", "a malformed line",
     "A line of a configuration file is neither [section], nor key = value, nor a comment.",
     "A missing ] or =, an indented line, or a line that is too long.",
     "Write one key = value per line, beginning at the margin. Comments begin with ; or #."},
    {FAULT_TWICE, "PDH-0307", "a key that is set twice", "One file sets the same key in two lines.",
     "A copy of a line, or two names of one key, such as profile_steps and active.",
     "Remove one of the lines. Two files may set the same key: the later one wins."},
    {FAULT_CLASH, "PDH-0308", "keys that do not go together",
     "Two settings exclude one another, or the device cannot do what a key asks for.", "The message names both.",
     "Change one of the two."},
    {FAULT_FILES, "PDH-0309", "two outputs into one file",
     "Two sinks, or two paths of one sink, would write the same file or standard output.",
     "Two sinks have the path -, or one path was copied.", "Give one of them another path."},
    {FAULT_PLUGIN, "PDH-0400", "a plugin", "A plugin cannot be used.", "The message says why.",
     "Run pdhost --check-plugin FILE."},
    {FAULT_NOT_FOUND, "PDH-0401", "a plugin that is not found",
     "No folder of plugins has a scenario, sink or device of that name.",
     "A misspelt name, or a folder that is not searched.",
     "pdhost --list prints what there is. --plugin-path FOLDER adds a folder that holds scenario/, sink/ and device/. "
     "A file is named with its path: ./x.so."},
    {FAULT_LOADING, "PDH-0402", "a plugin that cannot be loaded",
     "The file of a plugin is there and the system cannot load it.",
     "A library that it needs is not installed, the file is cut short, or it is not a plugin.",
     "Install what the message names, or put its folder into LD_LIBRARY_PATH. ldd FILE lists what the plugin needs."},
    {FAULT_REJECTED, "PDH-0403", "a plugin that is rejected",
     "The descriptor of a plugin breaks a rule, or is of another version of the plugin ABI.",
     "The plugin was built against other headers, or has a mistake.",
     "Build it again with the headers of this pdhost, then run pdhost --check-plugin FILE."},
    {FAULT_SCENARIO, "PDH-0500", "the run failed", "A scenario, or the loop that runs it, failed.",
     "The message is the scenario's own, or the device's: often too little device memory.",
     "Try a smaller data.batch_size. Run again with -v."},
    {FAULT_DEVICE, "PDH-0600", "a device failed", "A device cannot be opened, or lacks what the run needs.",
     "Another process holds the GPU, its memory is full, or the driver does not allow profiling.",
     "Run pdhost doctor. --device cpu runs without a GPU."},
    {FAULT_NO_DEVICE, "PDH-0601", "no usable device", "The device that was asked for cannot be used on this machine.",
     "There is no NVIDIA GPU, its driver is not installed or too old, or pdhost was built without CUDA.",
     "Run pdhost doctor, which says what is missing. --device auto takes the CPU where there is no GPU."},
    {FAULT_UNTRUSTED, "PDH-0700", "a result that cannot be trusted",
     "The run ended, and its figures are not complete or not steady enough.",
     "Records were lost, or the times of a benchmark vary too much because of other programs or changing clocks.",
     "Stop other programs, raise profile.max_memory, or take more steps."},
    {FAULT_OUTPUT, "PDH-0800", "an output that cannot be written",
     "A file of results, or standard output, could not be written whole.",
     "The disk is full, the folder cannot be written, or two programs use the file.",
     "Free some space, or name another path. Other outputs of the run were written."},
    {FAULT_REGRESSION, "PDH-0900", "the gate: slower", "With --gate: B is slower than A by more than the margin.",
     "The change that was measured costs time.", "This is a result, not a fault: look at the ratio and its interval."},
    {FAULT_INCONCLUSIVE, "PDH-1000", "the gate: unclear",
     "With --gate: the measurements do not tell whether B is slower than A.", "Too few blocks, or a noisy machine.",
     "Measure longer (--max-time of pdhost ab), stop other programs, or widen --margin."},
    {FAULT_DIFFERS, "PDH-1100", "rerun: something differs",
     "pdhost rerun: the run that was done again is not the same as the one of the manifest.",
     "The program, a library, a key, the environment, the device, what was launched or the losses changed.",
     "This is a result, not a fault: the report names each part that differs."},
};
enum { PAGE_COUNT = sizeof pages / sizeof pages[0], TEXT_COLUMN = 10 };

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a summand each */
#define COUNT_ONE(name, number) +1
_Static_assert(PAGE_COUNT == 0 FAULTS(COUNT_ONE), "every fault has a page");

static void print_part(const char *name, const char *text) {
  printf("  %-7s ", name);
  wrap_print(text, TEXT_COLUMN, TEXT_COLUMN);
}

bool fault_page_print(const char *word) {
  if (strncasecmp(word, "PDH", 3) != 0) return false;
  char *end;
  const char *digits = word + 3 + (word[3] == '-');
  const long number = strtol(digits, &end, 10);
  for (uint32_t i = 0; i < PAGE_COUNT && end > digits && !*end; i++) {
    const fault_page *at = &pages[i];
    if (at->fault != number) continue;
    printf("%s   %s\n  ", at->code, at->title);
    wrap_print(at->what, 2, 2);
    print_part("why", at->causes);
    print_part("mend", at->remedy);
    printf("  exit    %d\n", at->fault / 100);
    return true;
  }
  return false;
}

void fault_page_offer(suggest *near) {
  for (uint32_t i = 0; i < PAGE_COUNT; i++) suggest_offer(near, pages[i].code);
}
