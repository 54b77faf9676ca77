//===- MaskIdentity.h - Masks that are the same ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `logits[m.flatten()]` and `labels[m.flatten()]` choose by two tensors of the
// export, which hold the same. Masks are numbered by what computes them, and a
// mask that is only in another shape has the number of its source. What is
// written in place has another number than before, and so has everything that
// may share its memory.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_MASKIDENTITY_H
#define SHARDC_COMPILER_PT2_MASKIDENTITY_H

#include "compiler/Pt2/ExportedProgram.h"

namespace shardc::pt2 {

/// The numbers of expressions; of a graph and its subgraphs.
using ExpressionNumbers = std::map<std::string, int64_t>;

class MaskIdentity {
public:
  MaskIdentity(const Graph &graph, ExpressionNumbers &numbers)
      : graph(graph), numbers(numbers), graphNumber(++numbers["graphs"]) {}

  /// The same for tensors that hold the same elements in the same order.
  std::string of(const std::string &tensor) const;

  /// Says what a tensor from outside of the graph is.
  void set(const std::string &tensor, const std::string &identity);

  /// Takes note of a node, in the order of execution.
  void record(const Node &node);

  /// Anything may have been written.
  void forget();

private:
  const Graph &graph;
  ExpressionNumbers &numbers;
  int64_t graphNumber;
  /// How often tensors of masks, and all others, were written.
  int64_t maskWrites = 0, otherWrites = 0;
  NameMap<std::string> known;

  bool isMask(const std::string &tensor) const;
  std::optional<std::string> expression(const Node &node) const;
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_MASKIDENTITY_H
