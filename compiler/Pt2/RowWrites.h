//===- RowWrites.h - Rows that are written somewhere ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `y[mask] = rows`, `y[i, j] = rows` and `y.index_add(0, i, rows)`: what is not
// chosen must be written nowhere. By the same mask it is a choice between both;
// a sum adds zeros; else one more place takes what is not chosen, and is cut
// off again.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_ROWWRITES_H
#define SHARDC_COMPILER_PT2_ROWWRITES_H

#include "compiler/Pt2/SelectionBuilder.h"

namespace shardc::pt2 {

class RowWrites {
public:
  RowWrites(Graph &graph, NodeWriter &writer, SelectionBuilder &selections)
      : graph(graph), writer(writer), selections(selections) {}

  /// Writes the nodes for an `index_put` of rows, or at places of rows. False
  /// for one that cannot be written so.
  bool rewrite(Node node);

  /// The same for `y[mask] = values` of as many values as the mask chooses, a
  /// number that the model knows. False for any other node.
  bool putKnown(Node node);

  /// Writes the nodes for `index_add` and `scatter_add` of rows. False where
  /// the rows of values are not those of the index.
  bool accumulate(Node node);

private:
  Graph &graph;
  NodeWriter &writer;
  SelectionBuilder &selections;

  std::optional<RowDim> rowsOf(const std::string &tensor) const;
  bool isMask(const std::optional<TensorRef> &index) const;
  bool putsAtMask(const Node &node, const Selection &selection) const;
  void putAtMask(const Node &node, const Selection &selection);
  bool putBesides(const Node &node);
  void finish(const Node &node, const std::string &changed);
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_ROWWRITES_H
