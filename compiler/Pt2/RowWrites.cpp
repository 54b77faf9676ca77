//===- RowWrites.cpp - Rows that are written somewhere --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `index_put` and its like, in place and not.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/RowWrites.h"

#include <algorithm>

namespace shardc::pt2 {

namespace {

bool accumulates(const Node &node) {
  const Argument *given = node.findInput("accumulate");
  const bool *accumulate = given ? given->getIf<bool>() : nullptr;
  return accumulate && *accumulate;
}

} // namespace

std::optional<RowDim> RowWrites::rowsOf(const std::string &tensor) const {
  const TensorMeta *meta = graph.findTensor(tensor);
  return meta ? rowDim(*meta) : std::nullopt;
}

bool RowWrites::isMask(const std::optional<TensorRef> &index) const {
  if (!index)
    return false;
  ScalarType dtype = writer.typeOf(index->name).dtype;
  return dtype == ScalarType::Bool || dtype == ScalarType::UInt8;
}

/// Gives the node's result the value of tensor `changed`.
void RowWrites::finish(const Node &node, const std::string &changed) {
  const std::string self = tensorInput(node, "self")->name;
  const std::string result = outputTensors(node).front();
  const TensorMeta type = writer.typeOf(self);
  if (changesArgument(node))
    writer.call("copy_.default",
                {tensorArgument("self", self), tensorArgument("src", changed)},
                type, literalSizes(type), result);
  else
    writer.call("alias.default", {tensorArgument("self", changed)}, type,
                literalSizes(type), result);
}

//===----------------------------------------------------------------------===//
// At a mask
//===----------------------------------------------------------------------===//

/// Whether rows are put where the mask of their selection is.
bool RowWrites::putsAtMask(const Node &node, const Selection &selection) const {
  OptionalTensorList indices = indexTensors(node);
  const TensorRef *values = tensorInput(node, "values");
  if (indices.size() != 1 || !isMask(indices.front()) || !values)
    return false;
  const std::string *symbol = selections.symbolOf(indices.front()->name);
  std::optional<RowDim> rows = rowsOf(values->name);
  std::vector<int64_t> sizes =
      literalSizes(writer.typeOf(tensorInput(node, "self")->name));
  std::vector<int64_t> maskSizes =
      literalSizes(writer.typeOf(indices.front()->name));
  return symbol && rows && rows->symbol == *symbol && rows->dim == 0 &&
         selections.find(*symbol) == &selection &&
         sizes.size() >= maskSizes.size() &&
         std::equal(maskSizes.begin(), maskSizes.end(), sizes.begin()) &&
         writer.typeOf(values->name).sizes.size() ==
             sizes.size() - maskSizes.size() + 1;
}

void RowWrites::putAtMask(const Node &node, const Selection &selection) {
  const std::string self = tensorInput(node, "self")->name;
  std::string values = tensorInput(node, "values")->name;
  const TensorMeta type = writer.typeOf(self);
  std::vector<int64_t> sizes = literalSizes(type);
  std::vector<int64_t> mask =
      literalSizes(writer.typeOf(indexTensors(node).front()->name));
  if (accumulates(node))
    values = selections.fillOthers(values, *rowsOf(values), int64_t(0));
  std::vector<int64_t> placed = literalSizes(writer.typeOf(values));
  placed.erase(placed.begin());
  placed.insert(placed.begin(), mask.begin(), mask.end());
  values = selections.reshape(values, placed);
  std::vector<int64_t> beside = mask;
  beside.resize(sizes.size(), 1);
  finish(
      node,
      accumulates(node)
          ? writer.call(
                "add.Tensor",
                {tensorArgument("self", self), tensorArgument("other", values)},
                type, sizes)
          : writer.call(
                "where.self",
                {tensorArgument("condition",
                                selections.reshape(selection.chosen, beside)),
                 tensorArgument("self", values), tensorArgument("other", self)},
                type, sizes));
}

//===----------------------------------------------------------------------===//
// At other places
//===----------------------------------------------------------------------===//

/// With one more place behind the others of an indexed dimension.
bool RowWrites::putBesides(const Node &node) {
  const std::string self = tensorInput(node, "self")->name;
  OptionalTensorList indices = indexTensors(node);
  auto isOfRows = [&](const std::optional<TensorRef> &index) {
    return index && rowsOf(index->name).has_value();
  };
  auto place = std::ranges::find_if(indices, isOfRows);
  if (place == indices.end() ||
      std::ranges::any_of(indices, [&](auto &index) { return isMask(index); }))
    return false;
  auto dim = static_cast<size_t>(place - indices.begin());
  const TensorMeta type = writer.typeOf(self);
  std::vector<int64_t> sizes = literalSizes(type), one = sizes, more = sizes;
  one[dim] = 1;
  ++more[dim];
  auto along = argument("dim", static_cast<int64_t>(dim));
  auto slice = [&](const std::string &tensor, std::vector<int64_t> result) {
    return writer.call("slice.Tensor",
                       {tensorArgument("self", tensor), along,
                        argument("start", int64_t(0)),
                        argument("end", result[dim])},
                       type, result);
  };
  std::string longer =
      writer.call("cat.default",
                  {argument("tensors", TensorList{TensorRef{self},
                                                  TensorRef{slice(self, one)}}),
                   along},
                  type, more);
  // A negative index counts from the end that it had.
  const std::string index = (*place)->name;
  const TensorMeta indexType = writer.typeOf(index);
  std::string counted = writer.call(
      "remainder.Scalar",
      {tensorArgument("self", index), argument("other", sizes[dim])}, indexType,
      literalSizes(indexType));
  counted = selections.fillOthers(counted, *rowsOf(index), sizes[dim]);
  *place = TensorRef{counted};
  std::string put =
      writer.call("index_put.default",
                  {tensorArgument("self", longer), argument("indices", indices),
                   tensorArgument("values", tensorInput(node, "values")->name),
                   argument("accumulate", accumulates(node))},
                  type, more);
  finish(node, slice(put, sizes));
  return true;
}

bool RowWrites::rewrite(Node node) {
  if (rowsOf(tensorInput(node, "self")->name))
    return false;
  const std::string values = tensorInput(node, "values")->name;
  std::optional<RowDim> rows = rowsOf(values);
  if (rows && putsAtMask(node, selections.of(*rows))) {
    putAtMask(node, selections.of(*rows));
    return true;
  }
  for (const std::optional<TensorRef> &index : indexTensors(node))
    if (isMask(index)) {
      const std::string *symbol = selections.symbolOf(index->name);
      if (!symbol)
        return false;
      const std::string mask = index->name;
      setInput(node, "indices",
               selections.withCoordinates(node, mask, *selections.find(*symbol),
                                          *symbol));
      break;
    }
  if (!rows || !accumulates(node))
    return putBesides(node);
  for (const std::optional<TensorRef> &index : indexTensors(node))
    if (isMask(index))
      return false;
  setInput(node, "values",
           TensorRef{selections.fillOthers(values, *rows, int64_t(0))});
  writer.keep(std::move(node));
  return true;
}

bool RowWrites::putKnown(Node node) {
  OptionalTensorList indices = indexTensors(node);
  const TensorRef *values = tensorInput(node, "values");
  if (indices.size() != 1 || !isMask(indices.front()) || !values)
    return false;
  std::vector<int64_t> mask =
      literalSizes(writer.typeOf(indices.front()->name));
  std::vector<int64_t> sizes = literalSizes(writer.typeOf(values->name));
  size_t rank = writer.typeOf(tensorInput(node, "self")->name).sizes.size();
  if (sizes.size() != rank - mask.size() + 1 || sizes.front() == 1)
    return false;
  Selector selector{Selector::Kind::Index, indices.front()->name, 1, 0, {}, 0};
  for (int64_t size : mask)
    selector.places *= size;
  const Selection selection = selections.ofKnownSize(selector, sizes.front());
  setInput(node, "indices",
           selections.withCoordinates(node, selector.mask, selection, {}));
  writer.keep(std::move(node));
  return true;
}

bool RowWrites::accumulate(Node node) {
  std::string_view name = tensorInput(node, "src") ? "src" : "source";
  const TensorRef *values = tensorInput(node, name);
  const TensorRef *index = tensorInput(node, "index");
  std::optional<RowDim> rows = values ? rowsOf(values->name) : std::nullopt;
  if (!rows || !index || !rowsOf(index->name) ||
      rowsOf(tensorInput(node, "self")->name))
    return false;
  setInput(node, name,
           TensorRef{selections.fillOthers(values->name, *rows, int64_t(0))});
  writer.keep(std::move(node));
  return true;
}

} // namespace shardc::pt2
