//===- RuleProblems.h - Errors that all rules have ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with rules whatever they are for.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_GROUP_RULEPROBLEMS_H
#define SHARDC_PASSES_GROUP_RULEPROBLEMS_H

#include "passes/Group/Rules.h"

#include "mlir/IR/BuiltinOps.h"

namespace shardc {

/// Reports a pattern that is no regular expression (E0205) or rules that
/// contradict each other (E0209) for one `subject`, such as "parameter".
/// Requires one of these problems.
mlir::LogicalResult failWithRules(mlir::ModuleOp module,
                                  const std::vector<Rule> &rules,
                                  const RuleSelection &selection,
                                  llvm::StringRef subject);

} // namespace shardc

#endif // SHARDC_PASSES_GROUP_RULEPROBLEMS_H
