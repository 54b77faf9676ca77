//===- DoubleMatmul.cpp - Matrix products in f64 --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// B is copied into padded rows once for each product; then every part copies
// a block of rows of A, multiplies in registers and copies the block of C out.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/DoubleMatmul.h"
#include "runtime/cpu/MatrixTile.h"

#include <algorithm>

namespace shardc::runtime {

namespace {
constexpr int64_t blockRows = 64;
/// Of rows and columns: a multiple of the lanes of every instruction set.
constexpr int64_t padding = rowPadding;

struct BlockProduct {
  template <typename Vectors>
  [[gnu::always_inline]] static void run(const double *a, const double *b,
                                         double *c, int64_t rows,
                                         int64_t columns, int64_t k) {
    multiplyMatrices<Vectors, false, double>({a, k, 1}, {b, columns},
                                             {c, columns}, rows, columns, k);
  }
};

class DoubleMatmul : public LibraryCall {
public:
  explicit DoubleMatmul(const MatmulProblem &problem)
      : problem(problem),
        paddedColumns((problem.n + padding - 1) / padding * padding) {}

  ScratchNeed scratchNeed() const override {
    const auto size = [](int64_t doubles) {
      return alignScratch(static_cast<size_t>(doubles) * sizeof(double));
    };
    return {size(problem.k * paddedColumns),
            size(blockRows * problem.k) + size(blockRows * paddedColumns), 0};
  }

  Status run(WorkerPool &workers, const Scratch &scratch) override {
    auto *packed = reinterpret_cast<double *>(scratch.shared());
    for (const MatmulProblem::Product &product : problem.products) {
      workers.runRanges(problem.k, blockRows, [&](int64_t begin, int64_t end) {
        packRight(product.b, packed, begin, end);
      });
      workers.run((problem.m + blockRows - 1) / blockRows, [&](int64_t part,
                                                               int worker) {
        runBlock(product, packed, scratch.worker(worker), part * blockRows);
      });
    }
    return Status();
  }

private:
  static double load(const Matrix &matrix, int64_t row, int64_t column) {
    return *reinterpret_cast<const double *>(matrix.at(row, column));
  }

  void packRight(const Matrix &b, double *packed, int64_t begin,
                 int64_t end) const {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t column = 0; column < paddedColumns; ++column)
        packed[row * paddedColumns + column] =
            column < problem.n ? load(b, row, column) : 0;
  }

  void runBlock(const MatmulProblem::Product &product, const double *packed,
                std::byte *memory, int64_t firstRow) const {
    const int64_t rows = std::min(blockRows, problem.m - firstRow);
    const int64_t paddedRows = (rows + padding - 1) / padding * padding;
    auto *left = reinterpret_cast<double *>(memory);
    double *sums = left + blockRows * problem.k;
    for (int64_t row = 0; row < paddedRows; ++row)
      for (int64_t i = 0; i < problem.k; ++i)
        left[row * problem.k + i] =
            row < rows ? load(product.a, firstRow + row, i) : 0;
    runVectorised<BlockProduct>(static_cast<const double *>(left), packed, sums,
                                paddedRows, paddedColumns, problem.k);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < problem.n; ++column) {
        const double bias =
            problem.bias.data ? load(problem.bias, 0, column) : 0;
        *reinterpret_cast<double *>(product.c.at(firstRow + row, column)) =
            sums[row * paddedColumns + column] + bias;
      }
  }

  const MatmulProblem problem;
  const int64_t paddedColumns;
};
} // namespace

std::unique_ptr<LibraryCall> makeDoubleMatmul(const MatmulProblem &problem) {
  return std::make_unique<DoubleMatmul>(problem);
}

} // namespace shardc::runtime
