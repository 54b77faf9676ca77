//===- Completion.h - Scripts that complete command lines -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The commands and options of a program as plain data, and the scripts that
// make three shells complete them. In all of them a word that begins with '-'
// completes to the options of the command, the value of an option to its words
// or to files, and the first word to the commands.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_TOOLS_SHARDC_COMPLETION_H
#define SHARDC_TOOLS_SHARDC_COMPLETION_H

#include <ostream>
#include <string>
#include <vector>

namespace shardc::completion {

/// An option, or a positional argument, which has no flags.
struct Option {
  /// With their dashes: "-o", "--output".
  std::vector<std::string> flags;
  std::string description;
  bool takesValue = false;
  /// The values that it takes; empty for any.
  std::vector<std::string> words;
  bool takesFile = false;
};

struct Command {
  std::string name;
  std::string description;
  std::vector<Option> options;
  std::vector<Option> positionals;
};

struct Program {
  /// The program itself: its name and the options before any command.
  Command root;
  std::vector<Command> commands;
};

void printBash(const Program &program, std::ostream &os);
void printZsh(const Program &program, std::ostream &os);
void printFish(const Program &program, std::ostream &os);

} // namespace shardc::completion

#endif // SHARDC_TOOLS_SHARDC_COMPLETION_H
