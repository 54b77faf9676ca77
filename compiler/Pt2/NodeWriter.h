//===- NodeWriter.h - Writes nodes of a static program --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Appends nodes to a graph as if the model's author had called the operators:
// in the module of the node that they replace, with a type for each result.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_NODEWRITER_H
#define SHARDC_COMPILER_PT2_NODEWRITER_H

#include "compiler/Pt2/ExportedProgram.h"

namespace shardc::pt2 {

class NodeWriter {
public:
  /// Adds types to `graph`, whose nodes stay as they are.
  explicit NodeWriter(Graph &graph) : graph(graph) {}

  /// What follows takes the place of `node`.
  void setPlace(const Node &node) { place = &node; }

  /// Appends a node as it is.
  void keep(Node node) { written.push_back(std::move(node)); }

  /// The nodes so far, which are then no longer here.
  std::vector<Node> take() { return std::move(written); }

  /// Calls `aten.<name>`. The result is like tensor `like`, of `sizes`, and
  /// called `result`; where that is empty, it has a new name. Returns the name.
  std::string call(const std::string &name, std::vector<NamedArgument> inputs,
                   const TensorMeta &like, std::vector<int64_t> sizes,
                   std::string result = {});

  /// A name for a tensor that no node has.
  std::string newName();

  /// A type like `like`, row-major of `sizes`.
  static TensorMeta typeLike(const TensorMeta &like, ScalarType dtype,
                             const std::vector<int64_t> &sizes);

  /// The type of a tensor of the graph. Throws ReadFailure (E0119) for a name
  /// that has none.
  const TensorMeta &typeOf(const std::string &name) const;

private:
  Graph &graph;
  const Node *place = nullptr;
  std::vector<Node> written;
  /// How many names were made of each node's.
  NameMap<int64_t> namesMade;
};

/// Gives an argument of a node another value.
void setInput(Node &node, std::string_view name, ArgumentValue value);

/// Arguments by name.
NamedArgument tensorArgument(std::string name, std::string tensor);
template <typename T>
NamedArgument argument(std::string name, T value) {
  return {std::move(name), Argument{std::move(value)}, {}};
}

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_NODEWRITER_H
