//===- Matmul.cpp - matrix products by oneDNN -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts the products of a matmul call into parts and prepares one oneDNN
// primitive for each piece. Parts are rows of C (columns if there are few
// rows), so no two parts add to the same element and k is never cut.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/DoubleMatmul.h"
#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/MatmulProblem.h"
#include "runtime/cpu/OneDnn.h"
#include "runtime/cpu/WidenedCall.h"
#include "runtime/format/Operations.h"

#include <algorithm>
#include <cmath>

namespace shardc::runtime {

using format::Dtype;

namespace {
/// What one part computes of every product: rows and columns of C.
struct Piece {
  int64_t row, rows, column, columns;
};

class MatmulCall : public LibraryCall {
public:
  explicit MatmulCall(const MatmulProblem &problem);

  ScratchNeed scratchNeed() const override { return {0, scratchBytes, 0}; }
  Status run(WorkerPool &workers, const Scratch &scratch) override;

private:
  void add(const MatmulProblem &problem, const MatmulProblem::Product &product,
           const Piece &piece);

  std::vector<OneDnnPrimitive> primitives;
  /// Part i runs primitives [partBegin[i], partBegin[i + 1]).
  std::vector<size_t> partBegin = {0};
  size_t scratchBytes = 0;
};
} // namespace

/// Work of a part: enough that handing it out costs little (about 100
/// microseconds on one core).
static constexpr double operationsPerPart = 16e6;

static double operationsOf(const MatmulProblem &problem) {
  return static_cast<double>(
      format::productOperations(problem.m * problem.n, problem.k));
}

/// Cuts a product. At most 16 parts, because each of them packs B anew, and no
/// narrower than oneDNN's blocks are.
static std::vector<Piece> cut(const MatmulProblem &problem) {
  constexpr int64_t mostParts = 16, leastExtent = 128, granularity = 64;
  const int64_t parts =
      std::clamp<int64_t>(static_cast<int64_t>(std::llround(
                              operationsOf(problem) / operationsPerPart)),
                          1, mostParts);
  const bool byRows = problem.m >= leastExtent || problem.m >= problem.n;
  const int64_t extent = byRows ? problem.m : problem.n;
  int64_t size = (extent + parts - 1) / parts;
  size = std::max(leastExtent,
                  (size + granularity - 1) / granularity * granularity);
  std::vector<Piece> pieces;
  for (int64_t begin = 0; begin < extent; begin += size) {
    const int64_t count = std::min(size, extent - begin);
    pieces.push_back(byRows ? Piece{begin, count, 0, problem.n}
                            : Piece{0, problem.m, begin, count});
  }
  return pieces;
}

static dnnl::memory::desc describe(const Matrix &matrix, int64_t rows,
                                   int64_t columns) {
  return {{rows, columns},
          oneDnnType(matrix.dtype),
          dnnl::memory::dims{matrix.rowStride, matrix.columnStride}};
}

void MatmulCall::add(const MatmulProblem &problem,
                     const MatmulProblem::Product &product,
                     const Piece &piece) {
  const auto a = describe(product.a, piece.rows, problem.k);
  const auto b = describe(product.b, problem.k, piece.columns);
  const auto c = describe(product.c, piece.rows, piece.columns);
  std::vector<OneDnnPrimitive::Argument> arguments = {
      {DNNL_ARG_SRC, a, product.a.at(piece.row, 0)},
      {DNNL_ARG_WEIGHTS, b, product.b.at(0, piece.column)},
      {DNNL_ARG_DST, c, product.c.at(piece.row, piece.column)}};
  dnnl::matmul::desc description(a, b, c);
  if (problem.bias.data) {
    const auto bias = describe(problem.bias, 1, piece.columns);
    arguments.push_back(
        {DNNL_ARG_BIAS, bias, problem.bias.at(0, piece.column)});
    description = dnnl::matmul::desc(a, b, bias, c);
  }
  primitives.emplace_back(dnnl::matmul::primitive_desc(
                              description, oneDnnAttributes(), oneDnnEngine()),
                          std::move(arguments));
  scratchBytes = std::max(scratchBytes, primitives.back().scratchBytes());
}

MatmulCall::MatmulCall(const MatmulProblem &problem) {
  const std::vector<Piece> pieces = cut(problem);
  // Small products share a part.
  const double operations =
      operationsOf(problem) / static_cast<double>(pieces.size());
  const auto products = static_cast<int64_t>(problem.products.size());
  const int64_t together = std::max<int64_t>(
      1, static_cast<int64_t>(operationsPerPart / std::max(operations, 1.0)));
  for (int64_t begin = 0; begin < products; begin += together)
    for (const Piece &piece : pieces) {
      const int64_t end = std::min(products, begin + together);
      for (int64_t i = begin; i < end; ++i)
        add(problem, problem.products[static_cast<size_t>(i)], piece);
      partBegin.push_back(primitives.size());
    }
}

Status MatmulCall::run(WorkerPool &workers, const Scratch &scratch) {
  std::atomic<bool> healthy = true;
  workers.run(static_cast<int64_t>(partBegin.size()) - 1,
              [&](int64_t part, int worker) {
                const auto index = static_cast<size_t>(part);
                for (size_t i = partBegin[index]; i < partBegin[index + 1]; ++i)
                  if (!primitives[i].run(scratch.worker(worker)))
                    healthy = false;
              });
  if (!healthy)
    return Status(ErrorCode::E0504, "oneDNN failed to multiply matrices");
  return Status();
}

LibraryCallOr prepareMatmul(LibraryCallArguments arguments) {
  const MatmulProblem problem = makeMatmulProblem(arguments);
  if (arguments.results[0].dtype == Dtype::F64)
    return makeDoubleMatmul(problem);
  useOneOneDnnThread();
  try {
    return std::unique_ptr<LibraryCall>(std::make_unique<MatmulCall>(problem));
  } catch (const dnnl::error &error) {
    if (!hasBFloat16(arguments))
      throw;
  }
  return prepareWidened(std::move(arguments), prepareMatmul);
}

} // namespace shardc::runtime
