//===- ModelState.cpp - Parameters and buffers of an export ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declarations, tied weights, and the traps of reference exports: overlapping
// storages, parameters captured as constants, parameters that nothing uses.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/ModelState.h"

#include "compiler/Translation/GradientHistory.h"

#include "compiler/Translation/TensorTypes.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/ModulePath.h"
#include "dialects/Reference/TensorBytes.h"
#include "runtime/format/Errors.h"

#include <algorithm>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

static void collectUses(const pt2::Argument &argument,
                        llvm::StringSet<> &used) {
  if (const auto *tensor = argument.getIf<pt2::TensorRef>())
    used.insert(tensor->name);
  if (const auto *list = argument.getIf<pt2::TensorList>())
    for (const pt2::TensorRef &tensor : *list)
      used.insert(tensor.name);
  if (const auto *list = argument.getIf<pt2::OptionalTensorList>())
    for (const std::optional<pt2::TensorRef> &tensor : *list)
      if (tensor)
        used.insert(tensor->name);
}

ModelState::ModelState(const pt2::ExportedModel &model, OpBuilder &builder,
                       TensorSlots &slots)
    : model(model), builder(builder), slots(slots) {
  for (const pt2::Node &node : model.program.graph.nodes)
    for (const pt2::NamedArgument &input : node.inputs)
      collectUses(input.argument, used);
  for (const pt2::Argument &output : model.program.graph.outputs)
    collectUses(output, used);
}

//===----------------------------------------------------------------------===//
// Reporting
//===----------------------------------------------------------------------===//

Location ModelState::stateLocation(StringRef name) const {
  return withModulePath(builder.getUnknownLoc(), name.rsplit('.').second.empty()
                                                     ? StringRef()
                                                     : name.rsplit('.').first);
}

InFlightDiagnostic ModelState::error(StringRef number, StringRef name) const {
  InFlightDiagnostic diagnostic = emitError(stateLocation(name));
  diagnostic << number << ": '" << name << "' ";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Tied and overlapping storages
//===----------------------------------------------------------------------===//

/// The first name of the signature stands for all tied ones, as in
/// `nn.Module.named_parameters`: tied parameters are one, and so are tied
/// buffers. A parameter and a buffer are not: only one of them is trained.
/// Constants follow a buffer that they are tied to, which may change.
void ModelState::findTiedNames() {
  if (!model.weights.isSharingKnown()) {
    InFlightDiagnostic warning = emitWarning(builder.getUnknownLoc());
    warning << "the archive has no weights and does not say which parameters "
               "are tied; all are assumed to be untied";
    warning.attachNote() << "help: export it with tools/export/"
                            "shardc_export.py --meta, or with its weights";
  }
  for (const pt2::NameGroup &names : model.weights.tiedNames()) {
    auto tie = [&](ArrayRef<pt2::InputKind> kinds) {
      SmallVector<const pt2::InputSpec *> tied;
      for (const pt2::InputSpec &spec : model.program.signature.inputs)
        if (llvm::is_contained(names, spec.target) &&
            llvm::is_contained(kinds, spec.kind))
          tied.push_back(&spec);
      if (llvm::all_of(tied,
                       [&](auto *spec) { return isSmallConstant(*spec); }))
        return;
      for (const pt2::InputSpec *spec : tied)
        declaredName[spec->target] = tied.front()->target;
    };
    tie(pt2::InputKind::Parameter);
    tie({pt2::InputKind::Buffer, pt2::InputKind::TensorConstant});
  }
}

StringRef ModelState::declaredAs(StringRef name) const {
  auto tied = declaredName.find(name);
  return tied == declaredName.end() ? name : StringRef(tied->second);
}

/// The elements of the storage from the tensor's first to behind its last.
static std::pair<int64_t, int64_t> extent(const pt2::WeightEntry &entry) {
  int64_t last = entry.storageOffset;
  for (auto [size, stride] : llvm::zip_equal(entry.sizes, entry.strides)) {
    if (size == 0)
      return {0, 0};
    last += (size - 1) * stride;
  }
  return {entry.storageOffset, last + 1};
}

/// What the program changes: parameters that it trains and buffers that it
/// writes, by all their names.
std::set<std::string> ModelState::changedNames() const {
  llvm::StringSet<> written;
  builder.getInsertionBlock()->walk(
      [&](fsdp::WriteOp write) { written.insert(write.getSymbol()); });
  std::set<std::string> changed;
  for (const pt2::InputSpec &spec : model.program.signature.inputs) {
    const std::string &name = spec.target;
    fsdp::ParameterOp parameter = parameters.lookup(declaredAs(name));
    bool isTrained = parameter && !parameter.getFrozen();
    if (isTrained || written.contains(declaredAs(name)))
      changed.insert(name);
  }
  return changed;
}

/// torch 2.6 repeats the name of a tied parameter: its other one is nothing of
/// the graph.
bool ModelState::isDeclared(StringRef name) const {
  return llvm::any_of(
      model.program.signature.inputs,
      [&](const pt2::InputSpec &spec) { return spec.target == name; });
}

LogicalResult ModelState::checkSharedMemory() const {
  std::set<std::string> changed = changedNames();
  for (const pt2::NameGroup &names : model.weights.sharedStorages())
    for (const std::string &a : names)
      for (const std::string &b : names) {
        if (!changed.count(a) || a == b || declaredAs(a) == declaredAs(b) ||
            !isDeclared(b))
          continue;
        auto [aBegin, aEnd] = extent(*model.weights.find(a));
        auto [bBegin, bEnd] = extent(*model.weights.find(b));
        if (aBegin >= bEnd || bBegin >= aEnd)
          continue;
        InFlightDiagnostic diagnostic = error("E0137", a);
        diagnostic << "changes, and overlaps '" << b
                   << "' in memory, which is not supported";
        diagnostic.attachNote()
            << "help: compute '" << b << "' from '" << a
            << "' in forward, or give it memory of its own with .clone()";
        return diagnostic;
      }
  return success();
}

//===----------------------------------------------------------------------===//
// Parameters captured as constants
//===----------------------------------------------------------------------===//

/// Whether two entries hold the same tensor, as far as the archive tells.
static bool isSameTensor(const pt2::Weights &weights, StringRef a,
                         StringRef b) {
  const pt2::WeightEntry *x = weights.find(a.str());
  const pt2::WeightEntry *y = weights.find(b.str());
  if (!x || !y || x->dtype != y->dtype || x->sizes != y->sizes)
    return false;
  if (!weights.hasData(*x) || !weights.hasData(*y))
    return true;
  StatusOr<std::vector<std::byte>> left = weights.readTensor(a.str());
  StatusOr<std::vector<std::byte>> right = weights.readTensor(b.str());
  return left.ok() && right.ok() && *left == *right;
}

/// A parameter that the model reaches through a Python list is exported as a
/// constant (pytorch#163303): it would never be trained.
LogicalResult ModelState::checkCapturedParameters() const {
  for (const pt2::InputSpec &parameter : model.program.signature.inputs) {
    if (parameter.kind != pt2::InputKind::Parameter || isUsed(parameter.name))
      continue;
    for (const pt2::InputSpec &constant : model.program.signature.inputs) {
      if (constant.kind != pt2::InputKind::TensorConstant ||
          !isUsed(constant.name) ||
          !isSameTensor(model.weights, parameter.target, constant.target))
        continue;
      InFlightDiagnostic diagnostic = error("E0134", parameter.target);
      diagnostic << "is a parameter that nothing uses, and constant '"
                 << constant.target << "' has its value";
      diagnostic.attachNote()
          << "help: the parameter is not registered where the model uses it, "
             "for example because it is in a Python list; use "
             "nn.ParameterList";
      return diagnostic;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

/// Names of the optimizer's states.
static bool isReserved(StringRef name) {
  return name.starts_with("optimizer#");
}

FailureOr<RankedTensorType>
ModelState::stateType(const pt2::InputSpec &spec) const {
  if (isReserved(spec.target)) {
    InFlightDiagnostic diagnostic = error("E0132", spec.target);
    diagnostic << "has a name that is reserved for optimizer states";
    diagnostic.attachNote() << "help: give it another name in the model";
    return FailureOr<RankedTensorType>(diagnostic);
  }
  const pt2::TensorMeta *meta = model.program.graph.findTensor(spec.name);
  RankedTensorType type =
      meta ? tensorType(*builder.getContext(), *meta) : RankedTensorType();
  if (!type)
    return FailureOr<RankedTensorType>(
        error("E0136", spec.target)
        << "has dtype " << (meta ? pt2::spelling(meta->dtype) : "unknown")
        << " or a size that is not supported");
  return type;
}

/// The path of the module that has the tensor for an attribute; none for a
/// constant that forward makes, such as torch.tensor(0.5).
static SmallVector<std::string, 1> ownersOf(const pt2::InputSpec &spec) {
  StringRef name = spec.target;
  if (spec.kind == pt2::InputKind::TensorConstant &&
      name.rsplit('.').second.starts_with("lifted_tensor_"))
    return {};
  return {name.contains('.') ? name.rsplit('.').first.str() : ""};
}

/// Another name and placeholder of a declared parameter or buffer.
template <typename DeclarationOp>
LogicalResult ModelState::addTiedName(DeclarationOp declared,
                                      const pt2::InputSpec &spec,
                                      RankedTensorType type) {
  StringRef name = declared.getSymName();
  if (declared.getType() != type)
    return error("E0119", spec.target)
           << "is " << type << " and tied to '" << name << "', which is "
           << declared.getType();
  slots.defineSame(spec.name, placeholderOf[name]);
  // A parameter has no owners: every module reads it where it uses it.
  if constexpr (std::is_same_v<DeclarationOp, fsdp::BufferOp>)
    for (StringRef owner : ownersOf(spec))
      slots.addOwner(spec.name, owner);
  if (spec.target == name)
    return success(); // torch 2.6 repeats the name of a tied parameter.
  SmallVector<Attribute> aliases(declared.getAliases().begin(),
                                 declared.getAliases().end());
  aliases.push_back(builder.getStringAttr(spec.target));
  declared.setAliasesAttr(builder.getArrayAttr(aliases));
  return success();
}

LogicalResult ModelState::declareParameter(const pt2::InputSpec &spec) {
  std::string name = declaredAs(spec.target).str();
  FailureOr<RankedTensorType> type = stateType(spec);
  if (failed(type))
    return failure();
  // Integers have no gradient: nothing is trained, cast or reduced.
  if (isa<IntegerType>(type->getElementType()))
    return declareBuffer(spec);
  RankedTensorType kept = storedType(*type);
  const pt2::TensorMeta *meta = model.program.graph.findTensor(spec.name);
  if (auto declared = parameters.find(name); declared != parameters.end()) {
    if (meta->requiresGrad == declared->second.getFrozen()) {
      InFlightDiagnostic diagnostic = error("E0137", spec.target);
      diagnostic << "has the memory of '" << name
                 << "', and only one of the two parameters is trained";
      diagnostic.attachNote() << "help: tie them, so that they are one "
                                 "parameter, or give one memory of its own "
                                 "with .clone()";
      return diagnostic;
    }
    return addTiedName(declared->second, spec, kept);
  }
  parameters[name] = fsdp::ParameterOp::create(
      builder, stateLocation(name), builder.getStringAttr(name),
      TypeAttr::get(kept), builder.getArrayAttr({}),
      meta->requiresGrad ? UnitAttr() : builder.getUnitAttr());
  placeholderOf[name] = spec.name;
  TensorStorage storage;
  storage.kind = StorageKind::Parameter;
  storage.symbol = FlatSymbolRefAttr::get(builder.getContext(), name);
  slots.defineState(spec.name, std::move(storage), *type);
  return success();
}

/// A tensor that the model's code spells out, such as `torch.tensor(-1e9)`, is
/// a constant like any other number. Weights never enter the IR as attributes,
/// and large tables are like weights; so is a constant that is a buffer too.
bool ModelState::isSmallConstant(const pt2::InputSpec &spec) const {
  constexpr int64_t maxElements = 64;
  const pt2::WeightEntry *entry = model.weights.find(spec.target);
  return spec.kind == pt2::InputKind::TensorConstant && entry &&
         !declaredName.contains(spec.target) && model.weights.hasData(*entry) &&
         entry->elementCount() <= maxElements;
}

LogicalResult ModelState::defineConstants() {
  for (const pt2::InputSpec &spec : model.program.signature.inputs) {
    if (!isSmallConstant(spec) || !isUsed(spec.name))
      continue;
    FailureOr<RankedTensorType> type = stateType(spec);
    if (failed(type))
      return failure();
    StatusOr<std::vector<std::byte>> bytes =
        model.weights.readTensor(spec.target);
    if (!bytes.ok())
      return emitError(builder.getUnknownLoc())
             << errorNumber(bytes.status().code()) << ": "
             << bytes.status().message();
    TensorStorage storage;
    storage.kind = StorageKind::Constant;
    storage.constant = reference::fromBytes(*type, *bytes).toAttribute();
    storage.owners = ownersOf(spec);
    slots.defineState(spec.name, std::move(storage), *type);
  }
  return success();
}

LogicalResult ModelState::declareBuffer(const pt2::InputSpec &spec) {
  if (!isUsed(spec.name) &&
      !tensorType(*builder.getContext(),
                  *model.program.graph.findTensor(spec.name)))
    return success(); // Nothing computes with a dtype that we do not have.
  FailureOr<RankedTensorType> type = stateType(spec);
  if (failed(type))
    return failure();
  StringRef name = declaredAs(spec.target);
  RankedTensorType kept = storedType(*type);
  const bool isSaved =
      spec.kind != pt2::InputKind::TensorConstant && spec.persistent;
  if (auto declared = buffers.find(name); declared != buffers.end()) {
    if (isSaved)
      declared->second.setNonPersistent(false);
    return addTiedName(declared->second, spec, kept);
  }
  buffers[name] = fsdp::BufferOp::create(
      builder, stateLocation(name), builder.getStringAttr(name),
      TypeAttr::get(kept), builder.getArrayAttr({}),
      /*mean=*/FlatSymbolRefAttr(),
      isSaved ? UnitAttr() : builder.getUnitAttr(),
      /*sync=*/fsdp::BufferSyncAttr(),
      model.notes.parameters.contains(name) ? builder.getUnitAttr()
                                            : UnitAttr());
  placeholderOf[name] = spec.name;
  TensorStorage storage;
  storage.kind = StorageKind::Buffer;
  storage.symbol = FlatSymbolRefAttr::get(builder.getContext(), name);
  storage.owners = ownersOf(spec);
  slots.defineState(spec.name, std::move(storage), *type);
  return success();
}

/// Whether any of the tied names of a parameter is used.
bool ModelState::isTensorUsed(StringRef declared) const {
  return llvm::any_of(
      model.program.signature.inputs, [&](const pt2::InputSpec &spec) {
        return spec.kind == pt2::InputKind::Parameter &&
               declaredAs(spec.target) == declared && isUsed(spec.name);
      });
}

/// PyTorch's optimizers skip a parameter without a gradient, weight decay
/// included. That is what frozen means.
void ModelState::freeze(ArrayRef<StringRef> names, StringRef why) {
  if (names.empty())
    return;
  InFlightDiagnostic warning = emitWarning(builder.getUnknownLoc());
  warning << names.size()
          << (names.size() == 1 ? " parameter is " : " parameters are ") << why
          << " and will not be trained";
  for (StringRef name : names) {
    parameters.find(name)->second.setFrozen(true);
    warning.attachNote() << "'" << name << "'";
  }
}

void ModelState::freezeUnusedParameters() {
  SmallVector<StringRef> names;
  for (const pt2::InputSpec &spec : model.program.signature.inputs) {
    auto found = parameters.find(spec.target);
    if (spec.kind == pt2::InputKind::Parameter && found != parameters.end() &&
        !found->second.getFrozen() && !isTensorUsed(spec.target))
      names.push_back(spec.target);
  }
  freeze(names, "not used by the model");
}

/// A loss that no gradient leaves is the differentiate phase's error.
void ModelState::freezeWithoutGradient(ValueRange results) {
  llvm::StringSet<> reached = parametersBehind(results);
  SmallVector<StringRef> names;
  bool isTrained = false;
  for (const pt2::InputSpec &spec : model.program.signature.inputs) {
    auto found = parameters.find(spec.target);
    if (spec.kind != pt2::InputKind::Parameter || found == parameters.end() ||
        found->second.getFrozen())
      continue;
    if (reached.contains(spec.target))
      isTrained = true;
    else
      names.push_back(spec.target);
  }
  if (isTrained)
    freeze(names, "reached by no gradient");
}

LogicalResult ModelState::declare() {
  findTiedNames();
  if (failed(checkCapturedParameters()))
    return failure();
  for (const pt2::InputSpec &spec : model.program.signature.inputs) {
    if (spec.kind == pt2::InputKind::Parameter &&
        failed(declareParameter(spec)))
      return failure();
    bool isBuffer = spec.kind == pt2::InputKind::Buffer ||
                    spec.kind == pt2::InputKind::TensorConstant;
    if (isBuffer && !isSmallConstant(spec) && failed(declareBuffer(spec)))
      return failure();
  }
  freezeUnusedParameters();
  return success();
}
