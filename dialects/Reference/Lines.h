//===- Lines.h - The elements along one dimension -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operators along a dimension (softmax, running sums, sorting) see a tensor as
// lines: the elements that differ in that dimension's index alone.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_DIALECTS_REFERENCE_LINES_H
#define SHARDC_DIALECTS_REFERENCE_LINES_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace shardc::reference {

/// Elements `first + i * stride` for i in [0, size).
struct Line {
  int64_t first;
  int64_t stride;
  int64_t size;

  int64_t operator[](int64_t i) const { return first + i * stride; }
};

/// The lines of a row-major tensor along `dim`, in row-major order of the other
/// dimensions. A 0-d tensor is one line of one element.
class Lines {
public:
  Lines(llvm::ArrayRef<int64_t> shape, int64_t dim) {
    for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
      (i < dim ? outer : i == dim ? size : inner) *= shape[i];
  }

  int64_t count() const { return outer * inner; }
  Line operator[](int64_t line) const {
    return {line / inner * size * inner + line % inner, inner, size};
  }

private:
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
};

} // namespace shardc::reference

#endif // SHARDC_DIALECTS_REFERENCE_LINES_H
