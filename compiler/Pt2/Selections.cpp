//===- Selections.cpp - Operators whose result's size is data -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// By the names and signatures of native_functions.yaml.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/Selections.h"

#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/SizeExpression.h"

#include <algorithm>

namespace shardc::pt2 {

std::string_view baseName(const Node &node) {
  constexpr std::string_view prefix = "torch.ops.aten.";
  std::string_view name = node.target;
  if (!name.starts_with(prefix))
    return {};
  name.remove_prefix(prefix.size());
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_') && !name.ends_with("__"))
    name.remove_suffix(1);
  return name;
}

const TensorRef *tensorInput(const Node &node, std::string_view name) {
  const Argument *input = node.findInput(name);
  return input ? input->getIf<TensorRef>() : nullptr;
}

std::string RowCount::text() const {
  return factor == 1 ? symbol : std::to_string(factor) + "*" + symbol;
}

RowCount RowCount::fromText(const std::string &text) {
  size_t star = text.find('*');
  if (star == std::string::npos)
    return {text, 1};
  return {text.substr(star + 1), std::stoll(text.substr(0, star))};
}

std::optional<RowCount> asRowCount(const std::string &expression) {
  RowCount count;
  bool isLinear = true;
  auto at = [&](int64_t number) {
    return evaluateExpression(expression, [&](std::string_view symbol) {
      isLinear &= count.symbol.empty() || count.symbol == symbol;
      count.symbol = symbol;
      return SizeNumber(number);
    });
  };
  StatusOr<bool> evaluated = catchFailure<bool>([&] {
    std::optional<int64_t> one = at(1).toInteger();
    count.factor = one.value_or(0);
    return count.factor > 0 && at(0) == SizeNumber(0) &&
           at(1000003) == SizeNumber(1000003 * count.factor);
  });
  if (!evaluated.ok() || !*evaluated || !isLinear || count.symbol.empty())
    return std::nullopt;
  return count;
}

OptionalTensorList indexTensors(const Node &node) {
  const Argument *given = node.findInput("indices");
  if (const auto *some = given ? given->getIf<OptionalTensorList>() : nullptr)
    return *some;
  const auto *all = given ? given->getIf<TensorList>() : nullptr;
  return all ? OptionalTensorList(all->begin(), all->end())
             : OptionalTensorList();
}

std::vector<int64_t> literalSizes(const TensorMeta &meta) {
  std::vector<int64_t> sizes;
  for (const SymInt &size : meta.sizes)
    sizes.push_back(size.value.value_or(0));
  return sizes;
}

std::vector<int64_t> broadcastSizes(std::vector<int64_t> a,
                                    std::vector<int64_t> b) {
  a.insert(a.begin(), b.size() - std::min(a.size(), b.size()), 1);
  b.insert(b.begin(), a.size() - b.size(), 1);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = a[i] == 1 ? b[i] : a[i];
  return a;
}

namespace {

int64_t countElements(const std::vector<int64_t> &sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  return elements;
}

int64_t elementsOf(const TensorMeta &meta) {
  return countElements(literalSizes(meta));
}

bool isMask(const TensorMeta *meta) {
  return meta &&
         (meta->dtype == ScalarType::Bool || meta->dtype == ScalarType::UInt8);
}

std::string resultName(const Node &node) {
  if (node.outputs.empty())
    return {};
  if (const auto *tensor = node.outputs.front().getIf<TensorRef>())
    return tensor->name;
  const auto *list = node.outputs.front().getIf<TensorList>();
  return list && !list->empty() ? list->front().name : std::string();
}

std::optional<Selector> indexSelector(const Graph &graph, const Node &node) {
  OptionalTensorList indices = indexTensors(node);
  std::optional<Selector> selector;
  // Index tensors that stand together have their dimensions where the first is,
  // others in front.
  size_t first = indices.size(), last = 0, given = 0, rank = 1;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i])
      continue;
    first = std::min(first, i);
    last = i;
    ++given;
    const TensorMeta *meta = graph.findTensor(indices[i]->name);
    if (!isMask(meta)) {
      rank = std::max(rank, meta ? meta->sizes.size() : 0);
      continue;
    }
    if (selector)
      return std::nullopt;
    selector = Selector{Selector::Kind::Index, indices[i]->name,
                        elementsOf(*meta),     i,
                        resultName(node),      0};
  }
  // The coordinates of the mask are in the last of the dimensions that index
  // tensors broadcast to.
  if (selector)
    selector->resultDim = (last + 1 - first == given ? first : 0) + rank - 1;
  return selector;
}

} // namespace

std::optional<Selector> asSelector(const Graph &graph, const Node &node) {
  std::string_view name = baseName(node);
  if (name == "index" && node.target.ends_with(".Tensor"))
    return indexSelector(graph, node);
  if (name == "masked_select") {
    const TensorRef *self = tensorInput(node, "self");
    const TensorRef *mask = tensorInput(node, "mask");
    const TensorMeta *meta = self ? graph.findTensor(self->name) : nullptr;
    const TensorMeta *maskMeta = mask ? graph.findTensor(mask->name) : nullptr;
    if (!meta || !maskMeta)
      return std::nullopt;
    return Selector{Selector::Kind::Elements,
                    mask->name,
                    countElements(broadcastSizes(literalSizes(*meta),
                                                 literalSizes(*maskMeta))),
                    0,
                    resultName(node),
                    0};
  }
  bool isList =
      node.target.ends_with("aten.where.default") || name == "nonzero_numpy";
  if (!isList && name != "nonzero")
    return std::nullopt;
  const TensorRef *mask = tensorInput(node, "self");
  if (!mask)
    mask = tensorInput(node, "condition");
  const TensorMeta *meta = mask ? graph.findTensor(mask->name) : nullptr;
  if (!meta)
    return std::nullopt;
  return Selector{isList ? Selector::Kind::CoordinateLists
                         : Selector::Kind::Coordinates,
                  mask->name,
                  elementsOf(*meta),
                  0,
                  resultName(node),
                  0};
}

} // namespace shardc::pt2
