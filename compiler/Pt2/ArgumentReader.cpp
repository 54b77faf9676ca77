//===- ArgumentReader.cpp - Values of the export schema -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One small reader for each member of the schema's unions, and a table from the
// member's key to its reader.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ArgumentReader.h"

#include "compiler/Pt2/GraphReader.h"
#include "compiler/Pt2/ReadFailure.h"

#include <algorithm>
#include <limits>

namespace shardc::pt2 {

namespace {

[[noreturn]] void failUnknownTag(const char *what, const std::string &tag) {
  fail(errors::unknownTag,
       "unknown kind of " + std::string(what) + " '" + tag + "'",
       "the file may come from a newer PyTorch than shardc supports");
}

/// The elements of an array, each read by `readElement`.
template <typename ReadElement>
auto readList(const Json &value, const char *what, ReadElement readElement) {
  std::vector<decltype(readElement(value))> list;
  for (const Json &element : asArray(value, what))
    list.push_back(readElement(element));
  return list;
}

/// A small integer that stands for an enumerator.
int asEnumerator(const Json &value, const char *what) {
  int64_t number = asInt(value, what);
  return number < 0 || number > std::numeric_limits<int>::max()
             ? 0
             : static_cast<int>(number);
}

ScalarType readScalarType(const Json &value) {
  auto dtype = static_cast<ScalarType>(asEnumerator(value, "a dtype"));
  if (byteSize(dtype) == 0)
    fail(errors::unsupportedDtype, "unknown dtype " + value.dump());
  return dtype;
}

Layout readLayout(const Json &value) {
  int number = asEnumerator(value, "a layout");
  if (number < int(Layout::SparseCoo) || number > int(Layout::Strided))
    fail(errors::nonStridedLayout, "unknown tensor layout " + value.dump());
  return static_cast<Layout>(number);
}

MemoryFormat readMemoryFormat(const Json &value) {
  int number = asEnumerator(value, "a memory format");
  if (number < int(MemoryFormat::Contiguous) ||
      number > int(MemoryFormat::Preserve))
    fail(errors::schemaViolation, "unknown memory format " + value.dump());
  return static_cast<MemoryFormat>(number);
}

Device readDevice(const Json &value) {
  Device device{asString(member(value, "type"), "a device type"), {}};
  if (const Json *index = optionalMember(value, "index"))
    device.index = asInt(*index, "a device index");
  return device;
}

TensorRef readTensorRef(const Json &value) {
  return {asString(member(value, "name"), "a tensor name")};
}

TensorList readTensorList(const Json &value) {
  return readList(value, "a list of tensors", readTensorRef);
}

std::optional<TensorRef> readOptionalTensor(const Json &value) {
  const auto &[tag, content] = taggedValue(value, "an optional tensor");
  if (tag == "as_none")
    return std::nullopt;
  if (tag == "as_tensor")
    return readTensorRef(content);
  failUnknownTag("optional tensor", tag);
}

int64_t readInt(const Json &value) { return asInt(value, "an int argument"); }
bool readBool(const Json &value) { return asBool(value, "a bool argument"); }
double readFloat(const Json &value) {
  return asDouble(value, "a float argument");
}
std::string readString(const Json &value) {
  return asString(value, "a string argument");
}

/// An argument that is a literal (`as_int`, …) or the name of a value computed
/// in the graph.
template <typename T>
Symbolic<T> readSymbolicArgument(const Json &value, const char *literalTag,
                                 T (*readLiteral)(const Json &)) {
  const auto &[tag, content] = taggedValue(value, "a symbolic argument");
  Symbolic<T> result;
  if (tag == "as_name")
    result.name = asString(content, "a symbolic argument's name");
  else if (tag == literalTag)
    result.value = readLiteral(content);
  else
    failUnknownTag("symbolic argument", tag);
  return result;
}

SymInt readSymIntArgument(const Json &value) {
  return readSymbolicArgument(value, "as_int", readInt);
}
SymFloat readSymFloatArgument(const Json &value) {
  return readSymbolicArgument(value, "as_float", readFloat);
}
SymBool readSymBoolArgument(const Json &value) {
  return readSymbolicArgument(value, "as_bool", readBool);
}

/// A literal, or an expression with the value it had for the example inputs.
template <typename T>
Symbolic<T> readExpression(const Json &value, const char *literalTag,
                           T (*readLiteral)(const Json &)) {
  const auto &[tag, content] = taggedValue(value, "a symbolic value");
  Symbolic<T> result;
  if (tag == literalTag) {
    result.value = readLiteral(content);
    return result;
  }
  if (tag != "as_expr")
    failUnknownTag("symbolic value", tag);
  result.expression =
      asString(member(content, "expr_str"), "a symbolic expression");
  if (result.expression.empty())
    fail(errors::schemaViolation, "a symbolic expression is empty");
  if (const Json *hint = optionalMember(content, "hint")) {
    const auto &[hintTag, hintValue] = taggedValue(*hint, "a symbolic hint");
    if (hintTag == literalTag)
      result.value = readLiteral(hintValue);
  }
  return result;
}

GraphRef readGraphArgument(const Json &value) {
  const std::string &name = asString(member(value, "name"), "a graph's name");
  return withNote([&] { return "in subgraph '" + name + "'"; },
                  [&] {
                    return GraphRef{name,
                                    std::make_shared<const Graph>(
                                        readGraph(member(value, "graph")))};
                  });
}

std::shared_ptr<const ArgumentMap> readArgumentMap(const Json &value) {
  auto map = std::make_shared<ArgumentMap>();
  for (const auto &[key, element] :
       asObject(value, "a map of arguments").items())
    map->emplace(key, readArgument(element));
  return map;
}

std::complex<double> readComplex(const Json &value) {
  return {readFloat(member(value, "real")), readFloat(member(value, "imag"))};
}

ArgumentValue readCustomObject(const Json &value) {
  std::string name = asString(member(value, "class_fqn"), "a class name");
  fail(errors::pickledPayload,
       "an argument is an object of class '" + name + "'",
       "only tensors, numbers and strings can be compiled");
}

/// Reads an array with `readElement` for every element.
template <auto readElement>
ArgumentValue readListOf(const Json &value) {
  return readList(value, "a list argument", readElement);
}
template <auto readElement>
ArgumentValue readListsOf(const Json &value) {
  return readList(value, "a list argument", [](const Json &element) {
    return readList(element, "a list in a list argument", readElement);
  });
}
template <auto read>
ArgumentValue readOne(const Json &value) {
  return read(value);
}

using ReadArgumentValue = ArgumentValue (*)(const Json &);

const NameMap<ReadArgumentValue> &argumentReaders() {
  static const NameMap<ReadArgumentValue> readers = {
      {"as_none", [](const Json &) -> ArgumentValue { return None(); }},
      {"as_tensor", readOne<readTensorRef>},
      {"as_tensors", readOne<readTensorList>},
      {"as_nested_tensors", readListOf<readTensorList>},
      {"as_optional_tensors", readListOf<readOptionalTensor>},
      {"as_int", readOne<readInt>},
      {"as_ints", readListOf<readInt>},
      {"as_int_lists", readListsOf<readInt>},
      {"as_float", readOne<readFloat>},
      {"as_floats", readListOf<readFloat>},
      {"as_float_lists", readListsOf<readFloat>},
      {"as_complex", readOne<readComplex>},
      {"as_bool", readOne<readBool>},
      {"as_bools", readListOf<readBool>},
      {"as_string", readOne<readString>},
      {"as_strings", readListOf<readString>},
      {"as_sym_int", readOne<readSymIntArgument>},
      {"as_sym_ints", readListOf<readSymIntArgument>},
      {"as_sym_float", readOne<readSymFloatArgument>},
      {"as_sym_floats", readListOf<readSymFloatArgument>},
      {"as_sym_bool", readOne<readSymBoolArgument>},
      {"as_sym_bools", readListOf<readSymBoolArgument>},
      {"as_scalar_type", readOne<readScalarType>},
      {"as_memory_format", readOne<readMemoryFormat>},
      {"as_layout", readOne<readLayout>},
      {"as_device", readOne<readDevice>},
      {"as_operator",
       [](const Json &value) -> ArgumentValue {
         return OperatorRef{readString(value)};
       }},
      {"as_graph", readOne<readGraphArgument>},
      {"as_string_to_argument", readOne<readArgumentMap>},
      {"as_custom_obj", readCustomObject},
      {"as_optional_tensor", [](const Json &value) -> ArgumentValue {
         if (std::optional<TensorRef> tensor = readOptionalTensor(value))
           return *tensor;
         return None();
       }}};
  return readers;
}

} // namespace

Argument readArgument(const Json &value) {
  const auto &[tag, content] = taggedValue(value, "an argument");
  auto reader = argumentReaders().find(tag);
  if (reader == argumentReaders().end())
    failUnknownTag("argument", tag);
  return {reader->second(content)};
}

std::vector<Argument> readArguments(const Json &value, const char *what) {
  return readList(value, what, readArgument);
}

SymInt readSymInt(const Json &value) {
  return readExpression(value, "as_int", readInt);
}

SymFloat readSymFloat(const Json &value) {
  return readExpression(value, "as_float", readFloat);
}

SymBool readSymBool(const Json &value) {
  return readExpression(value, "as_bool", readBool);
}

TensorMeta readTensorMeta(const Json &value) {
  Layout layout = readLayout(member(value, "layout"));
  if (layout != Layout::Strided)
    fail(errors::nonStridedLayout,
         "expected a tensor of strided layout, got " +
             std::string(spelling(layout)),
         "convert it with .to_dense() before the export");
  TensorMeta meta;
  meta.dtype = readScalarType(member(value, "dtype"));
  meta.sizes = readList(member(value, "sizes"), "sizes", readSymInt);
  meta.strides = readList(member(value, "strides"), "strides", readSymInt);
  meta.storageOffset = readSymInt(member(value, "storage_offset"));
  meta.requiresGrad = asBool(member(value, "requires_grad"), "requires_grad");
  meta.device = readDevice(member(value, "device"));
  if (meta.sizes.size() != meta.strides.size())
    fail(errors::inconsistentProgram,
         "a tensor has " + std::to_string(meta.sizes.size()) + " sizes but " +
             std::to_string(meta.strides.size()) + " strides");
  for (const SymInt &size : meta.sizes)
    if (size.value && *size.value < 0)
      fail(errors::inconsistentProgram,
           "a tensor has the negative size " + std::to_string(*size.value));
  return meta;
}

bool hasCountableBytes(const TensorMeta &meta) {
  int64_t bytes = byteSize(meta.dtype);
  bool isEmpty = std::ranges::any_of(
      meta.sizes, [](const SymInt &size) { return size.value == 0; });
  return isEmpty || std::ranges::all_of(meta.sizes, [&](const SymInt &size) {
           return !__builtin_mul_overflow(bytes, size.value.value_or(1),
                                          &bytes);
         });
}

StringList readStrings(const Json &value, const char *what) {
  return readList(value, what,
                  [&](const Json &element) { return asString(element, what); });
}

} // namespace shardc::pt2
