//===- TranslateExportedProgram.cpp - exports as aten programs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Orchestrates a translation: refuses programs of the wrong kind, declares the
// state, translates node after node with the operator table, and returns the
// loss.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/TranslateExportedProgram.h"

#include "compiler/Translation/ModelState.h"
#include "compiler/Translation/OperatorTable.h"
#include "compiler/Translation/TensorTypes.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "passes/Import/ModuleStack.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

class ProgramTranslator {
public:
  ProgramTranslator(const pt2::ExportedModel &model, MLIRContext &context)
      : model(model), graph(model.program.graph), builder(&context) {}

  FailureOr<OwningOpRef<ModuleOp>> translate(StringRef name);

private:
  const pt2::ExportedModel &model;
  const pt2::Graph &graph;
  OpBuilder builder;
  OperatorTable table;
  TensorSlots slots;
  /// The stack of the last node that had one: nodes without are PyTorch's
  /// own and belong to what surrounds them.
  SmallVector<ModuleFrame> frames;

  InFlightDiagnostic error(StringRef number) {
    return emitError(builder.getUnknownLoc()) << number << ": ";
  }
  LogicalResult checkKind();
  LogicalResult checkOperators();
  LogicalResult addInputs(func::FuncOp function, const ModelState &state);
  LogicalResult translateNodes(func::FuncOp function);
  LogicalResult translateNode(const pt2::Node &node, Block &block);
  LogicalResult addOutputs(func::FuncOp function);
  FailureOr<Value> findLoss();
  Value valueOf(StringRef name);
};

} // namespace

//===----------------------------------------------------------------------===//
// Checks of the whole program
//===----------------------------------------------------------------------===//

LogicalResult ProgramTranslator::checkKind() {
  for (const pt2::OutputSpec &output : model.program.signature.outputs) {
    switch (output.kind) {
    case pt2::OutputKind::GradientToParameter:
    case pt2::OutputKind::GradientToUserInput:
      return error("E0138") << "the export has a backward graph; export the "
                               "module's forward alone";
    case pt2::OutputKind::ParameterMutation:
      return error("E0137") << "'" << output.target
                            << "' is a parameter that forward changes, which "
                               "is the optimizer's task";
    case pt2::OutputKind::Token:
      return error("E0138") << "the export has effect tokens, which are not "
                               "supported";
    default:
      break;
    }
  }
  if (!model.program.isTrainingIr())
    emitWarning(builder.getUnknownLoc())
        << "the model was exported with run_decompositions, which forgets "
           "torch.no_grad; gradients flow through what it enclosed";
  return success();
}

/// Symbolic sizes are specialised, so nothing remains of nodes that compute
/// them.
static bool computesSizes(const pt2::Node &node) {
  StringRef target = node.target;
  return target.starts_with("_operator.") ||
         target.starts_with("torch.ops.aten.sym_size.") ||
         target.starts_with("torch.ops.aten.sym_stride.") ||
         target.starts_with("torch.ops.aten.sym_numel.");
}

LogicalResult ProgramTranslator::checkOperators() {
  struct Unsupported {
    const pt2::Node *first;
    unsigned count;
  };
  std::map<std::string, Unsupported> targets;
  for (const pt2::Node &node : graph.nodes)
    if (!computesSizes(node) && !table.find(node.target))
      ++targets.try_emplace(node.target, Unsupported{&node, 0})
            .first->second.count;
  if (targets.empty())
    return success();
  InFlightDiagnostic diagnostic = error("E0130");
  diagnostic << targets.size()
             << (targets.size() == 1 ? " operator" : " operators")
             << " of the model cannot be translated";
  for (const auto &[target, unsupported] : targets) {
    Diagnostic &note = diagnostic.attachNote();
    StringRef name = target;
    name.consume_front("torch.ops.");
    note << name << ": " << unsupported.count
         << (unsupported.count == 1 ? " node" : " nodes") << ", first '"
         << unsupported.first->name << "'";
    if (StringRef path = unsupported.first->modulePath(); !path.empty())
      note << " in module '" << path << "'";
  }
  diagnostic.attachNote() << "help: replace them in the model by operators of "
                             "docs/generated/dialects/Aten.md";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static void warnAboutSymbolicSizes(const pt2::InputSpec &spec,
                                   RankedTensorType type, Location location) {
  InFlightDiagnostic warning = emitWarning(location);
  warning << "input '" << spec.name
          << "' has symbolic sizes; the program is compiled for [";
  llvm::interleaveComma(type.getShape(), warning);
  warning << "] alone";
}

LogicalResult ProgramTranslator::addInputs(func::FuncOp function,
                                           const ModelState &state) {
  for (const pt2::InputSpec &spec : model.program.signature.inputs) {
    if (spec.kind == pt2::InputKind::Token)
      return error("E0138") << "the export has effect tokens, which are not "
                               "supported";
    if (spec.kind != pt2::InputKind::UserInput)
      continue;
    const pt2::TensorMeta *meta = graph.findTensor(spec.name);
    if (!meta)
      continue; // Python numbers are constants of the graph.
    RankedTensorType type = tensorType(*builder.getContext(), *meta);
    if (!type)
      return error("E0136") << "input '" << spec.name << "' has dtype "
                            << pt2::spelling(meta->dtype)
                            << " or a size that is not supported";
    Location location = withModulePath(builder.getUnknownLoc(), spec.name);
    if (meta->hasSymbolicSizes())
      warnAboutSymbolicSizes(spec, type, builder.getUnknownLoc());
    if (!state.isUsed(spec.name)) {
      InFlightDiagnostic warning = emitWarning(builder.getUnknownLoc());
      warning << "input '" << spec.name << "' is not used by the model";
      warning.attachNote() << "help: a tensor that was passed twice as example "
                              "input is one input to torch.export";
    }
    if (failed(function.insertArgument(
            function.getNumArguments(), type,
            builder.getDictionaryAttr(builder.getNamedAttr(
                "shardc.name", builder.getStringAttr(spec.name))),
            location)))
      return failure();
    slots.define(spec.name, function.getArguments().back(), StorageKind::Input);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// "Linear" of "torch.nn.modules.linear.Linear".
static StringRef className(StringRef typeName) {
  return typeName.rsplit('.').second.empty() ? typeName
                                             : typeName.rsplit('.').second;
}

LogicalResult ProgramTranslator::translateNode(const pt2::Node &node,
                                               Block &block) {
  if (!node.moduleStack.empty()) {
    frames.clear();
    for (const pt2::ModuleFrame &frame : node.moduleStack)
      if (!frame.path.empty())
        frames.push_back({builder.getStringAttr(frame.path),
                          builder.getStringAttr(className(frame.typeName)),
                          frame.callIndex});
  }
  StringRef path = frames.empty() ? StringRef() : frames.back().path.getValue();
  Location location =
      withModulePath(NameLoc::get(builder.getStringAttr(node.name)), path);
  const Operator &op = *table.find(node.target);
  Operation *last = block.empty() ? nullptr : &block.back();
  NodeCall call(graph, node, op.schema, slots, builder, location);
  if (failed(call.checkArguments()) || failed(op.translate(call)) ||
      failed(call.defineResults()))
    return failure();
  ArrayAttr stack = encodeModuleStack(builder, frames);
  for (Operation &created :
       llvm::make_range(last ? std::next(Block::iterator(last)) : block.begin(),
                        block.end()))
    if (!frames.empty())
      created.setAttr(moduleStackName, stack);
  return success();
}

LogicalResult ProgramTranslator::translateNodes(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (const pt2::Node &node : graph.nodes)
    if (!computesSizes(node) && failed(translateNode(node, block)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// The present value of a tensor of the graph, null when there is none.
Value ProgramTranslator::valueOf(StringRef name) {
  const TensorSlot *slot = slots.find(name);
  if (!slot || slots.isStale(*slot))
    return nullptr;
  if (slot->value)
    return slot->value;
  return fsdp::ReadOp::create(builder, builder.getUnknownLoc(), slot->type,
                              slots.storageOf(*slot).symbol);
}

/// The model's loss: its only output that is a floating-point scalar.
FailureOr<Value> ProgramTranslator::findLoss() {
  SmallVector<StringRef> scalars;
  unsigned outputs = 0;
  for (const pt2::OutputSpec &spec : model.program.signature.outputs) {
    if (spec.kind != pt2::OutputKind::UserOutput &&
        spec.kind != pt2::OutputKind::LossOutput)
      continue;
    ++outputs;
    const auto *tensor = spec.argument.getIf<pt2::TensorRef>();
    const TensorSlot *slot = tensor ? slots.find(tensor->name) : nullptr;
    if (slot && slot->type.getRank() == 0 &&
        isa<FloatType>(slot->type.getElementType()))
      scalars.push_back(tensor->name);
  }
  if (scalars.size() != 1) {
    InFlightDiagnostic diagnostic = error("E0135");
    diagnostic << "the model returns " << scalars.size()
               << " floating-point scalars among " << outputs
               << " outputs, expected one loss";
    diagnostic.attachNote()
        << "help: wrap model and loss in one module and export that, as "
           "tools/export/shardc_export.py does with WithLoss";
    return diagnostic;
  }
  if (outputs > 1)
    emitWarning(builder.getUnknownLoc())
        << "the model returns " << outputs << " values; '" << scalars.front()
        << "' is its loss and the others are dropped";
  Value loss = valueOf(scalars.front());
  if (!loss)
    return FailureOr<Value>(
        error("E0133") << "the loss '" << scalars.front()
                       << "' shares memory with a tensor that was changed in "
                          "place later");
  return loss;
}

LogicalResult ProgramTranslator::addOutputs(func::FuncOp function) {
  frames.clear();
  for (const pt2::OutputSpec &spec : model.program.signature.outputs) {
    if (spec.kind != pt2::OutputKind::BufferMutation)
      continue;
    const auto *tensor = spec.argument.getIf<pt2::TensorRef>();
    Value value = tensor ? valueOf(tensor->name) : Value();
    if (!value)
      return error("E0133") << "the new value of buffer '" << spec.target
                            << "' shares memory with a tensor that was changed "
                               "in place later";
    fsdp::WriteOp::create(
        builder, builder.getUnknownLoc(), value,
        FlatSymbolRefAttr::get(builder.getContext(), spec.target));
  }
  FailureOr<Value> loss = findLoss();
  if (failed(loss))
    return failure();
  func::ReturnOp::create(builder, builder.getUnknownLoc(), *loss);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), loss->getType()));
  return success();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

FailureOr<OwningOpRef<ModuleOp>> ProgramTranslator::translate(StringRef name) {
  if (failed(checkKind()) || failed(checkOperators()))
    return failure();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(builder.getUnknownLoc(), name);
  builder.setInsertionPointToEnd(module->getBody());
  ModelState state(model, builder, slots);
  if (failed(state.declare()))
    return failure();
  auto function =
      func::FuncOp::create(builder, builder.getUnknownLoc(), "forward",
                           builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  if (failed(addInputs(function, state)) || failed(translateNodes(function)) ||
      failed(addOutputs(function)) || failed(verify(*module)))
    return failure();
  return module;
}

FailureOr<OwningOpRef<ModuleOp>>
shardc::translateExportedProgram(const pt2::ExportedModel &model,
                                 StringRef name, MLIRContext &context) {
  context
      .loadDialect<aten::AtenDialect, fsdp::FsdpDialect, func::FuncDialect>();
  return ProgramTranslator(model, context).translate(name);
}
