/* See completion.h: the scripts. Each hands the words typed so far to `pdhost completion --at -- WORD...`. */
#include "completion.h"

#include "config/cli_frame.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char bash_script[] =
    "# bash completion of pdhost, made by `pdhost completion bash`\n"
    "_pdhost() {\n"
    "  local words=() word piece line glue=0 i\n"
    "  # bash splits words at = and : as well; pdhost wants them whole\n"
    "  for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "    piece=${COMP_WORDS[i]}\n"
    "    if ((${#words[@]})) && { ((glue)) || [[ $piece == [=:] ]]; }; then\n"
    "      words[${#words[@]}-1]+=$piece\n"
    "    else\n"
    "      words+=(\"$piece\")\n"
    "    fi\n"
    "    [[ $piece == [=:] ]] && glue=1 || glue=0\n"
    "  done\n"
    "  word=${words[${#words[@]}-1]}\n"
    "  piece=${COMP_WORDS[COMP_CWORD]}\n"
    "  [[ $piece == [=:] ]] && piece=\n"
    "  local before=${word%\"$piece\"}\n"
    "  COMPREPLY=()\n"
    "  while IFS= read -r line; do\n"
    "    line=${line%%$'\\t'*}\n"
    "    case $line in\n"
    "    :file) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < "
    "<(compgen -f -- \"$piece\") ;;\n"
    "    :folder) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < "
    "<(compgen -d -- \"$piece\") ;;\n"
    "    *) COMPREPLY+=(\"${line#\"$before\"}\") ;;\n"
    "    esac\n"
    "  done < <(\"${COMP_WORDS[0]}\" completion --at -- \"${words[@]}\" 2>/dev/null)\n"
    "  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=.] ]] && compopt -o nospace 2>/dev/null\n"
    "  return 0\n"
    "}\n"
    "complete -F _pdhost pdhost\n";

static const char zsh_script[] =
    "#compdef pdhost\n"
    "# zsh completion of pdhost, made by `pdhost completion zsh`\n"
    "_pdhost() {\n"
    "  local line word help\n"
    "  local -a found shown open open_shown\n"
    "  for line in \"${(@f)$(\"${(Q)words[1]}\" completion --at -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
    "    word=${line%%$'\\t'*}\n"
    "    help=${line#*$'\\t'}\n"
    "    case $word in\n"
    "    '') ;;\n"
    "    :file) _files ;;\n"
    "    :folder) _files -/ ;;\n"
    "    *[=.]) open+=(\"$word\"); open_shown+=(\"$word  $help\") ;;\n"
    "    *) found+=(\"$word\"); shown+=(\"$word  $help\") ;;\n"
    "    esac\n"
    "  done\n"
    "  (($#found)) && compadd -l -d shown -a found\n"
    "  (($#open)) && compadd -l -S '' -d open_shown -a open\n"
    "  return 0\n"
    "}\n"
    "if [[ ${funcstack[1]} == _pdhost ]]; then _pdhost \"$@\"; else compdef _pdhost pdhost; fi\n";

static const char fish_script[] = "# fish completion of pdhost, made by `pdhost completion fish`\n"
                                  "function __pdhost_complete\n"
                                  "    set -l typed (commandline -opc) (commandline -ct)\n"
                                  "    for line in ($typed[1] completion --at -- $typed[2..-1] 2>/dev/null)\n"
                                  "        switch $line\n"
                                  "            case ':file' ':folder'\n"
                                  "                __fish_complete_path (commandline -ct)\n"
                                  "            case '*'\n"
                                  "                echo $line\n"
                                  "        end\n"
                                  "    end\n"
                                  "end\n"
                                  "complete -c pdhost -f -a '(__pdhost_complete)'\n";

typedef struct completion_options {
  bool help, at;
  const char *shell;
} completion_options;

static const args_option rows[] = {
    {.name = "--at",
     .help = "print what may complete the last of the words after --; for the scripts",
     .take = args_take_flag,
     .code = (int)offsetof(completion_options, at)},
    ARGS_HELP_ROW(completion_options, help),
};

static int completion_main(int argc, char **argv);

const args_command completion_command = {
    .name = "completion",
    .summary = "print the completion script of a shell",
    .usage = "bash|zsh|fish",
    .description =
        "Prints a script with which the shell completes commands, options, keys, names of plugins and files. "
        "An installed pdhost brings the scripts of bash, zsh and fish where the shells look for them.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .examples = "source <(pdhost completion bash)\tin this shell, or in ~/.bashrc\n"
                "pdhost completion zsh > ~/.zfunc/_pdhost\twith fpath+=~/.zfunc before compinit",
    .words = ARGS_OFFER_NOTHING,
    .main = completion_main};

static void print_script(const char *shell, error *err) {
  static const struct {
    const char *shell, *script;
  } scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
  for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
    if (strcmp(scripts[i].shell, shell) != 0) continue;
    fputs(scripts[i].script, stdout);
    return;
  }
  error_set(err, PD_INVALID, CODE_USAGE, "completion: '%s': no such shell; there are bash, zsh and fish", shell);
}

static int execute(const void *user, error *err) {
  const completion_options *options = user;
  if (options->shell)
    print_script(options->shell, err);
  else
    error_set(err, PD_INVALID, CODE_USAGE, "completion: no shell given; there are bash, zsh and fish");
  return CODE_DONE;
}

static int completion_main(int argc, char **argv) {
  completion_options options = {.help = false};
  const cli_own_frame frame = {&options, &options.help, &options.shell, NULL, execute};
  /* Words after -- are another command line's. */
  if (argc > 3 && strcmp(argv[1], "--at") == 0 && strcmp(argv[2], "--") == 0) {
    completion_offer(&completion_command, argc - 3, argv + 3);
    return CODE_DONE;
  }
  return cli_own_frame_run(&completion_command, &frame, argc, argv);
}
