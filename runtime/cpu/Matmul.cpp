//===- Matmul.cpp - matrix products by oneDNN -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts the products of a matmul call into parts and prepares one oneDNN
// primitive for each piece. Parts are rectangles of C, so no two parts add to
// the same element and k is never cut.
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

/// Into how many equal parts, a power of two, an extent is cut: at most `most`,
/// of `least` elements.
static int64_t partsOf(int64_t extent, int64_t most, int64_t least) {
  int64_t parts = 1;
  while (2 * parts <= most && extent / (2 * parts) >= least)
    parts *= 2;
  return parts;
}

/// Cuts a product by its longer extent, and by the shorter one if that is not
/// enough: each part packs its rows of A or its columns of B anew. At most 16
/// parts, and no narrower than those that oneDNN is fast with.
static std::vector<Piece> cut(const MatmulProblem &problem) {
  constexpr int64_t mostParts = 16, leastExtent = 192, leastOfHalves = 32;
  constexpr int64_t granularity = 16;
  constexpr double leastToHalve = 8e6;
  const auto products = static_cast<int64_t>(problem.products.size());
  const double operations = operationsOf(problem);
  int64_t most = operations < leastToHalve ? 1 : 2;
  while (2 * most <= mostParts &&
         operations / operationsPerPart >= static_cast<double>(2 * most))
    most *= 2;
  // Several products are parts already.
  most = std::max<int64_t>(1, std::min(most, mostParts / products));
  const int64_t least = most == 2 ? leastOfHalves : leastExtent;
  const bool isTall = problem.m >= problem.n;
  const int64_t ofLonger = partsOf(std::max(problem.m, problem.n), most, least);
  const int64_t ofShorter =
      partsOf(std::min(problem.m, problem.n), most / ofLonger, least);
  auto sizeOf = [](int64_t extent, int64_t parts) {
    const int64_t size = (extent + parts - 1) / parts;
    return (size + granularity - 1) / granularity * granularity;
  };
  const int64_t rows = sizeOf(problem.m, isTall ? ofLonger : ofShorter);
  const int64_t columns = sizeOf(problem.n, isTall ? ofShorter : ofLonger);
  std::vector<Piece> pieces;
  for (int64_t column = 0; column < problem.n; column += columns)
    for (int64_t row = 0; row < problem.m; row += rows)
      pieces.push_back({row, std::min(rows, problem.m - row), column,
                        std::min(columns, problem.n - column)});
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
