//===- StaticSelections.cpp - masks choose without sizes of data ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One walk over the nodes: what chooses rows, what computes numbers from data,
// and what takes either. Everything else stays as it is.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/StaticSelections.h"

#include "compiler/Pt2/DataNumbers.h"
#include "compiler/Pt2/NodeNotes.h"
#include "compiler/Pt2/SelectionBuilder.h"

#include <algorithm>
#include <iterator>

namespace shardc::pt2 {

namespace {

/// reduction=... of PyTorch's losses (torch/nn/_reduction.py).
enum Reduction : int64_t { None = 0, Mean = 1, Sum = 2 };

bool isFloat(ScalarType dtype) {
  return dtype == ScalarType::Float16 || dtype == ScalarType::BFloat16 ||
         dtype == ScalarType::Float32 || dtype == ScalarType::Float64;
}

/// The dtype in which a number computed from data meets a tensor.
ScalarType numberType(ScalarType dtype) {
  return dtype == ScalarType::Float64 ? dtype : ScalarType::Float32;
}

void setInput(Node &node, std::string_view name, ArgumentValue value) {
  for (NamedArgument &input : node.inputs)
    if (input.name == name) {
      input.argument.value = std::move(value);
      return;
    }
  node.inputs.push_back({std::string(name), Argument{std::move(value)}, {}});
}

bool changesArgument(const Node &node) {
  std::string_view target = node.target;
  return target.substr(0, target.rfind('.')).ends_with('_');
}

void forgetCounts(Graph &graph) {
  for (auto &[name, meta] : graph.tensorValues)
    meta.counts.clear();
}

class SelectionRewriter {
public:
  explicit SelectionRewriter(Graph &graph)
      : graph(graph), writer(graph), selections(graph, writer),
        numbers(graph, writer, selections) {}

  void run() {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      withNodeNotes(graph.nodes[i], i, [&] {
        writer.setPlace(graph.nodes[i]);
        rewrite(graph.nodes[i]);
      });
    graph.nodes = writer.take();
  }

  /// The selections that were made, those of regions too.
  std::vector<StaticSelection> takeMade() { return std::move(made); }

  /// No result of the whole program may have rows.
  void requireNoResultRows() const {
    for (const Argument &output : graph.outputs)
      for (const std::string &name : tensorNames(output))
        if (std::optional<RowDim> rows = rowsOf(name))
          refuseSelection("result '" + name + "' of the model has " +
                          rows->symbol + " rows, which depends on data");
  }

private:
  Graph &graph;
  NodeWriter writer;
  SelectionBuilder selections;
  DataNumbers numbers;
  std::vector<StaticSelection> made;

  std::optional<RowDim> rowsOf(const std::string &tensor) const {
    const TensorMeta *meta = graph.findTensor(tensor);
    return meta ? rowDim(*meta) : std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Numbers from data as arguments
  //===--------------------------------------------------------------------===//

  /// Sizes of rows become those of all places.
  void resolveSizes(const Node &node, NamedArgument &input) {
    const auto &list = *input.argument.getIf<SymIntList>();
    IntList sizes;
    for (const SymInt &size : list) {
      std::optional<RowCount> count;
      if (auto value = graph.symIntValues.find(size.name);
          !size.name.empty() && value != graph.symIntValues.end())
        count = asRowCount(value->second.expression);
      if (size.isLiteral())
        sizes.push_back(*size.value);
      else if (count && takesSizes(node))
        sizes.push_back(selections.of({0, count->text()}).places);
      else
        refuseSelection("argument '" + input.name +
                        "' depends on the values of tensors");
    }
    input.argument.value = std::move(sizes);
  }

  /// `x / n` of a number from data. The result has the dtype of x: a number of
  /// Python does not widen it.
  void rewriteNumber(Node node, std::string_view name) {
    const std::string self = tensorInput(node, "self")->name;
    const std::string result = outputTensors(node).front();
    const TensorMeta type = writer.typeOf(result);
    std::string number = numbers.tensorOf(*node.findInput(name));
    bool staysFloat =
        isFloat(type.dtype) && writer.typeOf(self).dtype == type.dtype;
    if (staysFloat)
      number = convert(number, numberType(type.dtype));
    setInput(node, name, TensorRef{number});
    if (!staysFloat || changesArgument(node))
      return rewriteRows(node);
    // A tensor without dimensions takes part in the choice of the dtype.
    bool isWider = type.sizes.empty();
    std::string wide =
        renameResult(node, isWider ? numberType(type.dtype) : type.dtype);
    rewriteRows(node);
    writer.call("to.other",
                {tensorArgument("self", wide), tensorArgument("other", self)},
                type, literalSizes(type), result);
  }

  std::string convert(const std::string &tensor, ScalarType dtype) {
    const TensorMeta type = writer.typeOf(tensor);
    if (type.dtype == dtype)
      return tensor;
    return writer.call(
        "to.dtype", {tensorArgument("self", tensor), argument("dtype", dtype)},
        NodeWriter::typeLike(type, dtype, {}), literalSizes(type));
  }

  /// Gives the node's only result a new name, and returns that.
  std::string renameResult(Node &node, ScalarType dtype) {
    TensorMeta type = writer.typeOf(outputTensors(node).front());
    type.dtype = dtype;
    std::string name = writer.newName();
    graph.tensorValues.emplace(name, std::move(type));
    node.outputs.front().value = TensorRef{name};
    node.name = name;
    return name;
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  void rewrite(Node &node) {
    if (numbers.take(node))
      return;
    if (rewriteRegion(node))
      return;
    std::string number;
    for (NamedArgument &input : node.inputs) {
      if (input.argument.is<SymIntList>())
        resolveSizes(node, input);
      else if (input.argument.is<SymInt>() || input.argument.is<SymFloat>() ||
               input.argument.is<SymBool>()) {
        if (!takesNumberAsTensor(node, input.name))
          refuseSelection("argument '" + input.name +
                          "' depends on the values of tensors");
        number = input.name;
      }
    }
    if (!number.empty())
      return rewriteNumber(node, number);
    std::optional<Selector> selector = asSelector(graph, node);
    if (!selector || !graph.findTensor(selector->result))
      return rewriteRows(node);
    size_t before = selections.all().size();
    std::optional<Node> indexed = selections.rewrite(node, *selector);
    if (selections.all().size() != before)
      made.push_back(
          {selector->mask, std::string(node.modulePath()), selector->places});
    if (indexed)
      rewriteRows(*indexed);
  }

  //===--------------------------------------------------------------------===//
  // Regions
  //===--------------------------------------------------------------------===//

  /// Whether some tensor of a graph has rows of a selection.
  static bool mentions(const Graph &graph, const std::string &symbol) {
    return std::ranges::any_of(graph.tensorValues, [&](const auto &value) {
      return std::ranges::any_of(value.second.counts, [&](const auto &count) {
        return RowCount::fromText(count).symbol == symbol;
      });
    });
  }

  /// Hands tensor `name` of graph `from` to graph `to`. Returns its name there.
  static std::string handOver(const Graph &from, const std::string &name,
                              Graph &to) {
    std::string there = name;
    while (to.tensorValues.contains(there))
      there += "_";
    to.tensorValues.emplace(there, from.tensorValues.find(name)->second);
    return there;
  }

  /// A graph under torch.no_grad or torch.autocast, with the selections of this
  /// graph as further inputs and its own as further outputs. False for a node
  /// that has none.
  bool rewriteRegion(Node &node) {
    auto place = std::ranges::find_if(node.inputs, [](const auto &input) {
      return input.argument.template is<GraphRef>();
    });
    if (place == node.inputs.end())
      return false;
    const GraphRef &reference = *place->argument.getIf<GraphRef>();
    auto body = std::make_shared<Graph>(*reference.graph);
    SelectionRewriter inner(*body);
    std::vector<NamedArgument> added;
    std::vector<std::string> given, taken;
    for (auto input = place + 1; input != node.inputs.end(); ++input)
      for (std::string &name : tensorNames(input->argument))
        given.push_back(std::move(name));
    for (const Argument &input : body->inputs)
      for (std::string &name : tensorNames(input))
        taken.push_back(std::move(name));
    for (const auto &[symbol, selection] : selections.all())
      if (mentions(*body, symbol))
        inner.selections.adopt(
            symbol, renamed(selection, given, taken, [&](const auto &name) {
              std::string there = handOver(graph, name, *body);
              body->inputs.push_back(Argument{TensorRef{there}});
              added.push_back(tensorArgument("", name));
              return there;
            }));
    inner.run();
    std::ranges::move(inner.made, std::back_inserter(made));
    std::vector<std::string> inside, outside = outputTensors(node);
    for (const Argument &output : body->outputs)
      for (std::string &name : tensorNames(output))
        inside.push_back(std::move(name));
    for (const auto &[symbol, selection] : inner.selections.all())
      if (!selections.all().contains(symbol) && mentions(graph, symbol))
        selections.adopt(
            symbol, renamed(selection, inside, outside, [&](const auto &name) {
              std::string here = handOver(*body, name, graph);
              body->outputs.push_back(Argument{TensorRef{name}});
              node.outputs.push_back(Argument{TensorRef{here}});
              return here;
            }));
    forgetCounts(*body);
    place->argument.value = GraphRef{reference.name, std::move(body)};
    node.inputs.insert(node.inputs.end(), added.begin(), added.end());
    writer.keep(std::move(node));
    return true;
  }

  /// A selection in another graph, where the tensors `from` are called `to`.
  template <typename HandOver>
  static Selection
  renamed(Selection selection, const std::vector<std::string> &from,
          const std::vector<std::string> &to, HandOver handOver) {
    auto source = std::ranges::find(from, selection.source);
    auto index = static_cast<size_t>(source - from.begin());
    selection.source = index < to.size() ? to[index] : std::string();
    for (std::string *name :
         {&selection.chosen, &selection.others, &selection.first})
      *name = handOver(*name);
    return selection;
  }

  /// A node whose arguments are tensors and numbers. One that stays as it is
  /// is moved from.
  void rewriteRows(Node &node) {
    std::optional<RowDim> rows;
    for (const std::vector<std::string> &names :
         {inputTensors(node), outputTensors(node)})
      for (const std::string &name : names)
        if (!rows)
          rows = rowsOf(name);
    if (!rows)
      return writer.keep(std::move(node));
    // What it says of dtypes, the types say as well.
    if (baseName(node) == "_assert_tensor_metadata")
      return;
    const Selection &selection = selections.of(*rows);
    RowUse use = rowUse(graph, node);
    if (use == RowUse::Alone)
      return writer.keep(std::move(node));
    if (use == RowUse::Sum || use == RowUse::Mean)
      return rewriteReduction(node, use == RowUse::Mean);
    if (use == RowUse::ElementLoss || use == RowUse::ClassLoss)
      return rewriteLoss(node, use);
    if (baseName(node) == "index_put" && putsAt(node, selection))
      return rewritePut(node, selection);
    if (use == RowUse::Accumulation && rewriteAccumulation(node))
      return;
    refuseSelection("the operator does not compute each of the " +
                    rows->symbol + " rows that mask '" + selection.source +
                    "' chooses by itself, and how many there are depends on "
                    "data");
  }

  //===--------------------------------------------------------------------===//
  // Sums, means and losses
  //===--------------------------------------------------------------------===//

  /// The sum or mean of `tensor` over rows and other dimensions, or over all
  /// where `dims` is empty.
  void reduce(const std::string &tensor, const RowDim &rows, bool isMean,
              const IntList &dims, bool keepsDims, const std::string &result) {
    const TensorMeta type = writer.typeOf(result);
    std::vector<int64_t> from = literalSizes(writer.typeOf(tensor));
    std::vector<NamedArgument> inputs = {tensorArgument(
        "self", selections.fillOthers(tensor, rows, int64_t(0)))};
    if (!dims.empty()) {
      inputs.push_back(argument("dim", dims));
      inputs.push_back(argument("keepdim", keepsDims));
    }
    std::string sum = writer.call(
        dims.empty() ? "sum.default" : "sum.dim_IntList", std::move(inputs),
        type, literalSizes(type), isMean ? std::string() : result);
    if (!isMean)
      return;
    double perRow = 1;
    for (size_t i = 0; i < from.size(); ++i) {
      auto isHere = [&](int64_t dim) {
        return static_cast<size_t>(dim < 0
                                       ? dim + static_cast<int64_t>(from.size())
                                       : dim) == i;
      };
      if (i != rows.dim && (dims.empty() || std::ranges::any_of(dims, isHere)))
        perRow *= static_cast<double>(from[i]);
    }
    // The count stays exact where the sum is in bf16.
    ScalarType wide = numberType(type.dtype);
    TensorMeta countType = NodeWriter::typeLike(type, wide, {});
    std::string count =
        writer.call("sum.default",
                    {tensorArgument("self", selections.of(rows).chosen),
                     argument("dtype", wide)},
                    countType, {});
    if (perRow != 1)
      count = writer.call(
          "mul.Tensor",
          {tensorArgument("self", count), argument("other", perRow)}, countType,
          {});
    TensorMeta quotientType = type;
    if (type.sizes.empty())
      quotientType.dtype = wide;
    std::string quotient = writer.call(
        "div.Tensor",
        {tensorArgument("self", sum), tensorArgument("other", count)},
        quotientType, literalSizes(type));
    writer.call(
        "to.other",
        {tensorArgument("self", quotient), tensorArgument("other", sum)}, type,
        literalSizes(type), result);
  }

  void rewriteReduction(const Node &node, bool isMean) {
    std::string self = tensorInput(node, "self")->name;
    const std::string result = outputTensors(node).front();
    const RowDim rows = *rowsOf(self);
    IntList dims;
    if (const Argument *given = node.findInput("dim")) {
      if (const auto *list = given->getIf<IntList>())
        dims = *list;
      else if (const auto *one = given->getIf<int64_t>())
        dims = {*one};
    }
    const Argument *keepdim = node.findInput("keepdim");
    const bool *keeps = keepdim ? keepdim->getIf<bool>() : nullptr;
    // `dtype` widens before the sum, and the sum of booleans counts.
    ScalarType dtype = writer.typeOf(result).dtype;
    if (writer.typeOf(self).dtype != dtype) {
      self = convert(self, dtype);
      graph.tensorValues.find(self)->second.counts =
          std::vector<std::string>(rows.dim + 1);
      graph.tensorValues.find(self)->second.counts[rows.dim] = rows.symbol;
    }
    reduce(self, rows, isMean, dims, keeps && *keeps, result);
  }

  static int64_t reductionOf(const Node &node) {
    const Argument *given = node.findInput("reduction");
    const auto *reduction = given ? given->getIf<int64_t>() : nullptr;
    return reduction ? *reduction : int64_t(Mean);
  }

  /// A loss against classes leaves out those that are ignored; another one is
  /// computed for each element and reduced then.
  void rewriteLoss(Node node, RowUse use) {
    const std::string target = tensorInput(node, "target")
                                   ? tensorInput(node, "target")->name
                                   : std::string();
    bool isClass = use == RowUse::ClassLoss;
    if (isClass && !target.empty() && !isFloat(writer.typeOf(target).dtype)) {
      const Argument *given = node.findInput("ignore_index");
      const auto *ignored = given ? given->getIf<int64_t>() : nullptr;
      setInput(
          node, "target",
          TensorRef{selections.fillOthers(target, *rowsOf(target),
                                          ignored ? *ignored : int64_t(-100))});
      return writer.keep(std::move(node));
    }
    std::vector<int64_t> sizes;
    // All have the rows in the same dimension from the right.
    size_t fromRight = 0;
    std::string symbol;
    for (const std::string &name : inputTensors(node)) {
      std::vector<int64_t> own = literalSizes(writer.typeOf(name));
      if (std::optional<RowDim> found = rowsOf(name)) {
        fromRight = own.size() - found->dim;
        symbol = found->symbol;
      }
      if (sizes.empty())
        sizes = own;
      else if (!isClass)
        sizes = broadcastSizes(sizes, own);
    }
    RowDim rows{sizes.size() - fromRight, symbol};
    if (isClass) {
      rows.dim = 0;
      sizes.erase(sizes.begin() + 1);
    }
    int64_t reduction = reductionOf(node);
    const std::string result = outputTensors(node).front();
    setInput(node, "reduction", int64_t(None));
    TensorMeta type = NodeWriter::typeLike(writer.typeOf(result),
                                           writer.typeOf(result).dtype, sizes);
    std::string each = writer.newName();
    graph.tensorValues.emplace(each, std::move(type));
    node.outputs.front().value = TensorRef{each};
    node.name = each;
    writer.keep(std::move(node));
    reduce(each, rows, reduction == Mean, {}, false, result);
  }

  //===--------------------------------------------------------------------===//
  // Writes
  //===--------------------------------------------------------------------===//

  static bool accumulates(const Node &node) {
    const Argument *given = node.findInput("accumulate");
    const bool *accumulate = given ? given->getIf<bool>() : nullptr;
    return accumulate && *accumulate;
  }

  /// `x[mask] = rows` of the same mask.
  bool putsAt(const Node &node, const Selection &selection) const {
    OptionalTensorList indices = indexTensors(node);
    const TensorRef *self = tensorInput(node, "self");
    const TensorRef *values = tensorInput(node, "values");
    if (indices.size() != 1 || !indices.front() || !self || !values ||
        indices.front()->name != selection.source)
      return false;
    std::optional<RowDim> rows = rowsOf(values->name);
    std::vector<int64_t> sizes = literalSizes(writer.typeOf(self->name));
    size_t rank = selection.sizes.size();
    return !rowsOf(self->name) && rows && rows->dim == 0 &&
           sizes.size() >= rank &&
           std::equal(selection.sizes.begin(), selection.sizes.end(),
                      sizes.begin()) &&
           writer.typeOf(values->name).sizes.size() == sizes.size() - rank + 1;
  }

  void rewritePut(const Node &node, const Selection &selection) {
    const std::string self = tensorInput(node, "self")->name;
    std::string values = tensorInput(node, "values")->name;
    const std::string result = outputTensors(node).front();
    const TensorMeta type = writer.typeOf(self);
    std::vector<int64_t> sizes = literalSizes(type);
    if (accumulates(node))
      values = selections.fillOthers(values, *rowsOf(values), int64_t(0));
    std::vector<int64_t> placed = literalSizes(writer.typeOf(values));
    placed.erase(placed.begin());
    placed.insert(placed.begin(), selection.sizes.begin(),
                  selection.sizes.end());
    values = selections.reshape(values, placed);
    std::vector<int64_t> beside = selection.sizes;
    beside.resize(sizes.size(), 1);
    bool isInPlace = changesArgument(node);
    std::string name = isInPlace ? std::string() : result;
    std::string changed =
        accumulates(node)
            ? writer.call("add.Tensor",
                          {tensorArgument("self", self),
                           tensorArgument("other", values)},
                          type, sizes, name)
            : writer.call(
                  "where.self",
                  {tensorArgument("condition",
                                  selections.reshape(selection.chosen, beside)),
                   tensorArgument("self", values),
                   tensorArgument("other", self)},
                  type, sizes, name);
    if (isInPlace)
      writer.call(
          "copy_.default",
          {tensorArgument("self", self), tensorArgument("src", changed)}, type,
          sizes, result);
  }

  /// Adds zeros for rows that are not chosen. False where the rows of values
  /// are not those of the index.
  bool rewriteAccumulation(Node node) {
    if (rowsOf(tensorInput(node, "self")->name))
      return false;
    bool isPut = baseName(node) == "index_put";
    if (isPut && !accumulates(node))
      return false;
    std::string_view argument = isPut                      ? "values"
                                : tensorInput(node, "src") ? "src"
                                                           : "source";
    const TensorRef *values = tensorInput(node, argument);
    std::optional<RowDim> rows = values ? rowsOf(values->name) : std::nullopt;
    if (!rows)
      return false;
    for (const std::string &name : inputTensors(node))
      if (graph.findTensor(name)->dtype == ScalarType::Bool)
        return false;
    setInput(node, argument,
             TensorRef{selections.fillOthers(values->name, *rows, int64_t(0))});
    writer.keep(std::move(node));
    return true;
  }
};

} // namespace

std::vector<StaticSelection> makeSelectionsStatic(Graph &graph) {
  SelectionRewriter rewriter(graph);
  rewriter.run();
  rewriter.requireNoResultRows();
  forgetCounts(graph);
  return rewriter.takeMade();
}

} // namespace shardc::pt2
