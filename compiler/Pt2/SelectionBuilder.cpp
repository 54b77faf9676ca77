//===- SelectionBuilder.cpp - the rows that a mask chooses ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Of a number that depends on data, rows are `where(mask, x, x[first])`; of a
// known one, `x[places]` with the places that a sort brings to the front.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SelectionBuilder.h"

#include "compiler/Pt2/ReadFailure.h"

#include <algorithm>

namespace shardc::pt2 {

void refuseSelection(const std::string &why) {
  fail(errors::dataDependentSize, why,
       "compute with all elements, and leave out those that a mask does not "
       "choose by torch.where, or by a product with the mask");
}

namespace {

int64_t product(const std::vector<int64_t> &sizes, size_t begin, size_t end) {
  int64_t elements = 1;
  for (size_t i = begin; i < end; ++i)
    elements *= sizes[i];
  return elements;
}

} // namespace

//===----------------------------------------------------------------------===//
// Single nodes
//===----------------------------------------------------------------------===//

std::vector<int64_t>
SelectionBuilder::sizesOf(const std::string &tensor) const {
  return literalSizes(writer.typeOf(tensor));
}

std::string SelectionBuilder::reshape(const std::string &tensor,
                                      std::vector<int64_t> sizes,
                                      std::string result) {
  if (result.empty() && sizesOf(tensor) == sizes)
    return tensor;
  return writer.call("reshape.default",
                     {tensorArgument("self", tensor), argument("shape", sizes)},
                     writer.typeOf(tensor), sizes, std::move(result));
}

std::string SelectionBuilder::expand(const std::string &tensor,
                                     const std::vector<int64_t> &sizes) {
  if (sizesOf(tensor) == sizes)
    return tensor;
  return writer.call("expand.default",
                     {tensorArgument("self", tensor), argument("size", sizes)},
                     writer.typeOf(tensor), sizes);
}

/// [places]: 0, 1, and so on.
std::string SelectionBuilder::countPlaces(const TensorMeta &like,
                                          int64_t places) {
  return writer.call(
      "arange.default",
      {argument("end", places), argument("dtype", ScalarType::Int64)},
      NodeWriter::typeLike(like, ScalarType::Int64, {}), {places});
}

std::string SelectionBuilder::fillOthers(const std::string &tensor,
                                         const RowDim &rows,
                                         ArgumentValue number) {
  std::vector<int64_t> sizes = sizesOf(tensor);
  std::vector<int64_t> beside(sizes.size() - rows.dim, 1);
  beside.front() = sizes[rows.dim];
  std::string mask = reshape(of(rows).others, beside);
  return writer.call("masked_fill.Scalar",
                     {tensorArgument("self", tensor),
                      tensorArgument("mask", mask),
                      {"value", Argument{std::move(number)}, {}}},
                     writer.typeOf(tensor), sizes);
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

const Selection *SelectionBuilder::find(const std::string &text) {
  RowCount count = RowCount::fromText(text);
  auto found = selections.find(count.symbol);
  if (found == selections.end())
    return nullptr;
  return count.factor == 1 ? &found->second : &flatten(count, found->second);
}

const Selection &SelectionBuilder::of(const RowDim &rows) {
  const Selection *selection = find(rows.symbol);
  if (!selection)
    refuseSelection("the size " + rows.symbol +
                    " depends on the values of tensors, and is not that of a "
                    "mask");
  return *selection;
}

void SelectionBuilder::adopt(const std::string &symbol, Selection selection) {
  selections.insert_or_assign(symbol, std::move(selection));
}

/// Rows of several elements each as one row for each element.
const Selection &SelectionBuilder::flatten(const RowCount &count,
                                           const Selection &rows) {
  auto [found, isNew] = flattened.try_emplace(count.text());
  Selection &selection = found->second;
  if (!isNew)
    return selection;
  auto repeat = [&](const std::string &mask) {
    std::string column = reshape(mask, {rows.places, 1});
    return reshape(expand(column, {rows.places, count.factor}),
                   {rows.places * count.factor});
  };
  selection.source = rows.source;
  selection.places = rows.places * count.factor;
  selection.sizes = {selection.places};
  selection.chosen = repeat(rows.chosen);
  selection.others = repeat(rows.others);
  selection.first = writer.call(
      "mul.Tensor",
      {tensorArgument("self", rows.first), argument("other", count.factor)},
      writer.typeOf(rows.first), {1});
  return selection;
}

/// A mask's booleans, broadcast and flat. A mask that is itself made of rows
/// chooses none that does not exist.
std::string SelectionBuilder::flatMask(const Selector &selector,
                                       const std::vector<int64_t> &sizes) {
  std::string mask = selector.mask;
  const TensorMeta type = writer.typeOf(mask);
  if (type.dtype != ScalarType::Bool)
    mask = writer.call(
        "ne.Scalar",
        {tensorArgument("self", mask), argument("other", int64_t(0))},
        NodeWriter::typeLike(type, ScalarType::Bool, {}), literalSizes(type));
  if (std::optional<RowDim> rows = rowDim(type))
    mask = fillOthers(mask, *rows, false);
  return reshape(expand(mask, sizes), {selector.places});
}

/// The mask's booleans alone.
Selection SelectionBuilder::start(const Selector &selector,
                                  std::vector<int64_t> sizes) {
  if (selector.places == 0)
    refuseSelection("mask '" + selector.mask + "' has no elements");
  Selection selection;
  selection.source = selector.mask;
  selection.places = selector.places;
  selection.chosen = flatMask(selector, sizes);
  selection.sizes = std::move(sizes);
  selection.others = writer.call(
      "logical_not.default", {tensorArgument("self", selection.chosen)},
      writer.typeOf(selection.chosen), {selection.places});
  return selection;
}

/// The places of a selection, but `number` where none is chosen.
static std::string chosenPlaces(NodeWriter &writer, const Selection &selection,
                                const std::string &places, int64_t number) {
  return writer.call("masked_fill.Scalar",
                     {tensorArgument("self", places),
                      tensorArgument("mask", selection.others),
                      argument("value", number)},
                     writer.typeOf(places), {selection.places});
}

const Selection &SelectionBuilder::ofRows(const std::string &symbol,
                                          const Selector &selector,
                                          std::vector<int64_t> sizes) {
  if (const Selection *known = find(symbol)) {
    if (known->source == selector.mask && known->sizes == sizes)
      return *known;
    refuseSelection("masks '" + known->source + "' and '" + selector.mask +
                    "' choose equally many elements, but not the same ones");
  }
  Selection selection = start(selector, std::move(sizes));
  std::string places =
      countPlaces(writer.typeOf(selection.chosen), selection.places);
  std::string candidates =
      chosenPlaces(writer, selection, places, selection.places - 1);
  selection.first =
      writer.call("amin.default",
                  {tensorArgument("self", candidates),
                   argument("dim", IntList{0}), argument("keepdim", true)},
                  writer.typeOf(places), {1});
  return selections.emplace(symbol, std::move(selection)).first->second;
}

/// A selection of `count` places: the model says how many.
Selection SelectionBuilder::ofKnownSize(const Selector &selector,
                                        std::vector<int64_t> sizes,
                                        int64_t count) {
  Selection selection = start(selector, std::move(sizes));
  std::string places =
      countPlaces(writer.typeOf(selection.chosen), selection.places);
  std::string candidates =
      chosenPlaces(writer, selection, places, selection.places);
  std::string sorted =
      writer.call("msort.default", {tensorArgument("self", candidates)},
                  writer.typeOf(places), {selection.places});
  selection.indices =
      writer.call("slice.Tensor",
                  {tensorArgument("self", sorted), argument("dim", int64_t(0)),
                   argument("start", int64_t(0)), argument("end", count)},
                  writer.typeOf(places), {count});
  return selection;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// What a selection chooses of `tensor`, whose dimension `dim` has its places.
std::string SelectionBuilder::choose(const std::string &tensor,
                                     const Selection &selection, size_t dim,
                                     std::string result) {
  const TensorMeta type = writer.typeOf(tensor);
  std::vector<int64_t> sizes = literalSizes(type);
  auto chooseBy = [&](const std::string &indices, std::string name) {
    std::vector<int64_t> chosen = sizes;
    chosen[dim] = sizesOf(indices).front();
    return writer.call("index_select.default",
                       {tensorArgument("self", tensor),
                        argument("dim", static_cast<int64_t>(dim)),
                        tensorArgument("index", indices)},
                       type, chosen, std::move(name));
  };
  if (!selection.indices.empty())
    return chooseBy(selection.indices, std::move(result));
  std::string filler = chooseBy(selection.first, {});
  filler = writer.call("detach.default", {tensorArgument("self", filler)}, type,
                       sizesOf(filler));
  std::vector<int64_t> beside(sizes.size() - dim, 1);
  beside.front() = selection.places;
  return writer.call(
      "where.self",
      {tensorArgument("condition", reshape(selection.chosen, beside)),
       tensorArgument("self", tensor), tensorArgument("other", filler)},
      type, sizes, std::move(result));
}

/// `tensor` with the dimensions of the mask at `dim` as one of all places.
std::string SelectionBuilder::flattenPlaces(const std::string &tensor,
                                            const Selection &selection,
                                            size_t dim) {
  std::vector<int64_t> sizes = sizesOf(tensor);
  size_t end = dim + selection.sizes.size();
  if (sizes.size() < end || product(sizes, dim, end) != selection.places)
    refuseSelection("mask '" + selection.source +
                    "' does not have the sizes of what it chooses from");
  auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(dim);
  sizes.erase(begin, sizes.begin() + static_cast<std::ptrdiff_t>(end));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim),
               selection.places);
  return reshape(tensor, sizes);
}

/// Where the chosen places are along dimension `dim` of the mask.
std::string SelectionBuilder::coordinate(const Selection &selection, size_t dim,
                                         std::string result) {
  std::vector<int64_t> along(selection.sizes.size() - dim, 1);
  along.front() = selection.sizes[dim];
  std::string places = reshape(
      countPlaces(writer.typeOf(selection.chosen), along.front()), along);
  places = reshape(expand(places, selection.sizes), {selection.places});
  return choose(places, selection, 0, std::move(result));
}

std::optional<Node> SelectionBuilder::rewriteIndex(const Node &node,
                                                   const Selector &selector,
                                                   const Selection &selection) {
  const std::string self = tensorInput(node, "self")->name;
  std::optional<RowDim> rows = rowDim(writer.typeOf(self));
  std::optional<RowDim> maskRows = rowDim(writer.typeOf(selector.mask));
  if (rows && (!maskRows || maskRows->symbol != rows->symbol ||
               maskRows->dim + selector.dim != rows->dim))
    refuseSelection("mask '" + selector.mask +
                    "' chooses from rows whose number depends on data");
  OptionalTensorList indices = indexTensors(node);
  if (std::ranges::count_if(
          indices, [](const auto &index) { return index.has_value(); }) == 1) {
    choose(flattenPlaces(self, selection, selector.dim), selection,
           selector.dim, selector.result);
    return std::nullopt;
  }
  OptionalTensorList places;
  std::optional<RowDim> chosen = rowDim(writer.typeOf(selector.result));
  for (const std::optional<TensorRef> &index : indices) {
    if (!index || index->name != selector.mask) {
      places.push_back(index);
      continue;
    }
    for (size_t dim = 0; dim < selection.sizes.size(); ++dim) {
      places.push_back(TensorRef{coordinate(selection, dim)});
      if (chosen)
        graph.tensorValues.find(places.back()->name)->second.counts = {
            chosen->symbol};
    }
  }
  Node replaced = node;
  for (NamedArgument &input : replaced.inputs)
    if (input.name == "indices")
      input.argument.value = std::move(places);
  return replaced;
}

void SelectionBuilder::rewriteCoordinates(const Node &node,
                                          const Selector &selector,
                                          const Selection &selection) {
  size_t rank = selection.sizes.size();
  if (selector.kind == Selector::Kind::CoordinateLists) {
    std::vector<std::string> results = outputTensors(node);
    for (size_t dim = 0; dim < rank && dim < results.size(); ++dim)
      if (graph.findTensor(results[dim]))
        coordinate(selection, dim, results[dim]);
    return;
  }
  TensorList places;
  for (size_t dim = 0; dim < rank; ++dim)
    places.push_back(TensorRef{coordinate(selection, dim)});
  const TensorMeta type = writer.typeOf(selector.result);
  if (!rank)
    refuseSelection("nonzero of a number");
  writer.call("stack.default",
              {argument("tensors", places), argument("dim", int64_t(1))}, type,
              literalSizes(type), selector.result);
}

std::optional<Node> SelectionBuilder::rewrite(const Node &node,
                                              const Selector &selector) {
  const TensorMeta &result = writer.typeOf(selector.result);
  std::vector<int64_t> sizes = sizesOf(selector.mask);
  const std::string *self = nullptr;
  if (selector.kind == Selector::Kind::Elements) {
    self = &tensorInput(node, "self")->name;
    sizes = broadcastSizes(sizes, sizesOf(*self));
    if (rowDim(writer.typeOf(*self)))
      refuseSelection("masked_select chooses from rows whose number depends on "
                      "data");
  }
  // A list of coordinates has the chosen places in its first dimension, an
  // indexed tensor behind what is before the mask.
  std::optional<RowDim> rows = rowDim(result);
  Selection known;
  if (!rows)
    known = ofKnownSize(selector, sizes,
                        *result.sizes.at(selector.resultDim).value);
  const Selection &selection =
      rows ? ofRows(rows->symbol, selector, sizes) : known;
  if (selector.kind == Selector::Kind::Index)
    return rewriteIndex(node, selector, selection);
  if (self)
    choose(reshape(expand(*self, sizes), {selection.places}), selection, 0,
           selector.result);
  else
    rewriteCoordinates(node, selector, selection);
  return std::nullopt;
}

} // namespace shardc::pt2
