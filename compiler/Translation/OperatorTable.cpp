//===- OperatorTable.cpp - how each operator is translated ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of contents: one call an operator family.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"

using namespace shardc::translation;

OperatorTable::OperatorTable() {
  addElementwiseOperators(*this);
  addReductionOperators(*this);
  addShapeOperators(*this);
  addLinearOperators(*this);
  addAttentionOperators(*this);
  addNormalizationOperators(*this);
  addLossOperators(*this);
  addPoolingOperators(*this);
  addIndexingOperators(*this);
}

void OperatorTable::add(llvm::StringRef signature,
                        TranslateFunction translate) {
  OperatorSchema schema = parseSchema(signature);
  std::string target = schema.target();
  [[maybe_unused]] bool isNew =
      operators.try_emplace(target, Operator{std::move(schema), translate})
          .second;
  assert(isNew && "an operator is in the table twice");
}

const Operator *OperatorTable::find(llvm::StringRef target) const {
  auto found = operators.find(target);
  return found == operators.end() ? nullptr : &found->second;
}
