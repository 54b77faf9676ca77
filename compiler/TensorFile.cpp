//===- TensorFile.cpp - Tensors of the interpreter in files ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Dtypes of safetensors beside element types.
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile.h"

#include "dialects/Reference/TensorBytes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace shardc {

/// The element type of `dtype`; null for the wide unsigned integers, which no
/// program has.
static Type elementType(format::Dtype dtype, MLIRContext *context) {
  Builder builder(context);
  switch (dtype) {
  case format::Dtype::F64:
    return builder.getF64Type();
  case format::Dtype::F32:
    return builder.getF32Type();
  case format::Dtype::F16:
    return builder.getF16Type();
  case format::Dtype::BF16:
    return builder.getBF16Type();
  case format::Dtype::I64:
    return builder.getI64Type();
  case format::Dtype::I32:
    return builder.getI32Type();
  case format::Dtype::I16:
    return builder.getIntegerType(16);
  case format::Dtype::I8:
    return builder.getI8Type();
  case format::Dtype::U8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case format::Dtype::Bool:
    return builder.getI1Type();
  default:
    return nullptr;
  }
}

static format::Dtype dtypeOf(Type element) {
  for (format::Dtype dtype :
       {format::Dtype::F64, format::Dtype::F32, format::Dtype::F16,
        format::Dtype::BF16, format::Dtype::I64, format::Dtype::I32,
        format::Dtype::I16, format::Dtype::I8, format::Dtype::U8,
        format::Dtype::Bool})
    if (elementType(dtype, element.getContext()) == element)
      return dtype;
  llvm_unreachable("every element type has a dtype");
}

StatusOr<TensorFile> TensorFile::open(const std::string &path,
                                      MLIRContext &context) {
  TensorFile result;
  result.path = path;
  result.context = &context;
  auto file = format::MappedFile::open(path, ErrorCode::E0403);
  if (!file.ok())
    return file.status();
  result.file = std::move(*file);
  auto content = format::readSafetensors(result.file->bytes(), "'" + path + "'",
                                         ErrorCode::E0404);
  if (!content.ok())
    return content.status();
  result.content = std::move(*content);
  return result;
}

StatusOr<reference::Tensor> TensorFile::read(const std::string &name,
                                             const std::string &other) const {
  const format::NamedTensor *tensor =
      content.find(contains(name) ? name : other);
  if (!tensor)
    return Status(ErrorCode::E0405,
                  "'" + path + "' has no tensor '" + name + "'" +
                      (other.empty() || other == name ? ""
                                                      : " or '" + other + "'"))
        .addNote(content.describeNames());
  Type element = elementType(tensor->dtype, context);
  if (!element)
    return Status(ErrorCode::E0405,
                  "'" + name + "' in '" + path + "' has dtype " +
                      std::string(format::dtypeName(tensor->dtype)) +
                      ", which programs do not support");
  return reference::fromBytes(RankedTensorType::get(tensor->shape, element),
                              tensor->data);
}

/// Complex numbers as pairs in a further dimension.
static format::NamedTensor describe(const std::string &name,
                                    const reference::Tensor &tensor) {
  format::NamedTensor named;
  named.name = name;
  named.shape = tensor.getShape().vec();
  Type element = tensor.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element)) {
    element = complex.getElementType();
    named.shape.push_back(2);
  }
  named.dtype = dtypeOf(element);
  return named;
}

Status writeTensorFile(
    const std::string &path,
    const std::vector<std::pair<std::string, reference::Tensor>> &tensors) {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<format::NamedTensor> named;
  bytes.reserve(tensors.size());
  for (const auto &[name, tensor] : tensors) {
    bytes.push_back(reference::toBytes(tensor));
    named.push_back(describe(name, tensor));
    named.back().data = bytes.back();
  }
  return format::writeSafetensors(path, named, {});
}

} // namespace shardc
