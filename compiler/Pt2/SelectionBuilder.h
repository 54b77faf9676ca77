//===- SelectionBuilder.h - The rows that a mask chooses ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the nodes that choose rows by a mask: as many as are known to be
// chosen, or one for every place of the mask where the number depends on data.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_SELECTIONBUILDER_H
#define SHARDC_COMPILER_PT2_SELECTIONBUILDER_H

#include "compiler/Pt2/MaskIdentity.h"
#include "compiler/Pt2/NodeWriter.h"
#include "compiler/Pt2/RowRules.h"
#include "compiler/Pt2/Selections.h"

namespace shardc::pt2 {

/// What a mask chooses; names of tensors, and of nothing that the model may
/// change in place.
struct Selection {
  /// The mask as in the model, for messages, and what MaskIdentity says of it.
  std::string mask, identity;
  /// The elements of the broadcast mask.
  int64_t places = 0;
  /// [places] booleans, and where they are false.
  std::string chosen, others;
  /// [1]: the first chosen place, 0 where there is none, and whether so.
  std::string first, none;
  /// [n] chosen places, where n is known; the two above are empty then.
  std::string indices;
};

/// Throws E0140 with advice.
[[noreturn]] void refuseSelection(const std::string &why);

class SelectionBuilder {
public:
  SelectionBuilder(Graph &graph, NodeWriter &writer, MaskIdentity &masks)
      : graph(graph), writer(writer), masks(masks) {}

  /// The selection that the rows of a tensor belong to, from the text of
  /// TensorMeta::counts. Writes nodes where each row has several elements.
  const Selection &of(const RowDim &rows);
  /// The same; null for none.
  const Selection *find(const std::string &count);

  /// The selections so far, by symbol.
  const NameMap<Selection> &all() const { return selections; }
  /// Makes a selection of another graph known under this one's names.
  void adopt(const std::string &symbol, Selection selection);

  /// The selection by a mask, of which the rows of some tensor are; null for
  /// none.
  const std::string *symbolOf(const std::string &mask) const;

  /// What a selection chooses of `tensor`, whose dimension `dim` has its
  /// places.
  std::string choose(const std::string &tensor, const Selection &selection,
                     size_t dim, std::string result = {});

  /// The index tensors of a node with the coordinates of a mask in its place;
  /// they have rows of `symbol` where this is not empty.
  OptionalTensorList withCoordinates(const Node &node, const std::string &mask,
                                     const Selection &selection,
                                     const std::string &symbol);

  /// A selection of as many places as the model says.
  Selection ofKnownSize(const Selector &selector, int64_t count);

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
  MaskIdentity &masks;
  /// By symbol of the number of rows.
  NameMap<Selection> selections;
  /// Symbols that became those of another selection by the same mask.
  NameMap<std::string> renamed;
  /// By the text of a multiple of one.
  NameMap<Selection> flattened;

  std::vector<int64_t> sizesOf(const std::string &tensor) const;
  std::string expand(const std::string &tensor,
                     const std::vector<int64_t> &sizes);
  std::string clone(const std::string &tensor);
  std::string countPlaces(const TensorMeta &like, int64_t places);
  std::string flatMask(const Selector &selector,
                       const std::vector<int64_t> &sizes);
  std::string identityOf(const Selector &selector,
                         const std::vector<int64_t> &sizes) const;
  const Selection &flatten(const RowCount &count, const Selection &rows);
  Selection start(const Selector &selector, const std::vector<int64_t> &sizes);
  Selection ofKnownSize(const Selector &selector,
                        const std::vector<int64_t> &sizes, int64_t count);
  const Selection &ofRows(const std::string &symbol, const Selector &selector,
                          const std::vector<int64_t> &sizes);
  void renameRows(const std::string &from, const std::string &to);
  std::string fill(const std::string &tensor, const std::string &mask,
                   ArgumentValue number);
  std::string flattenPlaces(const std::string &tensor,
                            const Selection &selection, size_t dim,
                            size_t rank);
  std::string coordinate(const Selection &selection,
                         const std::vector<int64_t> &sizes, size_t dim,
                         std::string result = {});
  std::optional<Node> rewriteIndex(const Node &node, const Selector &selector,
                                   const Selection &selection);
  void rewriteElements(const Node &node, const Selector &selector,
                       const Selection &selection,
                       const std::vector<int64_t> &sizes);
  void rewriteCoordinates(const Node &node, const Selector &selector,
                          const Selection &selection);
};

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_SELECTIONBUILDER_H
