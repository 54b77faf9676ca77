//===- RuleProblems.cpp - Errors that all rules have ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// E0205 and E0209; a rule that matches nothing has a message of its own.
//===----------------------------------------------------------------------===//

#include "passes/Group/RuleProblems.h"

#include "dialects/Fsdp/ModulePath.h"

using namespace mlir;

namespace shardc {

LogicalResult failWithRules(ModuleOp module, const std::vector<Rule> &rules,
                            const RuleSelection &selection, StringRef subject) {
  const Rule &rule = rules[selection.rule];
  if (selection.problem == RuleSelection::Problem::invalidPattern)
    return emitNumberedError(module, "E0205")
           << "'" << rule.pattern
           << "' is not a regular expression: " << selection.reason;
  assert(selection.problem == RuleSelection::Problem::contradiction);
  const Rule &other = rules[selection.other];
  InFlightDiagnostic error = emitNumberedError(module, "E0209")
                             << "the rules '" << other.pattern << "' and '"
                             << rule.pattern << "' set different values of "
                             << selection.reason << " for one " << subject
                             << ": " << other.settings.at(selection.reason)
                             << " and " << rule.settings.at(selection.reason);
  error.attachNote() << "help: leave one of them out";
  return error;
}

} // namespace shardc
