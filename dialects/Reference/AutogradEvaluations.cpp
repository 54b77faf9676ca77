//===- AutogradEvaluations.cpp - Operators about gradients ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Forward, what is said about gradients is nothing.
//===----------------------------------------------------------------------===//

#include "dialects/Aten/Aten.h"
#include "dialects/Reference/EvaluationTable.h"

using namespace shardc;

void reference::addAutogradEvaluations(EvaluationTable &table) {
  table.add<aten::DetachOp>([](aten::DetachOp, Operands operands,
                               Results results) { results[0] = operands[0]; });
  table.add<aten::WithSlopeOp>(
      [](aten::WithSlopeOp, Operands operands, Results results) {
        results[0] = operands[0];
      });
}
