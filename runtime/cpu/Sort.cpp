//===- Sort.cpp - Elements of a row in order ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorts the numbers of elements, by element and then by number, which is a
// total order: equal elements stay as they were, and the first k need no more
// than a partial sort. NaN is larger than every number, as in PyTorch.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/LibraryCallKinds.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace shardc::runtime {

using format::Dtype;

namespace {
template <typename T>
auto comparable(T value) {
  if constexpr (std::is_same_v<T, int64_t>)
    return value;
  else
    return widen(value);
}

template <typename T>
bool isLess(T a, T b) {
  return a < b || (b != b && a == a);
}

template <typename T>
class Sort : public LibraryCall {
public:
  explicit Sort(LibraryCallArguments list)
      : input(list.operands[0].as<T>()), values(list.results[0].as<T>()),
        indices(list.results[1].as<int64_t>()),
        length(list.operands[0].shape.back()),
        kept(list.results[0].shape.back()),
        rows(list.operands[0].elements() / length),
        isDescending(
            format::attributeOr(list.attributes, "descending", false)) {}

  ScratchNeed scratchNeed() const override {
    return {0, alignScratch(static_cast<size_t>(length) * sizeof(int64_t)), 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    constexpr int64_t elementsPerPart = 1 << 13;
    const int64_t grain = std::max<int64_t>(1, elementsPerPart / length);
    workers.run((rows + grain - 1) / grain, [&](int64_t part, int worker) {
      auto *order = reinterpret_cast<int64_t *>(scratch.worker(worker));
      const int64_t end = std::min(rows, (part + 1) * grain);
      for (int64_t row = part * grain; row < end; ++row)
        sortRow(row, order);
    });
    return Status();
  }

private:
  void sortRow(int64_t row, int64_t *order) const {
    const T *elements = input + row * length;
    std::iota(order, order + length, int64_t(0));
    auto comesFirst = [&](int64_t a, int64_t b) {
      const auto x = comparable(elements[a]), y = comparable(elements[b]);
      if (isDescending ? isLess(y, x) : isLess(x, y))
        return true;
      if (isDescending ? isLess(x, y) : isLess(y, x))
        return false;
      return a < b;
    };
    if (kept < length)
      std::partial_sort(order, order + kept, order + length, comesFirst);
    else
      std::sort(order, order + length, comesFirst);
    for (int64_t i = 0; i < kept; ++i) {
      values[row * kept + i] = elements[order[i]];
      indices[row * kept + i] = order[i];
    }
  }

  const T *const input;
  T *const values;
  int64_t *const indices;
  const int64_t length, kept, rows;
  const bool isDescending;
};
} // namespace

template <typename T>
static LibraryCallOr make(LibraryCallArguments arguments) {
  return std::unique_ptr<LibraryCall>(
      std::make_unique<Sort<T>>(std::move(arguments)));
}

LibraryCallOr prepareSort(LibraryCallArguments arguments) {
  switch (arguments.operands[0].dtype) {
  case Dtype::F64:
    return make<double>(std::move(arguments));
  case Dtype::BF16:
    return make<BFloat16>(std::move(arguments));
  case Dtype::I64:
    return make<int64_t>(std::move(arguments));
  default:
    return make<float>(std::move(arguments));
  }
}

} // namespace shardc::runtime
