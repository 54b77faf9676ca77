//===- OperatorTable.cpp - How each operator is translated ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of contents: one call an operator family.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/OperatorTable.h"

#include <map>

using namespace shardc::translation;

OperatorTable::OperatorTable() {
  addElementwiseOperators(*this);
  addDivisionOperators(*this);
  addSpecialOperators(*this);
  addGammaOperators(*this);
  addConversionOperators(*this);
  addActivationOperators(*this);
  addComparisonOperators(*this);
  addReductionOperators(*this);
  addVarianceOperators(*this);
  addSortingOperators(*this);
  addSelectionOperators(*this);
  addShapeOperators(*this);
  addPieceOperators(*this);
  addJoinOperators(*this);
  addLinearOperators(*this);
  addSolveOperators(*this);
  addLuOperators(*this);
  addFactorizationOperators(*this);
  addMatrixOperators(*this);
  addEinsumOperators(*this);
  addConvolutionOperators(*this);
  addAttentionOperators(*this);
  addAutogradOperators(*this);
  addBackwardOperators(*this);
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
  addDistributionOperators(*this);
  addQuantizationOperators(*this);
  addWindowOperators(*this);
  addOutForms();
}

/// PyTorch's names of the overload that writes the result of `overload` to an
/// argument `out`, the likeliest first.
static std::vector<std::string> outOverloads(llvm::StringRef overload) {
  if (overload.empty())
    return {"out"};
  if (overload == "Tensor_mode")
    return {"out_mode"};
  if (overload.starts_with("Scalar"))
    return {(overload + "_out").str()};
  return {(overload + "_out").str(), "out"};
}

void OperatorTable::addOutForms() {
  std::map<std::string, Operator> forms;
  for (const auto &entry : operators) {
    const Operator &op = entry.second;
    const std::vector<SchemaResult> &results = op.schema.results;
    if (results.size() != 1 || results[0].isList || results[0].aliasSet)
      continue;
    auto [name, overload] = llvm::StringRef(op.schema.name).split('.');
    for (const std::string &out : outOverloads(overload)) {
      Operator form = op;
      form.schema.name = (name + "." + out).str();
      SchemaParameter parameter;
      parameter.name = "out";
      parameter.kind = ParameterKind::Tensor;
      parameter.aliasSet = 'a';
      parameter.isMutated = true;
      form.schema.parameters.push_back(parameter);
      form.schema.results[0] = {/*isList=*/false, 'a', /*isMutated=*/true};
      // sum.out would be that of sum.IntList: of two that claim the name, the
      // one with more parameters, which takes what the other does not.
      Operator &known = forms[form.schema.target()];
      if (known.schema.parameters.size() < form.schema.parameters.size())
        known = form;
    }
  }
  for (auto &[target, form] : forms)
    operators.try_emplace(target, std::move(form));
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
