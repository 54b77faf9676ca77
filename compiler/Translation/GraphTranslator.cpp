//===- GraphTranslator.cpp - The nodes of an export -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nodes through the operator table; regions by entering their graph.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/GraphTranslator.h"

#include "compiler/Translation/TensorTypes.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

static constexpr StringLiteral gradientRegion =
    "torch.ops.higher_order.wrap_with_set_grad_enabled";
static constexpr StringLiteral autocastRegion =
    "torch.ops.higher_order.wrap_with_autocast";

//===----------------------------------------------------------------------===//
// Operators without translation
//===----------------------------------------------------------------------===//

/// Sizes are numbers by now, so nothing remains of nodes that compute them.
static bool computesSizes(const pt2::Node &node) {
  StringRef target = node.target;
  return target.starts_with("_operator.") || target.starts_with("math.") ||
         target.starts_with("torch.sym_") ||
         target.starts_with("torch.ops.aten.sym_") ||
         target.starts_with("torch.ops.aten._assert_scalar.") ||
         target.starts_with("torch.ops.aten.sym_constrain_range");
}

static const pt2::Graph *graphArgument(const pt2::Node &node, size_t index) {
  const auto *reference =
      index < node.inputs.size()
          ? node.inputs[index].argument.getIf<pt2::GraphRef>()
          : nullptr;
  return reference ? reference->graph.get() : nullptr;
}

const pt2::Graph *translation::regionOf(const pt2::Node &node) {
  if (node.target == gradientRegion)
    return graphArgument(node, 1);
  if (node.target == autocastRegion)
    return graphArgument(node, 4);
  return nullptr;
}

/// The names of tensors among arguments, lists counted by element.
static SmallVector<StringRef> tensorNames(ArrayRef<pt2::Argument> arguments) {
  SmallVector<StringRef> names;
  for (const pt2::Argument &argument : arguments) {
    if (const auto *tensor = argument.getIf<pt2::TensorRef>())
      names.push_back(tensor->name);
    else if (const auto *list = argument.getIf<pt2::TensorList>())
      for (const pt2::TensorRef &element : *list)
        names.push_back(element.name);
    else if (const auto *some = argument.getIf<pt2::OptionalTensorList>())
      for (const std::optional<pt2::TensorRef> &element : *some)
        if (element)
          names.push_back(element->name);
  }
  return names;
}

/// ATen's names of operators that change an argument end in an underscore.
static bool isInPlace(StringRef target) {
  return target.rsplit('.').first.ends_with("_");
}

/// Nodes without a translation that nothing uses: code whose result the model's
/// author dropped. Most often an export still has it.
static llvm::DenseSet<const pt2::Node *>
droppedNodes(const pt2::Graph &graph, const OperatorTable &table) {
  llvm::StringSet<> used;
  auto use = [&](ArrayRef<pt2::Argument> arguments) {
    for (StringRef name : tensorNames(arguments))
      used.insert(name);
  };
  use(graph.outputs);
  llvm::DenseSet<const pt2::Node *> dropped;
  for (const pt2::Node &node : llvm::reverse(graph.nodes)) {
    bool isUsed = llvm::any_of(tensorNames(node.outputs), [&](StringRef name) {
      return used.contains(name);
    });
    if (!isUsed && !node.outputs.empty() && !isInPlace(node.target) &&
        !regionOf(node) && !table.find(node.target)) {
      dropped.insert(&node);
      continue;
    }
    for (const pt2::NamedArgument &input : node.inputs)
      use(input.argument);
  }
  return dropped;
}

static void collectUses(const pt2::Graph &graph, const OperatorTable &table,
                        std::map<std::string, OperatorUse> &uses) {
  llvm::DenseSet<const pt2::Node *> dropped = droppedNodes(graph, table);
  for (const pt2::Node &node : graph.nodes) {
    if (computesSizes(node) || dropped.contains(&node))
      continue;
    const pt2::Graph *inner = regionOf(node);
    OperatorUse &use = uses[node.target];
    if (!use.count++)
      use = {node.target, 1, &node, inner || table.find(node.target)};
    if (inner)
      collectUses(*inner, table, uses);
  }
}

std::vector<OperatorUse> translation::operatorUses(const pt2::Graph &graph) {
  std::map<std::string, OperatorUse> byName;
  collectUses(graph, OperatorTable(), byName);
  std::vector<OperatorUse> uses;
  for (auto &[target, use] : byName)
    uses.push_back(std::move(use));
  return uses;
}

/// Operators whose result's size depends on their operand's values.
static bool hasDataDependentShape(StringRef target) {
  target.consume_front("torch.ops.aten.");
  StringRef name = target.take_until([](char c) { return c == '.'; });
  return name == "nonzero" || name == "masked_select" || name == "item" ||
         name == "_local_scalar_dense" || name.starts_with("unique") ||
         name.starts_with("_unique") || name == "nonzero_numpy" ||
         name == "argwhere";
}

LogicalResult GraphTranslator::checkOperators(const pt2::Graph &graph) {
  std::vector<OperatorUse> unsupported = operatorUses(graph);
  llvm::erase_if(unsupported,
                 [](const OperatorUse &use) { return use.isSupported; });
  if (unsupported.empty())
    return success();
  InFlightDiagnostic diagnostic = emitError(builder.getUnknownLoc());
  diagnostic << "E0130: " << unsupported.size()
             << (unsupported.size() == 1 ? " operator" : " operators")
             << " of the model cannot be translated";
  bool isDataDependent = false;
  for (const OperatorUse &use : unsupported) {
    Diagnostic &note = diagnostic.attachNote();
    StringRef name = use.target;
    name.consume_front("torch.ops.");
    note << name << ": " << use.count << (use.count == 1 ? " node" : " nodes")
         << ", first '" << use.first->name << "'";
    if (StringRef path = use.first->modulePath(); !path.empty())
      note << " in module '" << path << "'";
    if (hasDataDependentShape(use.target)) {
      note << "; the size of its result depends on data";
      isDataDependent = true;
    }
  }
  diagnostic.attachNote()
      << "help: replace them in the model with operators of "
         "docs/generated/dialects/Aten.md";
  if (isDataDependent)
    diagnostic.attachNote() << "help: sizes must not depend on data; select "
                               "with torch.where or a mask instead";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// "Linear" of "torch.nn.modules.linear.Linear".
static StringRef className(StringRef typeName) {
  return typeName.rsplit('.').second.empty() ? typeName
                                             : typeName.rsplit('.').second;
}

/// Takes over the node's module stack and returns its location.
Location GraphTranslator::enterNode(const pt2::Node &node) {
  if (!node.moduleStack.empty()) {
    frames.clear();
    for (const pt2::ModuleFrame &frame : node.moduleStack)
      if (!frame.path.empty())
        frames.push_back({builder.getStringAttr(frame.path),
                          builder.getStringAttr(className(frame.typeName)),
                          frame.callIndex});
    slots.enterCalls(frames);
  }
  StringRef path = frames.empty() ? StringRef() : frames.back().path.getValue();
  return withModulePath(NameLoc::get(builder.getStringAttr(node.name)), path);
}

InFlightDiagnostic GraphTranslator::error(StringRef number,
                                          const pt2::Node &node,
                                          Location location) {
  InFlightDiagnostic diagnostic = emitError(location);
  StringRef name = node.target;
  name.consume_front("torch.ops.");
  diagnostic << number << ": " << name << ": ";
  diagnostic.attachNote() << "at node '" << node.name << "'";
  return diagnostic;
}

LogicalResult GraphTranslator::translateNode(const pt2::Graph &graph,
                                             const pt2::Node &node) {
  Location location = enterNode(node);
  if (node.target == gradientRegion)
    return translateGradientRegion(node, location);
  if (node.target == autocastRegion)
    return translateAutocastRegion(node, location);
  const Operator &op = *table.find(node.target);
  Block &block = *builder.getInsertionBlock();
  Operation *last = block.empty() ? nullptr : &block.back();
  NodeCall call(graph, node, op.schema, slots, requirements, builder, location,
                autocast, floatTypesDiffer);
  if (failed(call.checkArguments()) || failed(op.translate(call)) ||
      failed(call.defineResults()))
    return failure();
  ArrayAttr stack = encodeModuleStack(builder, frames);
  for (Operation &created :
       llvm::make_range(last ? std::next(Block::iterator(last)) : block.begin(),
                        block.end())) {
    // What is read of state has its place already. A repeated view belongs to
    // the module that it is repeated in.
    if (slots.isPlaced(&created))
      continue;
    created.removeAttr(moduleStackName);
    if (!frames.empty())
      created.setAttr(moduleStackName, stack);
  }
  return success();
}

LogicalResult GraphTranslator::translate(const pt2::Graph &graph) {
  llvm::DenseSet<const pt2::Node *> dropped = droppedNodes(graph, table);
  for (const pt2::Node &node : graph.nodes)
    if (!computesSizes(node) && !dropped.contains(&node) &&
        failed(translateNode(graph, node)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Translates the graph in place. Its inputs bind by position to the arguments
/// behind it, its outputs to the node's results.
LogicalResult GraphTranslator::translateRegion(const pt2::Node &node,
                                               size_t graphArgument,
                                               Location location) {
  const pt2::Graph &inner = *regionOf(node);
  SmallVector<pt2::Argument> given;
  for (const pt2::NamedArgument &input :
       ArrayRef(node.inputs).drop_front(graphArgument + 1))
    given.push_back(input.argument);
  SmallVector<StringRef> arguments = tensorNames(given);
  SmallVector<StringRef> inputs = tensorNames(inner.inputs);
  SmallVector<StringRef> outputs = tensorNames(inner.outputs);
  SmallVector<StringRef> results = tensorNames(node.outputs);
  if (inputs.size() != arguments.size() || outputs.size() != results.size())
    return error("E0119", node, location)
           << "the graph has " << inputs.size() << " tensor inputs and "
           << outputs.size() << " outputs, the node " << arguments.size()
           << " and " << results.size();
  for (StringRef argument : arguments)
    if (!slots.find(argument))
      return error("E0119", node, location)
             << "argument '" << argument << "' is not a tensor of the graph";
  slots.enterGraph(inputs, arguments);
  LogicalResult result = translate(inner);
  if (succeeded(result))
    for (StringRef output : outputs)
      if (!slots.find(output))
        return error("E0119", node, location)
               << "output '" << output << "' is not a tensor of the graph";
  if (succeeded(result))
    slots.leaveGraph(outputs, results);
  return result;
}

/// No gradient leaves the region through what it made. A result that is one of
/// the first `older` tensors was there before, and keeps its history: PyTorch
/// hands on the argument of a conversion that changes nothing.
void GraphTranslator::detachResults(const pt2::Node &node, size_t older,
                                    Location location) {
  for (StringRef result : tensorNames(node.outputs)) {
    if (slots.becomesOneOf(older, result))
      continue;
    Value value = slots.read(result, location);
    if (!value || isa<IntegerType>(getElementTypeOrSelf(value)))
      continue;
    auto detached = aten::DetachOp::create(builder, location, value);
    if (!frames.empty())
      detached->setAttr(moduleStackName, encodeModuleStack(builder, frames));
    slots.defineView(result, detached, result, value);
  }
}

LogicalResult GraphTranslator::translateGradientRegion(const pt2::Node &node,
                                                       Location location) {
  const bool *enabled =
      node.inputs.empty() ? nullptr : node.inputs[0].argument.getIf<bool>();
  if (!enabled || !regionOf(node))
    return error("E0119", node, location)
           << "expected a boolean and a graph for arguments";
  if (*enabled && isGradientDisabled)
    return error("E0138", node, location)
           << "torch.enable_grad inside of torch.no_grad is not supported";
  bool outer = std::exchange(isGradientDisabled, !*enabled);
  slots.setRecording(*enabled);
  size_t older = slots.count();
  LogicalResult result = translateRegion(node, 1, location);
  slots.setRecording(!outer);
  isGradientDisabled = outer;
  if (succeeded(result) && !*enabled)
    detachResults(node, older, location);
  return result;
}

LogicalResult GraphTranslator::translateAutocastRegion(const pt2::Node &node,
                                                       Location location) {
  auto get = [&](size_t index) -> const pt2::Argument * {
    return index < node.inputs.size() ? &node.inputs[index].argument : nullptr;
  };
  const auto *device = get(0) ? get(0)->getIf<std::string>() : nullptr;
  const auto *enabled = get(2) ? get(2)->getIf<bool>() : nullptr;
  if (!device || !enabled || !regionOf(node))
    return error("E0119", node, location)
           << "expected a device, a dtype, two booleans and a graph for "
              "arguments";
  // PyTorch's default is float16 on GPUs and bfloat16 on CPUs.
  const auto *dtype = get(1)->getIf<pt2::ScalarType>();
  MLIRContext *context = builder.getContext();
  Type type = dtype              ? elementType(*context, *dtype)
              : *device == "cpu" ? Type(BFloat16Type::get(context))
                                 : Type(Float16Type::get(context));
  if (!isa_and_nonnull<FloatType>(type))
    return error("E0136", node, location)
           << "autocast to a dtype that is not supported";
  Autocast region{*device, cast<FloatType>(type)};
  const Autocast *outer = std::exchange(autocast, *enabled ? &region : nullptr);
  LogicalResult result = translateRegion(node, 4, location);
  autocast = outer;
  return result;
}
