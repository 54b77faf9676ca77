//===- Dtype.cpp - Element types as the artifact names them ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One line a type.
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Dtype.h"

#include "runtime/format/LibraryCalls.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace shardc::exec {

std::optional<format::Dtype> getDtype(Type type) {
  using format::Dtype;
  if (type.isF64())
    return Dtype::F64;
  if (type.isF32())
    return Dtype::F32;
  if (type.isF16())
    return Dtype::F16;
  if (type.isBF16())
    return Dtype::BF16;
  if (type.isInteger(1))
    return Dtype::Bool;
  if (type.isInteger(8))
    return type.isUnsignedInteger() ? Dtype::U8 : Dtype::I8;
  if (type.isSignlessInteger(16))
    return Dtype::I16;
  if (type.isInteger(32))
    return Dtype::I32;
  if (type.isInteger(64))
    return Dtype::I64;
  return std::nullopt;
}

bool isLibraryElement(Type type) {
  std::optional<format::Dtype> dtype = getDtype(type);
  return dtype && format::isLibraryDtype(*dtype);
}

} // namespace shardc::exec
