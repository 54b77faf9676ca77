//===- ExportedProgram.cpp - Names and look-ups ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Names of enumerators and look-ups by name.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ExportedProgram.h"

#include <algorithm>
#include <array>

namespace shardc::pt2 {

int64_t byteSize(ScalarType dtype) {
  switch (dtype) {
  case ScalarType::UInt8:
  case ScalarType::Int8:
  case ScalarType::Bool:
  case ScalarType::Float8E4M3FN:
  case ScalarType::Float8E5M2:
  case ScalarType::Float8E4M3FNUZ:
  case ScalarType::Float8E5M2FNUZ:
  case ScalarType::Float8E8M0FNU:
    return 1;
  case ScalarType::Int16:
  case ScalarType::UInt16:
  case ScalarType::Float16:
  case ScalarType::BFloat16:
    return 2;
  case ScalarType::Int32:
  case ScalarType::UInt32:
  case ScalarType::Float32:
  case ScalarType::Complex32:
    return 4;
  case ScalarType::Int64:
  case ScalarType::UInt64:
  case ScalarType::Float64:
  case ScalarType::Complex64:
    return 8;
  case ScalarType::Complex128:
    return 16;
  }
  return 0;
}

std::string_view spelling(ScalarType dtype) {
  switch (dtype) {
  case ScalarType::UInt8:
    return "uint8";
  case ScalarType::Int8:
    return "int8";
  case ScalarType::Int16:
    return "int16";
  case ScalarType::Int32:
    return "int32";
  case ScalarType::Int64:
    return "int64";
  case ScalarType::Float16:
    return "float16";
  case ScalarType::Float32:
    return "float32";
  case ScalarType::Float64:
    return "float64";
  case ScalarType::Complex32:
    return "complex32";
  case ScalarType::Complex64:
    return "complex64";
  case ScalarType::Complex128:
    return "complex128";
  case ScalarType::Bool:
    return "bool";
  case ScalarType::BFloat16:
    return "bfloat16";
  case ScalarType::UInt16:
    return "uint16";
  case ScalarType::Float8E4M3FN:
    return "float8_e4m3fn";
  case ScalarType::Float8E5M2:
    return "float8_e5m2";
  case ScalarType::Float8E4M3FNUZ:
    return "float8_e4m3fnuz";
  case ScalarType::Float8E5M2FNUZ:
    return "float8_e5m2fnuz";
  case ScalarType::Float8E8M0FNU:
    return "float8_e8m0fnu";
  case ScalarType::UInt32:
    return "uint32";
  case ScalarType::UInt64:
    return "uint64";
  }
  return "unknown";
}

std::string_view spelling(Layout layout) {
  switch (layout) {
  case Layout::SparseCoo:
    return "sparse_coo";
  case Layout::SparseCsr:
    return "sparse_csr";
  case Layout::SparseCsc:
    return "sparse_csc";
  case Layout::SparseBsr:
    return "sparse_bsr";
  case Layout::SparseBsc:
    return "sparse_bsc";
  case Layout::Mkldnn:
    return "_mkldnn";
  case Layout::Strided:
    return "strided";
  }
  return "unknown";
}

std::string_view kindName(const Argument &argument) {
  // In the order of ArgumentValue.
  static constexpr std::array names = {"none",
                                       "tensor",
                                       "list of tensors",
                                       "list of optional tensors",
                                       "list of lists of tensors",
                                       "int",
                                       "list of ints",
                                       "list of lists of ints",
                                       "float",
                                       "list of floats",
                                       "list of lists of floats",
                                       "complex",
                                       "bool",
                                       "list of bools",
                                       "string",
                                       "list of strings",
                                       "symbolic int",
                                       "list of symbolic ints",
                                       "symbolic float",
                                       "list of symbolic floats",
                                       "symbolic bool",
                                       "list of symbolic bools",
                                       "dtype",
                                       "memory format",
                                       "layout",
                                       "device",
                                       "operator",
                                       "graph",
                                       "map of arguments"};
  static_assert(names.size() == std::variant_size_v<ArgumentValue>);
  return names[argument.value.index()];
}

bool TensorMeta::hasSymbolicSizes() const {
  return std::ranges::any_of(
      sizes, [](const SymInt &size) { return !size.isLiteral(); });
}

bool TensorMeta::isStatic() const {
  return storageOffset.isLiteral() && !hasSymbolicSizes() &&
         std::ranges::all_of(strides, &SymInt::isLiteral);
}

const Argument *Node::findInput(std::string_view name) const {
  for (const NamedArgument &input : inputs)
    if (input.name == name)
      return &input.argument;
  return nullptr;
}

std::string_view Node::modulePath() const {
  return moduleStack.empty() ? std::string_view() : moduleStack.back().path;
}

const TensorMeta *Graph::findTensor(std::string_view name) const {
  auto found = tensorValues.find(name);
  return found == tensorValues.end() ? nullptr : &found->second;
}

bool ExportedProgram::isTrainingIr() const {
  return std::ranges::find(verifiers, "TRAINING") != verifiers.end();
}

} // namespace shardc::pt2
