//===- TranslateExportedProgram.cpp - Exports as aten programs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Orchestrates a translation: refuses programs of the wrong kind, declares the
// state and the inputs, has the nodes translated, and returns the loss.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/TranslateExportedProgram.h"

#include "compiler/Translation/AttachLoss.h"
#include "compiler/Translation/ChangedParameters.h"
#include "compiler/Translation/GraphTranslator.h"
#include "compiler/Translation/ModelState.h"
#include "compiler/Translation/TensorTypes.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Aten/Gradients.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/Functions.h"
#include "dialects/Fsdp/ModulePath.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <map>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

namespace {

class ProgramTranslator {
public:
  ProgramTranslator(const pt2::ExportedModel &model, MLIRContext &context,
                    const TranslationOptions &options)
      : model(model), graph(model.program.graph), options(options),
        builder(&context), slots(builder), nodes(builder, slots) {}

  FailureOr<OwningOpRef<ModuleOp>> translate(StringRef name);
  FailureOr<OwningOpRef<ModuleOp>> translateState(StringRef name);

private:
  const pt2::ExportedModel &model;
  const pt2::Graph &graph;
  const TranslationOptions &options;
  OpBuilder builder;
  TensorSlots slots;
  GraphTranslator nodes;

  InFlightDiagnostic error(StringRef number) {
    return emitError(builder.getUnknownLoc()) << number << ": ";
  }
  LogicalResult checkKind();
  LogicalResult checkGradientRegions();
  LogicalResult addInputs(func::FuncOp function, const ModelState &state);
  LogicalResult addOutputs(func::FuncOp function, const ModelState &state);
  LogicalResult writeBuffers(const ModelState &state);
  SmallVector<StringRef> outputNames() const;
  FailureOr<StringRef> findLoss();
  FailureOr<StringRef> findPrediction();
  FailureOr<Value> readOutput(StringRef name);
  FailureOr<Value> computeLoss(func::FuncOp function);
  Value sumParameters(ModuleOp module);
  void warnAboutEvalMode();
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
  return checkGradientRegions();
}

/// A decomposed export has no torch.no_grad regions left: what they enclosed
/// would be trained. Where nothing is differentiated that does no harm.
LogicalResult ProgramTranslator::checkGradientRegions() {
  if (model.program.isTrainingIr() || model.program.verifiers.empty())
    return success();
  if (options.keepOutputs) {
    emitWarning(builder.getUnknownLoc())
        << "the model was exported with run_decompositions, which drops "
           "torch.no_grad";
    return success();
  }
  InFlightDiagnostic diagnostic = error("E0138");
  diagnostic << "the model was exported with run_decompositions, which drops "
                "torch.no_grad: the operations inside it would be "
                "differentiated";
  diagnostic.attachNote() << "help: save what torch.export.export returns";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

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
    if (!state.isUsed(spec.name)) {
      InFlightDiagnostic warning = emitWarning(builder.getUnknownLoc());
      warning << "input '" << spec.name << "' is not used by the model";
      warning.attachNote()
          << "help: torch.export merges two inputs if the same "
             "tensor was passed for both; pass distinct "
             "tensors";
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
// Outputs
//===----------------------------------------------------------------------===//

/// The model's outputs that are tensors.
SmallVector<StringRef> ProgramTranslator::outputNames() const {
  SmallVector<StringRef> names;
  for (const pt2::OutputSpec &spec : model.program.signature.outputs) {
    const auto *tensor = spec.argument.getIf<pt2::TensorRef>();
    if (tensor && slots.find(tensor->name) &&
        (spec.kind == pt2::OutputKind::UserOutput ||
         spec.kind == pt2::OutputKind::LossOutput))
      names.push_back(tensor->name);
  }
  return names;
}

/// The model's loss: its only output that is a floating-point scalar.
FailureOr<StringRef> ProgramTranslator::findLoss() {
  SmallVector<StringRef> outputs = outputNames();
  SmallVector<StringRef> scalars;
  for (StringRef name : outputs) {
    RankedTensorType type = slots.find(name)->type;
    if (type.getRank() == 0 && isa<FloatType>(type.getElementType()))
      scalars.push_back(name);
  }
  if (scalars.size() != 1) {
    InFlightDiagnostic diagnostic = error("E0135");
    if (scalars.empty()) {
      diagnostic << "the model returns no floating-point scalar to use as the "
                    "loss";
      diagnostic.attachNote()
          << "help: let shardc compute a loss of the model's output with "
             "--loss cross_entropy or --loss mse, or wrap model and loss in "
             "one module, as tools/export/shardc_export.py does";
    } else {
      diagnostic << "the model returns " << scalars.size()
                 << " floating-point scalars, and only one can be the loss";
      diagnostic.attachNote()
          << "help: return only one of '" << llvm::join(scalars, "', '") << "'";
    }
    return diagnostic;
  }
  if (outputs.size() > 1)
    emitWarning(builder.getUnknownLoc())
        << "the model returns " << outputs.size() << " values; '"
        << scalars.front() << "' is its loss and the others are dropped";
  return scalars.front();
}

/// What --loss is computed of: the first floating-point tensor that the model
/// returns.
FailureOr<StringRef> ProgramTranslator::findPrediction() {
  SmallVector<StringRef> outputs = outputNames();
  for (StringRef name : outputs) {
    RankedTensorType type = slots.find(name)->type;
    if (type.getRank() == 0 || !isa<FloatType>(type.getElementType()))
      continue;
    if (outputs.size() > 1)
      emitWarning(builder.getUnknownLoc())
          << "the model returns " << outputs.size() << " values; the loss is "
          << "of '" << name << "' and the others are dropped";
    return name;
  }
  return error("E0135") << "--loss needs a model that returns predictions, a "
                           "floating-point tensor with at least one dimension; "
                           "if it returns its loss, leave --loss out";
}

FailureOr<Value> ProgramTranslator::readOutput(StringRef name) {
  if (Value value = slots.read(name, builder.getUnknownLoc()))
    return value;
  return FailureOr<Value>(
      error("E0133") << "output '" << name
                     << "' is a view of a tensor that was changed in place, "
                        "and its current value cannot be determined");
}

LogicalResult ProgramTranslator::writeBuffers(const ModelState &state) {
  for (const pt2::OutputSpec &spec : model.program.signature.outputs) {
    const auto *tensor = spec.argument.getIf<pt2::TensorRef>();
    if (spec.kind != pt2::OutputKind::BufferMutation || !tensor)
      continue;
    FailureOr<Value> value = readOutput(tensor->name);
    if (failed(value))
      return failure();
    writeState(builder, builder.getUnknownLoc(), *value,
               FlatSymbolRefAttr::get(builder.getContext(),
                                      state.declaredAs(spec.target)));
  }
  return success();
}

FailureOr<Value> ProgramTranslator::computeLoss(func::FuncOp function) {
  FailureOr<StringRef> name =
      options.loss.empty() ? findLoss() : findPrediction();
  if (failed(name))
    return failure();
  FailureOr<Value> value = readOutput(*name);
  if (failed(value) || options.loss.empty())
    return value;
  return attachLoss(builder, function, *value, options.loss);
}

LogicalResult ProgramTranslator::addOutputs(func::FuncOp function,
                                            const ModelState &state) {
  slots.enterCalls({});
  if (failed(writeBuffers(state)))
    return failure();
  SmallVector<Value> values;
  SmallVector<StringRef> names;
  if (options.keepOutputs && options.loss.empty()) {
    names = outputNames();
    for (StringRef name : names) {
      FailureOr<Value> value = readOutput(name);
      if (failed(value))
        return failure();
      values.push_back(*value);
    }
  } else {
    FailureOr<Value> loss = computeLoss(function);
    if (failed(loss))
      return failure();
    values.push_back(nodes.getRequirements().checked(builder, *loss));
  }
  auto exit = func::ReturnOp::create(builder, builder.getUnknownLoc(), values);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(),
                                                   exit.getOperandTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, "shardc.name", builder.getStringAttr(name));
  return success();
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

/// Counts the dropouts and norms of a graph, in train (true) and in eval mode.
static void countModes(const pt2::Graph &graph,
                       std::map<bool, int64_t> &modes) {
  for (const pt2::Node &node : graph.nodes) {
    if (const pt2::Graph *region = regionOf(node))
      countModes(*region, modes);
    for (StringRef name : {"train", "training"})
      if (const pt2::Argument *argument = node.findInput(name))
        if (const auto *isTraining = argument->getIf<bool>())
          ++modes[*isTraining];
  }
}

/// An export of model.eval() is trained without dropout and with the running
/// statistics of batch norms, which no one means.
void ProgramTranslator::warnAboutEvalMode() {
  std::map<bool, int64_t> modes;
  countModes(graph, modes);
  if (modes[true] || !modes[false])
    return;
  InFlightDiagnostic warning = emitWarning(builder.getUnknownLoc());
  warning << "the model was exported in eval mode: its " << modes[false]
          << (modes[false] == 1 ? " dropout or norm stays"
                                : " dropouts and norms stay")
          << " in eval mode during training";
  warning.attachNote() << "help: call model.train() before torch.export";
}

FailureOr<OwningOpRef<ModuleOp>> ProgramTranslator::translate(StringRef name) {
  if (failed(checkKind()) || failed(nodes.checkOperators(graph)))
    return failure();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(builder.getUnknownLoc(), name);
  builder.setInsertionPointToEnd(module->getBody());
  warnAboutEvalMode();
  if (!model.notes.evaluation.empty())
    module->getOperation()->setAttr(
        "shardc.no_evaluation", builder.getStringAttr(model.notes.evaluation));
  if (model.notes.hasMeansOfDraws)
    module->getOperation()->setAttr("shardc.means_in_evaluation",
                                    builder.getUnitAttr());
  if (model.notes.captured)
    slots.setCaptured(*model.notes.captured);
  ModelState state(model, builder, slots);
  if (failed(state.declare()))
    return failure();
  auto function =
      func::FuncOp::create(builder, builder.getUnknownLoc(),
                           functions::freeSymbol(*module, functions::forward),
                           builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  if (failed(addInputs(function, state)) || failed(state.defineConstants()) ||
      failed(nodes.translate(graph)) || failed(addOutputs(function, state)) ||
      failed(verify(*module)))
    return failure();
  state.freezeWithoutGradient(
      function.getBody().front().getTerminator()->getOperands());
  if (failed(state.checkSharedMemory()) || failed(keepLastChanges(function)))
    return failure();
  return module;
}

/// In f32; null without trainable parameters.
Value ProgramTranslator::sumParameters(ModuleOp module) {
  const Location location = builder.getUnknownLoc();
  Value total;
  for (auto parameter : module.getOps<fsdp::ParameterOp>()) {
    if (parameter.getFrozen())
      continue;
    auto type = cast<RankedTensorType>(parameter.getType());
    Value value =
        fsdp::ReadOp::create(builder, location, type, parameter.getSymName());
    Value sum =
        aten::SumOp::create(builder, location, value,
                            llvm::to_vector(llvm::seq<int64_t>(type.getRank())),
                            /*keepdim=*/false);
    sum = aten::convertTo(builder, location, sum, builder.getF32Type());
    total = total ? aten::AddOp::create(builder, location, total, sum) : sum;
  }
  return total;
}

FailureOr<OwningOpRef<ModuleOp>>
ProgramTranslator::translateState(StringRef name) {
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(builder.getUnknownLoc(), name);
  builder.setInsertionPointToEnd(module->getBody());
  ModelState state(model, builder, slots);
  if (failed(state.declare()))
    return failure();
  auto function =
      func::FuncOp::create(builder, builder.getUnknownLoc(),
                           functions::freeSymbol(*module, functions::forward),
                           builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Value sum = sumParameters(*module);
  if (!sum)
    return failure();
  func::ReturnOp::create(builder, builder.getUnknownLoc(), sum);
  function.setFunctionType(builder.getFunctionType({}, sum.getType()));
  return module;
}

FailureOr<OwningOpRef<ModuleOp>>
shardc::translateState(const pt2::ExportedModel &model, StringRef name,
                       MLIRContext &context) {
  context
      .loadDialect<aten::AtenDialect, fsdp::FsdpDialect, func::FuncDialect>();
  return ProgramTranslator(model, context, {}).translateState(name);
}

FailureOr<OwningOpRef<ModuleOp>>
shardc::translateExportedProgram(const pt2::ExportedModel &model,
                                 StringRef name, MLIRContext &context,
                                 const TranslationOptions &options) {
  context
      .loadDialect<aten::AtenDialect, fsdp::FsdpDialect, func::FuncDialect>();
  return ProgramTranslator(model, context, options).translate(name);
}
