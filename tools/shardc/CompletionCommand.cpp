//===- CompletionCommand.cpp - shardc completion --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints a script that completes command lines of shardc in a shell. Commands,
// options and the words that an option takes come from the definitions that
// parse the command line and print the help pages.
//===----------------------------------------------------------------------===//

#include "tools/shardc/Commands.h"
#include "tools/shardc/Completion.h"

#include <iostream>
#include <memory>
#include <sstream>

namespace shardc {

using namespace completion;

/// The words of a type name such as "always|never|default". A type in capital
/// letters is a placeholder and has none.
static std::vector<std::string> wordsOf(const std::string &typeName) {
  std::vector<std::string> words;
  std::istringstream stream(typeName);
  for (std::string word; std::getline(stream, word, '|');) {
    bool isPlaceholder =
        word.empty() || word.find_first_of("ABCDEFGHIJKLMNOPQR"
                                           "STUVWXYZ.,=") != std::string::npos;
    if (!isPlaceholder)
      words.push_back(word);
  }
  return words;
}

/// Whether a value of this type is the name of a file or folder.
static bool isFile(const std::string &typeName) {
  return typeName == "TEXT" || typeName == "FILE" || typeName == "DIR" ||
         typeName == "PATH" || typeName == "MODEL" ||
         typeName.find('.') != std::string::npos;
}

static Option describe(const CLI::Option &option) {
  Option result;
  for (const std::string &name : option.get_snames())
    result.flags.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    result.flags.push_back("--" + name);
  result.description = option.get_description();
  result.takesValue = option.get_items_expected_max() > 0;
  result.words = wordsOf(option.get_type_name());
  result.takesFile = result.takesValue && result.words.empty() &&
                     isFile(option.get_type_name());
  return result;
}

static Command describe(const CLI::App &app) {
  Command command{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option *option : app.get_options())
    (option->nonpositional() ? command.options : command.positionals)
        .push_back(describe(*option));
  return command;
}

static int runCompletion(const CLI::App &app, const std::string &shell) {
  Program program{describe(app), {}};
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; }))
    program.commands.push_back(describe(*command));
  if (shell == "bash")
    printBash(program, std::cout);
  else if (shell == "zsh")
    printZsh(program, std::cout);
  else
    printFish(program, std::cout);
  return 0;
}

void addCompletionCommand(CLI::App &app, Run &run) {
  CLI::App *command =
      app.add_subcommand("completion", "Print a shell completion script");
  auto shell = std::make_shared<std::string>();
  command
      ->add_option("SHELL", *shell,
                   "Shell to print a script for: bash, zsh or fish")
      ->required()
      ->check(oneOf({"bash", "zsh", "fish"}))
      ->type_name("bash|zsh|fish");
  command->footer(
      std::string("Examples:\n"
                  "  source <(shardc completion bash)        # in ~/.bashrc\n"
                  "  shardc completion zsh > ~/.zfunc/_shardc # a folder of "
                  "fpath\n"
                  "  shardc completion fish | source         # in "
                  "config.fish\n\n") +
      exitCodes);
  command->callback([&app, shell, &run] {
    run = [&app, shell] { return runCompletion(app, *shell); };
  });
}

} // namespace shardc
