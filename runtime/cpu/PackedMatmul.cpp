//===- PackedMatmul.cpp - Matmul calls with packed operands ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A large product is cut into parts, small ones are a part each.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/PackedMatmul.h"
#include "runtime/cpu/InstructionSet.h"
#include "runtime/cpu/PackedProduct.h"
#include "runtime/format/Operations.h"

#include <algorithm>

namespace shardc::runtime {

using format::Dtype;

namespace {
template <typename T>
class PackedMatmul : public LibraryCall {
public:
  explicit PackedMatmul(const MatmulProblem &problem) {
    for (const MatmulProblem::Product &product : problem.products)
      products.emplace_back(problem.m, problem.n, problem.k, product,
                            problem.bias);
    // Small products are better done by one worker each.
    constexpr int64_t few = 4;
    constexpr size_t maxBytes = 1 << 20;
    areParts = products.size() > 1 && products[0].parts() < few &&
               products[0].packedBytes() <= maxBytes;
  }

  ScratchNeed scratchNeed() const override {
    if (products.empty())
      return {};
    const size_t packed = products[0].packedBytes();
    const size_t block = products[0].blockBytes();
    return areParts ? ScratchNeed{0, packed + block, 0}
                    : ScratchNeed{packed, block, 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    if (areParts) {
      workers.run(static_cast<int64_t>(products.size()), [&](int64_t part,
                                                             int worker) {
        runAlone(products[static_cast<size_t>(part)], scratch.worker(worker));
      });
      return Status();
    }
    for (const PackedProduct<T> &product : products) {
      workers.run(product.packJobs(), [&](int64_t job, int) {
        product.pack(job, scratch.shared());
      });
      workers.run(product.parts(), [&](int64_t part, int worker) {
        product.run(part, scratch.shared(), scratch.worker(worker));
      });
    }
    return Status();
  }

private:
  static void runAlone(const PackedProduct<T> &product, std::byte *memory) {
    for (int64_t job = 0; job < product.packJobs(); ++job)
      product.pack(job, memory);
    for (int64_t part = 0; part < product.parts(); ++part)
      product.run(part, memory, memory + product.packedBytes());
  }

  std::vector<PackedProduct<T>> products;
  bool areParts;
};
} // namespace

bool isFasterPacked(const MatmulProblem &problem) {
  constexpr int64_t minExtent = 32, minOfMany = 1'000'000;
  const auto isF32 = [](const Matrix &matrix) {
    return matrix.dtype == Dtype::F32;
  };
  return instructionSet() == InstructionSet::Avx2 &&
         std::min({problem.m, problem.n, problem.k}) >= minExtent &&
         (problem.products.size() == 1 ||
          format::productOperations(problem.m * problem.n, problem.k) >=
              minOfMany) &&
         std::ranges::all_of(problem.products,
                             [&](const MatmulProblem::Product &product) {
                               return isF32(product.a) && isF32(product.b) &&
                                      isF32(product.c);
                             }) &&
         (!problem.bias.data || isF32(problem.bias));
}

std::unique_ptr<LibraryCall> makePackedMatmul(const MatmulProblem &problem) {
  if (!problem.products.empty() && problem.products[0].c.dtype == Dtype::F64)
    return std::make_unique<PackedMatmul<double>>(problem);
  return std::make_unique<PackedMatmul<float>>(problem);
}

} // namespace shardc::runtime
