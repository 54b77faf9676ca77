//===- Conversion.cpp - Data in the dtype of a model's input --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A visitor for each side turns two dtypes into two C++ types.
//===----------------------------------------------------------------------===//

#include "runtime/data/Conversion.h"
#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/Float16.h"

#include <cstring>

namespace shardc::runtime {

using format::Dtype;

/// Calls visit(T()) with the C++ type of `dtype`.
template <typename Visit>
static void withType(Dtype dtype, Visit visit) {
  switch (dtype) {
  case Dtype::F64:
    return visit(double());
  case Dtype::F32:
    return visit(float());
  case Dtype::F16:
    return visit(Float16());
  case Dtype::BF16:
    return visit(BFloat16());
  case Dtype::I64:
    return visit(int64_t());
  case Dtype::I32:
    return visit(int32_t());
  case Dtype::I16:
    return visit(int16_t());
  case Dtype::I8:
    return visit(int8_t());
  case Dtype::U64:
    return visit(uint64_t());
  case Dtype::U32:
    return visit(uint32_t());
  case Dtype::U16:
    return visit(uint16_t());
  case Dtype::U8:
  case Dtype::Bool:
    return visit(uint8_t());
  }
}

bool isConvertible(Dtype from, Dtype to) {
  if (from == to)
    return true;
  return isLossless(from, to) &&
         (to == Dtype::F64 || to == Dtype::F32 || isInteger(to));
}

bool isRounded(Dtype from, Dtype to) {
  return from == Dtype::F32 && to == Dtype::BF16;
}

template <typename T>
static constexpr bool isNarrow =
    std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;

template <typename From, typename To>
static void convert(const std::byte *source, std::byte *target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    // A file's tensors may lie at any address.
    From value;
    std::memcpy(&value, source + i * static_cast<int64_t>(sizeof(From)),
                sizeof(From));
    if constexpr (std::is_same_v<To, BFloat16>)
      reinterpret_cast<To *>(target)[i] = narrow<To>(value);
    else if constexpr (isNarrow<From>)
      reinterpret_cast<To *>(target)[i] = static_cast<To>(widen(value));
    else
      reinterpret_cast<To *>(target)[i] = static_cast<To>(value);
  }
}

void convertElements(const std::byte *source, Dtype from, std::byte *target,
                     Dtype to, int64_t count) {
  if (from == to) {
    std::memcpy(target, source, static_cast<size_t>(count * byteSize(from)));
    return;
  }
  withType(from, [&](auto sourceElement) {
    withType(to, [&](auto targetElement) {
      using From = decltype(sourceElement);
      using To = decltype(targetElement);
      if constexpr (!isNarrow<To> || (std::is_same_v<From, float> &&
                                      std::is_same_v<To, BFloat16>))
        convert<From, To>(source, target, count);
    });
  });
}

template <typename T>
static Status checkBoundOf(const format::Input &input, const std::byte *values,
                           int64_t count, int64_t sample) {
  const auto *list = reinterpret_cast<const T *>(values);
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<int64_t>(list[i]);
    const bool inside = value >= 0 && value < *input.upperBound;
    if (!inside && value != input.ignoreIndex)
      return Status(
          ErrorCode::E0407,
          "input '" + input.name + "' has value " + std::to_string(list[i]) +
              " in sample " + std::to_string(sample) +
              ", expected values from 0 to " +
              std::to_string(*input.upperBound - 1) +
              (input.ignoreIndex ? ", or " + std::to_string(*input.ignoreIndex)
                                 : ""));
  }
  return Status();
}

Status checkBound(const format::Input &input, const std::byte *values,
                  int64_t count, int64_t sample) {
  if (!input.upperBound)
    return Status();
  Status status;
  withType(input.dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>)
      status = checkBoundOf<T>(input, values, count, sample);
  });
  return status;
}

} // namespace shardc::runtime
