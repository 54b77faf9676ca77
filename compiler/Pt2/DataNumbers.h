//===- DataNumbers.h - Numbers that depend on data ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `mask.sum().item()`, or how many rows a mask chooses, as a number of Python
// that a model computes with: such numbers become tensors without dimensions.
//
//   n = item(sum(mask)); m = sym_max(n, 1); y = div(x, m)
//
// becomes
//
//   n = detach(sum(mask)); m = maximum(n, full([], 1)); y = div(x, m)
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_DATANUMBERS_H
#define SHARDC_COMPILER_PT2_DATANUMBERS_H

#include "compiler/Pt2/SelectionBuilder.h"

namespace shardc::pt2 {

class DataNumbers {
public:
  DataNumbers(Graph &graph, NodeWriter &writer, SelectionBuilder &selections)
      : graph(graph), writer(writer), selections(selections) {}

  /// Takes a node whose results are numbers, to be computed where they are
  /// used. False for any other node.
  bool take(const Node &node);

  /// The tensor of an argument that is such a number: int64 for an int, float64
  /// for a float. Throws ReadFailure (E0140) where it cannot be computed.
  std::string tensorOf(const Argument &number);

private:
  Graph &graph;
  NodeWriter &writer;
  SelectionBuilder &selections;
  /// By the name of a number: its node, and its tensor once it has one.
  NameMap<Node> nodes;
  NameMap<std::string> tensors;

  std::string compute(const std::string &name);
  std::string literal(ArgumentValue value, ScalarType dtype);
  std::string convert(const std::string &tensor, ScalarType dtype);
  std::string item(const Node &node);
  std::string countRows(const Node &node, const std::string &name);
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_DATANUMBERS_H
