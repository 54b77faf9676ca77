//===- SymbolBindings.cpp - Symbolic sizes become numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rewrites a graph and its subgraphs in execution order, so that an error names
// the first node that it concerns. Values computed in the graph need no
// interpretation of the nodes: the file has an expression over symbols for each
// of them.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/SymbolBindings.h"

#include "compiler/Pt2/ArgumentReader.h"
#include "compiler/Pt2/NodeNotes.h"
#include "compiler/Pt2/Selections.h"
#include "compiler/Pt2/SizeExpression.h"
#include "compiler/Pt2/SymbolTable.h"

#include <algorithm>

namespace shardc::pt2 {

namespace {

/// Makes one graph static.
class GraphSpecializer {
public:
  GraphSpecializer(Graph &graph, SymbolTable &symbols,
                   std::set<std::string> &uncheckedAssertions)
      : graph(graph), symbols(symbols),
        uncheckedAssertions(uncheckedAssertions) {}

  void run() {
    for (Argument &input : graph.inputs)
      specialize(input);
    std::vector<Node> kept;
    kept.reserve(graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      withNodeNotes(graph.nodes[i], i, [&] {
        if (specialize(graph.nodes[i]))
          kept.push_back(std::move(graph.nodes[i]));
      });
    graph.nodes = std::move(kept);
    withNote([] { return std::string("in the graph's outputs"); },
             [&] {
               for (Argument &output : graph.outputs)
                 specialize(output);
             });
    // What no node defines: unused elements that have a type nevertheless.
    for (auto &[name, meta] : graph.tensorValues)
      specializeMeta(name, meta);
  }

  void specialize(Argument &argument) {
    std::visit([&](auto &value) { argument.value = specialized(value); },
               argument.value);
  }

private:
  Graph &graph;
  SymbolTable &symbols;
  std::set<std::string> &uncheckedAssertions;

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  void specializeSizes(std::vector<SymInt> &sizes) {
    for (SymInt &size : sizes)
      size = SymInt{symbols.resolve(size), {}, {}};
  }

  void specializeMeta(const std::string &name, TensorMeta &meta) {
    if (!meta.isStatic())
      withNote([&] { return "in tensor '" + name + "'"; },
               [&] { makeStatic(meta); });
  }

  /// Keeps the symbols of sizes that depend on data.
  void recordCounts(TensorMeta &meta) {
    for (size_t i = 0; i < meta.sizes.size(); ++i) {
      const std::string &expression = meta.sizes[i].expression;
      if (!symbols.dependsOnData(expression))
        continue;
      std::optional<RowCount> count = asRowCount(expression);
      if (!count)
        continue;
      meta.counts.resize(meta.sizes.size());
      meta.counts[i] = count->text();
    }
  }

  void makeStatic(TensorMeta &meta) {
    recordCounts(meta);
    specializeSizes(meta.sizes);
    specializeSizes(meta.strides);
    meta.storageOffset =
        symbols.dependsOnData(meta.storageOffset.expression)
            ? SymInt{}
            : SymInt{symbols.resolve(meta.storageOffset), {}, {}};
    for (const SymInt &size : meta.sizes)
      if (*size.value < 0)
        fail(errors::uncomputableSize, "a size is negative, " +
                                           std::to_string(*size.value) +
                                           ", with " + symbols.assignments());
    if (!hasCountableBytes(meta))
      fail(errors::uncomputableSize,
           "the tensor's size overflows 64 bits with " + symbols.assignments());
  }

  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  /// The number that `symbol` stands for, which is a literal or the name of a
  /// value with an entry in `values`.
  template <typename T>
  T valueOf(const Symbolic<T> &symbol) {
    if (symbol.name.empty())
      return symbols.resolve(symbol);
    const NameMap<Symbolic<T>> &values = namedValues(symbol);
    auto found = values.find(symbol.name);
    if (found == values.end())
      fail(errors::inconsistentProgram,
           "symbolic value '" + symbol.name + "' has no expression");
    return symbols.resolve(found->second);
  }

  const NameMap<SymInt> &namedValues(const SymInt &) {
    return graph.symIntValues;
  }
  const NameMap<SymFloat> &namedValues(const SymFloat &) {
    return graph.symFloatValues;
  }
  const NameMap<SymBool> &namedValues(const SymBool &) {
    return graph.symBoolValues;
  }

  template <typename T>
  bool dependsOnData(const Symbolic<T> &symbol) {
    if (symbol.name.empty())
      return false;
    auto found = namedValues(symbol).find(symbol.name);
    return found != namedValues(symbol).end() &&
           symbols.dependsOnData(found->second.expression);
  }

  template <typename T>
  ArgumentValue specialized(T &value) {
    return std::move(value);
  }
  /// What depends on data stays a symbol.
  template <typename T>
  ArgumentValue specialized(Symbolic<T> &symbol) {
    if (dependsOnData(symbol))
      return std::move(symbol);
    return valueOf(symbol);
  }
  template <typename T>
  ArgumentValue specialized(std::vector<Symbolic<T>> &list) {
    if (std::ranges::any_of(list, [&](const auto &element) {
          return dependsOnData(element);
        })) {
      for (Symbolic<T> &element : list)
        if (!dependsOnData(element))
          element = Symbolic<T>{valueOf(element), {}, {}};
      return std::move(list);
    }
    std::vector<T> values;
    values.reserve(list.size());
    for (const Symbolic<T> &element : list)
      values.push_back(valueOf(element));
    return values;
  }
  ArgumentValue specialized(TensorRef &tensor) {
    auto meta = graph.tensorValues.find(tensor.name);
    if (meta != graph.tensorValues.end())
      specializeMeta(meta->first, meta->second);
    return std::move(tensor);
  }
  ArgumentValue specialized(TensorList &list) {
    for (TensorRef &tensor : list)
      tensor = std::get<TensorRef>(specialized(tensor));
    return std::move(list);
  }
  ArgumentValue specialized(GraphRef &reference) {
    auto body = std::make_shared<Graph>(*reference.graph);
    withNote(
        [&] { return "in subgraph '" + reference.name + "'"; },
        [&] { GraphSpecializer(*body, symbols, uncheckedAssertions).run(); });
    return GraphRef{reference.name, std::move(body)};
  }
  ArgumentValue specialized(std::shared_ptr<const ArgumentMap> &map) {
    auto copy = std::make_shared<ArgumentMap>(*map);
    for (auto &[key, argument] : *copy)
      specialize(argument);
    return std::shared_ptr<const ArgumentMap>(std::move(copy));
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  static bool isSymbol(const Argument &argument) {
    return argument.is<SymInt>() || argument.is<SymFloat>() ||
           argument.is<SymBool>();
  }

  /// True for `sym_size`, `_operator.mul` and all others whose results are
  /// known without running them.
  static bool computesNumbers(const Node &node) {
    return !node.outputs.empty() && std::ranges::all_of(node.outputs, isSymbol);
  }

  static bool isAssertion(const Node &node) {
    return node.target == "torch.ops.aten._assert_scalar.default";
  }

  /// Whether an assertion about sizes holds; it must. One about the values of
  /// tensors is noted.
  void checkAssertion(const Node &node) {
    const Argument *given = node.findInput("assert_msg");
    const auto *message = given ? given->getIf<std::string>() : nullptr;
    const Argument *condition = node.findInput("self");
    const auto *symbol = condition ? condition->getIf<SymBool>() : nullptr;
    if (symbol && dependsOnData(*symbol)) {
      if (!symbols.alwaysHolds(graph.symBoolValues.find(symbol->name)->second))
        uncheckedAssertions.insert(message ? *message : node.name);
      return;
    }
    if (!symbol || valueOf(*symbol))
      return;
    fail(ErrorCode::E0003, "with " + symbols.assignments() +
                               ", an assertion of the model does not hold" +
                               (message ? ": " + *message : ""));
  }

  /// A histogram of integers has as many bins as asked for. The runtime refuses
  /// inputs that have others, and a step with computed numbers that have.
  void defineBins(const Node &node) {
    if (node.target != "torch.ops.aten.bincount.default")
      return;
    const Argument *given = node.findInput("minlength");
    const auto *bins = given ? given->getIf<int64_t>() : nullptr;
    const auto *result = node.outputs.front().getIf<TensorRef>();
    const TensorMeta *meta = result ? graph.findTensor(result->name) : nullptr;
    if (!bins || *bins <= 0 || !meta || meta->sizes.size() != 1)
      return;
    const std::string &expression = meta->sizes.front().expression;
    std::optional<std::string> symbol = asSymbol(expression);
    if (!symbol || !symbols.dependsOnData(expression))
      return;
    symbols.define(*symbol, *bins);
  }

  /// A selection has at most as many elements as there are to choose from.
  void boundCount(const Node &node) {
    std::optional<Selector> selector = asSelector(graph, node);
    if (!selector)
      return;
    const TensorMeta *meta = graph.findTensor(selector->result);
    if (!meta || selector->resultDim >= meta->sizes.size())
      return;
    const std::string &expression = meta->sizes[selector->resultDim].expression;
    std::optional<std::string> symbol = asSymbol(expression);
    if (symbol && symbols.dependsOnData(expression))
      symbols.setBound(*symbol, selector->places);
  }

  /// Returns false when nothing of the node remains.
  bool specialize(Node &node) {
    if (isAssertion(node)) {
      checkAssertion(node);
      return false;
    }
    if (computesNumbers(node)) {
      for (Argument &output : node.outputs)
        specialize(output);
      // What computes a number from data remains.
      if (std::ranges::none_of(node.outputs, isSymbol))
        return false;
    }
    // A graph inside may bound what its results count.
    for (NamedArgument &input : node.inputs)
      specialize(input.argument);
    boundCount(node);
    defineBins(node);
    for (Argument &output : node.outputs)
      specialize(output);
    return true;
  }
};

/// Makes the signature's numbers those of the graph.
void specializeSignature(ExportedProgram &program) {
  auto takeNumber = [](Argument &specified, const Argument &argument) {
    if (specified.is<SymInt>() || specified.is<SymFloat>() ||
        specified.is<SymBool>())
      specified = argument;
  };
  GraphSignature &signature = program.signature;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    InputSpec &input = signature.inputs[i];
    takeNumber(input.argument, program.graph.inputs[i]);
    if (input.kind == InputKind::UserInput && !input.argument.is<TensorRef>())
      input.kind = InputKind::ConstantInput;
  }
  for (size_t i = 0; i < signature.outputs.size(); ++i)
    takeNumber(signature.outputs[i].argument, program.graph.outputs[i]);
}

/// The conditions that could not be decided. Fails on one that does not hold.
std::vector<std::string> checkGuards(const ExportedProgram &program,
                                     const SymbolTable &symbols) {
  std::vector<std::string> unchecked;
  auto valueOf = [&](std::string_view input, std::string_view property,
                     int64_t dimension) -> std::optional<SizeNumber> {
    const TensorMeta *meta = program.graph.findTensor(input);
    if (!meta || (property != "size" && property != "stride"))
      return std::nullopt;
    const auto &values = property == "size" ? meta->sizes : meta->strides;
    if (dimension < 0 || static_cast<size_t>(dimension) >= values.size())
      return std::nullopt;
    return SizeNumber(*values[static_cast<size_t>(dimension)].value);
  };
  for (const std::string &guard : program.guards) {
    std::optional<bool> holds = evaluateGuard(guard, valueOf);
    if (!holds)
      unchecked.push_back(guard);
    else if (!*holds)
      fail(ErrorCode::E0003,
           "with " + symbols.assignments() +
               ", the export does not hold: it requires " + guard,
           "choose other values, or export the model with these sizes");
  }
  return unchecked;
}

} // namespace

StatusOr<SymbolBindings>
bindSymbols(ExportedModel &model, const std::map<std::string, int64_t> &given) {
  return catchFailure<SymbolBindings>([&] {
    ExportedProgram &program = model.program;
    SymbolTable symbols(program);
    symbols.bind(given);
    SymbolBindings result;
    GraphSpecializer(program.graph, symbols, result.uncheckedAssertions).run();
    result.selections = makeSelectionsStatic(program.graph);
    specializeSignature(program);
    result.symbols = symbols.symbols();
    if (symbols.differsFromExample())
      result.uncheckedGuards = checkGuards(program, symbols);
    return result;
  });
}

} // namespace shardc::pt2
