//===- Dtype.h - Element types of tensors ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The element types that the artifact, safetensors files and data files name.
// The artifact spells them as MLIR does ("f32", "bf16"), safetensors in upper
// case ("F32", "BF16"). bool is one byte, zero or one.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_DTYPE_H
#define SHARDC_RUNTIME_FORMAT_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardc::format {

enum class Dtype : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  Bool
};

/// Bytes of one element.
int64_t byteSize(Dtype dtype);

/// The artifact's spelling, such as "bf16".
std::string_view dtypeName(Dtype dtype);
std::optional<Dtype> parseDtype(std::string_view name);

/// The spelling of safetensors, such as "BF16".
std::string_view safetensorsName(Dtype dtype);
std::optional<Dtype> parseSafetensorsDtype(std::string_view name);

bool isFloat(Dtype dtype);
/// True for every integer type; bool is not one.
bool isInteger(Dtype dtype);

/// True when every value of `from` is a value of `to`, so that data may be
/// converted without a loss: f32 → f64, bf16 → f32, u16 → i64, not i64 → i32.
bool isLossless(Dtype from, Dtype to);

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_DTYPE_H
