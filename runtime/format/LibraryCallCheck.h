//===- LibraryCallCheck.h - How a call's tensors fit together -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the files in calls/ are written with.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_FORMAT_LIBRARYCALLCHECK_H
#define SHARDC_RUNTIME_FORMAT_LIBRARYCALLCHECK_H

#include "runtime/format/LibraryCalls.h"

#include <algorithm>

namespace shardc::format {

/// Collects the first complaint about one call.
class LibraryCallCheck {
public:
  using Shape = std::vector<int64_t>;

  LibraryCallCheck(const Command &command, const LibraryCallKind &kind)
      : command(command), kind(kind) {}

  /// Those of the command's operands that are no results.
  size_t operands() const { return command.operands.size() - kind.results; }
  const TensorReference &operand(size_t i) const { return command.operands[i]; }
  const TensorReference &result(size_t i) const {
    return command.operands[operands() + i];
  }

  /// False, and a complaint unless there is one already, when `holds` does
  /// not.
  bool require(bool holds, const std::string &complaint) {
    if (!holds && status.ok())
      status = Status(ErrorCode::E0309,
                      "library call '" + command.callee + "': " + complaint);
    return holds;
  }

  bool counts() {
    const size_t all = command.operands.size();
    return require(all >= kind.minOperands + kind.results &&
                       operands() <= kind.maxOperands,
                   "unexpected number of operands and results " +
                       std::to_string(all));
  }

  template <typename T>
  bool attribute(std::string_view name) {
    auto found = command.attributes.find(name);
    return require(found != command.attributes.end() &&
                       std::holds_alternative<T>(found->second),
                   "attribute '" + std::string(name) +
                       "' is missing or has the wrong type");
  }

  /// A list of two integers, each from `min` to a bound that keeps shape
  /// arithmetic from overflowing.
  bool pair(std::string_view name, int64_t min) {
    constexpr int64_t max = 1 << 14;
    if (!attribute<std::vector<int64_t>>(name))
      return false;
    const Shape values = attributeOr(command.attributes, name, Shape());
    auto fits = [&](int64_t value) { return value >= min && value <= max; };
    return require(values.size() == 2 && fits(values[0]) && fits(values[1]),
                   "attribute '" + std::string(name) +
                       "' must be two integers from " + std::to_string(min) +
                       " to " + std::to_string(max));
  }

  bool dtype(const TensorReference &tensor, std::initializer_list<Dtype> any) {
    return require(std::find(any.begin(), any.end(), tensor.dtype) != any.end(),
                   "unexpected dtype " + std::string(dtypeName(tensor.dtype)));
  }

  bool shape(const TensorReference &tensor, const Shape &expected) {
    return require(tensor.shape == expected, "expected shape " +
                                                 text(expected) + ", got " +
                                                 text(tensor.shape));
  }

  bool rank(const TensorReference &tensor, size_t rank) {
    return require(tensor.shape.size() == rank,
                   "expected rank " + std::to_string(rank) + ", got shape " +
                       text(tensor.shape));
  }

  bool layout(const TensorReference &tensor) {
    const Shape strides = tensor.strides.empty()
                              ? contiguousStrides(tensor.shape)
                              : tensor.strides;
    return require(kind.layout.accepts(tensor.dtype, tensor.shape, strides),
                   "expected " + std::string(kind.layout.text) +
                       ", got strides " + text(strides) + " for shape " +
                       text(tensor.shape));
  }

  Status status;
  const Command &command;
  const LibraryCallKind &kind;

private:
  static std::string text(const Shape &shape) {
    std::string list = "[";
    for (size_t i = 0; i < shape.size(); ++i)
      list += (i ? "," : "") + std::to_string(shape[i]);
    return list + "]";
  }
};

/// The floating-point dtypes of most calls.
inline constexpr std::initializer_list<Dtype> floats = {Dtype::F32, Dtype::BF16,
                                                        Dtype::F64};

/// Whether a tensor is stored row-major without gaps.
bool isContiguous(std::span<const int64_t> shape,
                  std::span<const int64_t> strides);

// What a file of its family in calls/ says of each call.
#define SHARDC_LIBRARY_CALL(id, name) extern const LibraryCallKind kindOf##id;
#include "runtime/format/LibraryCalls.def"

} // namespace shardc::format

#endif // SHARDC_RUNTIME_FORMAT_LIBRARYCALLCHECK_H
