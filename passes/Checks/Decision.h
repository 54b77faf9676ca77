//===- Decision.h - Decisions that check themselves -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A solver on plain data has a checker on plain data beside it, which shares
// no reasoning with the solver and says what is wrong with an answer, if
// anything is. Property tests run checkers over very many random problems;
// builds with assertions run them over each decision of each compilation:
//
//   Packing packing = packArena(items, alignment);
//   assert(isCorrect(checkPacking(items, alignment, packing)));
//
// docs/rationale/checkers.md says what each of them checks.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_PASSES_CHECKS_DECISION_H
#define SHARDC_PASSES_CHECKS_DECISION_H

#include <cstdio>
#include <optional>
#include <string>

namespace shardc {

/// What is wrong with a decision; none if nothing is.
using Complaint = std::optional<std::string>;

/// The condition of an assertion: prints the complaint, if there is one.
inline bool isCorrect(const Complaint &complaint) {
  if (complaint)
    std::fprintf(stderr, "a decision is wrong: %s\n", complaint->c_str());
  return !complaint;
}

} // namespace shardc

#endif // SHARDC_PASSES_CHECKS_DECISION_H
