//===- Status.cpp - Success, or a numbered error with its context ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// How an error is printed; the same form in every tool.
//===----------------------------------------------------------------------===//

#include "runtime/format/Status.h"

#include "runtime/format/Terminal.h"

namespace shardc {

std::string render(const Status &status, const std::string &tool) {
  std::string text =
      tool + ": " +
      colored(MessageKind::Error,
              "error " + std::string(errorNumber(status.code())) + ":") +
      " " + status.message() + "\n";
  for (const std::string &note : status.notes())
    text += "  " + colored(MessageKind::Note, "note:") + " " + note + "\n";
  if (!status.help().empty())
    text +=
        "  " + colored(MessageKind::Help, "help:") + " " + status.help() + "\n";
  return text;
}

} // namespace shardc
