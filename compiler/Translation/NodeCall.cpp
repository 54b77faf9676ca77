//===- NodeCall.cpp - One node of an export being translated --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Building operators, reporting errors, and the node's results. Arguments are
// in NodeArguments.cpp.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/NodeCall.h"

#include "compiler/Translation/GradientHistory.h"

#include "compiler/Translation/TensorTypes.h"
#include "compiler/Translation/TensorWindow.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"
#include "dialects/Fsdp/ModulePath.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

//===----------------------------------------------------------------------===//
// Building and reporting
//===----------------------------------------------------------------------===//

/// The operator's name as PyTorch users write it: "aten.relu.default".
static StringRef operatorName(const pt2::Node &node) {
  StringRef name = node.target;
  name.consume_front("torch.ops.");
  return name;
}

InFlightDiagnostic NodeCall::error(StringRef number) {
  InFlightDiagnostic diagnostic = emitError(location);
  diagnostic << number << ": " << operatorName(node) << ": ";
  StringRef path = getModulePath(location);
  Diagnostic &note = diagnostic.attachNote();
  note << "at node '" << node.name << "'";
  if (!path.empty())
    note << " in module '" << path << "'";
  return diagnostic;
}

LogicalResult NodeCall::unsupported(StringRef argument, const Twine &expected,
                                    const Twine &help) {
  InFlightDiagnostic diagnostic = error("E0131");
  diagnostic << "argument '" << argument << "' is supported only as "
             << expected;
  if (!help.isTriviallyEmpty())
    diagnostic.attachNote() << "help: " << help;
  return failure();
}

Operation *NodeCall::createInferred(OperationState &state) {
  std::string reason;
  Operation *op = nullptr;
  {
    // What does not fit becomes part of one numbered error.
    ScopedDiagnosticHandler collect(location.getContext(),
                                    [&](Diagnostic &diagnostic) {
                                      if (reason.empty())
                                        reason = diagnostic.str();
                                      return success();
                                    });
    state.types.clear();
    auto *inference = state.name.getInterface<InferTypeOpInterface>();
    if (!inference) {
      state.addTypes(resultType());
    } else if (failed(inference->inferReturnTypes(
                   location.getContext(), location, state.operands,
                   state.attributes.getDictionary(location.getContext()),
                   state.getRawProperties(), state.regions, state.types))) {
      op = nullptr;
      state.types.clear();
    }
    if (!state.types.empty())
      op = opBuilder.create(state);
    if (op && failed(verify(op))) {
      op->erase();
      op = nullptr;
    }
  }
  if (!op)
    error("E0139") << "the arguments do not fit together: " << reason;
  else
    requirements.addIndices(opBuilder, op);
  return op;
}

Value NodeCall::convert(Value value, Type element) {
  Type own = getElementTypeOrSelf(value);
  if (isa<ComplexType>(own) && isa<FloatType>(element))
    element = ComplexType::get(element);
  if (own == element)
    return value;
  return aten::ToOp::create(opBuilder, location, value, element);
}

FailureOr<Value> NodeCall::inAskedDtype(Value value) {
  if (isNone("dtype"))
    return value;
  Type element = dtype("dtype");
  if (!element)
    return error("E0136") << "computes in a dtype that is not supported";
  if (!isa<FloatType>(element) || isa<ComplexType>(getElementTypeOrSelf(value)))
    return convert(value, element);
  return Value(aten::ToOp::create(opBuilder, location, value, element));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

SmallVector<StringRef> NodeCall::resultNames() const {
  SmallVector<StringRef> names;
  for (const pt2::Argument &output : node.outputs) {
    if (const auto *tensor = output.getIf<pt2::TensorRef>())
      names.push_back(tensor->name);
    else if (const auto *list = output.getIf<pt2::TensorList>())
      for (const pt2::TensorRef &element : *list)
        names.push_back(element.name);
  }
  return names;
}

size_t NodeCall::resultCount() const { return resultNames().size(); }

RankedTensorType NodeCall::resultType(size_t index) const {
  SmallVector<StringRef> names = resultNames();
  if (index >= names.size())
    return nullptr;
  const pt2::TensorMeta *meta = graph.findTensor(names[index]);
  return meta ? tensorType(*location.getContext(), *meta) : nullptr;
}

LogicalResult NodeCall::change(StringRef name, Value value) {
  StringRef tensor = tensorName(name);
  const TensorSlot &slot = *slots.find(tensor);
  const TensorStorage &storage = slots.storageOf(slot);
  if (storage.kind == StorageKind::Parameter && slots.records() &&
      !slots.isDetached(tensor))
    return error("E0137") << "changes parameter '" << storage.symbol.getValue()
                          << "' in place outside of torch.no_grad, which "
                             "PyTorch refuses";
  if (storage.kind == StorageKind::Constant)
    return error("E0137") << "changes constant '" << tensor
                          << "' in place, which would last into the next step";
  if (value.getType() != slot.type)
    return error("E0139") << "changes a tensor of type " << slot.type
                          << " in place into one of type " << value.getType();
  if (succeeded(slots.change(tensor, value, location)))
    return success();
  InFlightDiagnostic diagnostic = error("E0133");
  diagnostic << "changes tensor '" << tensor
             << "' in place, but it is a view that cannot be written through";
  diagnostic.attachNote()
      << "help: use the out-of-place form of the operator in the model";
  return failure();
}

/// Whether two tensors differ in the floating-point type of their elements at
/// most.
static bool sameButFloat(Type a, RankedTensorType b) {
  auto tensor = cast<RankedTensorType>(a);
  return tensor.getShape() == b.getShape() &&
         isa<FloatType>(tensor.getElementType()) &&
         isa<FloatType>(b.getElementType());
}

static bool mentions(const pt2::Argument &argument, StringRef name) {
  if (const auto *tensor = argument.getIf<pt2::TensorRef>())
    return tensor->name == name;
  if (const auto *list = argument.getIf<pt2::TensorList>())
    return llvm::any_of(*list, [&](const pt2::TensorRef &tensor) {
      return tensor.name == name;
    });
  if (const auto *list = argument.getIf<pt2::OptionalTensorList>())
    return llvm::any_of(*list, [&](const auto &tensor) {
      return tensor && tensor->name == name;
    });
  return false;
}

/// Whether the graph uses a tensor: an export also describes elements of a
/// tuple that it does not use.
static bool isUsed(const pt2::Graph &graph, StringRef name) {
  return llvm::any_of(graph.outputs,
                      [&](const pt2::Argument &output) {
                        return mentions(output, name);
                      }) ||
         llvm::any_of(graph.nodes, [&](const pt2::Node &node) {
           return llvm::any_of(node.inputs, [&](const auto &input) {
             return mentions(input.argument, name);
           });
         });
}

LogicalResult NodeCall::checkResult(size_t index, StringRef name) {
  const pt2::TensorMeta *meta = graph.findTensor(name);
  if (!meta)
    return success(); // An element of a tuple that nothing uses.
  RankedTensorType expected = resultType(index);
  if (!expected)
    return error("E0136") << "result '" << name << "' has dtype "
                          << pt2::spelling(meta->dtype)
                          << " or a size that is not supported";
  Value value = index < results.size() ? results[index] : Value();
  if (!value && !isUsed(graph, name))
    return success();
  if (!value)
    return error("E0139") << "was translated without its result " << index;
  // torch 2.6 records the types that a region would have without autocast, and
  // with them those of everything after it.
  bool mayDiffer = autocast || floatTypesDiffer;
  if (value.getType() != expected && mayDiffer &&
      sameButFloat(value.getType(), expected)) {
    floatTypesDiffer = true;
    return success();
  }
  if (value.getType() == expected)
    return success();
  InFlightDiagnostic diagnostic = error("E0139");
  diagnostic << "was translated to a result of type " << value.getType()
             << ", the export has " << expected;
  if (sameButFloat(value.getType(), expected))
    diagnostic.attachNote()
        << "help: if the model was exported under torch.autocast, enter "
           "autocast inside of forward";
  return failure();
}

StringRef NodeCall::mutatedParameter() const {
  for (const SchemaParameter &parameter : schema.parameters)
    if (parameter.isMutated)
      return parameter.name;
  return "self";
}

/// The tensor argument that `result` is, or is a view of; null for none.
const SchemaParameter *
NodeCall::aliasedParameter(const SchemaResult &result) const {
  if (resultsAreCopies || !result.aliasSet)
    return nullptr;
  for (const SchemaParameter &parameter : schema.parameters)
    if (parameter.aliasSet == result.aliasSet &&
        argument(parameter.name).is<pt2::TensorRef>())
      return &parameter;
  return nullptr;
}

/// The tensor argument that result `index` may be itself; empty for none.
StringRef NodeCall::itselfName(const SchemaResult &result, size_t index) const {
  if (!schema.returnsItself() || resultsAreCopies)
    return "";
  if (!result.isList) {
    const SchemaParameter *source = aliasedParameter(result);
    return source ? tensorName(source->name) : "";
  }
  const auto *list =
      argument(schema.parameters.front().name).getIf<pt2::TensorList>();
  return list && index < list->size() ? StringRef((*list)[index].name) : "";
}

/// Whether `value` has the dtype of the tensor called `original` under any
/// policy: it was computed from that and from numbers alone.
static bool keepsDtype(const TensorSlots &slots, StringRef original,
                       Value value) {
  Operation *op = value.getDefiningOp();
  bool isFrom = false;
  ValueRange operands = op ? ValueRange(op->getOperands()) : ValueRange();
  if (isa_and_nonnull<aten::WithSlopeOp>(op))
    operands = operands.take_front(1); // It has the dtype of its value.
  for (Value operand : operands) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !isa<FloatType>(type.getElementType()) ||
        (type.getRank() == 0 && operand.getDefiningOp<aten::ConstantOp>()))
      continue;
    if (!slots.holds(original, operand))
      return false;
    isFrom = true;
  }
  return isFrom;
}

Value NodeCall::inDtypeOf(StringRef original, Value value) {
  RankedTensorType type = slots.find(original)->type;
  if (!isa<FloatType>(type.getElementType()) || value.getType() != type ||
      keepsDtype(slots, original, value))
    return value;
  // Null for what the change will be refused for.
  Value other = slots.read(original, location);
  if (!other)
    return value;
  return aten::ToOtherOp::create(opBuilder, location, type, value, other);
}

Value NodeCall::followSelf(Value value) {
  Value self = tensor("self");
  Type element = getElementTypeOrSelf(value);
  if (!isa<FloatType>(element) || getElementTypeOrSelf(self) != element ||
      value == self)
    return value;
  return aten::ToOtherOp::create(opBuilder, location, value.getType(), value,
                                 self);
}

/// Whether PyTorch makes the result in the dtype of `self`, whatever its other
/// arguments are: x.new_full, full_like(x), bernoulli(x).
bool NodeCall::isLikeSelf() const {
  StringRef name = node.target;
  name.consume_front("torch.ops.aten.");
  name = name.take_until([](char c) { return c == '.'; });
  bool isLike = name.ends_with("_like") || name.starts_with("new_") ||
                name == "bernoulli";
  return isLike && schema.find("self") &&
         (!schema.find("dtype") || isNone("dtype"));
}

LogicalResult NodeCall::defineResult(const SchemaResult &result, size_t index,
                                     StringRef name, Value value) {
  if (StringRef itself = itselfName(result, index);
      !itself.empty() && slots.holds(itself, value)) {
    slots.defineSame(name, itself);
    return success();
  }
  const SchemaParameter *source = aliasedParameter(result);
  if (!source) {
    slots.define(name, isLikeSelf() ? followSelf(value) : value);
    return success();
  }
  StringRef original = tensorName(source->name);
  const TensorSlot &slot = *slots.find(original);
  if (result.isMutated) {
    if (slot.value && slots.holds(original, value)) {
      slots.defineSame(name, original);
      return success();
    }
    // Autograd keeps the way to a tensor that something else is written into.
    if (slot.value && slots.records())
      value = connect(opBuilder, value, slot.value);
    if (failed(change(source->name, inDtypeOf(original, value))))
      return failure();
    slots.defineSame(name, original);
    return success();
  }
  // A parameter or buffer was read anew for this node.
  Value beginning =
      slot.value ? slot.value : beginningOf(value, slot.type.getElementType());
  // A view of complex numbers as real ones has another dtype, too.
  if (getElementTypeOrSelf(value) == slot.type.getElementType() ||
      !converts({beginning, value}))
    slots.defineView(name, value, original, beginning);
  else
    slots.define(name, value);
  return success();
}

LogicalResult NodeCall::defineResults() {
  for (auto [index, name] : llvm::enumerate(resultNames())) {
    if (failed(checkResult(index, name)))
      return failure();
    if (index >= results.size() || !results[index])
      continue;
    const SchemaResult &result =
        schema.results[std::min(index, schema.results.size() - 1)];
    if (failed(defineResult(result, index, name, results[index])))
      return failure();
  }
  return success();
}
