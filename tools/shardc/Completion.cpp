//===- Completion.cpp - Scripts that complete command lines ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One printer a shell, over the same data.
//===----------------------------------------------------------------------===//

#include "tools/shardc/Completion.h"

namespace shardc::completion {

static std::string join(const std::vector<std::string> &words,
                        const char *separator = " ") {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : separator) + word;
  return text;
}

/// `text` with a backslash before each character of `special`.
static std::string escape(const std::string &text, const char *special) {
  std::string result;
  for (char c : text) {
    if (std::string_view(special).find(c) != std::string_view::npos)
      result += '\\';
    result += c;
  }
  return result;
}

/// `text` between single quotes in a POSIX shell.
static std::string quote(const std::string &text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

//===----------------------------------------------------------------------===//
// bash
//===----------------------------------------------------------------------===//

/// Case labels for the values of the options of `command`.
static void printBashValues(const Command &command, std::ostream &os) {
  std::vector<std::string> files, others;
  for (const Option &option : command.options) {
    std::vector<std::string> labels;
    for (const std::string &flag : option.flags)
      labels.push_back(command.name + ":" + flag);
    if (!option.words.empty())
      os << "  " << join(labels, " | ") << ")\n    COMPREPLY=($(compgen -W "
         << quote(join(option.words)) << " -- \"$current\"))\n    return ;;\n";
    else if (option.takesValue)
      (option.takesFile ? files : others)
          .insert((option.takesFile ? files : others).end(), labels.begin(),
                  labels.end());
  }
  if (!files.empty())
    os << "  " << join(files, " | ")
       << ")\n    compopt -o default\n    return ;;\n";
  if (!others.empty())
    os << "  " << join(others, " | ") << ")\n    return ;;\n";
}

/// What to complete in `command` when no option waits for its value.
static void printBashWords(const Command &command, const std::string &name,
                           const std::vector<std::string> &further,
                           std::ostream &os) {
  std::vector<std::string> flags;
  for (const Option &option : command.options)
    flags.insert(flags.end(), option.flags.begin(), option.flags.end());
  std::vector<std::string> words = further;
  bool takesFile = false;
  for (const Option &positional : command.positionals) {
    words.insert(words.end(), positional.words.begin(), positional.words.end());
    takesFile |= positional.takesFile;
  }
  os << "  " << name << ":-*) words=" << quote(join(flags)) << " ;;\n"
     << "  " << name << ":*) words=" << quote(join(words));
  if (takesFile)
    os << "; compopt -o default";
  os << " ;;\n";
}

void printBash(const Program &program, std::ostream &os) {
  const std::string function = "_" + program.root.name;
  std::vector<std::string> names;
  for (const Command &command : program.commands)
    names.push_back(command.name);

  os << "# Completion of " << program.root.name << " for bash; printed by '"
     << program.root.name << " completion bash'.\n"
     << function << "() {\n"
     << "  local current=${COMP_WORDS[COMP_CWORD]}\n"
     << "  local previous=${COMP_WORDS[COMP_CWORD-1]}\n"
     << "  local command= words= i\n"
     // "--option=value" is three words to bash.
     << "  if [[ $current == = ]]; then current=\n"
     << "  elif [[ $previous == = ]]; then "
        "previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
     << "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
     << "    case ${COMP_WORDS[i]} in\n"
     << "    " << join(names, " | ") << ") command=${COMP_WORDS[i]}; break ;;\n"
     << "    esac\n"
     << "  done\n"
     << "  COMPREPLY=()\n"
     << "  case $command:$previous in\n";
  for (const Command &command : program.commands)
    printBashValues(command, os);
  os << "  esac\n"
     << "  case $command:$current in\n";
  for (const Command &command : program.commands)
    printBashWords(command, command.name, {}, os);
  printBashWords(program.root, "", names, os);
  os << "  esac\n"
     << "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
     << "}\n"
     << "complete -F " << function << " " << program.root.name << "\n";
}

//===----------------------------------------------------------------------===//
// zsh
//===----------------------------------------------------------------------===//

/// The end of a specification of _arguments: ":message:action".
static std::string zshAction(const Option &option) {
  if (!option.words.empty())
    return ":value:(" + join(option.words) + ")";
  return option.takesFile ? ":file:_files" : ":value: ";
}

static void printZshArguments(const Command &command, const char *indent,
                              std::ostream &os) {
  os << indent << "_arguments -C -S";
  for (const Option &option : command.options) {
    std::string text = "[" + escape(option.description, "[]:\\") + "]";
    if (option.takesValue)
      text += zshAction(option);
    std::string group = "(" + join(option.flags) + ")";
    for (const std::string &flag : option.flags) {
      // The value may follow '=' as well.
      bool isLong = flag.starts_with("--");
      os << " \\\n"
         << indent << "  "
         << quote(group + flag + (option.takesValue && isLong ? "=" : "") +
                  text);
    }
  }
  int position = 0;
  for (const Option &positional : command.positionals)
    os << " \\\n"
       << indent << "  "
       << quote(std::to_string(++position) + zshAction(positional));
}

void printZsh(const Program &program, std::ostream &os) {
  const std::string function = "_" + program.root.name;
  os << "#compdef " << program.root.name << "\n"
     << "# Completion of " << program.root.name << " for zsh; printed by '"
     << program.root.name << " completion zsh'.\n"
     << function << "() {\n"
     << "  local -a commands=(\n";
  for (const Command &command : program.commands)
    os << "    " << quote(escape(command.name, ":") + ":" + command.description)
       << "\n";
  os << "  )\n"
     << "  local context state state_descr line\n"
     << "  typeset -A opt_args\n";
  printZshArguments(program.root, "  ", os);
  os << " \\\n"
     << "    '1:command:->command' '*::argument:->argument'\n"
     << "  case $state in\n"
     << "  command) _describe command commands ;;\n"
     << "  argument)\n"
     << "    case $line[1] in\n";
  for (const Command &command : program.commands) {
    os << "    " << command.name << ")\n";
    printZshArguments(command, "      ", os);
    os << " ;;\n";
  }
  os << "    esac ;;\n"
     << "  esac\n"
     << "}\n"
     // Sourced, the script registers itself; from fpath, it is the function.
     << "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
     << "  " << function << " \"$@\"\n"
     << "else\n"
     << "  compdef " << function << " " << program.root.name << "\n"
     << "fi\n";
}

//===----------------------------------------------------------------------===//
// fish
//===----------------------------------------------------------------------===//

static std::string fishQuote(const std::string &text) {
  return "'" + escape(text, "'\\") + "'";
}

/// What follows a flag or stands for a positional argument.
static std::string fishArgument(const Option &option) {
  if (!option.words.empty())
    return " -x -a " + fishQuote(join(option.words));
  return option.takesFile ? " -r -F" : " -x";
}

static void printFishCommand(const std::string &program, const Command &command,
                             const std::string &condition, std::ostream &os) {
  const std::string start =
      "complete -c " + program + " -n " + fishQuote(condition);
  for (const Option &option : command.options) {
    os << start;
    for (const std::string &flag : option.flags)
      os << (flag.starts_with("--") ? " -l " + flag.substr(2)
                                    : " -s " + flag.substr(1));
    os << (option.takesValue ? fishArgument(option) : "") << " -d "
       << fishQuote(option.description) << "\n";
  }
  for (const Option &positional : command.positionals)
    if (!positional.words.empty())
      os << start << " -a " << fishQuote(join(positional.words)) << "\n";
    else if (positional.takesFile)
      os << start << " -F\n";
}

void printFish(const Program &program, std::ostream &os) {
  const std::string &name = program.root.name;
  os << "# Completion of " << name << " for fish; printed by '" << name
     << " completion fish'.\n"
     << "complete -c " << name << " -f\n";
  printFishCommand(name, program.root, "__fish_use_subcommand", os);
  for (const Command &command : program.commands) {
    os << "complete -c " << name << " -n __fish_use_subcommand -a "
       << command.name << " -d " << fishQuote(command.description) << "\n";
    printFishCommand(name, command,
                     "__fish_seen_subcommand_from " + command.name, os);
  }
}

} // namespace shardc::completion
