//===- Program.cpp - the commands that one rank runs each step ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Small questions about shapes and kernels that readers of a program ask.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/Program.h"

namespace shardc::format {

std::vector<int64_t> contiguousStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string signatureText(const KernelSignature &signature) {
  static const char *const accesses[] = {"r", "w", "rw"};
  std::string text = std::to_string(signature.extent);
  for (const KernelOperand &operand : signature.operands)
    text += ";" + std::to_string(operand.bytes) + ":" +
            std::to_string(operand.alignment) + ":" +
            accesses[static_cast<size_t>(operand.access)];
  return text;
}

} // namespace shardc::format
