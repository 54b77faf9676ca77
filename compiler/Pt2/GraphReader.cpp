//===- GraphReader.cpp - Graphs of the export schema ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a graph in two steps: the JSON into structs, then the names: each is
// defined once and before its first use, tensors that are used have a type, and
// references to symbolic values get the hint recorded for them.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/GraphReader.h"

#include "compiler/Pt2/ArgumentReader.h"
#include "compiler/Pt2/NodeNotes.h"
#include "compiler/Pt2/ReadFailure.h"

#include <set>

namespace shardc::pt2 {

namespace {

template <typename T, typename ReadElement>
NameMap<T> readNameMap(const Json &graph, const char *key, const char *what,
                       ReadElement readElement) {
  NameMap<T> map;
  const Json *object = optionalMember(graph, key);
  if (!object)
    return map;
  for (const auto &[name, element] : asObject(*object, key).items())
    withNote([&] { return "in " + std::string(what) + " '" + name + "'"; },
             [&] { map.emplace(name, readElement(element)); });
  return map;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

ArgumentKind readKind(const Json &input) {
  const Json *kind = optionalMember(input, "kind");
  switch (kind ? asInt(*kind, "an argument's kind") : 0) {
  case 1:
    return ArgumentKind::Positional;
  case 2:
    return ArgumentKind::Keyword;
  default:
    return ArgumentKind::Unspecified;
  }
}

NamedArgument readNamedArgument(const Json &input, size_t index) {
  const std::string &name =
      asString(member(input, "name"), "an argument's name");
  auto makeNote = [&] {
    return "in argument " +
           (name.empty() ? std::to_string(index) : "'" + name + "'");
  };
  return withNote(makeNote, [&] {
    return NamedArgument{name, readArgument(member(input, "arg")),
                         readKind(input)};
  });
}

/// Name of the first tensor or symbolic value that a node makes; empty when it
/// makes none.
std::string firstOutputName(const Node &node) {
  for (const Argument &output : node.outputs) {
    if (const auto *tensor = output.getIf<TensorRef>())
      return tensor->name;
    if (const auto *tensors = output.getIf<TensorList>())
      if (!tensors->empty())
        return tensors->front().name;
    if (const auto *symbol = output.getIf<SymInt>())
      return symbol->name;
  }
  return {};
}

/// Fills in `metadata` and `moduleStack`.
void readMetadata(const Json &metadata, Node &node) {
  for (const auto &[key, text] : asObject(metadata, "metadata").items()) {
    const std::string &value = asString(text, "a metadata value");
    if (key == "nn_module_stack")
      node.moduleStack = parseModuleStack(value);
    else
      node.metadata.emplace(key, value);
  }
}

/// Reads into `node`, which then describes what is known when reading fails.
void readNode(const Json &value, size_t index, Node &node) {
  node.target = asString(member(value, "target"), "a node's target");
  if (const Json *name = optionalMember(value, "name"))
    node.name = asString(*name, "a node's name");
  readMetadata(member(value, "metadata"), node);
  node.outputs = readArguments(member(value, "outputs"), "outputs");
  if (node.name.empty())
    node.name = firstOutputName(node);
  if (node.name.empty())
    node.name = "node_" + std::to_string(index);
  for (const Json &input : asArray(member(value, "inputs"), "inputs"))
    node.inputs.push_back(readNamedArgument(input, node.inputs.size()));
  if (const Json *flag = optionalMember(value, "is_hop_single_tensor_return"))
    node.isHopSingleTensorReturn = asBool(*flag, "is_hop_single_tensor_return");
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Walks a graph in execution order and keeps the names defined so far.
class NameChecker {
public:
  explicit NameChecker(Graph &graph) : graph(graph) {}

  void check() {
    for (Argument &input : graph.inputs)
      visit(input, [&](auto &value) { define(value); });
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      withNodeNotes(graph.nodes[i], i, [&] { checkNode(graph.nodes[i]); });
    for (Argument &output : graph.outputs)
      withNote([] { return std::string("in the graph's outputs"); },
               [&] { visit(output, [&](auto &value) { use(value); }); });
  }

private:
  Graph &graph;
  std::set<std::string, std::less<>> defined;
  std::set<std::string, std::less<>> nodeNames;

  void checkNode(Node &node) {
    for (NamedArgument &input : node.inputs)
      visit(input.argument, [&](auto &value) { use(value); });
    for (Argument &output : node.outputs)
      visit(output, [&](auto &value) { define(value); });
    if (!nodeNames.insert(node.name).second)
      fail(errors::inconsistentProgram,
           "two nodes are called '" + node.name + "'");
  }

  /// Calls `action` for each tensor and each symbolic value of `argument`.
  template <typename Action>
  void visit(Argument &argument, Action action) {
    std::visit([&](auto &value) { visitValue(value, action); }, argument.value);
  }
  template <typename T, typename Action>
  void visitValue(T &value, Action action) {
    if constexpr (requires { define(value); })
      action(value);
  }
  template <typename T, typename Action>
  void visitValue(std::vector<T> &list, Action action) {
    if constexpr (!std::is_same_v<T, bool>)
      for (T &element : list)
        visitValue(element, action);
  }
  template <typename Action>
  void visitValue(std::optional<TensorRef> &tensor, Action action) {
    if (tensor)
      action(*tensor);
  }
  template <typename Action>
  void visitValue(std::shared_ptr<const ArgumentMap> &map, Action action) {
    // Shared maps are constant: their names are checked on a copy.
    ArgumentMap copy = *map;
    for (auto &[key, argument] : copy)
      visit(argument, action);
  }

  void defineName(const std::string &name) {
    if (!defined.insert(name).second)
      fail(errors::inconsistentProgram,
           "value '" + name + "' is defined twice");
  }
  void define(TensorRef &tensor) {
    defineName(tensor.name);
    const TensorMeta *meta = graph.findTensor(tensor.name);
    if (meta && !hasCountableBytes(*meta))
      fail(errors::inconsistentProgram,
           "the size of tensor '" + tensor.name + "' overflows 64 bits");
  }
  void define(SymInt &symbol) { defineSymbol(symbol, graph.symIntValues); }
  void define(SymFloat &symbol) { defineSymbol(symbol, graph.symFloatValues); }
  void define(SymBool &symbol) { defineSymbol(symbol, graph.symBoolValues); }

  void useName(const std::string &name) {
    if (!defined.contains(name))
      fail(errors::inconsistentProgram,
           "value '" + name + "' is used before it is defined");
  }
  void use(TensorRef &tensor) {
    useName(tensor.name);
    if (!graph.findTensor(tensor.name))
      fail(errors::inconsistentProgram,
           "tensor '" + tensor.name + "' has no type");
  }
  void use(SymInt &symbol) { useSymbol(symbol, graph.symIntValues); }
  void use(SymFloat &symbol) { useSymbol(symbol, graph.symFloatValues); }
  void use(SymBool &symbol) { useSymbol(symbol, graph.symBoolValues); }

  template <typename T>
  void defineSymbol(Symbolic<T> &symbol, const NameMap<Symbolic<T>> &values) {
    if (symbol.name.empty())
      return;
    defineName(symbol.name);
    addHint(symbol, values);
  }
  template <typename T>
  void useSymbol(Symbolic<T> &symbol, const NameMap<Symbolic<T>> &values) {
    if (symbol.name.empty())
      return;
    useName(symbol.name);
    addHint(symbol, values);
  }
  template <typename T>
  void addHint(Symbolic<T> &symbol, const NameMap<Symbolic<T>> &values) {
    auto found = values.find(symbol.name);
    if (found != values.end())
      symbol.value = found->second.value;
  }
};

} // namespace

Graph readGraph(const Json &value) {
  Graph graph;
  graph.tensorValues =
      readNameMap<TensorMeta>(value, "tensor_values", "tensor", readTensorMeta);
  graph.symIntValues =
      readNameMap<SymInt>(value, "sym_int_values", "symbolic int", readSymInt);
  graph.symFloatValues = readNameMap<SymFloat>(value, "sym_float_values",
                                               "symbolic float", readSymFloat);
  graph.symBoolValues = readNameMap<SymBool>(value, "sym_bool_values",
                                             "symbolic bool", readSymBool);
  graph.inputs = readArguments(member(value, "inputs"), "graph inputs");
  for (const Json &element : asArray(member(value, "nodes"), "nodes")) {
    size_t index = graph.nodes.size();
    Node &node = graph.nodes.emplace_back();
    withNodeNotes(node, index, [&] { readNode(element, index, node); });
  }
  graph.outputs = readArguments(member(value, "outputs"), "graph outputs");
  if (const Json *single = optionalMember(value, "is_single_tensor_return"))
    graph.isSingleTensorReturn = asBool(*single, "is_single_tensor_return");
  NameChecker(graph).check();
  return graph;
}

} // namespace shardc::pt2
