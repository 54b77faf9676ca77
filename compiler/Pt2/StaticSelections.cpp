//===- StaticSelections.cpp - Masks choose without sizes of data ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// One walk over the nodes: what chooses rows, what computes numbers from data,
// and what takes either. Everything else stays as it is.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/StaticSelections.h"

#include "compiler/Pt2/DataNumbers.h"
#include "compiler/Pt2/NodeNotes.h"
#include "compiler/Pt2/RowWrites.h"
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

void forgetCounts(Graph &graph) {
  for (auto &[name, meta] : graph.tensorValues)
    meta.counts.clear();
}

class SelectionRewriter {
public:
  SelectionRewriter(Graph &graph, ExpressionNumbers &expressions)
      : graph(graph), expressions(expressions), writer(graph),
        masks(graph, expressions), selections(graph, writer, masks),
        numbers(graph, writer, selections), writes(graph, writer, selections) {}

  void run() {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      withNodeNotes(graph.nodes[i], i, [&] {
        Node &node = graph.nodes[i];
        writer.setPlace(node);
        masks.record(node);
        rewrite(node);
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
  ExpressionNumbers &expressions;
  NodeWriter writer;
  MaskIdentity masks;
  SelectionBuilder selections;
  DataNumbers numbers;
  RowWrites writes;
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
    number = convert(number,
                     isFloat(type.dtype) ? numberType(type.dtype) : type.dtype);
    setInput(node, name, TensorRef{number});
    if (node.target == "torch.ops.aten.rsub.Scalar")
      node.target = "torch.ops.aten.rsub.Tensor";
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

  /// `x[i]` of an index that is a number from data.
  bool rewriteSelect(Node &node) {
    if (node.target != "torch.ops.aten.select.int" ||
        !node.findInput("index")->is<SymInt>())
      return false;
    node.target = "torch.ops.aten.select.at";
    setInput(node, "index",
             TensorRef{numbers.tensorOf(*node.findInput("index"))});
    rewriteRows(node);
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  void rewrite(Node &node) {
    if (numbers.take(node))
      return;
    if (rewriteRegion(node) || rewriteSelect(node))
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
    SelectionRewriter inner(*body, expressions);
    std::vector<NamedArgument> added;
    std::vector<std::string> given, taken;
    for (auto input = place + 1; input != node.inputs.end(); ++input)
      for (std::string &name : tensorNames(input->argument))
        given.push_back(std::move(name));
    for (const Argument &input : body->inputs)
      for (std::string &name : tensorNames(input))
        taken.push_back(std::move(name));
    for (size_t i = 0; i < std::min(given.size(), taken.size()); ++i)
      inner.masks.set(taken[i], masks.of(given[i]));
    for (const auto &[symbol, selection] : selections.all())
      if (mentions(*body, symbol))
        inner.selections.adopt(
            symbol, renamed(selection, [&](const auto &name) {
              std::string there = handOver(graph, name, *body);
              body->inputs.push_back(Argument{TensorRef{there}});
              added.push_back(tensorArgument("", name));
              return there;
            }));
    inner.run();
    std::ranges::move(inner.made, std::back_inserter(made));
    if (writesMemory(*body))
      masks.forget();
    std::vector<std::string> inside, outside = outputTensors(node);
    for (const Argument &output : body->outputs)
      for (std::string &name : tensorNames(output))
        inside.push_back(std::move(name));
    for (size_t i = 0; i < std::min(inside.size(), outside.size()); ++i)
      masks.set(outside[i], inner.masks.of(inside[i]));
    for (const auto &[symbol, selection] : inner.selections.all())
      if (!selections.all().contains(symbol) && mentions(graph, symbol))
        selections.adopt(symbol, renamed(selection, [&](const auto &name) {
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

  /// A selection whose tensors have other names in another graph.
  template <typename HandOver>
  static Selection renamed(Selection selection, HandOver handOver) {
    for (std::string *name : {&selection.chosen, &selection.others,
                              &selection.first, &selection.none})
      *name = handOver(*name);
    return selection;
  }

  static bool writesMemory(const Graph &body) {
    return std::ranges::any_of(body.nodes, [](const Node &node) {
      return changesArgument(node) ||
             std::ranges::any_of(node.inputs, [](const NamedArgument &input) {
               const auto *region = input.argument.getIf<GraphRef>();
               return region && writesMemory(*region->graph);
             });
    });
  }

  /// A node whose arguments are tensors and numbers. One that stays as it is
  /// is moved from.
  void rewriteRows(Node &node) {
    std::optional<RowDim> rows;
    for (const std::vector<std::string> &names :
         {valueTensors(node), outputTensors(node)})
      for (const std::string &name : names)
        if (!rows)
          rows = rowsOf(name);
    if (!rows) {
      if (baseName(node) != "index_put" || !writes.putKnown(node))
        writer.keep(std::move(node));
      return;
    }
    // What it says of dtypes, the types say as well.
    if (baseName(node) == "_assert_tensor_metadata")
      return;
    const Selection &selection = selections.of(*rows);
    if (baseName(node) == "index_put" && writes.rewrite(node))
      return;
    switch (rowUse(graph, node)) {
    case RowUse::Alone:
      return writer.keep(std::move(node));
    case RowUse::Sum:
      return rewriteReduction(node, false);
    case RowUse::Mean:
      return rewriteReduction(node, true);
    case RowUse::Reduction:
      return writer.keep(withNeutralOthers(node));
    case RowUse::Along:
      return rewriteAlong(node, selection, *rows);
    case RowUse::Contraction:
      return writer.keep(withOthersFilled(node, inputTensors(node).front(), 0));
    case RowUse::ElementLoss:
    case RowUse::RowLoss:
    case RowUse::ClassLoss:
      return rewriteLoss(node, rowUse(graph, node));
    case RowUse::Accumulation:
      if (writes.accumulate(node))
        return;
      break;
    case RowUse::Unknown:
      break;
    }
    refuseSelection("the operator does not compute each of the " +
                    rows->symbol + " rows that mask '" + selection.mask +
                    "' chooses by itself, and how many there are depends on "
                    "data");
  }

  /// A node with `number` for what is not chosen in one of its tensors.
  Node withOthersFilled(Node node, const std::string &tensor,
                        ArgumentValue number) {
    std::string filled =
        selections.fillOthers(tensor, *rowsOf(tensor), std::move(number));
    for (NamedArgument &input : node.inputs)
      if (const auto *reference = input.argument.getIf<TensorRef>();
          reference && reference->name == tensor) {
        input.argument.value = TensorRef{filled};
        break;
      }
    return node;
  }

  Node withNeutralOthers(const Node &node) {
    const std::string &self = tensorInput(node, "self")->name;
    return withOthersFilled(node, self,
                            neutralNumber(node, writer.typeOf(self).dtype));
  }

  /// What is not chosen repeats the first chosen row again.
  void rewriteAlong(const Node &node, const Selection &selection,
                    const RowDim &rows) {
    Node filled = withNeutralOthers(node);
    const std::string result = outputTensors(node).front();
    std::string all = renameResult(filled, writer.typeOf(result).dtype);
    writer.keep(std::move(filled));
    selections.choose(all, selection, rowsOf(result)->dim, result);
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
    if (dims.empty() && keeps && *keeps)
      for (size_t i = 0; i < writer.typeOf(self).sizes.size(); ++i)
        dims.push_back(static_cast<int64_t>(i));
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
    } else if (use == RowUse::RowLoss) {
      rows.dim = 0;
      sizes.resize(1);
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
};

} // namespace

std::vector<StaticSelection> makeSelectionsStatic(Graph &graph) {
  ExpressionNumbers expressions;
  SelectionRewriter rewriter(graph, expressions);
  rewriter.run();
  rewriter.requireNoResultRows();
  forgetCounts(graph);
  return rewriter.takeMade();
}

} // namespace shardc::pt2
