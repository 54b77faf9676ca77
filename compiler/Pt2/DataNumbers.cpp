//===- DataNumbers.cpp - Numbers that depend on data ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// By the functions that exports call on numbers: Python's operators, torch's
// sym_max and its like, and the operators that read a tensor.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/DataNumbers.h"

#include "compiler/Pt2/ReadFailure.h"

#include <algorithm>

namespace shardc::pt2 {

namespace {

/// A function of numbers, and the operator that computes it.
struct NumberFunction {
  std::string_view name;
  /// Whether the result is a float whatever the operands are.
  bool isFloat = false;
};
const std::map<std::string_view, NumberFunction> functions = {
    {"_operator.add", {"add.Tensor"}},
    {"_operator.floordiv", {"floor_divide.default"}},
    {"_operator.mul", {"mul.Tensor"}},
    {"_operator.pow", {"pow.Tensor_Tensor"}},
    {"_operator.sub", {"sub.Tensor"}},
    {"_operator.truediv", {"div.Tensor", true}},
    {"torch.sym_max", {"maximum.default"}},
    {"torch.sym_min", {"minimum.default"}}};

/// The name of a number; null for a literal.
const std::string *numberName(const Argument &argument) {
  if (const auto *integer = argument.getIf<SymInt>())
    return &integer->name;
  if (const auto *number = argument.getIf<SymFloat>())
    return &number->name;
  return nullptr;
}

bool readsElement(const Node &node) {
  return node.target == "torch.ops.aten.item.default" ||
         node.target == "torch.ops.aten._local_scalar_dense.default";
}

bool isNumberSymbol(const Argument &argument) {
  return argument.is<SymInt>() || argument.is<SymFloat>() ||
         argument.is<SymBool>();
}

} // namespace

bool DataNumbers::take(const Node &node) {
  if (node.outputs.empty() ||
      !std::ranges::all_of(node.outputs, isNumberSymbol))
    return false;
  for (const Argument &output : node.outputs)
    if (const std::string *name = numberName(output)) {
      nodes.insert_or_assign(*name, node);
      // What comes after may change the tensor in place.
      if (readsElement(node))
        tensors.insert_or_assign(*name, item(node));
    }
  return true;
}

std::string DataNumbers::convert(const std::string &tensor, ScalarType dtype) {
  const TensorMeta type = writer.typeOf(tensor);
  if (type.dtype == dtype)
    return tensor;
  return writer.call("to.dtype",
                     {tensorArgument("self", tensor), argument("dtype", dtype)},
                     NodeWriter::typeLike(type, dtype, {}), literalSizes(type));
}

std::string DataNumbers::literal(ArgumentValue value, ScalarType dtype) {
  TensorMeta like;
  like.device.type = "cpu";
  return writer.call("full.default",
                     {argument("size", IntList{}),
                      {"fill_value", Argument{std::move(value)}, {}},
                      argument("dtype", dtype)},
                     NodeWriter::typeLike(like, dtype, {}), {});
}

std::string DataNumbers::tensorOf(const Argument &number) {
  if (const auto *integer = number.getIf<int64_t>())
    return literal(*integer, ScalarType::Int64);
  if (const auto *real = number.getIf<double>())
    return literal(*real, ScalarType::Float64);
  const std::string *name = numberName(number);
  if (!name)
    refuseSelection("a " + std::string(kindName(number)) +
                    " depends on the values of tensors");
  auto found = tensors.find(*name);
  if (found == tensors.end())
    found = tensors.emplace(*name, compute(*name)).first;
  return found->second;
}

/// The one element of a tensor, without its gradient.
std::string DataNumbers::item(const Node &node) {
  const TensorRef *self = tensorInput(node, "self");
  if (!self)
    refuseSelection("item of no tensor");
  const TensorMeta type = writer.typeOf(self->name);
  // A copy: the model may change the tensor.
  std::string element = writer.call(
      "clone.default",
      {tensorArgument("self", selections.reshape(self->name, {}))}, type, {});
  bool isFloat =
      type.dtype == ScalarType::Float16 || type.dtype == ScalarType::BFloat16 ||
      type.dtype == ScalarType::Float32 || type.dtype == ScalarType::Float64;
  if (!isFloat)
    return convert(element, ScalarType::Int64);
  element = writer.call("detach.default", {tensorArgument("self", element)},
                        type, {});
  return convert(element, ScalarType::Float64);
}

/// How many rows a mask chooses.
std::string DataNumbers::countRows(const Node &node, const std::string &name) {
  auto value = graph.symIntValues.find(name);
  std::optional<RowCount> count = value == graph.symIntValues.end()
                                      ? std::nullopt
                                      : asRowCount(value->second.expression);
  const Selection *selection = count ? selections.find(count->text()) : nullptr;
  if (!selection)
    refuseSelection("number '" + name + "' (" + node.target +
                    ") depends on the values of tensors, and is not how many "
                    "rows a mask chooses");
  return writer.call("sum.default",
                     {tensorArgument("self", selection->chosen),
                      argument("dtype", ScalarType::Int64)},
                     NodeWriter::typeLike(writer.typeOf(selection->chosen),
                                          ScalarType::Int64, {}),
                     {});
}

std::string DataNumbers::compute(const std::string &name) {
  auto found = nodes.find(name);
  if (found == nodes.end())
    refuseSelection("number '" + name + "' depends on the values of tensors");
  const Node &node = found->second;
  if (node.target == "torch.sym_float" && node.inputs.size() == 1)
    return convert(tensorOf(node.inputs.front().argument), ScalarType::Float64);
  auto function = functions.find(node.target);
  if (function == functions.end() || node.inputs.size() != 2)
    return countRows(node, name);
  std::string left = tensorOf(node.inputs[0].argument);
  std::string right = tensorOf(node.inputs[1].argument);
  bool isPower = node.target == "_operator.pow";
  bool isFloat = function->second.isFloat ||
                 writer.typeOf(left).dtype == ScalarType::Float64 ||
                 writer.typeOf(right).dtype == ScalarType::Float64;
  ScalarType dtype = isFloat ? ScalarType::Float64 : ScalarType::Int64;
  left = convert(left, dtype);
  right = convert(right, dtype);
  return writer.call(std::string(function->second.name),
                     {tensorArgument("self", left),
                      tensorArgument(isPower ? "exponent" : "other", right)},
                     writer.typeOf(left), {});
}

} // namespace shardc::pt2
