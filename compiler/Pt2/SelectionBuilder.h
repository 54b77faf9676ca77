//===- SelectionBuilder.h - the rows that a mask chooses --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the nodes that choose rows by a mask: as many as are known to be
// chosen, or one for every place of the mask where the number depends on data.
//
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_SELECTIONBUILDER_H
#define SHARDC_COMPILER_PT2_SELECTIONBUILDER_H

#include "compiler/Pt2/NodeWriter.h"
#include "compiler/Pt2/RowRules.h"
#include "compiler/Pt2/Selections.h"

namespace shardc::pt2 {

/// What a mask chooses; names of tensors.
struct Selection {
  /// The mask as in the model, and the sizes that it is broadcast to.
  std::string source;
  std::vector<int64_t> sizes;
  /// The elements of the broadcast mask.
  int64_t places = 0;
  /// [places] booleans, and where they are false.
  std::string chosen, others;
  /// [1]: the first chosen place; the last one where none is chosen.
  std::string first;
  /// [n] chosen places, where n is known; the two above are empty then.
  std::string indices;
};

/// Throws E0140 with advice.
[[noreturn]] void refuseSelection(const std::string &why);

class SelectionBuilder {
public:
  SelectionBuilder(Graph &graph, NodeWriter &writer)
      : graph(graph), writer(writer) {}

  /// The selection that the rows of a tensor belong to, from the text of
  /// TensorMeta::counts. Writes nodes where each row has several elements.
  const Selection &of(const RowDim &rows);
  /// The same; null for none.
  const Selection *find(const std::string &count);

  /// The selections so far, by symbol.
  const NameMap<Selection> &all() const { return selections; }
  /// Makes a selection of another graph known under this one's names.
  void adopt(const std::string &symbol, Selection selection);

  /// Writes the nodes of a node that chooses by a mask. Where it has index
  /// tensors beside the mask, returns it with the mask's coordinates instead,
  /// which the caller writes.
  std::optional<Node> rewrite(const Node &node, const Selector &selector);

  /// `tensor` with `number` in rows that are not chosen.
  std::string fillOthers(const std::string &tensor, const RowDim &rows,
                         ArgumentValue number);

  /// `tensor` in other sizes; itself where it has them and needs no new name.
  std::string reshape(const std::string &tensor, std::vector<int64_t> sizes,
                      std::string result = {});

private:
  Graph &graph;
  NodeWriter &writer;
  /// By symbol of the number of rows.
  NameMap<Selection> selections;
  /// By the text of a multiple of one.
  NameMap<Selection> flattened;

  std::vector<int64_t> sizesOf(const std::string &tensor) const;
  std::string expand(const std::string &tensor,
                     const std::vector<int64_t> &sizes);
  std::string countPlaces(const TensorMeta &like, int64_t places);
  std::string flatMask(const Selector &selector,
                       const std::vector<int64_t> &sizes);
  const Selection &flatten(const RowCount &count, const Selection &rows);
  Selection start(const Selector &selector, std::vector<int64_t> sizes);
  Selection ofKnownSize(const Selector &selector, std::vector<int64_t> sizes,
                        int64_t count);
  const Selection &ofRows(const std::string &symbol, const Selector &selector,
                          std::vector<int64_t> sizes);
  std::string choose(const std::string &tensor, const Selection &selection,
                     size_t dim, std::string result = {});
  std::string flattenPlaces(const std::string &tensor,
                            const Selection &selection, size_t dim);
  std::string coordinate(const Selection &selection, size_t dim,
                         std::string result = {});
  std::optional<Node> rewriteIndex(const Node &node, const Selector &selector,
                                   const Selection &selection);
  void rewriteCoordinates(const Node &node, const Selector &selector,
                          const Selection &selection);
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_SELECTIONBUILDER_H
