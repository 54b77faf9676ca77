//===- Matmul.cpp - Matrix products by oneDNN -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts the products of a matmul call into parts: large ones into rectangles of
// C, so that no two parts add to the same element and k is never cut, small
// ones into batches, each with one oneDNN primitive if they are equally far
// apart.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/cpu/MatmulProblem.h"
#include "runtime/cpu/OneDnnSteps.h"
#include "runtime/cpu/PackedMatmul.h"
#include "runtime/cpu/WidenedCall.h"
#include "runtime/format/Operations.h"

#include <algorithm>

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

  ScratchNeed scratchNeed() const override { return {0, scratchpadBytes, 0}; }
  Status run(WorkerPool &workers, const Scratch &scratch) override;

private:
  struct Range {
    int64_t first, count;
  };

  /// Appends a piece of some products to the last part.
  void add(const MatmulProblem &problem, Range products, const Piece &piece);

  std::vector<OneDnnSteps> parts;
  size_t scratchpadBytes = 0;
};
} // namespace

/// Work of a part: enough that handing it out costs little (about 100
/// microseconds on one core). Products of few rows are bound by memory.
static constexpr double operationsPerPart = 16e6, elementsPerPart = 1 << 18;

/// How many parts one product is worth.
static double partsOfWork(const MatmulProblem &problem) {
  const auto elements = static_cast<double>(
      problem.m * problem.k + problem.k * problem.n + problem.m * problem.n);
  return static_cast<double>(
             format::productOperations(problem.m * problem.n, problem.k)) /
             operationsPerPart +
         elements / elementsPerPart;
}

/// Into how many equal parts, a power of two, an extent is cut: at most `max`,
/// of `min` elements.
static int64_t partsOf(int64_t extent, int64_t max, int64_t min) {
  int64_t parts = 1;
  while (2 * parts <= max && extent / (2 * parts) >= min)
    parts *= 2;
  return parts;
}

/// Cuts a product by its longer extent, and by the shorter one if that is not
/// enough: each part packs its rows of A or its columns of B anew. At most 16
/// parts, and no narrower than those that oneDNN is fast with.
static std::vector<Piece> cut(const MatmulProblem &problem) {
  constexpr int64_t maxParts = 16, minExtent = 192, minOfHalves = 32;
  constexpr int64_t granularity = 16;
  const auto products = static_cast<int64_t>(problem.products.size());
  const double parts = partsOfWork(problem);
  int64_t max = 2 * parts < 1 ? 1 : 2;
  while (2 * max <= maxParts && parts >= static_cast<double>(2 * max))
    max *= 2;
  // Several products are parts already.
  max = std::max<int64_t>(1, std::min(max, maxParts / products));
  const int64_t min = max == 2 ? minOfHalves : minExtent;
  const bool isTall = problem.m >= problem.n;
  const int64_t ofLonger = partsOf(std::max(problem.m, problem.n), max, min);
  const int64_t ofShorter =
      partsOf(std::min(problem.m, problem.n), max / ofLonger, min);
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

/// `count` matrices of each product's operand `number` in the first of
/// `products`; one has two dimensions.
static dnnl::memory::desc describe(const Matrix &matrix, int64_t rows,
                                   int64_t columns, size_t number,
                                   int64_t count,
                                   const MatmulProblem &problem) {
  dnnl::memory::dims dims, strides;
  if (count > 1) {
    const MatmulProblem::Spacing &spacing = *problem.spacing;
    dims = {count / spacing.inner, spacing.inner};
    strides = {spacing.outerSteps[number], spacing.innerSteps[number]};
    const auto unused = dims[0] == 1 ? 0 : 1;
    if (dims[unused] == 1) {
      dims.erase(dims.begin() + unused);
      strides.erase(strides.begin() + unused);
    }
  }
  dims.insert(dims.end(), {rows, columns});
  strides.insert(strides.end(), {matrix.rowStride, matrix.columnStride});
  return {dims, oneDnnType(matrix.dtype), strides, /*allow_empty=*/true};
}

/// Whether oneDNN can describe `count` matrices of each operand as one tensor:
/// not if they overlap, as those of a sliding window do.
static bool canBeOne(const MatmulProblem &problem, int64_t count) {
  const auto &first = problem.products.front();
  return !describe(first.a, problem.m, problem.k, 0, count, problem)
              .is_zero() &&
         !describe(first.b, problem.k, problem.n, 1, count, problem)
              .is_zero() &&
         !describe(first.c, problem.m, problem.n, 2, count, problem).is_zero();
}

void MatmulCall::add(const MatmulProblem &problem, Range products,
                     const Piece &piece) {
  const auto &[first, count] = products;
  const auto &product = problem.products[static_cast<size_t>(first)];
  OneDnnSteps &steps = parts.back();
  auto fixed = [](const dnnl::memory::desc &layout, std::byte *address) {
    return OneDnnTensor{layout, {OneDnnPlace::Kind::Fixed, address, 0}};
  };
  const OneDnnTensor a =
      fixed(describe(product.a, piece.rows, problem.k, 0, count, problem),
            product.a.at(piece.row, 0));
  const OneDnnTensor b =
      fixed(describe(product.b, problem.k, piece.columns, 1, count, problem),
            product.b.at(0, piece.column));
  const OneDnnTensor c =
      fixed(describe(product.c, piece.rows, piece.columns, 2, count, problem),
            product.c.at(piece.row, piece.column));
  std::vector<OneDnnSteps::Argument> arguments = {
      {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
  dnnl::matmul::desc description(a.layout, b.layout, c.layout);
  if (problem.bias.data) {
    dnnl::memory::dims dims(c.layout.dims().size(), 1);
    dims.back() = piece.columns;
    const OneDnnTensor bias =
        fixed({dims, oneDnnType(problem.bias.dtype),
               dnnl::memory::dims(dims.size(), piece.columns)},
              problem.bias.at(0, piece.column));
    arguments.push_back({DNNL_ARG_BIAS, bias});
    description = dnnl::matmul::desc(a.layout, b.layout, bias.layout, c.layout);
  }
  steps.add(dnnl::matmul::primitive_desc(description, oneDnnAttributes(),
                                         oneDnnEngine()),
            arguments);
  scratchpadBytes = std::max(scratchpadBytes, steps.scratchpadBytes());
}

MatmulCall::MatmulCall(const MatmulProblem &problem) {
  const std::vector<Piece> pieces = cut(problem);
  // Small products share a part.
  const auto products = static_cast<int64_t>(problem.products.size());
  int64_t together = std::max<int64_t>(
      1, static_cast<int64_t>(static_cast<double>(pieces.size()) /
                              partsOfWork(problem)));
  if (problem.spacing && together > 1) {
    const int64_t inner = problem.spacing->inner;
    together = (together + inner - 1) / inner * inner;
  }
  const bool areOne =
      problem.spacing && canBeOne(problem, std::min(together, products));
  for (int64_t begin = 0; begin < products; begin += together)
    for (const Piece &piece : pieces) {
      const int64_t count = std::min(together, products - begin);
      parts.emplace_back();
      if (areOne)
        add(problem, {begin, count}, piece);
      else
        for (int64_t i = begin; i < begin + count; ++i)
          add(problem, {i, 1}, piece);
    }
}

Status MatmulCall::run(WorkerPool &workers, const Scratch &scratch) {
  std::atomic<bool> healthy = true;
  workers.run(static_cast<int64_t>(parts.size()),
              [&](int64_t part, int worker) {
                if (!parts[static_cast<size_t>(part)].run(scratch, worker, 0))
                  healthy = false;
              });
  if (!healthy)
    return Status(ErrorCode::E0504, "oneDNN failed to multiply matrices");
  return Status();
}

LibraryCallOr prepareMatmul(LibraryCallArguments arguments) {
  const MatmulProblem problem = makeMatmulProblem(arguments);
  if (arguments.results[0].dtype == Dtype::F64 || isFasterPacked(problem))
    return makePackedMatmul(problem);
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
