//===- Selections.h - Operators whose result's size is data ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Recognises the operators that choose elements by a mask: how many they choose
// depends on data, but never more than the mask has.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_SELECTIONS_H
#define SHARDC_COMPILER_PT2_SELECTIONS_H

#include "compiler/Pt2/ExportedProgram.h"

namespace shardc::pt2 {

/// "index" of "torch.ops.aten.index.Tensor" and of its in-place form.
std::string_view baseName(const Node &node);

/// The tensor that `node` has for argument `name`; null for none.
const TensorRef *tensorInput(const Node &node, std::string_view name);

/// The elements of the argument `indices`, a list of index tensors.
OptionalTensorList indexTensors(const Node &node);

/// A node that chooses among the elements of a mask.
struct Selector {
  enum class Kind {
    /// `x[mask]`, also with further index tensors.
    Index,
    /// `masked_select(x, mask)`.
    Elements,
    /// `nonzero(mask)`: a row of coordinates for each.
    Coordinates,
    /// `where(mask)`: a tensor for each coordinate.
    CoordinateLists,
  };
  Kind kind;
  std::string mask;
  /// The elements of the mask, as an operand broadcasts it: the most that can
  /// be chosen.
  int64_t places = 0;
  /// The dimension of the operand where those of the mask begin.
  size_t dim = 0;
  /// A result, and its dimension that has the chosen ones.
  std::string result;
  size_t resultDim = 0;
};

/// Empty where `node` is none, or chooses by more than one mask.
std::optional<Selector> asSelector(const Graph &graph, const Node &node);

/// A size in an export that is a multiple of how many rows a mask chooses:
/// flattened, each row has as many elements.
struct RowCount {
  std::string symbol;
  int64_t factor = 1;

  /// "u0", "4*u0": what TensorMeta::counts has.
  std::string text() const;
  static RowCount fromText(const std::string &text);
};

/// The count that an expression of an export is; empty for any other one.
std::optional<RowCount> asRowCount(const std::string &expression);

/// The sizes of a tensor whose sizes are numbers.
std::vector<int64_t> literalSizes(const TensorMeta &meta);

/// The sizes of two tensors that broadcast together, together.
std::vector<int64_t> broadcastSizes(std::vector<int64_t> a,
                                    std::vector<int64_t> b);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_SELECTIONS_H
