//===- SelectionBuilder.cpp - The rows that a mask chooses ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Of a number that depends on data, rows are `where(mask, x, x[first])`; of a
// known one, `x[places]` with the places that a sort brings to the front.
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

std::string SelectionBuilder::clone(const std::string &tensor) {
  return writer.call("clone.default", {tensorArgument("self", tensor)},
                     writer.typeOf(tensor), sizesOf(tensor));
}

std::string SelectionBuilder::fill(const std::string &tensor,
                                   const std::string &mask,
                                   ArgumentValue number) {
  return writer.call("masked_fill.Scalar",
                     {tensorArgument("self", tensor),
                      tensorArgument("mask", mask),
                      {"value", Argument{std::move(number)}, {}}},
                     writer.typeOf(tensor), sizesOf(tensor));
}

std::string SelectionBuilder::fillOthers(const std::string &tensor,
                                         const RowDim &rows,
                                         ArgumentValue number) {
  std::vector<int64_t> sizes = sizesOf(tensor);
  std::vector<int64_t> beside(sizes.size() - rows.dim, 1);
  beside.front() = sizes[rows.dim];
  return fill(tensor, reshape(of(rows).others, beside), std::move(number));
}

//===----------------------------------------------------------------------===//
// Selections
//===----------------------------------------------------------------------===//

const Selection *SelectionBuilder::find(const std::string &text) {
  RowCount count = RowCount::fromText(text);
  if (auto other = renamed.find(count.symbol); other != renamed.end())
    count.symbol = other->second;
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
  selection.mask = rows.mask;
  selection.none = rows.none;
  selection.places = rows.places * count.factor;
  selection.chosen = repeat(rows.chosen);
  selection.others = repeat(rows.others);
  selection.first = writer.call(
      "mul.Tensor",
      {tensorArgument("self", rows.first), argument("other", count.factor)},
      writer.typeOf(rows.first), {1});
  return selection;
}

const std::string *SelectionBuilder::symbolOf(const std::string &mask) const {
  std::string identity = masks.of(mask);
  for (const auto &[symbol, selection] : selections)
    if (selection.identity == identity)
      return &symbol;
  return nullptr;
}

/// A mask's booleans, broadcast and flat. A mask that is itself made of rows
/// chooses none that does not exist. A copy: the model may change the mask.
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
  return clone(reshape(expand(mask, sizes), {selector.places}));
}

/// Masks that are broadcast to other sizes choose other elements.
std::string
SelectionBuilder::identityOf(const Selector &selector,
                             const std::vector<int64_t> &sizes) const {
  std::string identity = masks.of(selector.mask);
  if (selector.kind == Selector::Kind::Elements &&
      sizesOf(selector.mask) != sizes)
    for (int64_t size : sizes)
      identity += "," + std::to_string(size);
  return identity;
}

/// The mask's booleans alone.
Selection SelectionBuilder::start(const Selector &selector,
                                  const std::vector<int64_t> &sizes) {
  if (selector.places == 0)
    refuseSelection("mask '" + selector.mask + "' has no elements");
  Selection selection;
  selection.mask = selector.mask;
  selection.identity = identityOf(selector, sizes);
  selection.places = selector.places;
  selection.chosen = flatMask(selector, sizes);
  selection.others = writer.call(
      "logical_not.default", {tensorArgument("self", selection.chosen)},
      writer.typeOf(selection.chosen), {selection.places});
  return selection;
}

/// Rows of one selection are rows of another by the same mask.
void SelectionBuilder::renameRows(const std::string &from,
                                  const std::string &to) {
  renamed.insert_or_assign(from, to);
  for (auto &[name, meta] : graph.tensorValues)
    for (std::string &text : meta.counts) {
      RowCount count = RowCount::fromText(text);
      if (!text.empty() && count.symbol == from)
        text = RowCount{to, count.factor}.text();
    }
}

const Selection &SelectionBuilder::ofRows(const std::string &symbol,
                                          const Selector &selector,
                                          const std::vector<int64_t> &sizes) {
  std::string identity = identityOf(selector, sizes);
  if (const Selection *known = find(symbol)) {
    if (known->identity == identity)
      return *known;
    refuseSelection("masks '" + known->mask + "' and '" + selector.mask +
                    "' choose equally many elements, but not the same ones");
  }
  for (const auto &[other, selection] : selections)
    if (selection.identity == identity) {
      renameRows(symbol, other);
      return selection;
    }
  Selection selection = start(selector, sizes);
  const TensorMeta type = writer.typeOf(selection.chosen);
  std::string numbers = writer.call(
      "to.dtype",
      {tensorArgument("self", selection.chosen),
       argument("dtype", ScalarType::Int32)},
      NodeWriter::typeLike(type, ScalarType::Int32, {}), {selection.places});
  selection.first =
      writer.call("argmax.default",
                  {tensorArgument("self", numbers), argument("dim", int64_t(0)),
                   argument("keepdim", true)},
                  NodeWriter::typeLike(type, ScalarType::Int64, {}), {1});
  selection.none =
      writer.call("all.dim",
                  {tensorArgument("self", selection.others),
                   argument("dim", int64_t(0)), argument("keepdim", true)},
                  writer.typeOf(selection.others), {1});
  return selections.emplace(symbol, std::move(selection)).first->second;
}

/// A selection of `count` places: the model says how many.
Selection SelectionBuilder::ofKnownSize(const Selector &selector,
                                        const std::vector<int64_t> &sizes,
                                        int64_t count) {
  Selection selection = start(selector, sizes);
  std::string places =
      countPlaces(writer.typeOf(selection.chosen), selection.places);
  // Where the model's assertion fails, places repeat; none is out of bounds.
  std::string candidates = fill(places, selection.others, selection.places - 1);
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

Selection SelectionBuilder::ofKnownSize(const Selector &selector,
                                        int64_t count) {
  return ofKnownSize(selector, sizesOf(selector.mask), count);
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// What rows are where none is chosen, so that few functions of them are
/// infinite and every index is one.
static ArgumentValue harmlessNumber(ScalarType dtype) {
  switch (dtype) {
  case ScalarType::Float16:
  case ScalarType::BFloat16:
  case ScalarType::Float32:
  case ScalarType::Float64:
  case ScalarType::Complex64:
  case ScalarType::Complex128:
    return 0.5;
  default:
    return int64_t(0);
  }
}

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
  filler = fill(filler,
                reshape(selection.none, std::vector<int64_t>(sizes.size(), 1)),
                harmlessNumber(type.dtype));
  std::vector<int64_t> beside(sizes.size() - dim, 1);
  beside.front() = selection.places;
  return writer.call(
      "where.self",
      {tensorArgument("condition", reshape(selection.chosen, beside)),
       tensorArgument("self", tensor), tensorArgument("other", filler)},
      type, sizes, std::move(result));
}

/// `tensor` with the `rank` dimensions of the mask at `dim` as one of all
/// places.
std::string SelectionBuilder::flattenPlaces(const std::string &tensor,
                                            const Selection &selection,
                                            size_t dim, size_t rank) {
  std::vector<int64_t> sizes = sizesOf(tensor);
  size_t end = dim + rank;
  if (sizes.size() < end || product(sizes, dim, end) != selection.places)
    refuseSelection("mask '" + selection.mask +
                    "' does not have the sizes of what it chooses from");
  auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(dim);
  sizes.erase(begin, sizes.begin() + static_cast<std::ptrdiff_t>(end));
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim),
               selection.places);
  return reshape(tensor, sizes);
}

/// Where the chosen places are along dimension `dim` of a mask of `sizes`.
std::string SelectionBuilder::coordinate(const Selection &selection,
                                         const std::vector<int64_t> &sizes,
                                         size_t dim, std::string result) {
  std::vector<int64_t> along(sizes.size() - dim, 1);
  along.front() = sizes[dim];
  std::string places = reshape(
      countPlaces(writer.typeOf(selection.chosen), along.front()), along);
  places = reshape(expand(places, sizes), {selection.places});
  return choose(places, selection, 0, std::move(result));
}

OptionalTensorList
SelectionBuilder::withCoordinates(const Node &node, const std::string &mask,
                                  const Selection &selection,
                                  const std::string &symbol) {
  OptionalTensorList places;
  std::vector<int64_t> sizes = sizesOf(mask);
  for (const std::optional<TensorRef> &index : indexTensors(node)) {
    if (!index || index->name != mask) {
      places.push_back(index);
      continue;
    }
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      places.push_back(TensorRef{coordinate(selection, sizes, dim)});
      if (!symbol.empty())
        graph.tensorValues.find(places.back()->name)->second.counts = {symbol};
    }
  }
  return places;
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
    choose(flattenPlaces(self, selection, selector.dim,
                         sizesOf(selector.mask).size()),
           selection, selector.dim, selector.result);
    return std::nullopt;
  }
  std::optional<RowDim> chosen = rowDim(writer.typeOf(selector.result));
  OptionalTensorList places = withCoordinates(
      node, selector.mask, selection, chosen ? chosen->symbol : std::string());
  Node replaced = node;
  for (NamedArgument &input : replaced.inputs)
    if (input.name == "indices")
      input.argument.value = std::move(places);
  return replaced;
}

void SelectionBuilder::rewriteCoordinates(const Node &node,
                                          const Selector &selector,
                                          const Selection &selection) {
  std::vector<int64_t> sizes = sizesOf(selector.mask);
  size_t rank = sizes.size();
  if (selector.kind == Selector::Kind::CoordinateLists) {
    std::vector<std::string> results = outputTensors(node);
    for (size_t dim = 0; dim < rank && dim < results.size(); ++dim)
      if (graph.findTensor(results[dim]))
        coordinate(selection, sizes, dim, results[dim]);
    return;
  }
  TensorList places;
  for (size_t dim = 0; dim < rank; ++dim)
    places.push_back(TensorRef{coordinate(selection, sizes, dim)});
  const TensorMeta type = writer.typeOf(selector.result);
  if (!rank)
    refuseSelection("nonzero of a number");
  writer.call("stack.default",
              {argument("tensors", places), argument("dim", int64_t(1))}, type,
              literalSizes(type), selector.result);
}

void SelectionBuilder::rewriteElements(const Node &node,
                                       const Selector &selector,
                                       const Selection &selection,
                                       const std::vector<int64_t> &sizes) {
  const std::string &self = tensorInput(node, "self")->name;
  std::optional<RowDim> rows = rowDim(writer.typeOf(self));
  std::optional<RowDim> maskRows = rowDim(writer.typeOf(selector.mask));
  if (rows && (!maskRows || rows->symbol != maskRows->symbol ||
               sizesOf(self).size() - rows->dim !=
                   sizesOf(selector.mask).size() - maskRows->dim))
    refuseSelection("mask '" + selector.mask +
                    "' chooses from rows whose number depends on data");
  choose(reshape(expand(self, sizes), {selection.places}), selection, 0,
         selector.result);
}

std::optional<Node> SelectionBuilder::rewrite(const Node &node,
                                              const Selector &selector) {
  std::vector<int64_t> sizes = sizesOf(selector.mask);
  if (selector.kind == Selector::Kind::Elements)
    sizes = broadcastSizes(sizes, sizesOf(tensorInput(node, "self")->name));
  const TensorMeta &result = writer.typeOf(selector.result);
  std::optional<RowDim> rows = rowDim(result);
  Selection known;
  if (!rows)
    known = ofKnownSize(selector, sizes,
                        *result.sizes.at(selector.resultDim).value);
  const Selection &selection =
      rows ? ofRows(rows->symbol, selector, sizes) : known;
  if (selector.kind == Selector::Kind::Index)
    return rewriteIndex(node, selector, selection);
  if (selector.kind == Selector::Kind::Elements)
    rewriteElements(node, selector, selection, sizes);
  else
    rewriteCoordinates(node, selector, selection);
  return std::nullopt;
}

} // namespace shardc::pt2
