//===- RowRules.cpp - Operators that treat rows alike ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A rule says which dimensions an operator mixes; the rows must not be among
// them, and must come out in a dimension that the sizes of the export show.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/RowRules.h"

#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/Selections.h"

#include <algorithm>
#include <iterator>

namespace shardc::pt2 {

using namespace operators;

namespace {

const TensorMeta &metaOf(const Graph &graph, std::string_view name) {
  static const TensorMeta nothing{};
  const TensorMeta *meta = graph.findTensor(name);
  return meta ? *meta : nothing;
}

/// What a rule needs to know of a node.
class NodeRows {
public:
  NodeRows(const Graph &graph, const Node &node)
      : graph(graph), node(node), name(baseName(node)) {
    for (const std::string &input : valueTensors(node))
      if (std::optional<RowDim> rows = rowDim(metaOf(graph, input)))
        inputs.push_back({&metaOf(graph, input), *rows});
      else
        others.push_back(&metaOf(graph, input));
    for (const std::string &output : outputTensors(node))
      if (const TensorMeta *meta = graph.findTensor(output)) {
        if (std::optional<RowDim> rows = rowDim(*meta))
          outputs.push_back({meta, *rows});
        else
          ++outputsWithout;
      }
  }

  RowUse use() const {
    if (isAlone())
      return RowUse::Alone;
    if (inputs.empty() || !sameRows())
      return RowUse::Unknown;
    if (along.contains(name) && !outputs.empty() && !outputsWithout)
      return RowUse::Along;
    if (!outputs.empty())
      return RowUse::Unknown;
    if (name == "sum")
      return RowUse::Sum;
    if (name == "mean")
      return RowUse::Mean;
    if (reductions.contains(name) && isOneResult() && isEuclidean())
      return RowUse::Reduction;
    if (products.contains(name) && sumsOverRows())
      return RowUse::Contraction;
    if (elementLosses.contains(name) && isElementwise(true))
      return RowUse::ElementLoss;
    if (rowLosses.contains(name) && isRowLoss())
      return RowUse::RowLoss;
    if (classLosses.contains(name) && isClassLoss())
      return RowUse::ClassLoss;
    if (accumulations.contains(name))
      return RowUse::Accumulation;
    return RowUse::Unknown;
  }

private:
  struct Rows {
    const TensorMeta *meta;
    RowDim at;
    size_t rank() const { return meta->sizes.size(); }
  };
  const Graph &graph;
  const Node &node;
  std::string_view name;
  std::vector<Rows> inputs, outputs;
  std::vector<const TensorMeta *> others;
  size_t outputsWithout = 0;

  /// Whether all rows are those of one selection; what keeps the order of
  /// elements may make several rows of one.
  bool sameRows() const {
    const Rows &first = inputs.empty() ? outputs.front() : inputs.front();
    auto isSame = [&](const Rows &rows) {
      return rows.at.symbol == first.at.symbol ||
             (inOrder.contains(name) &&
              RowCount::fromText(rows.at.symbol).symbol ==
                  RowCount::fromText(first.at.symbol).symbol);
    };
    return std::ranges::all_of(inputs, isSame) &&
           std::ranges::all_of(outputs, isSame);
  }

  bool rowsAreIn(size_t dim) const {
    auto isThere = [&](const Rows &rows) { return rows.at.dim == dim; };
    return std::ranges::all_of(inputs, isThere) &&
           std::ranges::all_of(outputs, isThere);
  }

  bool isAlone() const {
    if (outputs.empty() || outputsWithout || !sameRows())
      return false;
    if (creation.contains(name))
      return true;
    if (inputs.empty())
      return name == "expand";
    return elementwise.contains(name)     ? isElementwise(false)
           : joining.contains(name)       ? others.empty() && mixesOthers()
           : mixing.contains(name)        ? mixesOthers()
           : lastDims.contains(name)      ? mixesLast()
           : samples.contains(name)       ? keepsSamples()
           : reshaping.contains(name)     ? keepsRows()
           : products.contains(name)      ? multipliesAlone()
           : classLosses.contains(name)   ? isClassLoss()
           : rowLosses.contains(name)     ? isRowLoss()
           : name == "einsum"             ? labelsKeepRows()
           : name == "addmm"              ? addsProductAlone()
           : name == "outer"              ? !hasRows("vec2")
           : elementLosses.contains(name) ? isElementwise(false)
           : name == "index"              ? indexesAlone()
           : name == "embedding"          ? !hasRows("weight")
                                          : name == "one_hot";
  }

  bool isOneResult() const { return node.outputs.size() == 1; }

  /// Zeros add nothing to a norm of positive order.
  bool isEuclidean() const {
    const Argument *order = node.findInput(name == "norm" ? "p" : "ord");
    if (!order || order->is<None>())
      return true;
    const auto *number = order->getIf<double>();
    const auto *integer = order->getIf<int64_t>();
    return (number && *number > 0) || (integer && *integer > 0);
  }

  /// Pairs of rows, and a target for each.
  bool isRowLoss() const {
    return rowsAreIn(0) && others.empty() && inputs.front().rank() == 2;
  }

  /// Logits and targets of the same rows; behind them come the classes.
  bool isClassLoss() const {
    return rowsAreIn(0) && inputs.size() == 2 && firstHasRows() &&
           inputs.front().rank() >= 2;
  }

  /// Operators of samples, which some of them take without.
  bool keepsSamples() const {
    if (!rowsAreIn(0) || !firstHasRows())
      return false;
    size_t rank = inputs.front().rank();
    if (const Argument *pad = node.findInput("pad")) {
      const auto *sizes = pad->getIf<IntList>();
      return sizes && sizes->size() / 2 < rank;
    }
    if (name == "scaled_dot_product_attention")
      return rank >= 3 && std::ranges::all_of(others, [&](const auto *other) {
               return other->sizes.size() < rank ||
                      other->sizes.front().value == 1;
             });
    if (name == "prelu" || name == "group_norm")
      return true;
    // Without samples a convolution or pool takes a dimension less.
    size_t space = name.ends_with("1d") ? 1 : name.ends_with("3d") ? 3 : 2;
    return rank == space + 2 || name.starts_with("pixel");
  }

  /// Whether a product sums over the rows of one operand or of both.
  bool sumsOverRows() const {
    std::vector<std::string> names = inputTensors(node);
    if (names.size() != 2)
      return false;
    const TensorMeta &left = metaOf(graph, names[0]);
    const TensorMeta &right = metaOf(graph, names[1]);
    std::optional<RowDim> a = rowDim(left), b = rowDim(right);
    size_t rightRank = right.sizes.size();
    return a && b && a->dim + 1 == left.sizes.size() &&
           b->dim + std::min<size_t>(rightRank, 2) == rightRank;
  }

  /// The product of rows and a matrix, plus a vector or rows.
  bool addsProductAlone() const {
    return hasRows("mat1") && !hasRows("mat2") && rowsAreIn(0) &&
           (hasRows("self") ||
            (tensorInput(node, "self") &&
             metaOf(graph, tensorInput(node, "self")->name).sizes.size() < 2));
  }

  /// Whether every operand that has rows has them under a letter of the result
  /// that no other operand has.
  bool labelsKeepRows() const {
    const Argument *given = node.findInput("equation");
    const auto *equation = given ? given->getIf<std::string>() : nullptr;
    if (!equation || equation->find('.') != std::string::npos)
      return false;
    std::string text;
    std::ranges::copy_if(*equation, std::back_inserter(text),
                         [](char c) { return c != ' '; });
    size_t arrow = text.find("->");
    if (arrow == std::string::npos)
      return false;
    std::vector<std::string> terms(1);
    for (char c : text.substr(0, arrow))
      if (c == ',')
        terms.emplace_back();
      else
        terms.back() += c;
    std::vector<std::string> names = inputTensors(node);
    char letter = 0;
    for (size_t i = 0; i < names.size() && i < terms.size(); ++i)
      if (std::optional<RowDim> rows = rowDim(metaOf(graph, names[i]))) {
        if (rows->dim >= terms[i].size() ||
            (letter && letter != terms[i][rows->dim]))
          return false;
        letter = terms[i][rows->dim];
      }
    for (size_t i = 0; i < names.size() && i < terms.size(); ++i)
      if (terms[i].find(letter) != std::string::npos &&
          (!rowDim(metaOf(graph, names[i])) ||
           std::ranges::count(terms[i], letter) != 1))
        return false;
    return names.size() == terms.size() &&
           text.find(letter, arrow) != std::string::npos;
  }

  bool hasRows(std::string_view argument) const {
    const TensorRef *tensor = tensorInput(node, argument);
    return tensor && rowDim(metaOf(graph, tensor->name));
  }

  bool firstHasRows() const {
    std::vector<std::string> names = inputTensors(node);
    return !names.empty() && rowDim(metaOf(graph, names.front()));
  }

  /// Whether operands broadcast with the rows in one dimension from the right.
  /// The rows of a `loss` are in none of its results.
  bool isElementwise(bool isLoss) const {
    auto fromRight = [](const Rows &rows) { return rows.rank() - rows.at.dim; };
    size_t place = fromRight(isLoss ? inputs.front() : outputs.front());
    auto isThere = [&](const Rows &rows) { return fromRight(rows) == place; };
    auto isRepeated = [&](const TensorMeta *meta) {
      size_t rank = meta->sizes.size();
      return rank < place || meta->sizes[rank - place].value == 1;
    };
    return std::ranges::all_of(inputs, isThere) &&
           std::ranges::all_of(outputs, isThere) &&
           std::ranges::all_of(others, isRepeated);
  }

  /// The dimensions of the argument that a `rule` names, from the front of
  /// `rank`; empty where the operator mixes all.
  std::optional<std::set<int64_t>> mixedDims(const MixedDims &rule,
                                             size_t rank) const {
    std::set<int64_t> dims;
    const Argument *given = node.findInput(rule.argument);
    if (const auto *one = given ? given->getIf<int64_t>() : nullptr)
      dims.insert(*one);
    else if (const auto *list = given ? given->getIf<IntList>() : nullptr)
      dims.insert(list->begin(), list->end());
    else if (rule.fallback)
      dims.insert(*rule.fallback);
    if (dims.empty())
      return std::nullopt;
    std::set<int64_t> fromFront;
    for (int64_t dim : dims)
      fromFront.insert(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
    return fromFront;
  }

  bool mixesOthers() const {
    auto found = mixing.find(name);
    MixedDims rule =
        found == mixing.end() ? MixedDims{"dim", 0} : found->second;
    if (name == "index_select" && hasRows("index"))
      return !hasRows("self");
    if (joining.contains(name) && !std::ranges::all_of(inputs, [&](auto &rows) {
          return rows.at.dim == inputs.front().at.dim;
        }))
      return false;
    // Stacking adds a dimension and mixes none.
    if (name == "stack")
      return true;
    // `max(x, y)` is element by element.
    if ((name == "max" || name == "min") && tensorInput(node, "other"))
      return isElementwise(false);
    return std::ranges::all_of(inputs, [&](const Rows &rows) {
      std::optional<std::set<int64_t>> dims = mixedDims(rule, rows.rank());
      return dims && !dims->contains(static_cast<int64_t>(rows.at.dim));
    });
  }

  bool mixesLast() const {
    std::string_view shape = lastDims.find(name)->second;
    size_t count = 1;
    if (!shape.empty()) {
      const Argument *given = node.findInput(shape);
      const auto *list = given ? given->getIf<IntList>() : nullptr;
      count = list ? list->size() : SIZE_MAX;
    }
    return inputs.size() == 1 && firstHasRows() &&
           inputs.front().at.dim == outputs.front().at.dim &&
           inputs.front().rank() - inputs.front().at.dim > count;
  }

  /// Whether a change of shape leaves the rows one dimension.
  bool keepsRows() const {
    const Rows &from = inputs.front(), &to = outputs.front();
    if (inputs.size() > 1 && name != "view_as" && name != "reshape_as" &&
        name != "expand_as")
      return false;
    // With one place at most, the rows may be taken for a dimension of 1.
    if (name == "squeeze" && from.meta->sizes[from.at.dim].value == 1)
      return false;
    if (!inOrder.contains(name))
      return true;
    auto before = [](const Rows &rows) {
      int64_t elements = 1;
      for (size_t i = 0; i < rows.at.dim; ++i)
        elements *= rows.meta->sizes[i].value.value_or(0);
      return elements;
    };
    return firstHasRows() && before(from) == before(to);
  }

  /// Whether no product sums over rows.
  bool multipliesAlone() const {
    std::vector<std::string> names = inputTensors(node);
    if (names.size() != 2)
      return false;
    const TensorMeta &left = metaOf(graph, names[0]);
    const TensorMeta &right = metaOf(graph, names[1]);
    std::optional<RowDim> a = rowDim(left), b = rowDim(right);
    size_t rightRank = right.sizes.size();
    return !(a && a->dim + 1 == left.sizes.size()) &&
           !(b && b->dim + 2 == std::max<size_t>(rightRank, 2)) &&
           // Batches of products, the same of both.
           (!a || !b ||
            (left.sizes.size() - a->dim == rightRank - b->dim &&
             rightRank - b->dim > 2));
  }

  /// `x[..., indices]` of rows, or `x[rows]` of something else.
  bool indexesAlone() const {
    OptionalTensorList indices = indexTensors(node);
    size_t place = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!indices[i])
        continue;
      const TensorMeta &meta = metaOf(graph, indices[i]->name);
      std::optional<RowDim> rows = rowDim(meta);
      if (meta.dtype == ScalarType::Bool || meta.dtype == ScalarType::UInt8)
        return false;
      if (hasRows("self")) {
        // Rows of both would need the places of rows among themselves.
        if (rows || i == inputs.front().at.dim)
          return false;
        continue;
      }
      // Index tensors broadcast with the rows in one dimension.
      size_t rank = meta.sizes.size();
      if (rows && place && place != rank - rows->dim)
        return false;
      if (rows)
        place = rank - rows->dim;
    }
    for (const std::optional<TensorRef> &index : indices) {
      if (!index || hasRows("self"))
        continue;
      const TensorMeta &meta = metaOf(graph, index->name);
      size_t rank = meta.sizes.size();
      if (!rowDim(meta) && rank >= place && meta.sizes[rank - place].value != 1)
        return false;
    }
    return true;
  }
};

} // namespace

std::optional<RowDim> rowDim(const TensorMeta &meta) {
  std::optional<RowDim> rows;
  for (size_t i = 0; i < meta.counts.size(); ++i) {
    if (meta.counts[i].empty())
      continue;
    if (rows)
      fail(errors::dataDependentSize,
           "two dimensions of a tensor have sizes that depend on data, " +
               rows->symbol + " and " + meta.counts[i],
           "compute with all elements, and choose by a mask only before sums "
           "and means");
    rows = RowDim{i, meta.counts[i]};
  }
  return rows;
}

std::vector<std::string> tensorNames(const Argument &argument) {
  std::vector<std::string> names;
  if (const auto *tensor = argument.getIf<TensorRef>())
    names.push_back(tensor->name);
  else if (const auto *list = argument.getIf<TensorList>())
    for (const TensorRef &element : *list)
      names.push_back(element.name);
  else if (const auto *some = argument.getIf<OptionalTensorList>())
    for (const std::optional<TensorRef> &element : *some)
      if (element)
        names.push_back(element->name);
  return names;
}

std::vector<std::string> inputTensors(const Node &node) {
  std::vector<std::string> names;
  for (const NamedArgument &input : node.inputs)
    for (std::string &name : tensorNames(input.argument))
      names.push_back(std::move(name));
  return names;
}

std::vector<std::string> outputTensors(const Node &node) {
  std::vector<std::string> names;
  for (const Argument &output : node.outputs)
    for (std::string &name : tensorNames(output))
      names.push_back(std::move(name));
  return names;
}

std::vector<std::string> valueTensors(const Node &node) {
  std::string_view name = baseName(node);
  std::vector<std::string> names = inputTensors(node);
  if ((name == "to" || name == "type_as") && names.size() == 2)
    names.pop_back();
  if (name.starts_with("new_"))
    names.clear();
  return names;
}

RowUse rowUse(const Graph &graph, const Node &node) {
  return NodeRows(graph, node).use();
}

} // namespace shardc::pt2
