//===- Dtype.cpp - Element types of tensors -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One table row per element type; every question is answered from it.
//===----------------------------------------------------------------------===//

#include "runtime/format/Dtype.h"

#include <array>

namespace shardc::format {

namespace {
enum class Kind { Float, Signed, Unsigned, Boolean };

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::string_view safetensors;
  int64_t bytes;
  Kind kind;
  /// Bits of the significand (floats) or of the magnitude (integers), and the
  /// largest exponent: what decides whether a conversion loses anything.
  int precision;
  int exponent;
};
} // namespace

static constexpr std::array<DtypeRow, 13> table = {{
    {Dtype::F64, "f64", "F64", 8, Kind::Float, 53, 1024},
    {Dtype::F32, "f32", "F32", 4, Kind::Float, 24, 128},
    {Dtype::F16, "f16", "F16", 2, Kind::Float, 11, 16},
    {Dtype::BF16, "bf16", "BF16", 2, Kind::Float, 8, 128},
    {Dtype::I64, "i64", "I64", 8, Kind::Signed, 63, 63},
    {Dtype::I32, "i32", "I32", 4, Kind::Signed, 31, 31},
    {Dtype::I16, "i16", "I16", 2, Kind::Signed, 15, 15},
    {Dtype::I8, "i8", "I8", 1, Kind::Signed, 7, 7},
    {Dtype::U64, "u64", "U64", 8, Kind::Unsigned, 64, 64},
    {Dtype::U32, "u32", "U32", 4, Kind::Unsigned, 32, 32},
    {Dtype::U16, "u16", "U16", 2, Kind::Unsigned, 16, 16},
    {Dtype::U8, "u8", "U8", 1, Kind::Unsigned, 8, 8},
    {Dtype::Bool, "bool", "BOOL", 1, Kind::Boolean, 1, 1},
}};

static const DtypeRow &row(Dtype dtype) {
  return table[static_cast<size_t>(dtype)];
}

int64_t byteSize(Dtype dtype) { return row(dtype).bytes; }
std::string_view dtypeName(Dtype dtype) { return row(dtype).name; }
std::string_view safetensorsName(Dtype dtype) { return row(dtype).safetensors; }
bool isFloat(Dtype dtype) { return row(dtype).kind == Kind::Float; }

bool isInteger(Dtype dtype) {
  return row(dtype).kind == Kind::Signed || row(dtype).kind == Kind::Unsigned;
}

std::optional<Dtype> parseDtype(std::string_view name) {
  for (const DtypeRow &candidate : table)
    if (candidate.name == name)
      return candidate.dtype;
  return std::nullopt;
}

std::optional<Dtype> parseSafetensorsDtype(std::string_view name) {
  for (const DtypeRow &candidate : table)
    if (candidate.safetensors == name)
      return candidate.dtype;
  return std::nullopt;
}

bool isLossless(Dtype from, Dtype to) {
  if (from == to)
    return true;
  const DtypeRow &source = row(from), &target = row(to);
  if (source.kind == Kind::Boolean || target.kind == Kind::Boolean)
    return false;
  if (source.kind == Kind::Float && target.kind != Kind::Float)
    return false;
  if (source.kind == Kind::Signed && target.kind == Kind::Unsigned)
    return false;
  return source.precision <= target.precision &&
         source.exponent <= target.exponent;
}

} // namespace shardc::format
