//===- WidenedCall.cpp - Bf16 where the processor has none ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Copies between strided bf16 tensors and contiguous f32 ones, row by row.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/WidenedCall.h"
#include "runtime/cpu/BFloat16.h"

#include <algorithm>

namespace shardc::runtime {

using format::Dtype;

namespace {
/// A bf16 tensor and its f32 copy.
struct Copy {
  TensorView narrow;
  TensorView wide;
  std::vector<float> memory;
};

class WidenedCall : public LibraryCall {
public:
  /// Replaces the bf16 tensors of `arguments`.
  explicit WidenedCall(LibraryCallArguments &arguments) {
    operands.reserve(arguments.operands.size());
    results.reserve(arguments.results.size());
    replace(arguments.operands, operands);
    replace(arguments.results, results);
  }

  void setInner(std::unique_ptr<LibraryCall> call) { inner = std::move(call); }

  ScratchNeed scratchNeed() const override {
    ScratchNeed need = inner->scratchNeed();
    for (const auto *list : {&operands, &results})
      for (const Copy &copy : *list)
        need.owned += copy.memory.size() * sizeof(float);
    return need;
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override;

private:
  static void replace(std::vector<TensorView> &tensors,
                      std::vector<Copy> &copies);

  std::vector<Copy> operands;
  std::vector<Copy> results;
  std::unique_ptr<LibraryCall> inner;
};
} // namespace

void WidenedCall::replace(std::vector<TensorView> &tensors,
                          std::vector<Copy> &copies) {
  for (TensorView &tensor : tensors) {
    if (tensor.dtype != Dtype::BF16)
      continue;
    Copy &copy = copies.emplace_back();
    copy.memory.resize(static_cast<size_t>(tensor.elements()));
    copy.narrow = tensor;
    tensor.data = reinterpret_cast<std::byte *>(copy.memory.data());
    tensor.dtype = Dtype::F32;
    tensor.strides = format::contiguousStrides(tensor.shape);
    copy.wide = tensor;
  }
}

/// Calls convert(pointer into narrow, pointer into wide, elements, stride of
/// narrow) for every row.
template <typename Convert>
static void forEachRow(WorkerPool &workers, const Copy &copy, Convert convert) {
  const TensorView &narrow = copy.narrow;
  if (copy.memory.empty())
    return;
  const size_t rank = narrow.shape.size();
  const int64_t columns = rank ? narrow.shape[rank - 1] : 1;
  const int64_t stride = rank ? narrow.strides[rank - 1] : 1;
  const int64_t rows = narrow.elements() / columns;
  constexpr int64_t elementsPerPart = 1 << 14;
  const int64_t grain = std::max<int64_t>(1, elementsPerPart / columns);
  workers.runRanges(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, offset = 0;
      for (size_t i = rank ? rank - 1 : 0; i-- > 0; rest /= narrow.shape[i])
        offset += rest % narrow.shape[i] * narrow.strides[i];
      convert(narrow.as<BFloat16>() + offset,
              copy.wide.as<float>() + row * columns, columns, stride);
    }
  });
}

Status WidenedCall::run(WorkerPool &workers, const Scratch &scratch) {
  for (const Copy &copy : operands)
    forEachRow(workers, copy,
               [](const BFloat16 *narrow, float *wide, int64_t columns,
                  int64_t stride) {
                 for (int64_t i = 0; i < columns; ++i)
                   wide[i] = widen(narrow[i * stride]);
               });
  if (Status status = inner->run(workers, scratch); !status.ok())
    return status;
  for (const Copy &copy : results)
    forEachRow(workers, copy,
               [](BFloat16 *target, const float *wide, int64_t columns,
                  int64_t stride) {
                 for (int64_t i = 0; i < columns; ++i)
                   target[i * stride] = narrow<BFloat16>(wide[i]);
               });
  return Status();
}

LibraryCallOr prepareWidened(LibraryCallArguments arguments,
                             LibraryCallOr (*prepare)(LibraryCallArguments)) {
  auto call = std::make_unique<WidenedCall>(arguments);
  LibraryCallOr inner = prepare(std::move(arguments));
  if (!inner.ok())
    return inner.status();
  call->setInner(std::move(*inner));
  return std::unique_ptr<LibraryCall>(std::move(call));
}

bool hasBFloat16(const LibraryCallArguments &arguments) {
  for (const auto *list : {&arguments.operands, &arguments.results})
    for (const TensorView &tensor : *list)
      if (tensor.dtype == Dtype::BF16)
        return true;
  return false;
}

} // namespace shardc::runtime
