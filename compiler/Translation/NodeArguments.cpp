//===- NodeArguments.cpp - The arguments of a node by name ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Checks a node's arguments against its operator's signature and hands them
// out as C++ values. Symbolic numbers are specialised to their hints.
//===----------------------------------------------------------------------===//

#include "compiler/Translation/NodeCall.h"

#include "compiler/Translation/TensorTypes.h"
#include "dialects/Aten/Aten.h"
#include "dialects/Fsdp/Fsdp.h"

#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::translation;

double translation::toDouble(const Scalar &scalar) {
  return std::visit([](auto value) { return static_cast<double>(value); },
                    scalar);
}

//===----------------------------------------------------------------------===//
// Reading the union of the export schema
//===----------------------------------------------------------------------===//

static std::optional<int64_t> asInteger(const pt2::Argument &argument) {
  if (const auto *value = argument.getIf<int64_t>())
    return *value;
  if (const auto *value = argument.getIf<bool>())
    return *value;
  if (const auto *value = argument.getIf<pt2::SymInt>())
    return value->value;
  return std::nullopt;
}

static std::optional<Scalar> asScalar(const pt2::Argument &argument) {
  if (std::optional<int64_t> value = asInteger(argument))
    return Scalar(*value);
  if (const auto *value = argument.getIf<double>())
    return Scalar(*value);
  if (const auto *value = argument.getIf<pt2::SymFloat>())
    if (value->value)
      return Scalar(*value->value);
  return std::nullopt;
}

static std::optional<SmallVector<int64_t>>
asIntegers(const pt2::Argument &argument) {
  SmallVector<int64_t> values;
  if (const auto *list = argument.getIf<pt2::IntList>()) {
    values.assign(list->begin(), list->end());
    return values;
  }
  if (const auto *list = argument.getIf<pt2::BoolList>()) {
    values.assign(list->begin(), list->end());
    return values;
  }
  const auto *list = argument.getIf<pt2::SymIntList>();
  if (!list)
    return std::nullopt;
  for (const pt2::SymInt &element : *list) {
    if (!element.value)
      return std::nullopt;
    values.push_back(*element.value);
  }
  return values;
}

/// An empty list is written as a list of whatever comes first to mind.
static bool isEmptyList(const pt2::Argument &argument) {
  return std::visit(
      [](const auto &value) {
        if constexpr (requires(std::decay_t<decltype(value)> list) {
                        list.empty();
                        list.push_back({});
                      })
          return value.empty();
        else
          return false;
      },
      argument.value);
}

static bool hasKind(const SchemaParameter &parameter,
                    const pt2::Argument &argument) {
  if (parameter.kind == ParameterKind::Any)
    return true;
  if (argument.is<pt2::None>())
    return parameter.isOptional;
  if (parameter.isList && isEmptyList(argument))
    return true;
  switch (parameter.kind) {
  case ParameterKind::Tensor:
    if (parameter.isList)
      return argument.is<pt2::TensorList>() ||
             (parameter.isOptional && argument.is<pt2::OptionalTensorList>());
    return argument.is<pt2::TensorRef>();
  case ParameterKind::TensorOrScalar:
    return argument.is<pt2::TensorRef>() || asScalar(argument).has_value() ||
           argument.is<std::complex<double>>();
  case ParameterKind::Integer:
    if (parameter.isList && asIntegers(argument))
      return true;
    return (!parameter.isList || parameter.listLength) &&
           asInteger(argument).has_value();
  case ParameterKind::Float:
  case ParameterKind::Scalar:
    return asScalar(argument).has_value() ||
           (parameter.isList && argument.is<pt2::FloatList>());
  case ParameterKind::Boolean:
    return parameter.isList ? argument.is<pt2::BoolList>()
                            : asInteger(argument).has_value();
  case ParameterKind::String:
    return argument.is<std::string>();
  case ParameterKind::Dtype:
    return argument.is<pt2::ScalarType>();
  case ParameterKind::Any:
    return true;
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult NodeCall::checkTensor(const pt2::TensorRef &tensor) {
  const TensorSlot *slot = slots.find(tensor.name);
  if (!slot)
    return error("E0119") << "argument '" << tensor.name
                          << "' is not a tensor of the graph";
  // A window is looked through again here, so that reading it cannot fail.
  if (slot->source && !slots.read(tensor.name, location)) {
    InFlightDiagnostic diagnostic = error("E0133");
    diagnostic << "tensor '" << tensor.name
               << "' is a view of a tensor that was changed in place, and its "
                  "current value cannot be determined";
    diagnostic.attachNote()
        << "help: use the out-of-place form of the operator in the model";
    return failure();
  }
  return success();
}

/// `int[2]` takes two integers, or one for both, or none where that is the
/// default.
LogicalResult NodeCall::checkLength(const SchemaParameter &parameter,
                                    const pt2::Argument &given) {
  std::optional<SmallVector<int64_t>> integers = asIntegers(given);
  bool mayBeEmpty =
      parameter.defaultValue && isEmptyList(*parameter.defaultValue);
  if (!parameter.listLength || !integers || integers->size() == 1 ||
      static_cast<int64_t>(integers->size()) == parameter.listLength ||
      (integers->empty() && mayBeEmpty))
    return success();
  return error("E0119") << "argument '" << parameter.name << "' has "
                        << integers->size() << " elements, expected "
                        << parameter.listLength;
}

LogicalResult NodeCall::checkArgument(const SchemaParameter &parameter) {
  const pt2::Argument *given = node.findInput(parameter.name);
  if (!given && !parameter.defaultValue)
    return error("E0119") << "argument '" << parameter.name << "' is missing";
  if (!given)
    return success();
  if (!hasKind(parameter, *given))
    return error("E0119") << "argument '" << parameter.name << "' is a "
                          << StringRef(pt2::kindName(*given))
                          << ", which the operator does not accept";
  if (const auto *tensor = given->getIf<pt2::TensorRef>())
    return checkTensor(*tensor);
  if (const auto *list = given->getIf<pt2::TensorList>())
    for (const pt2::TensorRef &tensor : *list)
      if (failed(checkTensor(tensor)))
        return failure();
  if (const auto *list = given->getIf<pt2::OptionalTensorList>())
    for (const std::optional<pt2::TensorRef> &tensor : *list)
      if (tensor && failed(checkTensor(*tensor)))
        return failure();
  return checkLength(parameter, *given);
}

LogicalResult NodeCall::checkArguments() {
  for (const pt2::NamedArgument &input : node.inputs)
    if (!schema.find(input.name))
      return error("E0131") << "has an argument '" << input.name
                            << "' that this version of shardc does not know";
  for (const SchemaParameter &parameter : schema.parameters)
    if (failed(checkArgument(parameter)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

const pt2::Argument &NodeCall::argument(StringRef name) const {
  if (const pt2::Argument *given = node.findInput(name))
    return *given;
  const SchemaParameter *parameter = schema.find(name);
  assert(parameter && "the operator's signature lacks this parameter");
  return *parameter->defaultValue;
}

bool NodeCall::isNone(StringRef name) const {
  return argument(name).is<pt2::None>();
}

bool NodeCall::isNumber(StringRef name) const {
  return asScalar(argument(name)).has_value();
}

bool NodeCall::isBoolean(StringRef name) const {
  return argument(name).is<bool>();
}

StringRef NodeCall::tensorName(StringRef name) const {
  return argument(name).getIf<pt2::TensorRef>()->name;
}

Value NodeCall::valueOf(const pt2::TensorRef &tensor, StringRef op) {
  Value value = slots.read(tensor.name, location);
  Type wanted = autocast
                    ? autocast->operandType(op, getElementTypeOrSelf(value))
                    : Type();
  return wanted ? convert(value, wanted) : value;
}

Value NodeCall::tensor(StringRef name) { return tensorOf(schema.name, name); }

Value NodeCall::tensorOf(StringRef op, StringRef name) {
  if (const auto *number = argument(name).getIf<std::complex<double>>())
    return complexNumber(*number);
  return valueOf(*argument(name).getIf<pt2::TensorRef>(), op);
}

/// PyTorch's complex numbers are complex64 among tensors, but complex128 beside
/// one of float64.
RankedTensorType NodeCall::complexNumberType() const {
  bool hasSelf =
      schema.find("self") && !argument("self").is<std::complex<double>>();
  RankedTensorType beside = hasSelf ? typeOf("self") : resultType();
  Type element = beside ? beside.getElementType() : Type();
  if (auto complex = dyn_cast_or_null<ComplexType>(element))
    element = complex.getElementType();
  Builder builder(location.getContext());
  return RankedTensorType::get(
      {}, ComplexType::get(element && element.isF64() ? builder.getF64Type()
                                                      : builder.getF32Type()));
}

Value NodeCall::complexNumber(std::complex<double> number) {
  RankedTensorType type = complexNumberType();
  auto part = cast<FloatType>(
      cast<ComplexType>(type.getElementType()).getElementType());
  auto rounded = [&](double value) {
    return FloatAttr::get(part, value).getValue();
  };
  auto value = DenseElementsAttr::get(
      type,
      std::complex<APFloat>(rounded(number.real()), rounded(number.imag())));
  return aten::ConstantOp::create(opBuilder, location, value);
}

Value NodeCall::optionalTensor(StringRef name) {
  return isNone(name) ? Value() : tensor(name);
}

SmallVector<Value> NodeCall::tensors(StringRef name) {
  SmallVector<Value> values;
  if (const auto *list = argument(name).getIf<pt2::TensorList>())
    for (const pt2::TensorRef &tensor : *list)
      values.push_back(valueOf(tensor, schema.name));
  return values;
}

SmallVector<Value> NodeCall::optionalTensors(StringRef name) {
  SmallVector<Value> values = tensors(name);
  if (const auto *list = argument(name).getIf<pt2::OptionalTensorList>())
    for (const std::optional<pt2::TensorRef> &tensor : *list)
      values.push_back(tensor ? valueOf(*tensor, schema.name) : Value());
  return values;
}

RankedTensorType NodeCall::typeOf(StringRef name) const {
  if (argument(name).is<std::complex<double>>())
    return complexNumberType();
  return slots.find(tensorName(name))->type;
}

bool NodeCall::isContiguous(StringRef name) const {
  const pt2::TensorMeta *meta = graph.findTensor(tensorName(name));
  int64_t expected = 1;
  for (size_t i = meta ? meta->sizes.size() : 0; i-- > 0;) {
    std::optional<int64_t> size = meta->sizes[i].value;
    std::optional<int64_t> stride =
        i < meta->strides.size() ? meta->strides[i].value : std::nullopt;
    if (!size || (*size != 1 && stride != expected))
      return false;
    expected *= *size;
  }
  return true;
}

std::optional<int64_t> NodeCall::storageOffset(StringRef name) const {
  const pt2::TensorMeta *meta = graph.findTensor(tensorName(name));
  return meta ? meta->storageOffset.value : 0;
}

/// at::detail::computeStride of PyTorch: runs of dimensions that are contiguous
/// among themselves must each become whole dimensions of `shape`.
static bool isViewable(const pt2::TensorMeta &meta, ArrayRef<int64_t> shape) {
  auto size = [&](size_t dim) { return *meta.sizes[dim].value; };
  auto stride = [&](size_t dim) { return *meta.strides[dim].value; };
  size_t next = shape.size(), rank = meta.sizes.size();
  int64_t runStride = rank ? stride(rank - 1) : 1, runElements = 1;
  for (size_t dim = rank; dim-- > 0;) {
    runElements *= size(dim);
    bool endsRun = dim == 0 || (size(dim - 1) != 1 &&
                                stride(dim - 1) != runElements * runStride);
    if (!endsRun)
      continue;
    int64_t viewElements = 1;
    while (next > 0 && (viewElements < runElements || shape[next - 1] == 1))
      viewElements *= shape[--next];
    if (viewElements != runElements)
      return false;
    runStride = dim ? stride(dim - 1) : 1;
    runElements = 1;
  }
  return next == 0 || rank == 0;
}

bool NodeCall::isViewable(StringRef name, ArrayRef<int64_t> shape) const {
  const pt2::TensorMeta *meta = graph.findTensor(tensorName(name));
  if (!meta || meta->sizes.size() != meta->strides.size())
    return true;
  for (size_t i = 0; i < meta->sizes.size(); ++i)
    if (!meta->sizes[i].value || !meta->strides[i].value)
      return true;
  return llvm::is_contained(typeOf(name).getShape(), 0) ||
         ::isViewable(*meta, shape);
}

int64_t NodeCall::integer(StringRef name) const {
  return *asInteger(argument(name));
}

std::optional<int64_t> NodeCall::optionalInteger(StringRef name) const {
  return asInteger(argument(name));
}

SmallVector<int64_t> NodeCall::integers(StringRef name) const {
  int64_t length = schema.find(name)->listLength;
  SmallVector<int64_t> values;
  if (std::optional<int64_t> one = asInteger(argument(name)))
    values.push_back(*one);
  else if (auto list = asIntegers(argument(name)))
    values = *list;
  if (length && values.size() == 1)
    values.assign(length, values.front());
  return values;
}

double NodeCall::number(StringRef name) const { return toDouble(scalar(name)); }

SmallVector<double> NodeCall::numbers(StringRef name) const {
  if (const auto *list = argument(name).getIf<pt2::FloatList>())
    return SmallVector<double>(list->begin(), list->end());
  if (std::optional<Scalar> one = asScalar(argument(name)))
    return {toDouble(*one)};
  return {};
}

bool NodeCall::boolean(StringRef name) const { return integer(name) != 0; }

StringRef NodeCall::text(StringRef name) const {
  return *argument(name).getIf<std::string>();
}

Scalar NodeCall::scalar(StringRef name) const {
  return *asScalar(argument(name));
}

Type NodeCall::dtype(StringRef name) const {
  const auto *dtype = argument(name).getIf<pt2::ScalarType>();
  return dtype ? elementType(*location.getContext(), *dtype) : Type();
}

LogicalResult NodeCall::checkRange(StringRef name, int64_t minimum) {
  for (int64_t value : integers(name))
    if (value < minimum || value > std::numeric_limits<int32_t>::max())
      return error("E0119")
             << "argument '" << name << "' is " << value
             << ", expected at least " << minimum << " and less than 2^31";
  return success();
}

FailureOr<int64_t> NodeCall::dimension(StringRef name, int64_t rank) {
  int64_t given = integer(name);
  int64_t dimension = given < 0 ? given + rank : given;
  if (dimension < 0 || dimension >= rank) {
    error("E0119") << "dimension " << given << " of argument '" << name
                   << "' is outside of a tensor of rank " << rank;
    return failure();
  }
  return dimension;
}
