//===- OperatorTable.cpp - how each operator is translated ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of contents: one call an operator family.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"

using namespace shardc::translation;

OperatorTable::OperatorTable() {
  addElementwiseOperators(*this);
  addSpecialOperators(*this);
  addGammaOperators(*this);
  addConversionOperators(*this);
  addActivationOperators(*this);
  addComparisonOperators(*this);
  addReductionOperators(*this);
  addSortingOperators(*this);
  addSelectionOperators(*this);
  addShapeOperators(*this);
  addPieceOperators(*this);
  addJoinOperators(*this);
  addLinearOperators(*this);
  addSolveOperators(*this);
  addEinsumOperators(*this);
  addConvolutionOperators(*this);
  addAttentionOperators(*this);
  addAutogradOperators(*this);
  addNormalizationOperators(*this);
  addLossOperators(*this);
  addDistanceOperators(*this);
  addCtcLossOperators(*this);
  addPoolingOperators(*this);
  addResamplingOperators(*this);
  addComplexOperators(*this);
  addFourierOperators(*this);
  addRecurrentOperators(*this);
  addIndexingOperators(*this);
  addEmbeddingBagOperators(*this);
  addDifferenceOperators(*this);
  addCreationOperators(*this);
  addRandomOperators(*this);
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

void OperatorTable::addWithInPlace(llvm::StringRef signature,
                                   TranslateFunction translate) {
  add(signature, translate);
  std::string inPlace = signature.str();
  inPlace.insert(inPlace.find_first_of(".("), "_");
  inPlace.insert(inPlace.find("(Tensor self") + 7, "(a!)");
  add(inPlace + "(a!)", translate);
}

void OperatorTable::addWithCopy(llvm::StringRef signature,
                                TranslateFunction translate) {
  add(signature, translate);
  std::string copy = signature.str();
  copy.insert(copy.find_first_of(".("), "_copy");
  for (size_t at; (at = copy.find("(a)")) != std::string::npos;)
    copy.erase(at, 3);
  add(copy, translate);
}

const Operator *OperatorTable::find(llvm::StringRef target) const {
  auto found = operators.find(target);
  return found == operators.end() ? nullptr : &found->second;
}
