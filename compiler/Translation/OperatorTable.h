//===- OperatorTable.h - How each operator is translated ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The operators of PyTorch that translation knows: a signature and a function
// each, in one file a family. An operator that is not in the table is
// unsupported, and the whole list of those is reported at once.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_TRANSLATION_OPERATORTABLE_H
#define SHARDC_COMPILER_TRANSLATION_OPERATORTABLE_H

#include "compiler/Translation/NodeCall.h"
#include "compiler/Translation/OperatorSchema.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::translation {

/// Builds the aten operators of one node and sets its results.
using TranslateFunction = llvm::LogicalResult (*)(NodeCall &call);

struct Operator {
  OperatorSchema schema;
  TranslateFunction translate = nullptr;
};

class OperatorTable {
public:
  /// The table of all families.
  OperatorTable();

  void add(llvm::StringRef signature, TranslateFunction translate);

  /// Adds `name.overload(Tensor self, …) -> Tensor` and its in-place form
  /// `name_.overload(Tensor(a!) self, …) -> Tensor(a!)`.
  void addWithInPlace(llvm::StringRef signature, TranslateFunction translate);

  /// Adds a view `name.overload(Tensor(a) self, …) -> Tensor(a)` and its form
  /// `name_copy.overload(Tensor self, …) -> Tensor`.
  void addWithCopy(llvm::StringRef signature, TranslateFunction translate);

  /// The operator called `target` ("torch.ops.aten.relu.default"), or null.
  const Operator *find(llvm::StringRef target) const;

private:
  llvm::StringMap<Operator> operators;

  /// Adds for each functional operator the overload that writes its result to
  /// an argument: `div.out(Tensor self, Tensor other, *, Tensor(a!) out)`.
  void addOutForms();
};

// One function a family, each in its own file.
void addElementwiseOperators(OperatorTable &table);
void addDivisionOperators(OperatorTable &table);
void addSpecialOperators(OperatorTable &table);
void addGammaOperators(OperatorTable &table);
void addConversionOperators(OperatorTable &table);
void addActivationOperators(OperatorTable &table);
void addComparisonOperators(OperatorTable &table);
void addReductionOperators(OperatorTable &table);
void addVarianceOperators(OperatorTable &table);
void addSortingOperators(OperatorTable &table);
void addSelectionOperators(OperatorTable &table);
void addShapeOperators(OperatorTable &table);
void addPieceOperators(OperatorTable &table);
void addJoinOperators(OperatorTable &table);
void addLinearOperators(OperatorTable &table);
void addSolveOperators(OperatorTable &table);
void addLuOperators(OperatorTable &table);
void addFactorizationOperators(OperatorTable &table);
void addMatrixOperators(OperatorTable &table);
void addEinsumOperators(OperatorTable &table);
void addConvolutionOperators(OperatorTable &table);
void addAttentionOperators(OperatorTable &table);
void addAutogradOperators(OperatorTable &table);
void addBackwardOperators(OperatorTable &table);
void addNormalizationOperators(OperatorTable &table);
void addLossOperators(OperatorTable &table);
void addDistanceOperators(OperatorTable &table);
void addCtcLossOperators(OperatorTable &table);
void addPoolingOperators(OperatorTable &table);
void addResamplingOperators(OperatorTable &table);
void addComplexOperators(OperatorTable &table);
void addFourierOperators(OperatorTable &table);
void addRecurrentOperators(OperatorTable &table);
void addIndexingOperators(OperatorTable &table);
void addEmbeddingBagOperators(OperatorTable &table);
void addDifferenceOperators(OperatorTable &table);
void addCreationOperators(OperatorTable &table);
void addRandomOperators(OperatorTable &table);
void addDistributionOperators(OperatorTable &table);
void addQuantizationOperators(OperatorTable &table);
void addWindowOperators(OperatorTable &table);

} // namespace shardc::translation

#endif // SHARDC_COMPILER_TRANSLATION_OPERATORTABLE_H
