//===- EmbeddingBackward.cpp - Gradient of an embedding's rows ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorts the tokens by the row that they looked up (a stable counting sort) and
// then sums, row by row and in the order of the tokens, so that every row of
// the result is written once and by one thread. A gradient that it is added to
// is read at the same time.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/BFloat16.h"
#include "runtime/cpu/LibraryCallKinds.h"

#include <algorithm>
#include <atomic>

namespace shardc::runtime {

using format::Dtype;

namespace {
template <typename Gradient, typename Result>
class EmbeddingBackward : public LibraryCall {
  using Sum = decltype(widen(Gradient()));

public:
  explicit EmbeddingBackward(LibraryCallArguments list)
      : gradients(list.operands[0].as<Gradient>()),
        indices(list.operands[1].as<int64_t>()),
        addend(list.operands.size() > 2 ? list.operands[2].as<Result>()
                                        : nullptr),
        result(list.results[0].as<Result>()),
        tokens(list.operands[1].elements()), rows(list.results[0].shape[0]),
        width(list.results[0].shape[1]),
        paddingIndex(
            format::attributeOr<int64_t>(list.attributes, "padding_idx", -1)) {}

  ScratchNeed scratchNeed() const override {
    const auto count = static_cast<size_t>(rows + 1 + tokens);
    return {alignScratch(count * sizeof(int64_t)),
            alignScratch(static_cast<size_t>(width) * sizeof(Sum)), 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    auto *begin = reinterpret_cast<int64_t *>(scratch.shared());
    int64_t *order = begin + rows + 1;
    if (Status status = sortTokens(begin, order); !status.ok())
      return status;
    constexpr int64_t elementsPerPart = 1 << 15;
    const int64_t grain =
        std::max<int64_t>(1, elementsPerPart / std::max<int64_t>(1, width));
    workers.run((rows + grain - 1) / grain, [&](int64_t part, int worker) {
      auto *sums = reinterpret_cast<Sum *>(scratch.worker(worker));
      const int64_t end = std::min(rows, (part + 1) * grain);
      for (int64_t row = part * grain; row < end; ++row)
        sumRow(row, order + begin[row], begin[row + 1] - begin[row], sums);
    });
    return Status();
  }

private:
  /// Afterwards order[begin[r]] … order[begin[r + 1] - 1] are the tokens that
  /// looked up row r.
  Status sortTokens(int64_t *begin, int64_t *order) const {
    std::fill_n(begin, rows + 1, 0);
    for (int64_t token = 0; token < tokens; ++token) {
      const int64_t row = indices[token];
      if (row < 0 || row >= rows)
        return Status(ErrorCode::E0504, "index " + std::to_string(row) +
                                            " exceeds an embedding of " +
                                            std::to_string(rows) + " rows");
      ++begin[row + 1];
    }
    for (int64_t row = 0; row < rows; ++row)
      begin[row + 1] += begin[row];
    // Placing a token moves its row's begin to the next place, and so each
    // begin ends where the next one started.
    for (int64_t token = 0; token < tokens; ++token)
      order[begin[indices[token]]++] = token;
    for (int64_t row = rows; row > 0; --row)
      begin[row] = begin[row - 1];
    begin[0] = 0;
    return Status();
  }

  void sumRow(int64_t row, const int64_t *list, int64_t count,
              Sum *sums) const {
    Result *target = result + row * width;
    if (count == 0 || row == paddingIndex) {
      if (addend)
        for (int64_t j = 0; j < width; ++j)
          target[j] = plusAddend(row, j, Result());
      else
        std::fill_n(target, width, Result());
      return;
    }
    std::fill_n(sums, width, Sum(0));
    for (int64_t i = 0; i < count; ++i) {
      const Gradient *gradient = gradients + list[i] * width;
      for (int64_t j = 0; j < width; ++j)
        sums[j] += widen(gradient[j]);
    }
    for (int64_t j = 0; j < width; ++j) {
      const Result sum = narrow<Result>(sums[j]);
      target[j] = addend ? plusAddend(row, j, sum) : sum;
    }
  }

  /// Rounded as an addition of two tensors is. Adding zero turns -0 into 0.
  Result plusAddend(int64_t row, int64_t column, Result sum) const {
    return narrow<Result>(widen(addend[row * width + column]) + widen(sum));
  }

  const Gradient *const gradients;
  const int64_t *const indices;
  /// Null if there is none.
  const Result *const addend;
  Result *const result;
  const int64_t tokens, rows, width, paddingIndex;
};
} // namespace

template <typename Gradient, typename Result>
static LibraryCallOr make(LibraryCallArguments arguments) {
  return std::unique_ptr<LibraryCall>(
      std::make_unique<EmbeddingBackward<Gradient, Result>>(
          std::move(arguments)));
}

LibraryCallOr prepareEmbeddingBackward(LibraryCallArguments arguments) {
  const Dtype gradient = arguments.operands[0].dtype;
  const Dtype result = arguments.results[0].dtype;
  if (gradient == Dtype::F64)
    return make<double, double>(std::move(arguments));
  if (gradient == Dtype::F32)
    return make<float, float>(std::move(arguments));
  if (result == Dtype::F32)
    return make<BFloat16, float>(std::move(arguments));
  return make<BFloat16, BFloat16>(std::move(arguments));
}

} // namespace shardc::runtime
