//===- RowRules.h - Operators that treat rows alike -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What an operator does with the rows of a selection, whose number depends on
// data. "Rows" are the elements of a tensor along the one dimension that has
// the symbol of the selection in TensorMeta::counts. Operators that compute
// every row by itself may compute rows that do not exist: nothing of them
// reaches another row.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_ROWRULES_H
#define SHARDC_COMPILER_PT2_ROWRULES_H

#include "compiler/Pt2/RowOperators.h"

namespace shardc::pt2 {

/// The dimension of a tensor that has rows of a selection.
struct RowDim {
  size_t dim;
  std::string symbol;
};

/// Empty for a tensor without such a dimension. Throws ReadFailure (E0140) for
/// one that has two.
std::optional<RowDim> rowDim(const TensorMeta &meta);

/// The tensors among arguments, lists counted by element.
std::vector<std::string> tensorNames(const Argument &argument);
std::vector<std::string> inputTensors(const Node &node);
std::vector<std::string> outputTensors(const Node &node);

/// What an operator that takes rows makes of them.
enum class RowUse {
  /// Every result has the rows, each computed from its own.
  Alone,
  /// The sum over rows, or their mean: `sum`, `mean`.
  Sum,
  Mean,
  /// A reduction over rows, to which a certain number adds nothing: `amax`.
  Reduction,
  /// A product that sums over rows.
  Contraction,
  /// A function along the rows that a certain number takes no part in:
  /// `softmax`.
  Along,
  /// A loss of every element, or of every row, reduced as its argument says.
  ElementLoss,
  RowLoss,
  /// A loss of every row against a class.
  ClassLoss,
  /// Adds rows to places that an index has for each.
  Accumulation,
  /// Anything else.
  Unknown,
};

/// The tensors that the node takes, without those of which only the dtype
/// matters.
std::vector<std::string> valueTensors(const Node &node);

/// Checks the node's arguments and results by the rule of its operator, for a
/// node of which a tensor has rows.
RowUse rowUse(const Graph &graph, const Node &node);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_ROWRULES_H
